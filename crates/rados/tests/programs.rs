//! The store's random programs, which are compared with a plain reference, by two gateways on a real cluster in turns. What they are is in the
//! store's own tests; these run them here, where librados may be linked. Those tests are in this binary too, so name what you want:
//!
//!     eval "$(conformance/ceph env)" && cargo test -p lazuli-rados --features cluster --test programs by_two_gateways

#![expect(clippy::duplicate_mod, reason = "each of the store's test files has its own world")]

#[path = "../../store/tests/lake.rs"]
mod lake;
mod pool;
#[path = "../../store/tests/reference.rs"]
mod reference;
#[path = "../../store/tests/share_programs.rs"]
mod share_programs;
#[path = "../../store/tests/tables.rs"]
mod tables;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lazuli_engine::rados::{Objects, Options};
use lazuli_engine::{Clock, Rados, Stamp};
use lazuli_store::Store;
use pool::{Apart, unique};

const START: u64 = 638_000_000_000_000_000;
const SEEDS: u64 = 2;
/// So few rows in a shard that programs meet splits all the time.
const SPLIT_ROWS: usize = 40;

struct Gateways {
    stores: Vec<Store>,
    ticks: Arc<AtomicU64>,
    pool: Apart,
}

/// Two gateways, each with a connection of its own, that go by one clock.
fn gateways() -> Gateways {
    let (ticks, pool) = (Arc::new(AtomicU64::new(START)), Apart::new());
    let stores = [pool.beside(), pool.beside()].map(|pool| {
        let (wall, pool, id) = (ticks.clone(), Arc::new(pool), unique());
        let clock = Arc::new(Clock::new(move || Stamp(wall.load(Ordering::Relaxed))));
        let options = Options { split_rows: SPLIT_ROWS, ..Options::default() };
        let engine = Rados::new(pool.clone(), lazuli_store::layout, clock.clone(), id, options);
        Store::new(Arc::new(engine), Arc::new(Objects::new(pool, id, clock))).shared_as(id)
    });
    Gateways { stores: stores.into(), ticks, pool }
}

/// All was deleted and swept, so no object with content is left. Deletes go on in the background.
#[expect(clippy::disallowed_methods, reason = "waits for what goes on in the background")]
async fn assert_bare(pool: &Apart) {
    for _ in 0..200 {
        if pool.content().is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("objects are left: {:?}", pool.content());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blobs_by_two_gateways() {
    for seed in 0..SEEDS {
        let Gateways { stores, ticks, pool } = gateways();
        reference::program_in_turns(stores, ticks, 3000 + seed, 80).await;
        assert_bare(&pool).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shares_by_two_gateways() {
    for seed in 0..SEEDS {
        let Gateways { stores, ticks, pool } = gateways();
        share_programs::program_in_turns(stores, ticks, 3000 + seed, 60).await;
        assert_bare(&pool).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lakes_by_two_gateways() {
    for seed in 0..SEEDS {
        let Gateways { stores, ticks, pool } = gateways();
        lake::program_in_turns(stores, ticks, 3000 + seed, 60).await;
        assert_bare(&pool).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_by_two_gateways() {
    for seed in 0..SEEDS {
        tables::program_in_turns(gateways().stores, 3000 + seed, 150).await;
    }
}
