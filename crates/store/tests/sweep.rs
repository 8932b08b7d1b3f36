//! What operations leave behind is collected to the last row and byte, and nothing that is still named.

mod world;

use lazuli_model::Refusal;
use lazuli_model::blob::{DeleteSnapshots, ReadBlob, Search};
use lazuli_store::Failure;
use world::*;

const BIG: usize = 50_000;
const BLOCK: &str = "QUFB";

async fn fresh(world: &World) -> String {
    world.create("box", 1).await;
    world.sweep().await;
    world.rows()
}

#[tokio::test]
async fn overwritten_and_deleted_blobs_leave_nothing() {
    for seed in 0..20 {
        let world = if seed == 0 { World::plain() } else { World::distributed(seed) };
        let before = fresh(&world).await;
        for (name, length) in [("none", 0), ("small", 100), ("big", BIG)] {
            world.put(name, &pattern(1, length)).await.unwrap();
            world.put(name, &pattern(2, length)).await.unwrap();
            let time = world.snapshot(name).await;
            world.put(name, &pattern(3, length)).await.unwrap();
            world.sweep().await;
            assert_eq!(world.get(name, Some(time)).await.unwrap(), pattern(2, length), "the snapshot has its content");
            assert_eq!(world.get(name, None).await.unwrap(), pattern(3, length));
            world.delete_snapshot(name, time).await.unwrap();
            world.snapshot(name).await;
            assert_eq!(world.delete(name, None).await, Err(Failure::Refused(Refusal::SnapshotsPresent)));
            world.delete(name, Some(DeleteSnapshots::Include)).await.unwrap();
        }
        world.sweep().await;
        assert_eq!((world.rows(), world.content.size()), (before, 0), "seed {seed}");
    }
}

#[tokio::test]
async fn blocks_are_handed_over_or_collected() {
    for seed in 0..20 {
        let world = if seed == 0 { World::plain() } else { World::distributed(seed) };
        let before = fresh(&world).await;
        let ids = ["QUFB", "QkJC", "Q0ND", "RERE"];
        for (seed, id) in ids.iter().enumerate() {
            world.put_block("b", id, &pattern(9, BIG)).await.unwrap();
            world.put_block("b", id, &pattern(seed as u64, BIG)).await.unwrap(); // in place of the one before
        }
        use Search::{Committed, Latest, Uncommitted};
        world.commit("b", &[(Latest, ids[0]), (Uncommitted, ids[1]), (Latest, ids[0])]).await.unwrap();
        world.sweep().await;
        assert_eq!(world.content.size(), 2 * BIG as u64, "two blocks dropped, one named twice");
        let whole = [pattern(0, BIG), pattern(1, BIG), pattern(0, BIG)].concat();
        assert_eq!(world.get("b", None).await.unwrap(), whole);

        // A snapshot keeps the old list while the new one shares a block of it.
        let time = world.snapshot("b").await;
        world.put_block("b", ids[2], &pattern(2, 10)).await.unwrap();
        world.commit("b", &[(Committed, ids[1]), (Latest, ids[2])]).await.unwrap();
        world.sweep().await;
        assert_eq!(world.get("b", Some(time)).await.unwrap(), whole);
        world.delete_snapshot("b", time).await.unwrap();
        world.sweep().await;
        assert_eq!(world.content.size(), BIG as u64);
        assert_eq!(world.get("b", None).await.unwrap(), [pattern(1, BIG), pattern(2, 10)].concat());

        // The same list again, without a snapshot: everything is handed over.
        world.commit("b", &[(Latest, ids[2]), (Latest, ids[1])]).await.unwrap();
        world.sweep().await;
        assert_eq!(world.get("b", None).await.unwrap(), [pattern(2, 10), pattern(1, BIG)].concat());

        world.put_block("b", ids[3], &pattern(3, BIG)).await.unwrap();
        world.delete("b", None).await.unwrap();
        world.sweep().await;
        assert_eq!((world.rows(), world.content.size()), (before, 0), "seed {seed}");
    }
}

#[tokio::test]
async fn a_restart_forgets_hints_but_nothing_to_be_done() {
    let mut world = World::plain();
    let before = fresh(&world).await;
    for number in 0..300 {
        let name = format!("b{number}");
        world.put(&name, &pattern(1, BIG)).await.unwrap();
        world.put_block(&name, BLOCK, &pattern(2, BIG)).await.unwrap();
        world.delete(&name, None).await.unwrap();
    }
    world.restart();
    world.sweep().await;
    assert_eq!((world.rows(), world.content.size()), (before, 0));
}

#[tokio::test]
async fn a_deleted_container_is_emptied_and_then_forgotten() {
    for restart in [false, true] {
        let mut world = World::plain();
        world.create("box", 1).await;
        for number in 0..300 {
            world.put(&format!("b{number}"), &pattern(1, number * 100)).await.unwrap();
        }
        world.snapshot("b200").await;
        world.put("b200", b"").await.unwrap();
        world.put_block("b7", BLOCK, &pattern(2, BIG)).await.unwrap();
        world.drop_container("box").await;
        assert_eq!(world.get("b1", None).await, Err(Failure::Refused(Refusal::ContainerNotFound)));

        world.create("box", 2).await;
        world.put("new", &pattern(4, BIG)).await.unwrap();
        if restart {
            world.restart();
        }
        world.sweep().await;
        assert_eq!((world.rows().as_str(), world.content.size()), ("b1 c1 e1 k1 x1", BIG as u64));
        world.advance_seconds(3600);
        world.sweep().await;
        assert_eq!(world.rows(), "b1 c1 e1 k1");
        assert_eq!(world.get("new", None).await.unwrap(), pattern(4, BIG));
    }
}

#[tokio::test]
async fn uncommitted_blocks_go_after_a_week_without_a_touch() {
    let world = World::plain();
    let before = fresh(&world).await;
    const DAY: u64 = 24 * 60 * 60;
    world.put_block("b", BLOCK, &pattern(1, BIG)).await.unwrap();
    world.advance_seconds(6 * DAY);
    world.put_block("b", "QkJC", &pattern(1, 10)).await.unwrap();
    world.advance_seconds(6 * DAY);
    world.sweep().await;
    assert_eq!(world.store.block_list(&blob("b"), get_block_list()).await.unwrap().uncommitted.len(), 2);
    world.advance_seconds(2 * DAY);
    world.sweep().await;
    let gone = world.store.block_list(&blob("b"), get_block_list()).await.err();
    assert_eq!(gone, Some(Failure::Refused(Refusal::BlobNotFound)));
    assert_eq!((world.rows(), world.content.size()), (before, 0));
}

/// A reader of a manifest with several chunks goes on reading what it opened, whatever is swept meanwhile.
#[tokio::test]
async fn what_is_being_read_is_not_swept() {
    for container_goes in [false, true] {
        let world = World::plain();
        let before = fresh(&world).await;
        let ids: Vec<String> = (0..1500).map(|number| format!("{number:04}")).collect();
        for (number, id) in ids.iter().enumerate() {
            let length = if number % 500 == 0 { BIG } else { 10 };
            world.put_block("b", id, &pattern(number as u64, length)).await.unwrap();
        }
        let list: Vec<(Search, &str)> = ids.iter().map(|id| (Search::Latest, id.as_str())).collect();
        world.commit("b", &list).await.unwrap();
        world.sweep().await;
        let whole = world.get("b", None).await.unwrap();
        assert_eq!(whole.len(), 3 * BIG + 1497 * 10);

        let mut reader = world.store.open_blob(&blob("b"), ReadBlob::default()).await.unwrap();
        reader.seek(0, u64::MAX);
        let mut read = reader.next().await.unwrap().unwrap().to_vec();
        if container_goes {
            world.drop_container("box").await;
        } else {
            world.delete("b", None).await.unwrap();
        }
        world.sweep().await;
        while let Some(part) = reader.next().await.unwrap() {
            read.extend_from_slice(&part);
        }
        assert_eq!(read, whole);
        drop(reader);
        world.sweep().await;
        assert_eq!(world.content.size(), 0);
        if !container_goes {
            assert_eq!(world.rows(), before);
        }
    }
}

/// H3. A reader that stops in the middle keeps the bytes of its own blob, and everybody else's come back.
#[tokio::test]
async fn a_stalled_reader_holds_its_own_content_only() {
    for gone in ["deleted", "overwritten", "container deleted"] {
        let world = World::plain();
        fresh(&world).await;
        let bytes = commit_blocks(&world, "read", 6).await;
        let (mut reader, mut read) = open_and_begin(&world, "read").await;
        for round in 0..12 {
            world.put("other", &pattern(round, BIG)).await.unwrap();
            world.delete("other", None).await.unwrap();
        }
        world.put("beside", &pattern(1, BIG)).await.unwrap();
        let kept = match gone {
            "deleted" => {
                world.delete("read", None).await.unwrap();
                BIG
            }
            "overwritten" => {
                for round in 0..12 {
                    world.put("read", &pattern(round, BIG)).await.unwrap();
                }
                2 * BIG
            }
            _ => {
                world.drop_container("box").await;
                0
            }
        };
        world.sweep().await;
        assert_eq!(world.content.size(), (bytes.len() + kept) as u64, "{gone}");
        while let Some(part) = reader.next().await.unwrap() {
            read.extend_from_slice(&part);
        }
        assert!(read == bytes, "{gone}: the reader goes on with what it opened");
        drop(reader);
        world.sweep().await;
        assert_eq!(world.content.size(), kept as u64, "{gone}: and then its bytes come back, too");
    }
}

/// H3. Blocks that a newer list took over from the one that is being read belong to its reader, too.
#[tokio::test]
async fn a_stalled_reader_holds_what_was_handed_over() {
    let world = World::plain();
    let before = fresh(&world).await;
    let bytes = commit_blocks(&world, "b", 4).await;
    let (mut reader, mut read) = open_and_begin(&world, "b").await;
    let latest = |ids: &[u64]| ids.iter().map(|id| format!("{id:04}")).collect::<Vec<_>>();
    for ids in [latest(&[1, 2, 3]), latest(&[3, 2])] {
        let list: Vec<_> = ids.iter().map(|id| (Search::Latest, id.as_str())).collect();
        world.commit("b", &list).await.unwrap();
        world.sweep().await;
    }
    world.put("b", &pattern(9, BIG)).await.unwrap();
    world.delete("b", None).await.unwrap();
    world.sweep().await;
    assert_eq!(world.content.size(), bytes.len() as u64, "what was put last is gone, all that is read is there");
    while let Some(part) = reader.next().await.unwrap() {
        read.extend_from_slice(&part);
    }
    assert!(read == bytes);
    drop(reader);
    world.sweep().await;
    assert_eq!((world.rows(), world.content.size()), (before, 0));
}

async fn commit_blocks(world: &World, name: &str, count: u64) -> Vec<u8> {
    let ids: Vec<String> = (0..count).map(|number| format!("{number:04}")).collect();
    for (number, id) in ids.iter().enumerate() {
        world.put_block(name, id, &pattern(100 + number as u64, BIG)).await.unwrap();
    }
    let list: Vec<(Search, &str)> = ids.iter().map(|id| (Search::Latest, id.as_str())).collect();
    world.commit(name, &list).await.unwrap();
    world.sweep().await;
    world.get(name, None).await.unwrap()
}

async fn open_and_begin(world: &World, name: &str) -> (lazuli_store::Reader, Vec<u8>) {
    let mut reader = world.store.open_blob(&blob(name), ReadBlob::default()).await.unwrap();
    reader.seek(0, u64::MAX);
    let read = reader.next().await.unwrap().unwrap().to_vec();
    (reader, read)
}
