//! Tiers, protection, expiry and customers' keys, on both kinds of engine: what is refused, what goes by itself, what is left.

mod world;

use bytes::Bytes;
use lazuli_model::blob::*;
use lazuli_model::container::DeleteContainer;
use lazuli_model::{Conditions, Refusal};
use lazuli_store::{CustomerKey, Failure, ListBlobs};
use world::*;

const BIG: usize = 50_000;

fn worlds() -> impl Iterator<Item = World> {
    (0..10).map(|seed| if seed == 0 { World::plain() } else { World::distributed(seed) })
}

fn refused<T>(refusal: Refusal) -> Result<T, Failure> {
    Err(Failure::Refused(refusal))
}

fn tier(to: Tier) -> SetBlobTier {
    SetBlobTier { which: Which::Current, tier: to, priority: None, conditions: Conditions::default(), lease: None }
}

#[tokio::test]
async fn a_blob_comes_back_from_the_archive_by_itself() {
    for world in worlds() {
        world.create("box", 1).await;
        world.put("b", &pattern(1, BIG)).await.unwrap();
        let at = blob("b");
        assert_eq!(world.store.set_blob_tier(&at, tier(Tier::Archive)).await, Ok(TierChange::Done));
        assert_eq!(world.get("b", None).await, refused(Refusal::BlobArchived));
        assert_eq!(world.store.set_blob_tier(&at, tier(Tier::Cool)).await, Ok(TierChange::Pending));
        assert_eq!(world.get("b", None).await, refused(Refusal::BlobBeingRehydrated));
        assert_eq!(world.store.set_blob_tier(&at, tier(Tier::Hot)).await, refused(Refusal::BlobBeingRehydrated));
        world.advance_seconds(Rehydration::DEFAULT.standard_seconds + 1);
        assert_eq!(world.get("b", None).await.unwrap(), pattern(1, BIG));
        assert_eq!(world.store.set_blob_tier(&at, tier(Tier::Hot)).await, Ok(TierChange::Done));
        let shown = world.store.blob(&at, ReadBlob::default()).await.unwrap();
        assert_eq!((shown.tier, shown.rehydrating), (Some(Tier::Hot), None));
    }
}

#[tokio::test]
async fn an_expired_blob_is_gone_at_once_and_swept_later() {
    for mut world in worlds() {
        world.create("box", 1).await;
        world.sweep().await;
        let before = world.rows();
        let expire = |milliseconds| SetBlobExpiry { expiry: Expiry::RelativeToNow(milliseconds), lease: None };
        for name in ["kept", "met", "swept"] {
            world.put(name, &pattern(1, BIG)).await.unwrap();
            world.snapshot(name).await;
            world.store.set_blob_expiry(&blob(name), expire(5_000)).await.unwrap();
        }
        world.store.set_blob_expiry(&blob("kept"), expire(90_000)).await.unwrap();
        world.restart();
        world.advance_seconds(6);
        assert_eq!(world.get("swept", None).await, refused(Refusal::BlobNotFound));
        assert_eq!(names(&world).await, ["kept"]);
        // A name is free as soon as nothing is seen under it.
        let conditions = Conditions { if_none_match: Some(lazuli_model::conditions::Match::Any), ..Default::default() };
        let content = world.receive(&pattern(2, BIG)).await;
        world.store.put_blob(&blob("met"), PutBlob { conditions, ..put_blob() }, content).await.unwrap();
        world.sweep().await;
        assert_eq!(world.get("met", None).await.unwrap(), pattern(2, BIG));
        assert_eq!(world.content.size(), 2 * BIG as u64, "the expired ones went with their snapshots");
        world.advance_seconds(90);
        world.sweep().await;
        assert_eq!(names(&world).await, ["met"]);
        world.delete("met", None).await.unwrap();
        world.sweep().await;
        assert_eq!((world.rows(), world.content.size()), (before, 0));
    }
}

async fn names(world: &World) -> Vec<String> {
    let page = world.store.list_blobs(&container("box"), ListBlobs { most: 10, ..Default::default() }).await.unwrap();
    let name = |entry: &lazuli_store::Entry| match entry {
        lazuli_store::Entry::Blob(item) => item.name.as_str().to_owned(),
        lazuli_store::Entry::Prefix(prefix) => prefix.clone(),
        lazuli_store::Entry::Directory(item) => item.name.as_str().to_owned(),
    };
    page.entries.iter().map(name).collect()
}

#[tokio::test]
async fn what_is_protected_keeps_its_container() {
    for world in worlds() {
        world.create("box", 1).await;
        world.put("b", b"x").await.unwrap();
        let snapshot = world.snapshot("b").await;
        let hold = |which, hold| SetLegalHold { which, hold };
        let delete = async || {
            let delete = DeleteContainer { conditions: Conditions::default(), lease: None };
            world.store.delete_container(&container("box"), delete).await
        };
        world.store.set_legal_hold(&blob("b"), hold(Which::Snapshot(snapshot), true)).await.unwrap();
        assert_eq!(delete().await, refused(Refusal::ContainerHasLegalHold));
        assert_eq!(world.delete_snapshot("b", snapshot).await, refused(Refusal::BlobImmutableDueToLegalHold));
        let both = world.delete("b", Some(DeleteSnapshots::Include)).await;
        assert_eq!(both, refused(Refusal::BlobImmutableDueToLegalHold));
        world.store.set_legal_hold(&blob("b"), hold(Which::Snapshot(snapshot), false)).await.unwrap();

        let until = world.store.now().plus_seconds(60);
        let policy = SetImmutabilityPolicy {
            which: Which::Current,
            policy: Immutability { until, locked: true },
            conditions: Conditions::default(),
        };
        world.store.set_immutability_policy(&blob("b"), policy).await.unwrap();
        assert_eq!(delete().await, refused(Refusal::ContainerImmutabilityPolicyLocked));
        assert_eq!(world.put("b", b"y").await, refused(Refusal::BlobImmutableDueToPolicy));
        world.advance_seconds(61);
        world.put("b", b"y").await.unwrap();
        delete().await.unwrap();
    }
}

/// Every byte of a content that only its owner may read, in one piece, in blocks, inline and in extents.
#[tokio::test]
async fn customers_keys_encrypt_what_is_stored() {
    let (key, other) = (CustomerKey::new([1; 32], [11; 32]), CustomerKey::new([2; 32], [22; 32]));
    let encryption = Encryption::Customer(key.hash());
    for world in worlds() {
        world.create("box", 1).await;
        let mut random = 0_u128;
        let mut receive = async |key: &CustomerKey, bytes: &[u8]| {
            random += 1 << 64;
            let mut body = Parts::of(bytes, 777);
            let lock = Some(key.lock(random));
            world.store.receive_encrypted(&mut body, None, u64::MAX, true, lock).await.unwrap()
        };
        for length in [0, 1, 100, 16 << 10, BIG] {
            let plain = pattern(3, length);
            let received = receive(&key, &plain).await;
            assert_eq!(received.crc64, world.receive(&plain).await.crc64, "digests are of what was sent");
            let put = PutBlob { encryption: encryption.clone(), ..put_blob() };
            world.store.put_blob(&blob("b"), put, received).await.unwrap();
            assert_eq!(world.get("b", None).await, refused(Refusal::BlobUsesCustomerSpecifiedEncryption));
            for (from, to) in [(0, u64::MAX), (1, 17), (33, 99), (length as u64 / 2, length as u64)] {
                let range =
                    from.min(length as u64) as usize..to.min(length as u64).max(from.min(length as u64)) as usize;
                assert_eq!(read(&world, &key, from, to).await.unwrap(), plain[range], "{length}: {from}..{to}");
            }
            let mismatch = refused(Refusal::BlobCustomerSpecifiedEncryptionMismatch);
            assert_eq!(read(&world, &other, 0, 1).await, mismatch);
            let written: Vec<Bytes> = world.engine.entries().into_iter().map(|(_, value)| value).collect();
            let needle = &plain[..length.min(64)];
            let stored =
                written.iter().any(|value| length > 16 && value.windows(needle.len()).any(|part| part == needle));
            assert!(!stored, "the bytes of {length} are in a row as they were sent");
        }
        let block = |id: &str, encryption: &Encryption| PutBlock {
            id: block_id(id),
            encryption: encryption.clone(),
            lease: None,
        };
        for (seed, (id, length)) in [("QUFB", 100), ("QkJC", BIG)].into_iter().enumerate() {
            let received = receive(&key, &pattern(seed as u64, length)).await;
            world.store.put_block(&blob("b"), block(id, &encryption), received).await.unwrap();
        }
        let (at, plain) = (blob("b"), world.receive(b"x").await);
        let mixed = world.store.put_block(&at, block("Q0ND", &Encryption::Service), plain).await;
        assert_eq!(mixed, refused(Refusal::BlobUsesCustomerSpecifiedEncryption));
        let list = [(Search::Latest, "QkJC"), (Search::Latest, "QUFB"), (Search::Latest, "QkJC")];
        assert_eq!(world.commit("b", &list).await, refused(Refusal::BlobUsesCustomerSpecifiedEncryption));
        let put = PutBlockList { encryption: encryption.clone(), ..block_list(&list) };
        world.store.put_block_list(&blob("b"), put).await.unwrap();
        let whole = [pattern(1, BIG), pattern(0, 100), pattern(1, BIG)].concat();
        assert_eq!(read(&world, &key, 0, u64::MAX).await.unwrap(), whole);
        let (from, to) = (BIG as u64 - 5, BIG as u64 + 107);
        assert_eq!(read(&world, &key, from, to).await.unwrap(), whole[from as usize..to as usize]);
    }
}

async fn read(world: &World, key: &CustomerKey, from: u64, to: u64) -> Result<Vec<u8>, Failure> {
    let read = ReadBlob { key: Some(key.hash()), ..ReadBlob::default() };
    let mut reader = world.store.open_blob(&blob("b"), read).await?;
    reader.unlock(Some(key.clone()));
    reader.seek(from, to);
    let mut bytes = Vec::new();
    while let Some(part) = reader.next().await? {
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

#[tokio::test]
async fn a_read_is_written_down_once_a_day() {
    for world in worlds() {
        world.create("box", 1).await;
        let put = world.put("b", b"x").await.unwrap();
        let look = async || world.store.blob(&blob("b"), ReadBlob::default()).await.unwrap();
        for (hours, noted) in [(1, false), (24, true), (1, false), (24, true)] {
            world.advance_seconds(hours * 3600);
            let before = look().await;
            world.store.note_access(&blob("b"), Which::Current, &before).await.unwrap();
            let after = look().await;
            assert_eq!(after.last_access() > before.last_access(), noted);
            assert_eq!((after.etag, after.modified), (put.etag, put.modified));
        }
    }
}
