//! Object replication between two accounts of one store.

mod world;

use lazuli_model::blob::{Blob, DeleteBlob, Encryption, LeaseBlob, PutBlob, ReadBlob, SetBlobMetadata, Tier, Which};
use lazuli_model::container::CreateContainer;
use lazuli_model::lease::{Action, Length};
use lazuli_model::replication::origin;
use lazuli_model::{AccountName, BlobName, Conditions, ContainerName, LeaseId, Metadata, Refusal, Timestamp};
use lazuli_store::{BlobAt, ContainerAt, Entry, Failure, Include, ListBlobs, ReplicationRounds};
use world::{World, blob, pattern, put_blob};

const POLICY: &str = r#"{"policyId":"p1","sourceAccount":"account","destinationAccount":"other",
    "rules":[{"ruleId":"r1","sourceContainer":"box","destinationContainer":"copy"}]}"#;
const EARLIER: &str = r#"{"policyId":"p1","sourceAccount":"account","destinationAccount":"other",
    "rules":[{"ruleId":"r1","sourceContainer":"box","destinationContainer":"copy","filters":{"prefixMatch":["b"],"minCreationTime":"1601-01-01T00:00:00Z"}}]}"#;

fn other() -> ContainerAt {
    let (account, container) = (AccountName::parse("other").unwrap(), ContainerName::parse("copy").unwrap());
    ContainerAt { account, container }
}

fn copy_at(name: &str) -> BlobAt {
    let ContainerAt { account, container } = other();
    BlobAt { account, container, blob: BlobName::parse(name).unwrap() }
}

async fn set(world: &World, account: &str, changes: &[(&str, &str)]) {
    let changes = changes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    world.store.set_account(&AccountName::parse(account).unwrap(), changes).await.unwrap();
}

/// Both accounts, and the container of the copies. The source's is `box`.
async fn prepare(world: &World, policy: &str) {
    world.create("box", 1).await;
    let create = CreateContainer { id: 2, scope: None, metadata: Metadata::default(), public: Default::default() };
    world.store.create_container(&other(), create).await.unwrap();
    set(world, "account", &[("versioning", "on"), ("change-feed", "on")]).await;
    set(world, "other", &[("versioning", "on"), ("object-replication", policy)]).await;
    set(world, "account", &[("object-replication", policy)]).await;
}

/// Works until nothing is left.
async fn settle(world: &World, rounds: &mut ReplicationRounds) {
    for _ in 0..1000 {
        world.advance_seconds(1);
        if !world.store.replication_step(rounds).await.unwrap() {
            return;
        }
    }
    panic!("there is always more to replicate");
}

async fn record(world: &World, at: &BlobAt) -> Result<Blob, Refusal> {
    match world.store.blob(at, ReadBlob::default()).await {
        Ok(blob) => Ok(blob),
        Err(Failure::Refused(refusal)) => Err(refusal),
        Err(Failure::Broken(fault)) => panic!("{fault:?}"),
    }
}

async fn content(world: &World, at: &BlobAt, which: Which) -> Vec<u8> {
    let mut reader = world.store.open_blob(at, ReadBlob { which, ..ReadBlob::default() }).await.unwrap();
    reader.seek(0, u64::MAX);
    let mut bytes = Vec::new();
    while let Some(part) = reader.next().await.unwrap() {
        bytes.extend_from_slice(&part);
    }
    bytes
}

/// `complete`, `failed` or nothing, of the current blob.
async fn outcome(world: &World, name: &str) -> Option<bool> {
    let blob = record(world, &blob(name)).await.unwrap();
    blob.replication.and_then(|replication| replication.outcomes.first().map(|outcome| outcome.complete))
}

async fn versions(world: &World, at: &ContainerAt) -> Vec<(String, Timestamp)> {
    let include = Include { versions: true, ..Include::default() };
    let list = ListBlobs { most: 5000, include, ..ListBlobs::default() };
    let page = world.store.list_blobs(at, list).await.unwrap();
    let entries = page.entries.into_iter().filter_map(|entry| match entry {
        Entry::Blob(item) => Some((item.name.as_str().to_owned(), item.blob.version.unwrap())),
        Entry::Prefix(_) | Entry::Directory(_) => None,
    });
    entries.collect()
}

fn described(value: &str) -> SetBlobMetadata {
    SetBlobMetadata {
        metadata: Metadata::new(vec![("a".into(), value.into())]).unwrap(),
        encryption: Encryption::Service,
        conditions: Conditions::default(),
        lease: None,
    }
}

#[tokio::test]
async fn writes_metadata_and_deletes_are_followed() {
    let world = World::plain();
    prepare(&world, POLICY).await;
    let mut rounds = ReplicationRounds::default();
    let long = pattern(1, 300_000);
    world.put("small", b"one").await.unwrap();
    world.put("large", &long).await.unwrap();
    assert_eq!(outcome(&world, "small").await, None, "nothing was done yet");
    settle(&world, &mut rounds).await;
    assert_eq!((rounds.copied, rounds.failed), (2, 0));
    assert_eq!(outcome(&world, "small").await, Some(true));
    assert_eq!(content(&world, &copy_at("large"), Which::Current).await, long);
    let source = record(&world, &blob("small")).await.unwrap();
    let copy = record(&world, &copy_at("small")).await.unwrap();
    assert_eq!(
        origin(&copy).map(|origin| (origin.policy.as_str(), origin.version)),
        Some(("p1", source.version.unwrap()))
    );
    assert_ne!(copy.version, source.version, "a copy has a version of its own");
    // A new version, by its content and by its metadata; each is copied.
    world.put("small", b"two").await.unwrap();
    world.store.set_blob_metadata(&blob("small"), described("1")).await.unwrap();
    assert_eq!(outcome(&world, "small").await, None, "a new version");
    settle(&world, &mut rounds).await;
    let copy = record(&world, &copy_at("small")).await.unwrap();
    assert_eq!(copy.metadata.iter().collect::<Vec<_>>(), [("a", "1")]);
    let copies = versions(&world, &other()).await;
    let small: Vec<_> = copies.iter().filter(|(name, _)| name == "small").collect();
    assert_eq!(small.len(), 3);
    assert_eq!(content(&world, &copy_at("small"), Which::Version(small[0].1)).await, b"one");
    // What is deleted keeps its versions at both ends.
    world.delete("small", None).await.unwrap();
    settle(&world, &mut rounds).await;
    assert_eq!(record(&world, &copy_at("small")).await, Err(Refusal::BlobNotFound));
    assert_eq!(versions(&world, &other()).await.len(), 4);
    world.put("small", b"again").await.unwrap();
    settle(&world, &mut rounds).await;
    assert_eq!(content(&world, &copy_at("small"), Which::Current).await, b"again");
    let before = (rounds.copied, rounds.failed);
    settle(&world, &mut rounds).await;
    assert_eq!((rounds.copied, rounds.failed), before, "nothing is left");
}

/// Gives way so often.
async fn turns(count: usize) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

/// Where the engine conflicts and answers late, and steps are broken off anywhere, every version is copied once.
#[tokio::test]
async fn interrupted_steps_copy_nothing_twice() {
    for seed in 0..24 {
        let mut world = World::distributed(seed);
        prepare(&world, POLICY).await;
        for number in 0..6 {
            world.put(&format!("b{}", number % 3), &pattern(number, 40_000)).await.unwrap();
        }
        for count in 0..40 {
            let mut rounds = ReplicationRounds::default();
            tokio::select! {
                biased;
                _ = world.store.replication_step(&mut rounds) => {}
                () = turns(count * (seed as usize + 1)) => {}
            }
            world.advance_seconds(1);
            world.restart();
        }
        settle(&world, &mut ReplicationRounds::default()).await;
        let written = versions(&world, &world::container("box")).await;
        assert_eq!((written.len(), versions(&world, &other()).await.len()), (6, 6), "seed {seed}");
        for name in ["b0", "b1", "b2"] {
            let (from, to) = (blob(name), copy_at(name));
            let same = content(&world, &from, Which::Current).await == content(&world, &to, Which::Current).await;
            assert!(same && outcome(&world, name).await == Some(true), "seed {seed}: {name}");
        }
    }
}

#[tokio::test]
async fn what_was_there_before_is_copied_if_the_rule_says_so() {
    let world = World::plain();
    prepare(&world, POLICY).await;
    set(&world, "account", &[("object-replication", "off")]).await;
    set(&world, "other", &[("object-replication", "off")]).await;
    for name in ["b1", "b2", "a"] {
        world.put(name, name.as_bytes()).await.unwrap();
    }
    world.put("b1", b"newer").await.unwrap();
    let mut rounds = ReplicationRounds::default();
    settle(&world, &mut rounds).await;
    assert!(versions(&world, &other()).await.is_empty());
    set(&world, "other", &[("object-replication", EARLIER)]).await;
    set(&world, "account", &[("object-replication", EARLIER)]).await;
    settle(&world, &mut rounds).await;
    let names: Vec<_> = versions(&world, &other()).await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["b1", "b1", "b2"]);
    assert_eq!(content(&world, &copy_at("b1"), Which::Current).await, b"newer");
    // A look at all of it again finds nothing to do.
    settle(&world, &mut ReplicationRounds::default()).await;
    assert_eq!(versions(&world, &other()).await.len(), 3);
}

#[tokio::test]
async fn what_cannot_be_copied_has_failed() {
    let world = World::plain();
    prepare(&world, POLICY).await;
    let mut rounds = ReplicationRounds::default();
    let put = PutBlob { tier: Some(Tier::Archive), ..put_blob() };
    let body = world.receive(b"x").await;
    world.store.put_blob(&blob("archived"), put, body).await.unwrap();
    world.put("leased", b"1").await.unwrap();
    settle(&world, &mut rounds).await;
    assert_eq!(outcome(&world, "archived").await, Some(false));
    assert_eq!(outcome(&world, "leased").await, Some(true));
    let acquire = Action::Acquire {
        proposed: LeaseId::parse("3f2504e0-4f89-11d3-9a0c-0305e82c3301").unwrap(),
        length: Length::Infinite,
    };
    let lease = LeaseBlob { action: acquire, conditions: Conditions::default() };
    world.store.lease_blob(&copy_at("leased"), lease).await.unwrap();
    world.put("leased", b"2").await.unwrap();
    settle(&world, &mut rounds).await;
    assert_eq!(outcome(&world, "leased").await, Some(false));
    // The destination does not agree any more.
    set(&world, "other", &[("object-replication", "off")]).await;
    world.put("alone", b"3").await.unwrap();
    settle(&world, &mut rounds).await;
    assert_eq!(outcome(&world, "alone").await, Some(false));
    assert_eq!(record(&world, &copy_at("alone")).await, Err(Refusal::BlobNotFound));
}

/// A copy that was deleted where it is stays so until its source changes.
#[tokio::test]
async fn a_copy_that_was_deleted_does_not_come_back_by_itself() {
    let world = World::plain();
    prepare(&world, EARLIER).await;
    let mut rounds = ReplicationRounds::default();
    world.put("b", b"1").await.unwrap();
    settle(&world, &mut rounds).await;
    let delete = DeleteBlob {
        which: Which::Current,
        permanent: false,
        snapshots: None,
        tier: Default::default(),
        conditions: Conditions::default(),
        lease: None,
    };
    world.store.delete_blob(&copy_at("b"), delete).await.unwrap();
    settle(&world, &mut ReplicationRounds::default()).await;
    assert_eq!(record(&world, &copy_at("b")).await, Err(Refusal::BlobNotFound));
    world.put("b", b"2").await.unwrap();
    settle(&world, &mut rounds).await;
    assert_eq!(content(&world, &copy_at("b"), Which::Current).await, b"2");
}
