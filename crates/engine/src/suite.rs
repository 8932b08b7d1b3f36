//! What every engine must do, as one suite that each of them runs (`tests/`). A new engine is done when it passes.
//!
//! Each function takes an engine that may hold entries of other spaces, uses a space of its own, and panics on the first
//! thing that is not as promised. All of them run on any tokio runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::task::{JoinSet, yield_now};

use crate::memory::Random;
use crate::{Column, Engine, EngineExt, Entry, Fault, Halt, Key, Partition, Space, Stamp, Stop, Txn};

const COLUMN: Column = Column(1);

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
    dropped_caller(&engine).await;
    panics(&engine).await;
    stamps(&engine, Stamp(0)).await;
    programs(&engine, seed).await;
}

/// A transaction's result comes back, and what it wrote is there to be read, and to be deleted.
pub async fn answers(engine: &Shared) {
    let space = Space(101);
    let key = row(space, b"a");
    let put = key.clone();
    let answer = commit(engine, at(space, b"a"), move |txn| {
        txn.put(put.clone(), "one");
        Ok(txn.get(&put)?)
    });
    assert_eq!(answer.await, Some("one".into()));
    assert_eq!(get(engine, &key).await, Some("one".into()));
    let gone = key.clone();
    commit(engine, at(space, b"a"), move |txn| {
        txn.delete(gone.clone());
        Ok(())
    })
    .await;
    assert_eq!(get(engine, &key).await, None);
    let empty = row(space, b"e");
    let put = empty.clone();
    commit(engine, at(space, b"e"), move |txn| {
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
            let key = row(space, &[n]);
            let answer = engine.transact(at(space, &[n % 3]), move |txn| {
                txn.put(key.clone(), vec![n]);
                if n % 2 == 1 { Err(Stop::Refused(n)) } else { Ok(n) }
            });
            let expected = if n % 2 == 1 { Err(n) } else { Ok(n) };
            assert_eq!(answer.await, Ok(expected));
        });
    }
    join(tasks).await;
    let kept = all_of(engine, space).await;
    let expected: Entries = (0..60).step_by(2).map(|n| (row(space, &[n]), vec![n].into())).collect();
    assert_eq!(kept, expected);
}

/// Scans are half open, in key order, limited, and end with their space.
pub async fn ranges(engine: &Shared) {
    let space = Space(103);
    for n in [b'c', b'a', b'e', b'd', b'b'] {
        put(engine, at(space, b"p"), row(space, &[n]), vec![n]).await;
    }
    put(engine, at(Space(104), b"p"), row(Space(104), b"b"), vec![0]).await;
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
        let found = scan(engine, &row(space, from.as_bytes()), &row(space, to.as_bytes()), limit).await;
        let rows: Vec<u8> = found.iter().map(|(key, _)| key.row()[0]).collect();
        assert_eq!(rows, expected.as_bytes(), "{from:?}..{to:?} limit {limit}");
        assert!(found.iter().all(|(key, value)| key.row() == *value && key.space() == space));
    }
    assert_eq!(all_of(engine, space).await.len(), 5);
    let long = Space(120);
    commit(engine, at(long, b"p"), move |txn| {
        (0..2500_u16).for_each(|n| txn.put(row(long, &n.to_be_bytes()), n.to_be_bytes().to_vec()));
        Ok(())
    })
    .await;
    let all = all_of(engine, long).await;
    assert!(all.len() == 2500 && all.iter().all(|(key, value)| key.row() == *value));
}

/// A transaction sees its own writes, in gets and in scans, over those of the one before it.
pub async fn own_writes(engine: &Shared) {
    let space = Space(105);
    for n in [b'a', b'c', b'e', b'g'] {
        put(engine, at(space, b"p"), row(space, &[n]), "old").await;
    }
    let seen = commit(engine, at(space, b"p"), move |txn| {
        txn.put(row(space, b"b"), "new");
        txn.put(row(space, b"c"), "new");
        txn.delete(row(space, b"e"));
        txn.delete(row(space, b"f"));
        let all = txn.scan(&row(space, b"a"), &row(space, b"z"), 9)?;
        let three = txn.scan(&row(space, b"a"), &row(space, b"z"), 3)?;
        assert_eq!(three, all[..3]);
        let walked = walk(txn, &row(space, b"a"), &row(space, b"z"), 9)?;
        let one_by_one = [b"a", b"b", b"c", b"e", b"f", b"g"].map(|n| txn.get(&row(space, n)).map(|got| got.is_some()));
        Ok((all, walked, one_by_one))
    });
    let (all, walked, one_by_one) = seen.await;
    assert_eq!(walked, all);
    let text: Vec<_> = all.iter().map(|(key, value)| (key.row(), value.clone())).collect();
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
        tasks.spawn(async move {
            commit(&engine, at(space, &partition), move |txn| {
                runs.fetch_add(1, Ordering::Relaxed);
                let count = number(txn.get(&row(space, &partition))?) + 1;
                txn.put(row(space, &partition), count.to_be_bytes().to_vec());
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
    let space = Space(107);
    let (left, right) = (row(space, b"left"), row(space, b"right"));
    let mut tasks = JoinSet::new();
    for n in 0..80_u64 {
        let (engine, left, right) = (engine.clone(), left.clone(), right.clone());
        tasks.spawn(async move {
            if n % 2 == 0 {
                commit(&engine, at(space, b"both"), move |txn| {
                    // A decision may run on reads of two moments; only what it finally says has to rest on one.
                    let whole = txn.get(&left)? == txn.get(&right)?;
                    txn.put(left.clone(), n.to_be_bytes().to_vec());
                    txn.put(right.clone(), n.to_be_bytes().to_vec());
                    Ok(whole)
                })
                .await
            } else {
                let seen = engine.read(|txn| Ok::<_, Stop<()>>((txn.get(&left)?, txn.get(&right)?)));
                let (left, right) = seen.await.unwrap().unwrap();
                left == right
            }
        });
    }
    assert!(join(tasks).await.into_iter().all(|whole| whole));
}

/// A caller that has gone away changes nothing: what it submitted commits.
pub async fn dropped_caller(engine: &Shared) {
    let space = Space(108);
    let key = row(space, b"a");
    let put = key.clone();
    drop(engine.transact(at(space, b"a"), move |txn| {
        txn.put(put.clone(), "done");
        Ok::<_, Stop<()>>(())
    }));
    // Engines that keep the order of submission have committed it when this one is answered; others soon.
    for _ in 0..100_000 {
        put_nothing(engine, at(space, b"a")).await;
        if get(engine, &key).await.is_some() {
            return;
        }
        yield_now().await;
    }
    panic!("a transaction was lost with its caller");
}

/// A decision that panics is answered with a fault, writes nothing, and takes nobody with it.
pub async fn panics(engine: &Shared) {
    let space = Space(109);
    let key = row(space, b"a");
    let put = key.clone();
    let answer = engine.transact(at(space, b"a"), move |txn| {
        txn.put(put.clone(), "half");
        if txn.get(&put)?.is_some() {
            panic!("on purpose: a decision of the suite");
        }
        Ok::<_, Stop<()>>(())
    });
    assert!(matches!(answer.await, Err(Fault::Unavailable(_))));
    assert_eq!(get(engine, &key).await, None);
    put_nothing(engine, at(space, b"a")).await;
}

/// Stamps of a partition strictly increase, from `after` on, and agree with `now` and with the order of commits.
/// Gives the last one back, for a reopened engine to go on from.
pub async fn stamps(engine: &Shared, after: Stamp) -> Stamp {
    let space = Space(110);
    let mut last = after;
    for _ in 0..50 {
        let stamp = commit(engine, at(space, b"one"), move |txn| {
            txn.put(row(space, b"last"), txn.stamp().0.to_be_bytes().to_vec());
            Ok(txn.stamp())
        })
        .await;
        assert!(stamp > last && engine.now() >= stamp);
        last = stamp;
    }
    let mut tasks = JoinSet::new();
    for _ in 0..50 {
        let engine = engine.clone();
        tasks.spawn(async move {
            commit(&engine, at(space, b"one"), move |txn| {
                let before = number(txn.get(&row(space, b"last"))?);
                txn.put(row(space, b"last"), txn.stamp().0.to_be_bytes().to_vec());
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
    assert_eq!(all_of(engine, space).await, last.into_iter().collect::<Entries>(), "seed {seed}");
}

#[derive(Clone, Debug)]
struct Program {
    partition: u8,
    steps: Vec<Step>,
    refuses: bool,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Get(u8),
    Scan(u8, u8, usize),
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
            let (key, other) = (below(8) as u8, below(8) as u8);
            steps.push(match below(5) {
                0 => Step::Get(key),
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
        let key = |n: u8| row(space, &[partition, n]);
        match self {
            Step::Get(n) => Ok(txn.get(&key(n))?.map(|value| (key(n), value)).into_iter().collect()),
            Step::Scan(from, to, limit) => txn.scan(&key(from), &key(to), limit),
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
        let key = |n: u8| row(space, &[partition, n]);
        let entry = |(key, value): (&Key, &Bytes)| (key.clone(), value.clone());
        match self {
            Step::Get(n) => model.get_key_value(&key(n)).map(entry).into_iter().collect(),
            Step::Scan(from, to, limit) => model.range(key(from)..key(to)).take(limit).map(entry).collect(),
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

fn at(space: Space, name: &[u8]) -> Partition {
    Partition::new(space, name.to_vec())
}

fn row(space: Space, row: &[u8]) -> Key {
    Key::new(space, COLUMN, &[row])
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
    engine.read(|txn| Ok::<_, Stop<()>>(txn.get(key)?)).await.expect("no fault").expect("no refusal")
}

/// What a scan finds, which is what a walk is shown.
async fn scan(engine: &Shared, from: &Key, to: &Key, limit: usize) -> Entries {
    let both = engine.read(|txn| Ok::<_, Stop<()>>((txn.scan(from, to, limit)?, walk(txn, from, to, limit)?))).await;
    let (scanned, walked) = both.expect("no fault").expect("no refusal");
    assert_eq!(scanned, walked);
    scanned
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
    let first = row(space, b"");
    scan(engine, &first, &first.after_prefix(), usize::MAX / 2).await
}

async fn join<T: 'static>(mut tasks: JoinSet<T>) -> Vec<T> {
    let mut results = Vec::new();
    while let Some(result) = tasks.join_next().await {
        results.push(result.expect("no task panics"));
    }
    results
}
