//! Lists of many blocks, and many writers of blocks under one name.

mod world;

use lazuli_model::Refusal;
use lazuli_model::blob::Search;
use lazuli_store::Failure;
use world::*;

fn id(number: usize) -> String {
    format!("{number:08}")
}

#[tokio::test]
async fn fifty_thousand_blocks_are_committed_at_once() {
    const COUNT: usize = 50_000;
    let world = World::plain();
    world.create("box", 1).await;
    world.sweep().await;
    let before = world.rows();
    for number in 0..COUNT {
        world.put_block("b", &id(number), &pattern(number as u64, 9)).await.unwrap();
    }
    let ids: Vec<String> = (0..COUNT).map(id).collect();
    let list: Vec<(Search, &str)> = ids.iter().map(|id| (Search::Latest, id.as_str())).collect();
    let blob = world.commit("b", &list).await.unwrap();
    assert_eq!((blob.content.length, blob.content.blocks, blob.content.starts.len()), (450_000, 50_000, 50));
    let from = 31_234 * 9;
    assert_eq!(world.get_range("b", None, from, from + 9).await.unwrap(), pattern(31_234, 9));

    let mut long = list.clone();
    long.push(list[0]);
    assert_eq!(world.commit("b", &long).await, Err(Failure::Refused(Refusal::BlockListTooLong)));

    // All of them again, from what is committed, the other way round.
    let backwards: Vec<(Search, &str)> = list.iter().rev().copied().collect();
    world.commit("b", &backwards).await.unwrap();
    world.sweep().await;
    assert_eq!(world.get_range("b", None, 0, 9).await.unwrap(), pattern(49_999, 9));
    world.delete("b", None).await.unwrap();
    world.sweep().await;
    assert_eq!((world.rows(), world.content.size()), (before, 0));
}

/// Small blocks are inline only as far as one transaction can carry them.
#[tokio::test]
async fn inline_blocks_have_a_budget() {
    let world = World::plain();
    world.create("box", 1).await;
    for number in 0..300 {
        world.put_block("b", &id(number), &pattern(number as u64, 16 << 10)).await.unwrap();
    }
    let ids: Vec<String> = (0..300).map(id).collect();
    let list: Vec<(Search, &str)> = ids.iter().map(|id| (Search::Latest, id.as_str())).collect();
    assert_eq!(world.content.size(), 44 * (16 << 10), "256 are inline, the rest is not");
    world.commit("b", &list).await.unwrap();
    let whole: Vec<u8> = (0..300).flat_map(|number| pattern(number, 16 << 10)).collect();
    assert!(world.get("b", None).await.unwrap() == whole);
}

/// Someone keeps putting blocks while another commits: the commit gets through, with the blocks it names.
#[tokio::test]
async fn a_commit_gets_through_among_writers_of_blocks() {
    for seed in 0..20 {
        let world = World::distributed(seed);
        world.create("box", 1).await;
        world.put_block("b", &id(0), &pattern(0, 50_000)).await.unwrap();
        let writing = async {
            for number in 1..60 {
                world.put_block("b", &id(number), &pattern(number as u64, 10)).await.unwrap();
            }
        };
        let committing = async { world.commit("b", &[(Search::Latest, &id(0))]).await.unwrap() };
        let ((), blob) = tokio::join!(writing, committing);
        assert_eq!(blob.content.length, 50_000);
        world.sweep().await;
        assert_eq!(world.get("b", None).await.unwrap(), pattern(0, 50_000), "seed {seed}");
    }
}
