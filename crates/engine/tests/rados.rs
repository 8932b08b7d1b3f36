//! The suite over the engine of a cluster, on a pool in memory that delays and loses answers. `crates/rados` runs it on a real one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lazuli_engine::memory::Manners;
use lazuli_engine::rados::{Options, Simulated};
use lazuli_engine::{
    BoxFuture, Clock, Column, Engine, EngineExt, Fault, Job, Key, Partition, Rados, Space, Stamp, Stop, Txn, Verdict,
    suite,
};

fn options(split_rows: usize) -> Options {
    Options { split_rows, tries: 1_000, ..Options::default() }
}

fn gateway(pool: &Simulated, id: u128, clock: Clock, split_rows: usize) -> Arc<dyn Engine> {
    Arc::new(Rados::new(Arc::new(pool.clone()), suite::layout, Arc::new(clock), id, options(split_rows)))
}

fn rough(seed: u64) -> Simulated {
    Simulated::new(Manners::rough(seed))
}

#[tokio::test]
async fn a_pool_on_a_good_day() {
    let pool = Simulated::new(Manners::gentle(1));
    suite::all(gateway(&pool, 1, Clock::system(), 64_000), 1).await;
}

#[tokio::test]
async fn a_pool_of_rough_manners() {
    for seed in 0..60 {
        suite::all(gateway(&rough(seed), 1, Clock::system(), 64_000), seed).await;
    }
}

/// Shards are split all the time, while they are in use.
#[tokio::test]
async fn shards_that_split() {
    for seed in 0..60 {
        let pool = rough(seed);
        suite::all(gateway(&pool, 1, Clock::system(), 10), seed).await;
        let split = pool.objects().iter().filter(|name| name.starts_with("m.")).count();
        assert!(split >= 4, "{split} spaces were split");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn from_many_threads() {
    for seed in 0..10 {
        suite::all(gateway(&rough(seed), 1, Clock::system(), 30), seed).await;
    }
}

/// Gateways whose clocks are five seconds and an hour apart, which write to the same partitions.
#[tokio::test]
async fn gateways_with_clocks_of_their_own() {
    const SECOND: u64 = 10_000_000;
    for seed in 0..20 {
        let pool = rough(seed);
        let gateways: Vec<_> = [3_600, 5, 0]
            .into_iter()
            .enumerate()
            .map(|(n, ahead)| gateway(&pool, n as u128 + 1, Clock::new(move || Stamp(SECOND * (100_000 + ahead))), 20))
            .collect();
        let mut last = Stamp(0);
        for turn in 0..9 {
            last = suite::stamps(&gateways[turn % 3], last).await;
            suite::programs(&gateways[turn % 3], seed * 100 + turn as u64).await;
        }
    }
}

/// Several gateways, which take turns.
struct Round(Vec<Arc<dyn Engine>>, AtomicUsize);

impl Round {
    fn next(&self) -> &Arc<dyn Engine> {
        &self.0[self.1.fetch_add(1, Ordering::Relaxed) % self.0.len()]
    }
}

impl Engine for Round {
    fn submit(&self, at: Partition, job: Box<dyn Job>) {
        self.next().submit(at, job);
    }

    fn look<'a>(
        &'a self,
        at: &'a Partition,
        look: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>> {
        self.next().look(at, look)
    }

    fn scan<'a>(
        &'a self,
        space: Space,
        scan: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>> {
        self.next().scan(space, scan)
    }

    fn now(&self) -> Stamp {
        self.0.iter().map(|gateway| gateway.now()).max().expect("there are gateways")
    }
}

/// What one gateway does, the next sees at once, though each keeps what it has read.
#[tokio::test]
async fn gateways_that_take_turns() {
    for seed in 0..20 {
        let pool = rough(seed);
        let split_rows = if seed % 2 == 0 { 64_000 } else { 12 };
        let gateways = (1..=3).map(|id| gateway(&pool, id, Clock::system(), split_rows)).collect();
        let round: Arc<dyn Engine> = Arc::new(Round(gateways, AtomicUsize::new(0)));
        suite::all(round.clone(), seed).await;
        for turn in 1..=3 {
            suite::programs(&round, seed + 1_000 * turn).await;
        }
    }
}

/// Of a space that is gone, nothing is left, however often it was split.
#[tokio::test]
async fn a_space_is_forgotten() {
    let pool = Simulated::new(Manners::gentle(3));
    let engine = gateway(&pool, 1, Clock::system(), 10);
    suite::surveys(&engine).await;
    let of = |space: u128| pool.objects().iter().filter(|name| name.contains(&format!(".{space:032x}"))).count();
    while of(111) < 4 {
        suite::surveys(&engine).await;
    }
    engine.forget(Space(111));
    while of(111) > 0 {
        tokio::task::yield_now().await;
    }
    suite::surveys(&engine).await;
}

fn counted() -> Key {
    Key::new(Space(77), Column(1), &[b"\x01p"])
}

/// Adds one to a number, and gives what it is then. It begins at the call.
fn add(engine: &Arc<dyn Engine>) -> impl Future<Output = Result<Result<u8, ()>, Fault>> + '_ {
    let key = counted();
    engine.transact((suite::layout)(&key).expect("a partition"), move |txn| {
        let count = txn.get(&key)?.map_or(0, |value| value[0]) + 1;
        txn.put(key.clone(), vec![count]);
        Ok::<_, Stop<()>>(count)
    })
}

/// A decision that only reads rests on what its gateway has kept only if that still holds.
#[tokio::test]
async fn a_decision_that_only_reads_sees_what_another_gateway_wrote() {
    let pool = Simulated::new(Manners::gentle(1));
    let (one, other) = (gateway(&pool, 1, Clock::system(), 64_000), gateway(&pool, 2, Clock::system(), 64_000));
    let key = counted();
    for turn in 1..=10 {
        // The first gateway keeps what it wrote; the other one changes it behind its back.
        assert_eq!(add(&one).await, Ok(Ok(2 * turn - 1)));
        assert_eq!(add(&other).await, Ok(Ok(2 * turn)));
        let key = key.clone();
        let seen = one.transact((suite::layout)(&key).expect("a partition"), move |txn| {
            Ok::<_, Stop<()>>(txn.get(&key)?.map(|value| value[0]))
        });
        assert_eq!(seen.await, Ok(Ok(Some(2 * turn))));
    }
}

/// What a gateway sent before it was fenced, and what it sends afterwards, is not applied.
#[tokio::test]
async fn a_fenced_gateway_writes_nothing() {
    let mut late = 0;
    for seed in 0..200 {
        let pool = rough(seed);
        let of = |id: u128| gateway(&pool.as_client(&id.to_string()), id, Clock::system(), 64_000);
        let (dead, survivor) = (of(1), of(2));
        add(&dead).await.expect("it is alive").expect("nobody refuses");
        // Nobody waits for these, as if the process had been stopped in the middle.
        let pending: Vec<_> = (0..4).map(|_| add(&dead)).collect();
        for _ in 0..seed % 16 {
            tokio::task::yield_now().await;
        }
        survivor.fence(1).await.expect("it is fenced");
        let seen = add(&survivor).await.expect("a survivor").expect("nobody refuses");
        late += pool.late_ones_come();
        for pending in pending {
            if let Ok(Ok(count)) = pending.await {
                assert!(count < seen, "seed {seed}: {count} was answered after {seen}");
            }
        }
        assert!(matches!(add(&dead).await, Err(Fault::Unavailable(_))), "seed {seed}");
        assert_eq!(add(&survivor).await, Ok(Ok(seen + 1)), "seed {seed}");
    }
    assert!(late > 0, "operators came late");
}

/// A gateway that is fenced before it has written anything never writes.
#[tokio::test]
async fn a_gateway_is_fenced_before_it_is_enrolled() {
    let pool = rough(1);
    let (dead, survivor) = (
        gateway(&pool.as_client("1"), 1, Clock::system(), 64_000),
        gateway(&pool.as_client("2"), 2, Clock::system(), 64_000),
    );
    survivor.fence(1).await.expect("it is fenced");
    survivor.fence(1).await.expect("and again");
    assert!(matches!(add(&dead).await, Err(Fault::Unavailable(_))));
    assert_eq!(add(&survivor).await, Ok(Ok(1)));
}

mod content {
    use std::sync::Arc;

    use bytes::{Bytes, BytesMut};
    use lazuli_engine::content::{Content, Piece, Recovery};
    use lazuli_engine::memory::Manners;
    use lazuli_engine::rados::{Objects, Simulated};
    use lazuli_engine::{Clock, Fault, Stamp};

    fn bytes(length: usize) -> Bytes {
        (0..length).map(|n| ((n * 31) >> 3) as u8).collect()
    }

    fn content(pool: &Simulated, id: u128, seconds: u64) -> Objects {
        let clock = Clock::new(move || Stamp(10_000_000 * (1_000_000 + seconds)));
        Objects::new(Arc::new(pool.as_client(&id.to_string())), id, Arc::new(clock))
    }

    async fn read(content: &Objects, piece: Piece, from: u64, to: u64) -> Result<Bytes, Fault> {
        let (mut all, mut chunks) = (BytesMut::new(), content.read(piece, from, to));
        while let Some(chunk) = chunks.next().await? {
            all.extend_from_slice(&chunk);
        }
        Ok(all.freeze())
    }

    /// Whatever its length, and wherever a read begins and ends.
    #[tokio::test]
    async fn what_is_read_is_what_was_written() {
        const STRIPE: usize = 4 << 20;
        let pool = Simulated::new(Manners::rough(1));
        let content = content(&pool, 1, 0);
        for length in [1, 65_536, 65_537, STRIPE - 1, STRIPE, STRIPE + 1, 2 * STRIPE + 70_000] {
            let bytes = bytes(length);
            let mut stage = content.stage(None);
            for part in bytes.chunks(1 << 20) {
                stage.write(Bytes::copy_from_slice(part)).await.unwrap();
            }
            let staged = stage.finish().await.unwrap();
            let [piece] = *staged.pieces() else { panic!("one piece for {length} bytes") };
            staged.adopted();
            for (from, to) in
                [(0, length), (length / 2, length), (0, length / 2), (length - 1, length), (length, length)]
            {
                let found = read(&content, piece, from as u64, to as u64).await.unwrap();
                assert_eq!(found, bytes.slice(from..to), "{from}..{to} of {length}");
            }
        }
    }

    #[tokio::test]
    async fn damage_anywhere_is_noticed() {
        let pool = Simulated::new(Manners::gentle(1));
        let content = content(&pool, 1, 0);
        let mut stage = content.stage(None);
        stage.write(bytes((4 << 20) + 100_000)).await.unwrap();
        let staged = stage.finish().await.unwrap();
        let piece = staged.pieces()[0];
        let other = Piece { seal: piece.seal ^ 1, ..piece };
        assert!(
            matches!(read(&content, other, 0, 10).await, Err(Fault::Corrupt(_))),
            "another piece than the record means"
        );
        for (object, at, from) in [
            ("0000", 5, 0),
            ("0000", 4 << 20, 0),
            ("0001", 99_999, 5 << 20 >> 1),
            ("0001", 100_001, 4 << 20),
            ("index", 3, 0),
        ] {
            let name = format!("c.{:016x}.{object}", piece.extent);
            pool.damage(&name, at);
            let damaged = read(&content, piece, from, piece.length).await;
            assert!(matches!(damaged, Err(Fault::Corrupt(_))), "{object} at {at}: {damaged:?}");
            pool.damage(&name, at);
        }
        assert!(read(&content, piece, 0, piece.length).await.is_ok());
        staged.adopted();
    }

    /// What nobody adopts goes; what a dead gateway left is found by another one, and goes unless a record names it.
    #[tokio::test]
    async fn nothing_is_left_for_ever() {
        let pool = Simulated::new(Manners::gentle(1));
        let first = content(&pool, 1, 0);
        let mut dropped = first.stage(None);
        dropped.write(bytes(5 << 20)).await.unwrap();
        drop(dropped);
        let mut unwanted = first.stage(None);
        unwanted.write(bytes(100)).await.unwrap();
        drop(unwanted.finish().await.unwrap());
        while pool.objects().iter().any(|name| name.starts_with("c.")) {
            tokio::task::yield_now().await;
        }
        let mut pieces = Vec::new();
        for length in [100, 5 << 20] {
            let mut stage = first.stage(None);
            stage.write(bytes(length)).await.unwrap();
            let staged = stage.finish().await.unwrap();
            pieces.extend_from_slice(staged.pieces());
            staged.leave();
        }
        let soon = content(&pool, 2, 30);
        soon.attend().await.unwrap();
        assert_eq!(soon.unsettled(), [0; 0], "a gateway that was heard of lately is alive");
        let later = content(&pool, 3, 700);
        later.attend().await.unwrap();
        let unsettled = later.unsettled();
        assert!(pieces.iter().all(|piece| unsettled.contains(&piece.extent)));
        for extent in unsettled {
            let live = if extent == pieces[0].extent { vec![(0, 100)] } else { Vec::new() };
            later.settle(extent, live).await.unwrap();
        }
        assert_eq!(later.unsettled(), [0; 0]);
        assert_eq!(read(&later, pieces[0], 0, 100).await.unwrap(), bytes(100));
        assert!(pool.objects().iter().filter(|name| name.starts_with("c.")).count() == 1);
        later.attend().await.unwrap();
        assert_eq!(later.unsettled(), [0; 0], "and it is done once");
    }
}
