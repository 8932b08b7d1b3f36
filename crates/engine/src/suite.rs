//! What every engine must do, as one suite that each of them runs (`tests/`). A new engine is done when it passes.
//!
//! Each function takes an engine that may hold entries of other spaces, uses a space of its own, and panics on the first
//! thing that is not as promised. All of them run on any tokio runtime. Keys are laid out as [`layout`] says.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::task::{JoinSet, yield_now};

use crate::memory::Random;
use crate::{Column, Engine, EngineExt, Entry, Fault, Halt, Key, Partition, Space, Stamp, Stop, Txn, Want};

mod volatile;

pub use volatile::{after_restart, before_restart};

const COLUMN: Column = Column(1);
/// Its rows go with their gateway.
const VOLATILE: Column = Column::volatile(1);

type Shared = Arc<dyn Engine>;
type Entries = Vec<(Key, Bytes)>;

/// Runs all of it. `seed` chooses the random programs.
pub async fn all(engine: Shared, seed: u64) {
    answers(&engine).await;
    refusals(&engine).await;
    ranges(&engine).await;
    own_writes(&engine).await;
    counters(&engine).await;
    atomicity(&engine).await;
    surveys(&engine).await;
    wants(&engine).await;
    up_to_now(&engine).await;
    dropped_caller(&engine).await;
    panics(&engine).await;
    volatile::all(&engine).await;
    stamps(&engine, Stamp(0)).await;
    programs(&engine, seed).await;
}

/// A transaction's result comes back, and what it wrote is there to be read, and to be deleted.
pub async fn answers(engine: &Shared) {
    let here = at(Space(101), b"a");
    let key = row(&here, b"a");
    let put = key.clone();
    let answer = commit(engine, here.clone(), move |txn| {
        txn.put(put.clone(), "one");
        Ok(txn.get(&put)?)
    });
    assert_eq!(answer.await, Some("one".into()));
    assert_eq!(get(engine, &key).await, Some("one".into()));
    let gone = key.clone();
    commit(engine, here.clone(), move |txn| {
        txn.delete(gone.clone());
        Ok(())
    })
    .await;
    assert_eq!(get(engine, &key).await, None);
    let empty = row(&here, b"");
    let put = empty.clone();
    commit(engine, here, move |txn| {
        txn.put(put.clone(), "");
        Ok(())
    })
    .await;
    assert_eq!(get(engine, &empty).await, Some(Bytes::new()), "an empty value is a value");
}

/// A refusal comes back as it was given, and leaves nothing, though others in its company commit.
pub async fn refusals(engine: &Shared) {
    let space = Space(102);
    let mut tasks = JoinSet::new();
    for n in 0..60_u8 {
        let engine = engine.clone();
        tasks.spawn(async move {
            let here = at(space, &[n % 3]);
            let key = row(&here, &[n]);
            let answer = engine.transact(here, move |txn| {
                txn.put(key.clone(), vec![n]);
                if n % 2 == 1 { Err(Stop::Refused(n)) } else { Ok(n) }
            });
            let expected = if n % 2 == 1 { Err(n) } else { Ok(n) };
            assert_eq!(answer.await, Ok(expected));
        });
    }
    join(tasks).await;
    let kept = all_of(engine, space).await;
    let expected = (0..60).step_by(2).map(|n: u8| (row(&at(space, &[n % 3]), &[n]), Bytes::from(vec![n])));
    assert_eq!(kept, expected.collect::<BTreeMap<_, _>>().into_iter().collect::<Entries>());
}

/// Scans are half open, in key order, limited, and end with their space.
pub async fn ranges(engine: &Shared) {
    let here = at(Space(103), b"p");
    for n in [b'c', b'a', b'e', b'd', b'b'] {
        put(engine, here.clone(), row(&here, &[n]), vec![n]).await;
    }
    for beside in [at(Space(104), b"p"), at(Space(103), b"o"), at(Space(103), b"pp")] {
        put(engine, beside.clone(), row(&beside, b"b"), vec![0]).await;
    }
    let table = [
        ("a", "f", 9, "abcde"),
        ("b", "d", 9, "bc"),
        ("b", "d\0", 9, "bcd"),
        ("a", "f", 2, "ab"),
        ("a", "f", 0, ""),
        ("c", "c", 9, ""),
        ("d", "b", 9, ""),
        ("bb", "bc", 9, ""),
    ];
    for (from, to, limit, expected) in table {
        let found = scan(engine, &here, &row(&here, from.as_bytes()), &row(&here, to.as_bytes()), limit).await;
        let rows: Vec<u8> = found.iter().map(|(key, _)| rest(key)[0]).collect();
        assert_eq!(rows, expected.as_bytes(), "{from:?}..{to:?} limit {limit}");
        assert!(found.iter().all(|(key, value)| rest(key) == *value && layout(key).as_ref() == Some(&here)));
        if limit == 9 {
            let last = last(engine, &here, &row(&here, from.as_bytes()), &row(&here, to.as_bytes())).await;
            assert_eq!(last, found.last().cloned(), "the last of {from:?}..{to:?}");
        }
    }
    assert_eq!(all_of(engine, here.space).await.len(), 7);
    let long = at(Space(120), b"p");
    let filled = long.clone();
    commit(engine, long.clone(), move |txn| {
        (0..2500_u16).for_each(|n| txn.put(row(&filled, &n.to_be_bytes()), n.to_be_bytes().to_vec()));
        Ok(())
    })
    .await;
    let all = all_of(engine, long.space).await;
    assert!(all.len() == 2500 && all.iter().all(|(key, value)| rest(key) == *value));
}

/// A scan goes over all partitions of a space in key order, with gets as well, while they change: every row that it shows
/// was committed, none comes twice, none that was there all the time is missing, and two rows of one partition that stand
/// together are of one moment.
pub async fn surveys(engine: &Shared) {
    const PARTITIONS: u8 = 12;
    let space = Space(111);
    for n in 0..PARTITIONS {
        write_pair(engine, at(space, &[n]), 0).await;
    }
    let mut tasks = JoinSet::new();
    for n in 0..60_u64 {
        let engine = engine.clone();
        tasks.spawn(async move {
            if n % 3 > 0 {
                write_pair(&engine, at(space, &[(n % u64::from(PARTITIONS)) as u8]), n).await;
                return;
            }
            let found = all_of(&engine, space).await;
            let keys: Vec<_> = found.iter().map(|(key, _)| key.clone()).collect();
            let expected: Vec<_> = (0..PARTITIONS).flat_map(|n| pair(&at(space, &[n]))).collect();
            assert_eq!(keys, expected, "each row once, in key order");
            assert!(found.chunks(2).all(|pair| pair[0].1 == pair[1].1), "half of a transaction was seen: {found:?}");
        });
    }
    join(tasks).await;
}

fn pair(at: &Partition) -> [Key; 2] {
    [row(at, b"left"), row(at, b"right")]
}

async fn write_pair(engine: &Shared, at: Partition, n: u64) {
    let keys = pair(&at);
    commit(engine, at, move |txn| {
        keys.iter().for_each(|key| txn.put(key.clone(), n.to_be_bytes().to_vec()));
        Ok(())
    })
    .await;
}

/// What a decision says it will want changes nothing but how it is fetched: too much, too little, or of another range.
pub async fn wants(engine: &Shared) {
    let here = at(Space(112), b"p");
    let keys: Vec<Key> = (0..8_u8).map(|n| row(&here, &[n])).collect();
    for key in &keys[..6] {
        put(engine, here.clone(), key.clone(), "old").await;
    }
    let wants = {
        let keys = keys.clone();
        move || vec![Want::Get(keys[0].clone()), Want::Scan { from: keys[2].clone(), to: keys[5].clone(), limit: 2 }]
    };
    let read = engine.transact_wanting(here, wants, move |txn| {
        let first = txn.get(&keys[0])?.is_some();
        let absent = txn.get(&keys[7])?.is_some();
        let some = txn.scan(&keys[2], &keys[5], 2)?.len();
        let all = txn.scan(&keys[0], &keys[7], 9)?.len();
        txn.put(keys[0].clone(), "new");
        Ok::<_, Stop<()>>((first, absent, some, all))
    });
    assert_eq!(read.await, Ok(Ok((true, false, 2, 6))));
}

/// A decision, or a look, that reads up to its stamp ends: the stamp is the same at each of its runs.
pub async fn up_to_now(engine: &Shared) {
    let here = at(Space(121), b"p");
    let until = |txn: &Txn<'_>, here: &Partition| row(here, &txn.stamp().0.to_be_bytes());
    let (first, own) = (row(&here, b""), here.clone());
    let put = commit(engine, here.clone(), move |txn| {
        let end = until(txn, &own);
        txn.scan(&first, &end, 9)?;
        txn.put(end.clone(), "then");
        Ok(end)
    });
    let put = put.await;
    let seen = engine.read(&here, |txn| {
        let end = until(txn, &here).successor();
        Ok::<_, Stop<()>>(txn.scan(&row(&here, b""), &end, 9)?)
    });
    let seen = seen.await.expect("no fault").expect("no refusal");
    assert_eq!(seen, [(put, Bytes::from("then"))], "now is not before what was stamped");
}

/// A transaction sees its own writes, in gets and in scans, over those of the one before it.
pub async fn own_writes(engine: &Shared) {
    let here = at(Space(105), b"p");
    for n in [b'a', b'c', b'e', b'g'] {
        put(engine, here.clone(), row(&here, &[n]), "old").await;
    }
    let space = here.space;
    let seen = commit(engine, here.clone(), move |txn| {
        txn.put(row(&here, b"b"), "new");
        txn.put(row(&here, b"c"), "new");
        txn.delete(row(&here, b"e"));
        txn.delete(row(&here, b"f"));
        let all = txn.scan(&row(&here, b"a"), &row(&here, b"z"), 9)?;
        let three = txn.scan(&row(&here, b"a"), &row(&here, b"z"), 3)?;
        assert_eq!(three, all[..3]);
        let walked = walk(txn, &row(&here, b"a"), &row(&here, b"z"), 9)?;
        let lasts = [b"z", b"g", b"e", b"c", b"b", b"a"].map(|to| txn.last(&row(&here, b"a"), &row(&here, to)));
        let lasts = lasts.into_iter().collect::<Result<Vec<_>, _>>()?;
        let one_by_one = [b"a", b"b", b"c", b"e", b"f", b"g"].map(|n| txn.get(&row(&here, n)).map(|got| got.is_some()));
        Ok((all, walked, lasts, one_by_one))
    });
    let (all, walked, lasts, one_by_one) = seen.await;
    assert_eq!(walked, all);
    let before = |to: &[u8]| all.iter().rfind(|(key, _)| rest(key) < to).cloned();
    assert_eq!(lasts, [b"z", b"g", b"e", b"c", b"b", b"a"].map(|to| before(to)));
    let text: Vec<_> = all.iter().map(|(key, value)| (rest(key), value.clone())).collect();
    let expected = [("a", "old"), ("b", "new"), ("c", "new"), ("g", "old")];
    assert_eq!(text, expected.map(|(key, value)| (Bytes::from(key), Bytes::from(value))));
    assert_eq!(one_by_one, [true, true, true, false, false, true].map(Ok));
    assert_eq!(all_of(engine, space).await, all);
}

/// No increment is lost or made twice, however often a decision runs; its answer is that of the run that counted.
pub async fn counters(engine: &Shared) {
    let space = Space(106);
    let runs = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for n in 0..120_u32 {
        let (engine, runs) = (engine.clone(), runs.clone());
        let partition = [(n % 4) as u8];
        let here = at(space, &partition);
        tasks.spawn(async move {
            commit(&engine, here.clone(), move |txn| {
                runs.fetch_add(1, Ordering::Relaxed);
                let count = number(txn.get(&row(&here, b""))?) + 1;
                txn.put(row(&here, b""), count.to_be_bytes().to_vec());
                Ok((partition, count))
            })
            .await
        });
    }
    let answers: BTreeSet<_> = join(tasks).await.into_iter().collect();
    let expected: BTreeSet<_> = (0..4_u8).flat_map(|p| (1..=30_u64).map(move |count| ([p], count))).collect();
    assert_eq!(answers, expected, "each count is answered to exactly one");
    assert!(runs.load(Ordering::Relaxed) >= 120);
}

/// Two keys written together are never seen apart, by a look or by another transaction.
pub async fn atomicity(engine: &Shared) {
    let here = at(Space(107), b"both");
    let [left, right] = pair(&here);
    let mut tasks = JoinSet::new();
    for n in 0..80_u64 {
        let (engine, here, left, right) = (engine.clone(), here.clone(), left.clone(), right.clone());
        tasks.spawn(async move {
            if n % 2 == 0 {
                commit(&engine, here, move |txn| {
                    // A decision may run on reads of two moments; only what it finally says has to rest on one.
                    let whole = txn.get(&left)? == txn.get(&right)?;
                    txn.put(left.clone(), n.to_be_bytes().to_vec());
                    txn.put(right.clone(), n.to_be_bytes().to_vec());
                    Ok(whole)
                })
                .await
            } else {
                let seen = engine.read(&here, |txn| Ok::<_, Stop<()>>((txn.get(&left)?, txn.get(&right)?)));
                let (left, right) = seen.await.unwrap().unwrap();
                left == right
            }
        });
    }
    assert!(join(tasks).await.into_iter().all(|whole| whole));
}

/// A caller that has gone away changes nothing: what it submitted commits.
pub async fn dropped_caller(engine: &Shared) {
    let here = at(Space(108), b"a");
    let key = row(&here, b"a");
    let put = key.clone();
    drop(engine.transact(here.clone(), move |txn| {
        txn.put(put.clone(), "done");
        Ok::<_, Stop<()>>(())
    }));
    // Engines that keep the order of submission have committed it when this one is answered; others soon.
    for _ in 0..100_000 {
        put_nothing(engine, here.clone()).await;
        if get(engine, &key).await.is_some() {
            return;
        }
        yield_now().await;
    }
    panic!("a transaction was lost with its caller");
}

/// A decision that panics is answered with a fault, writes nothing, and takes nobody with it.
pub async fn panics(engine: &Shared) {
    let here = at(Space(109), b"a");
    let key = row(&here, b"a");
    let put = key.clone();
    let answer = engine.transact(here.clone(), move |txn| {
        txn.put(put.clone(), "half");
        if txn.get(&put)?.is_some() {
            panic!("on purpose: a decision of the suite");
        }
        Ok::<_, Stop<()>>(())
    });
    assert!(matches!(answer.await, Err(Fault::Unavailable(_))));
    assert_eq!(get(engine, &key).await, None);
    put_nothing(engine, here.clone()).await;
}

/// Stamps of a partition strictly increase, from `after` on, and agree with `now` and with the order of commits.
/// Gives the last one back, for a reopened engine to go on from.
pub async fn stamps(engine: &Shared, after: Stamp) -> Stamp {
    let here = at(Space(110), b"one");
    let key = row(&here, b"last");
    let mut last = after;
    for _ in 0..50 {
        let key = key.clone();
        let stamp = commit(engine, here.clone(), move |txn| {
            txn.put(key.clone(), txn.stamp().0.to_be_bytes().to_vec());
            Ok(txn.stamp())
        })
        .await;
        assert!(stamp > last && engine.now() >= stamp);
        last = stamp;
    }
    let mut tasks = JoinSet::new();
    for _ in 0..50 {
        let (engine, here, key) = (engine.clone(), here.clone(), key.clone());
        tasks.spawn(async move {
            commit(&engine, here, move |txn| {
                let before = number(txn.get(&key)?);
                txn.put(key.clone(), txn.stamp().0.to_be_bytes().to_vec());
                Ok((before, txn.stamp().0))
            })
            .await
        });
    }
    let mut taken = BTreeSet::new();
    for (before, stamp) in join(tasks).await {
        assert!(stamp > before && taken.insert(stamp), "stamps are in the order of commits");
        last = last.max(Stamp(stamp));
    }
    last
}

/// Random transactions by several clients at once. Each that wrote must have seen just what those before it, in the order
/// of their stamps, had left. Each that wrote nothing (a refusal, a mere look) must have seen what was there at some
/// moment; its stamp orders nothing, since a cluster has no reason to remember it. At the end there is what the last left.
pub async fn programs(engine: &Shared, seed: u64) {
    let space = Space(1_000 + u128::from(seed));
    let mut tasks = JoinSet::new();
    for client in 0..6 {
        let engine = engine.clone();
        let mut random = Random(seed.wrapping_mul(31).wrapping_add(client));
        tasks.spawn(async move {
            let mut history = Vec::new();
            for _ in 0..20 {
                let program = Program::random(&mut random);
                let (run, partition) = (program.clone(), at(space, &[program.partition]));
                let answer = engine.transact(partition, move |txn| run.run(space, txn)).await.expect("no fault");
                history.push((program, answer));
            }
            history
        });
    }
    let history: Vec<_> = join(tasks).await.into_iter().flatten().collect();
    let (mut wrote, only_read): (Vec<_>, Vec<_>) =
        history.into_iter().partition(|(program, answer)| answer.is_ok() && program.writes());
    wrote.sort_by_key(|(_, answer)| seen(answer).stamp);
    let mut states = vec![BTreeMap::new()];
    for (program, answer) in &wrote {
        let (expected, after) = program.replay(space, &states[states.len() - 1]);
        assert_eq!(seen(answer).steps, expected, "seed {seed}: {program:?}");
        states.push(after);
    }
    for (program, answer) in &only_read {
        let explained = states.iter().any(|state| program.replay(space, state).0 == seen(answer).steps);
        assert!(explained, "seed {seed}: {program:?} saw what never was: {answer:?}");
    }
    let last = states.pop().expect("there is a first state");
    let mut left = all_of(engine, space).await;
    left.extend(all_in(engine, space, VOLATILE).await);
    assert_eq!(left, last.into_iter().collect::<Entries>(), "seed {seed}");
}

#[derive(Clone, Debug)]
struct Program {
    partition: u8,
    steps: Vec<Step>,
    refuses: bool,
}

/// What is done to the rows 0 to 7, of which the first half is durable and the other half volatile.
#[derive(Clone, Copy, Debug)]
enum Step {
    Get(u8),
    Scan(u8, u8, usize),
    Last(u8, u8),
    Put(u8, u64),
    Delete(u8),
}

#[derive(Clone, Debug)]
struct Seen {
    stamp: Stamp,
    steps: Vec<Entries>,
}

fn seen(answer: &Result<Seen, Seen>) -> &Seen {
    match answer {
        Ok(seen) | Err(seen) => seen,
    }
}

impl Program {
    fn random(random: &mut Random) -> Self {
        let mut below = |limit: u64| random.next() % limit;
        let mut steps = Vec::new();
        for _ in 0..1 + below(6) {
            let half = 4 * below(2) as u8;
            let (key, other) = (half + below(4) as u8, half + below(4) as u8);
            steps.push(match below(6) {
                0 => Step::Get(key),
                5 => Step::Last(key.min(other), key.max(other) + 1),
                1 => Step::Scan(key.min(other), key.max(other) + 1, 1 + below(4) as usize),
                2 | 3 => Step::Put(key, below(1 << 40)),
                _ => Step::Delete(key),
            });
        }
        Self { partition: below(3) as u8, steps, refuses: below(5) == 0 }
    }

    fn writes(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Put(..) | Step::Delete(..)))
    }

    fn replay(&self, space: Space, state: &BTreeMap<Key, Bytes>) -> (Vec<Entries>, BTreeMap<Key, Bytes>) {
        let mut after = state.clone();
        let steps = self.steps.iter().map(|step| step.apply(space, self.partition, &mut after)).collect();
        (steps, after)
    }

    fn run(&self, space: Space, txn: &mut Txn<'_>) -> Result<Seen, Stop<Seen>> {
        let mut steps = Vec::new();
        for step in &self.steps {
            steps.push(step.run(space, self.partition, txn)?);
        }
        let seen = Seen { stamp: txn.stamp(), steps };
        if self.refuses { Err(Stop::Refused(seen)) } else { Ok(seen) }
    }
}

impl Step {
    fn run(self, space: Space, partition: u8, txn: &mut Txn<'_>) -> Result<Entries, Halt> {
        let here = at(space, &[partition]);
        let key = |n: u8| step_row(&here, n);
        match self {
            Step::Get(n) => Ok(txn.get(&key(n))?.map(|value| (key(n), value)).into_iter().collect()),
            Step::Scan(from, to, limit) => txn.scan(&key(from), &key(to - 1).successor(), limit),
            Step::Last(from, to) => Ok(txn.last(&key(from), &key(to - 1).successor())?.into_iter().collect()),
            Step::Put(n, value) => {
                txn.put(key(n), value.to_be_bytes().to_vec());
                Ok(Vec::new())
            }
            Step::Delete(n) => {
                txn.delete(key(n));
                Ok(Vec::new())
            }
        }
    }

    fn apply(self, space: Space, partition: u8, model: &mut BTreeMap<Key, Bytes>) -> Entries {
        let here = at(space, &[partition]);
        let key = |n: u8| step_row(&here, n);
        let entry = |(key, value): (&Key, &Bytes)| (key.clone(), value.clone());
        match self {
            Step::Get(n) => model.get_key_value(&key(n)).map(entry).into_iter().collect(),
            Step::Scan(from, to, limit) => model.range(key(from)..=key(to - 1)).take(limit).map(entry).collect(),
            Step::Last(from, to) => model.range(key(from)..=key(to - 1)).next_back().map(entry).into_iter().collect(),
            Step::Put(n, value) => {
                model.insert(key(n), value.to_be_bytes().to_vec().into());
                Vec::new()
            }
            Step::Delete(n) => {
                model.remove(&key(n));
                Vec::new()
            }
        }
    }
}

fn step_row(at: &Partition, n: u8) -> Key {
    if n < 4 { row(at, &[n]) } else { volatile_row(at, &[n]) }
}

fn at(space: Space, name: &[u8]) -> Partition {
    Partition::new(space, name.to_vec())
}

/// The suite's own key space: a row begins with the length of its partition's name, and the name.
pub fn layout(key: &Key) -> Option<Partition> {
    let row = key.row();
    let length = usize::from(*row.first()?);
    (row.len() > length).then(|| Partition::new(key.space(), row.slice(1..=length)))
}

fn row(at: &Partition, rest: &[u8]) -> Key {
    at.key(COLUMN, &[&[at.name.len() as u8], &at.name, rest])
}

fn volatile_row(at: &Partition, rest: &[u8]) -> Key {
    at.key(VOLATILE, &[&[at.name.len() as u8], &at.name, rest])
}

/// What of a row is not its partition's name.
fn rest(key: &Key) -> Bytes {
    key.row().slice(1 + usize::from(key.row()[0])..)
}

fn number(value: Option<Bytes>) -> u64 {
    value.map_or(0, |bytes| u64::from_be_bytes(bytes[..].try_into().expect("eight bytes")))
}

async fn commit<T: Send + 'static>(
    engine: &Shared,
    at: Partition,
    decide: impl Fn(&mut Txn<'_>) -> Result<T, Stop<()>> + Send + 'static,
) -> T {
    engine.transact(at, decide).await.expect("no fault").expect("no refusal")
}

async fn put(engine: &Shared, at: Partition, key: Key, value: impl Into<Bytes>) {
    let value = value.into();
    commit(engine, at, move |txn| {
        txn.put(key.clone(), value.clone());
        Ok(())
    })
    .await;
}

async fn put_nothing(engine: &Shared, at: Partition) {
    commit(engine, at, |_| Ok(())).await;
}

async fn get(engine: &Shared, key: &Key) -> Option<Bytes> {
    let at = layout(key).expect("a key of the suite");
    engine.read(&at, |txn| Ok::<_, Stop<()>>(txn.get(key)?)).await.expect("no fault").expect("no refusal")
}

/// What a scan finds, which is what a walk is shown.
async fn scan(engine: &Shared, at: &Partition, from: &Key, to: &Key, limit: usize) -> Entries {
    let both = |txn: &mut Txn<'_>| Ok::<_, Stop<()>>((txn.scan(from, to, limit)?, walk(txn, from, to, limit)?));
    let both = engine.read(at, both).await;
    let (scanned, walked) = both.expect("no fault").expect("no refusal");
    assert_eq!(scanned, walked);
    scanned
}

async fn last(engine: &Shared, at: &Partition, from: &Key, to: &Key) -> Option<(Key, Bytes)> {
    engine.read(at, |txn| Ok::<_, Stop<()>>(txn.last(from, to)?)).await.expect("no fault").expect("no refusal")
}

/// What a walk is shown that ends after `limit` entries.
fn walk(txn: &mut Txn<'_>, from: &Key, to: &Key, limit: usize) -> Result<Entries, Halt> {
    let mut entries = Entries::new();
    txn.walk(from, to, &mut |entry: &Entry<'_>| {
        if entries.len() == limit {
            return ControlFlow::Break(());
        }
        entries.push(entry.keep());
        ControlFlow::Continue(())
    })?;
    Ok(entries)
}

async fn all_of(engine: &Shared, space: Space) -> Entries {
    all_in(engine, space, COLUMN).await
}

async fn all_in(engine: &Shared, space: Space, column: Column) -> Entries {
    let all = Key::new(space, column, &[]);
    let entries = engine.survey(space, |txn| Ok::<_, Stop<()>>(txn.scan(&all, &all.after_prefix(), usize::MAX / 2)?));
    entries.await.expect("no fault").expect("no refusal")
}

async fn join<T: 'static>(mut tasks: JoinSet<T>) -> Vec<T> {
    let mut results = Vec::new();
    while let Some(result) = tasks.join_next().await {
        results.push(result.expect("no task panics"));
    }
    results
}
