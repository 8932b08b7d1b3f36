//! Many clients and the sweeper at once, on an engine with the manners of a cluster: readers see whole contents only, and
//! nothing is lost or left over.

mod world;

use lazuli_model::blob::{DeleteSnapshots, Search};
use lazuli_model::{Refusal, Timestamp};
use lazuli_store::Failure;
use world::*;

/// Every content is one byte value throughout, so that a mixture shows.
async fn client(world: &World, seed: u64) {
    let mut random = Random(seed);
    let mut snapshots: Vec<(String, Timestamp)> = Vec::new();
    for _ in 0..25 {
        let name = random.one_of(&["a", "b"]);
        let value = random.next() as u8;
        match random.below(7) {
            0 | 1 => drop(world.put(name, &vec![value; *random.pick(&[10, 20_000, 200_000])]).await.unwrap()),
            2 => {
                let id = random.one_of(&["QUFB", "QkJC"]);
                world.put_block(name, id, &vec![value; *random.pick(&[10, 20_000])]).await.unwrap();
                let committed = world.commit(name, &[(Search::Latest, id), (Search::Latest, id)]).await;
                // Another may have committed or dropped the block in between.
                assert!(matches!(committed, Ok(_) | Err(Failure::Refused(Refusal::InvalidBlockList))), "{committed:?}");
            }
            3 if world.get(name, None).await.is_ok() => {
                let snapshot = lazuli_model::blob::SnapshotBlob {
                    metadata: None,
                    encryption: Default::default(),
                    conditions: Default::default(),
                    lease: None,
                };
                if let Ok((time, _)) = world.store.snapshot_blob(&blob(name), snapshot).await {
                    snapshots.push((name.to_owned(), time));
                }
            }
            4 => drop(world.delete(name, Some(DeleteSnapshots::Include)).await),
            _ => {
                let which = snapshots.pop();
                let (name, time) = which.map_or((name.to_owned(), None), |(name, time)| (name, Some(time)));
                match world.get(&name, time).await {
                    Ok(bytes) => assert!(bytes.windows(2).all(|pair| pair[0] == pair[1]), "one content, or none"),
                    Err(failure) => assert_eq!(failure, Failure::Refused(Refusal::BlobNotFound)),
                }
            }
        }
    }
}

#[tokio::test]
async fn clients_and_the_sweeper_at_once() {
    for seed in 0..60 {
        println!("seed {seed}");
        let world = World::distributed(seed);
        world.create("box", 1).await;
        world.sweep().await;
        let before = world.rows();
        let sweeping = async {
            for _ in 0..200 {
                world.store.sweep_step().await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        tokio::join!(client(&world, seed * 3), client(&world, seed * 3 + 1), client(&world, seed * 3 + 2), sweeping);
        world.sweep().await;
        for name in ["a", "b"] {
            if let Ok(bytes) = world.get(name, None).await {
                assert!(bytes.windows(2).all(|pair| pair[0] == pair[1]));
            }
            world.put(name, b"").await.unwrap();
            world.delete(name, Some(DeleteSnapshots::Include)).await.unwrap();
        }
        world.sweep().await;
        assert_eq!((world.rows(), world.content.size()), (before, 0), "seed {seed}");
    }
}
