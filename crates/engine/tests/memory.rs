//! The suite over the plain map, and over the map with a cluster's manners.

use std::sync::Arc;

use lazuli_engine::memory::Manners;
use lazuli_engine::{Clock, Column, Engine, EngineExt, Key, Memory, Partition, Space, Stamp, Stop, suite};

#[tokio::test]
async fn the_plain_map() {
    for seed in 0..20 {
        suite::all(Arc::new(Memory::new()), seed).await;
        suite::all(Arc::new(Memory::laid_out(suite::layout, Clock::system())), seed).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_plain_map_from_many_threads() {
    for seed in 0..20 {
        suite::all(Arc::new(Memory::new()), seed).await;
    }
}

#[tokio::test]
async fn a_cluster_of_rough_manners() {
    for seed in 0..200 {
        suite::all(Arc::new(cluster(seed)), seed).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_cluster_of_rough_manners_from_many_threads() {
    for seed in 0..50 {
        suite::all(Arc::new(cluster(seed)), seed).await;
    }
}

fn cluster(seed: u64) -> Memory {
    Memory::distributed_with(Manners::rough(seed), suite::layout, Clock::system())
}

#[tokio::test]
async fn a_process_that_starts_anew_has_no_volatile_rows() {
    let memory = Memory::laid_out(suite::layout, Clock::system());
    let engine: Arc<dyn Engine> = Arc::new(memory.gateway(Clock::system()));
    suite::all(engine.clone(), 1).await;
    suite::before_restart(&engine).await;
    let restarted: Arc<dyn Engine> = Arc::new(memory.restarted(Clock::system()));
    suite::after_restart(&restarted).await;
}

/// In a cluster volatile rows outlive the gateway that wrote them: another one sees them and ends them, in transactions.
#[tokio::test]
async fn a_gateway_that_dies_leaves_its_volatile_rows_to_the_others() {
    let handle = |n: u8| Key::new(Space(1), Column::volatile(b'O'), &[&[1], b"p", &[n]]);
    let count = Key::new(Space(1), Column::volatile(b'K'), &[&[1], b"p"]);
    for seed in 0..20 {
        let here = Partition::new(Space(1), "p");
        let survivor = cluster(seed);
        let dying = survivor.gateway(Clock::system());
        for n in 0..5_u8 {
            let (put, count) = (handle(n), count.clone());
            let opened = dying.transact(here.clone(), move |txn| {
                let before = txn.get(&count)?.map_or(0, |count| count[0]);
                txn.put(put.clone(), "the gateway that dies");
                txn.put(count.clone(), vec![before + 1]);
                Ok::<_, Stop<()>>(())
            });
            opened.await.expect("no fault").expect("no refusal");
        }
        drop(dying);
        for n in 0..5_u8 {
            let (gone, count) = (handle(n), count.clone());
            let left = survivor.transact(here.clone(), move |txn| {
                assert_eq!(txn.get(&gone)?.as_deref(), Some(&b"the gateway that dies"[..]));
                let left = txn.get(&count)?.map_or(0, |count| count[0]) - 1;
                txn.delete(gone.clone());
                if left == 0 {
                    txn.delete(count.clone())
                } else {
                    txn.put(count.clone(), vec![left])
                }
                Ok::<_, Stop<()>>(left)
            });
            assert_eq!(left.await, Ok(Ok(4 - n)));
        }
        assert_eq!(survivor.entries(), []);
    }
}

/// Gateways whose clocks are five seconds and an hour apart: stamps of a partition grow whichever gateway writes, nobody spins until
/// its clock has caught up, and what one wrote the others see.
#[tokio::test]
async fn gateways_with_clocks_of_their_own() {
    const SECOND: u64 = 10_000_000;
    for seed in 0..40 {
        let first = cluster(seed);
        let gateways =
            [3_600, 5, 0].map(|ahead| Arc::new(first.gateway(Clock::new(move || Stamp(SECOND * (100_000 + ahead))))));
        // The first one that writes is an hour ahead, and the others have never looked: nobody tries in vain.
        let mut last = Stamp(0);
        for gateway in &gateways {
            let key = Key::new(Space(9), Column(1), &[&[1], b"p"]);
            let written = gateway.transact(Partition::new(Space(9), "p"), move |txn| {
                txn.put(key.clone(), "value");
                Ok::<_, Stop<()>>(txn.stamp())
            });
            let stamp = written.await.expect("a gateway that is behind gets through").expect("no refusal");
            assert!(stamp > last);
            last = stamp;
        }
        let mut last = Stamp(0);
        for turn in 0..9 {
            let gateway: Arc<dyn Engine> = gateways[turn % 3].clone();
            last = suite::stamps(&gateway, last).await;
            suite::programs(&gateway, seed * 100 + turn as u64).await;
        }
    }
}

#[tokio::test]
async fn a_clock_that_stands_still() {
    let manners = Manners { conflict_percent: 40, lost_percent: 40, ..Manners::rough(7) };
    suite::all(Arc::new(Memory::distributed_with(manners, suite::layout, Clock::new(|| Stamp(1)))), 7).await;
    suite::all(Arc::new(Memory::with_clock(Clock::new(|| Stamp(1)))), 7).await;
}

#[test]
fn a_seed_is_a_whole_story() {
    let tell = |seed| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let engine =
                Arc::new(Memory::distributed_with(Manners::rough(seed), suite::layout, Clock::new(|| Stamp(1))));
            suite::programs(&(engine.clone() as Arc<dyn lazuli_engine::Engine>), 1).await;
            engine.entries()
        })
    };
    assert_eq!(tell(3), tell(3));
    assert!((0..10).any(|seed| tell(seed) != tell(3)), "another seed tells another");
}
