//! Lifecycle policies, carried out over a clock that is moved by hand.

mod world;

use lazuli_model::blob::{ReadBlob, Tier, Which};
use lazuli_model::{AccountName, Refusal};
use lazuli_store::{Failure, LifecycleRounds};
use world::{World, blob};

const DAY: u64 = 24 * 60 * 60;

async fn set(world: &World, changes: &[(&str, &str)]) {
    let changes = changes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    world.store.set_account(&account(), changes).await.unwrap();
}

fn account() -> AccountName {
    blob("x").account
}

/// Runs until there is nothing to do; how many blobs were deleted and moved.
async fn run(world: &World, rounds: &mut LifecycleRounds) -> (u64, u64) {
    let before = (rounds.deleted, rounds.moved);
    while world.store.lifecycle_step(rounds).await.unwrap() {}
    (rounds.deleted - before.0, rounds.moved - before.1)
}

async fn tier(world: &World, name: &str) -> Result<Option<Tier>, Refusal> {
    match world.store.blob(&blob(name), ReadBlob { which: Which::Current, ..ReadBlob::default() }).await {
        Ok(blob) => Ok(blob.tier),
        Err(Failure::Refused(refusal)) => Err(refusal),
        Err(Failure::Broken(fault)) => panic!("{fault:?}"),
    }
}

const POLICY: &str = r#"{"rules":[
    {"name":"age","type":"Lifecycle","definition":{"filters":{"blobTypes":["blockBlob"],"prefixMatch":["box/old"]},
     "actions":{"baseBlob":{"tierToCool":{"daysAfterModificationGreaterThan":2},"delete":{"daysAfterModificationGreaterThan":5}}}}}]}"#;

#[tokio::test]
async fn blobs_grow_cooler_and_go() {
    let world = World::plain();
    world.create("box", 1).await;
    for name in ["old/a", "old/b", "new/c"] {
        world.put(name, b"x").await.unwrap();
    }
    set(&world, &[("lifecycle", POLICY)]).await;
    let mut rounds = LifecycleRounds::default();
    assert_eq!(run(&world, &mut rounds).await, (0, 0));
    world.advance_seconds(3 * DAY);
    assert_eq!(run(&world, &mut rounds).await, (0, 2));
    assert_eq!(tier(&world, "old/a").await, Ok(Some(Tier::Cool)));
    assert_eq!(tier(&world, "new/c").await, Ok(None), "another prefix");
    assert_eq!(run(&world, &mut rounds).await, (0, 0), "once a day");
    // One of them is written anew, and lives on.
    world.put("old/b", b"y").await.unwrap();
    world.advance_seconds(3 * DAY);
    assert_eq!(run(&world, &mut rounds).await, (1, 0));
    assert_eq!(tier(&world, "old/a").await, Err(Refusal::BlobNotFound));
    assert_eq!(tier(&world, "old/b").await, Ok(Some(Tier::Cool)));
}

/// What a crash forgets is where the round was; a new one does what is left.
#[tokio::test]
async fn a_round_begins_again_after_a_restart() {
    let mut world = World::plain();
    world.create("box", 1).await;
    for number in 0..3 {
        world.put(&format!("old/{number}"), b"x").await.unwrap();
    }
    set(&world, &[("lifecycle", POLICY)]).await;
    world.advance_seconds(6 * DAY);
    let mut rounds = LifecycleRounds::default();
    assert!(world.store.lifecycle_step(&mut rounds).await.unwrap(), "a round has begun");
    world.restart();
    assert_eq!(run(&world, &mut LifecycleRounds::default()).await, (3, 0));
    assert_eq!(run(&world, &mut LifecycleRounds::default()).await, (0, 0));
}

#[tokio::test]
async fn snapshots_go_before_their_blob_and_a_policy_can_be_taken_away() {
    let world = World::plain();
    world.create("box", 1).await;
    world.put("b", b"x").await.unwrap();
    world.snapshot("b").await;
    let policy = r#"{"rules":[{"name":"all","type":"Lifecycle","definition":{
        "actions":{"baseBlob":{"delete":{"daysAfterModificationGreaterThan":3}},"snapshot":{"delete":{"daysAfterCreationGreaterThan":6}}}}}]}"#;
    set(&world, &[("lifecycle", policy)]).await;
    let mut rounds = LifecycleRounds::default();
    world.advance_seconds(4 * DAY);
    assert_eq!(run(&world, &mut rounds).await, (0, 0), "a blob with snapshots stays");
    set(&world, &[("lifecycle", "off")]).await;
    world.advance_seconds(4 * DAY);
    assert_eq!(run(&world, &mut rounds).await, (0, 0), "nothing is asked for");
    set(&world, &[("lifecycle", policy)]).await;
    assert_eq!(run(&world, &mut rounds).await, (2, 0));
}
