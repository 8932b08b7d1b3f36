//! The suite over the engine of a cluster, on a pool in memory that delays and loses answers. `crates/rados` runs it on a real one.

use std::sync::Arc;

use lazuli_engine::memory::Manners;
use lazuli_engine::rados::{Options, Simulated};
use lazuli_engine::{Clock, Engine, Rados, Stamp, suite};

fn options(split_rows: usize) -> Options {
    Options { split_rows, tries: 1_000, ..Options::default() }
}

fn gateway(pool: &Simulated, id: u128, clock: Clock, split_rows: usize) -> Arc<dyn Engine> {
    Arc::new(Rados::new(Arc::new(pool.clone()), suite::layout, clock, id, options(split_rows)))
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
