//! The suite over a real cluster. `conformance/ceph up` makes one; `LAZULI_CEPH_CONF` and `LAZULI_POOL` say where it is.
//!
//!     eval "$(conformance/ceph env)" && cargo test -p lazuli-rados --features cluster

mod pool;

use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::content::{self, Content};
use lazuli_engine::rados::{Found, Objects, Options, Pool, ReadStep, Trouble, WriteStep};
use lazuli_engine::{Clock, Engine, Rados, Stamp, suite};
use lazuli_rados::Cluster;
use pool::{Apart, connect, unique};

fn gateway(pool: &Arc<dyn Pool>, clock: Clock, split_rows: usize) -> Arc<dyn Engine> {
    let options = Options { split_rows, ..Options::default() };
    Arc::new(Rados::new(pool.clone(), suite::layout, Arc::new(clock), unique(), options))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_librados_says() {
    let pool = connect();
    let name = format!("test.{:x}", unique());
    let key = |text: &'static str| Bytes::from_static(text.as_bytes());
    let rows = |limit| {
        vec![ReadStep::Range { after: key("a"), prefix: key(""), limit }, ReadStep::Rows(vec![key("a"), key("x")])]
    };
    assert_eq!(pool.read(&name, rows(1)).await, Err(Trouble::Missing));
    assert_eq!(pool.write(&name, vec![WriteStep::Delete]).await, Err(Trouble::Missing));
    let set = WriteStep::Set(vec![(key("a"), key("1")), (key("b"), Bytes::new()), (key("c"), key("3"))]);
    let absent = WriteStep::Compare { key: key("a"), value: Bytes::new() };
    assert_eq!(pool.write(&name, vec![absent.clone(), set.clone()]).await, Ok(()), "an absent row compares as empty");
    assert_eq!(pool.write(&name, vec![absent, WriteStep::Remove(vec![key("c")])]).await, Err(Trouble::Changed));
    let found = pool.read(&name, rows(1)).await.expect("it is there");
    let expected = vec![
        Found::Rows { rows: vec![(key("b"), Bytes::new())], more: true },
        Found::Rows { rows: vec![(key("a"), key("1"))], more: false },
    ];
    assert_eq!(found.found, expected);
    let same = WriteStep::Compare { key: key("a"), value: key("1") };
    let change =
        vec![same, WriteStep::Clear, WriteStep::Set(vec![(key("d"), key("4"))]), WriteStep::Write(key("bytes"))];
    assert_eq!(pool.write(&name, change).await, Ok(()));
    let steps = vec![
        ReadStep::Keys { after: Bytes::new(), limit: 9 },
        ReadStep::Bytes { offset: 2, length: 9 },
        ReadStep::Bytes { offset: 9, length: 9 },
    ];
    let later = pool.read(&name, steps).await.expect("it is there");
    assert!(later.version > found.version);
    let expected = vec![
        Found::Rows { rows: vec![(key("d"), Bytes::new())], more: false },
        Found::Bytes(key("tes")),
        Found::Bytes(Bytes::new()),
    ];
    assert_eq!(later.found, expected);
    // Nobody waits for these; they happen all the same, and what they use is freed.
    drop(pool.write(&name, vec![WriteStep::Delete]));
    drop(pool.read(&name, vec![ReadStep::Bytes { offset: 0, length: 1 << 20 }]));
    while pool.read(&name, rows(1)).await != Err(Trouble::Missing) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cluster_tells_the_time() {
    let told = connect().time().expect("the monitors answer");
    let here = Clock::system().now();
    assert!(told.0.abs_diff(here.0) < 10 * 10_000_000, "{told:?} there, {here:?} here");
}

/// What a client that was shut out has under way, and what it sends later, is not applied.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_is_shut_out() {
    let (dead, survivor) = (connect(), connect());
    assert_ne!(dead.client(), survivor.client());
    let name = format!("test.{:x}", unique());
    let key = Bytes::from_static(b"a");
    let set = |value: u32| WriteStep::Set(vec![(key.clone(), value.to_string().into())]);
    let found = |pool: &Cluster| pool.read(&name, vec![ReadStep::Rows(vec![key.clone()])]);
    assert_eq!(dead.write(&name, vec![set(0)]).await, Ok(()));
    let under_way: Vec<_> = (1..100).map(|value| dead.write(&name, vec![set(value)])).collect();
    let client = dead.client().expect("it is connected");
    assert_eq!(survivor.shut_out(&client).await, Ok(()));
    let seen = found(&survivor).await.expect("it is there").found;
    for write in under_way {
        let _ = write.await;
    }
    assert_eq!(dead.write(&name, vec![set(1_000)]).await, Err(Trouble::ShutOut));
    assert_eq!(found(&survivor).await.expect("it is there").found, seen);
    assert_eq!(survivor.shut_out(&client).await, Ok(()), "and again");
    assert_eq!(survivor.write(&name, vec![set(2_000)]).await, Ok(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_suite() {
    let pool: Arc<dyn Pool> = Arc::new(Apart::new());
    suite::all(gateway(&pool, Clock::system(), 64_000), 1).await;
}

/// Shards that are split all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_suite_in_small_shards() {
    let pool: Arc<dyn Pool> = Arc::new(Apart::new());
    suite::all(gateway(&pool, Clock::system(), 12), 2).await;
}

/// What one gateway stages, another reads and gives back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_suite_of_content() {
    let pool = Apart::new();
    let gateways =
        [pool.beside(), pool.beside()].map(|pool| Objects::new(Arc::new(pool), unique(), Arc::new(Clock::system())));
    content::suite::all(&[&gateways[0]], 1).await;
    let both: Vec<&dyn Content> = gateways.iter().map(|gateway| gateway as &dyn Content).collect();
    content::suite::all(&both, 2).await;
}

/// Gateways whose clocks are five seconds and an hour apart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gateways_with_clocks_of_their_own() {
    const SECOND: u64 = 10_000_000;
    let pool: Arc<dyn Pool> = Arc::new(Apart::new());
    let gateways =
        [3_600, 5, 0].map(|ahead| gateway(&pool, Clock::new(move || Stamp(SECOND * (100_000 + ahead))), 64_000));
    let mut last = Stamp(0);
    for turn in 0..6 {
        let gateway = &gateways[turn % 3];
        last = suite::stamps(gateway, last).await;
        suite::programs(gateway, turn as u64).await;
    }
}
