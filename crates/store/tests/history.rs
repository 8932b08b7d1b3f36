//! What is kept of the past: versions, soft delete, restored containers, and the tags of what is there. On the plain engine
//! and on one with the manners of a cluster; and when all is deleted and swept, nothing is left.

mod world;

use lazuli_model::blob::*;
use lazuli_model::container::DeleteContainer;
use lazuli_model::container::deleted::DeletionVersion;
use lazuli_model::tags::TagSearch;
use lazuli_model::{Conditions, Metadata, Refusal, Tags};
use lazuli_store::{Entry, Failure, FindBlobs, FindInclude, Include, ListBlobs, ListContainers};
use world::*;

const DAY: u64 = 24 * 60 * 60;

impl World {
    async fn set(&self, changes: &[(&str, &str)]) {
        let changes = changes.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        self.store.set_account(&container("box").account, changes).await.unwrap();
    }

    /// What a listing shows: `name`, with `s` or `v` and the place in its order for a snapshot or version, `!` for what is
    /// deleted, `*` for a current version, `~` where only versions are left.
    async fn shown(&self, include: Include) -> String {
        let mut shown = Vec::new();
        let mut marker = None;
        loop {
            // In pages of two, so that every boundary between the columns is one between pages too.
            let list = ListBlobs { include, most: 2, marker, ..ListBlobs::default() };
            let page = self.store.list_blobs(&container("box"), list).await.unwrap();
            for entry in page.entries {
                let Entry::Blob(item) = entry else { panic!("a prefix") };
                let kind = match (item.snapshot, item.blob.previous && !item.versions_only) {
                    (Some(_), _) => " s",
                    (None, true) => " v",
                    (None, false) => "",
                };
                let current = item.blob.version.is_some() && !item.blob.previous && item.snapshot.is_none();
                shown.push(format!(
                    "{}{kind}{}{}{}",
                    item.name.as_str(),
                    if item.blob.deleted.is_some() { "!" } else { "" },
                    if current { "*" } else { "" },
                    if item.versions_only { "~" } else { "" },
                ));
            }
            marker = page.next;
            if marker.is_none() {
                return shown.join(", ");
            }
        }
    }

    async fn text(&self, name: &str, which: Which) -> Result<String, Failure> {
        let mut reader = self.store.open_blob(&blob(name), ReadBlob { which, ..ReadBlob::default() }).await?;
        reader.seek(0, u64::MAX);
        let mut bytes = Vec::new();
        while let Some(part) = reader.next().await? {
            bytes.extend_from_slice(&part);
        }
        Ok(String::from_utf8(bytes).unwrap())
    }

    async fn remove(&self, name: &str, which: Which, permanent: bool) -> Result<bool, Failure> {
        let snapshots = None;
        let (conditions, lease) = (Conditions::default(), None);
        self.store
            .delete_blob(
                &blob(name),
                DeleteBlob { which, permanent, snapshots, tier: Default::default(), conditions, lease },
            )
            .await
    }

    async fn tagged(&self, name: &str, tags: &str) {
        let put = PutBlob { tags: Tags::parse_query(tags).unwrap(), ..put_blob() };
        let content = self.receive(b"x").await;
        self.store.put_blob(&blob(name), put, content).await.unwrap();
    }

    async fn found(&self, text: &str, most: u32) -> String {
        self.found_with(text, most, FindInclude::default()).await
    }

    /// Previous versions end with `-`, the current one with `+`, what was deleted with `!`.
    async fn found_with(&self, text: &str, most: u32, include: FindInclude) -> String {
        let mut found = Vec::new();
        let mut marker = None;
        loop {
            let find = FindBlobs { search: TagSearch::parse(text).unwrap(), container: None, marker, most, include };
            let page = self.store.find_blobs(&container("box").account, find).await.unwrap();
            assert!(page.blobs.len() <= most as usize);
            found.extend(page.blobs.iter().map(|found| {
                let mark = match (found.version, found.is_current, found.is_deleted) {
                    (_, _, true) => "!",
                    (Some(_), true, false) => "+",
                    (Some(_), false, false) => "-",
                    (None, _, false) => "",
                };
                format!("{}/{}{mark}", found.container.as_str(), found.name.as_str())
            }));
            marker = page.next;
            if marker.is_none() {
                return found.join(" ");
            }
        }
    }
}

fn refused<T: std::fmt::Debug>(got: Result<T, Failure>, want: Refusal) {
    match got {
        Err(Failure::Refused(refusal)) => assert_eq!(refusal, want),
        other => panic!("{other:?} instead of {want:?}"),
    }
}

const VERSIONS: Include = Include {
    versions: true,
    snapshots: true,
    deleted: true,
    versions_only: true,
    uncommitted: false,
    deleted_only: false,
};

fn worlds() -> impl Iterator<Item = World> {
    std::iter::once(World::plain()).chain((0..6).map(World::distributed))
}

#[tokio::test]
async fn versions_come_and_go() {
    for world in worlds() {
        world.create("box", 1).await;
        world.put("a", b"before").await.unwrap();
        world.set(&[("versioning", "on")]).await;
        let created = world.store.blob(&blob("a"), ReadBlob::default()).await.unwrap().created;

        // What was there before has the time of its creation for an id.
        let second = world.put("a", b"second").await.unwrap().version.unwrap();
        assert_eq!(world.text("a", Which::Version(created)).await.unwrap(), "before");
        let metadata = Metadata::new(vec![("k".into(), "v".into())]).unwrap();
        let set = SetBlobMetadata {
            metadata: metadata.clone(),
            encryption: Default::default(),
            conditions: Conditions::default(),
            lease: None,
        };
        let third = world.store.set_blob_metadata(&blob("a"), set).await.unwrap().version.unwrap();
        let read = |which| ReadBlob { which, ..ReadBlob::default() };
        let older = world.store.blob(&blob("a"), read(Which::Version(second))).await.unwrap();
        assert!(older.previous && older.metadata.is_empty());
        let current = world.store.blob(&blob("a"), read(Which::Version(third))).await.unwrap();
        assert!(!current.previous && current.metadata == metadata);
        assert_eq!(world.text("a", Which::Current).await.unwrap(), "second");
        assert_eq!(world.shown(VERSIONS).await, "a v, a v, a*");

        // The current one does not go by its id, and not before its time.
        refused(world.remove("a", Which::Version(third), false).await, Refusal::OperationNotAllowedOnRootBlob);
        assert!(world.remove("a", Which::Version(created), false).await.unwrap(), "gone for good");
        refused(world.text("a", Which::Version(created)).await, Refusal::BlobNotFound);
        assert!(!world.remove("a", Which::Current, false).await.unwrap(), "it is a version now");
        refused(world.text("a", Which::Current).await, Refusal::BlobNotFound);
        assert_eq!(world.text("a", Which::Version(third)).await.unwrap(), "second");
        assert_eq!(world.shown(VERSIONS).await, "a v, a v, a~");
        assert_eq!(world.shown(Include::default()).await, "");

        // Where only versions are left, the newest of them is shown, until there is none.
        world.remove("a", Which::Version(third), false).await.unwrap();
        assert_eq!(world.shown(VERSIONS).await, "a v, a~");
        world.remove("a", Which::Version(second), false).await.unwrap();
        assert_eq!(world.shown(VERSIONS).await, "");

        // When versions are no longer kept, the one that is current stays as one.
        let fourth = world.put("a", b"fourth").await.unwrap().version.unwrap();
        world.set(&[("versioning", "off")]).await;
        assert_eq!(world.put("a", b"after").await.unwrap().version, None);
        assert_eq!(world.put("a", b"later").await.unwrap().version, None);
        assert_eq!(world.shown(VERSIONS).await, "a v, a");
        assert_eq!(world.text("a", Which::Version(fourth)).await.unwrap(), "fourth");
        world.remove("a", Which::Version(fourth), false).await.unwrap();
        world.remove("a", Which::Current, false).await.unwrap();
        world.drop_container("box").await;
        settle(&world).await;
    }
}

/// Nothing is left but the account's settings.
async fn settle(world: &World) {
    for _ in 0..4 {
        world.sweep().await;
        world.advance_seconds(2 * DAY);
    }
    assert_eq!(world.rows(), "a1");
    assert_eq!(world.content.size(), 0);
}

#[tokio::test]
async fn snapshots_beside_versions() {
    for world in worlds() {
        world.create("box", 1).await;
        world.set(&[("versioning", "on")]).await;
        world.put("a", b"text").await.unwrap();
        let snapshot = SnapshotBlob {
            metadata: None,
            encryption: Default::default(),
            conditions: Conditions::default(),
            lease: None,
        };
        let (time, current) = world.store.snapshot_blob(&blob("a"), snapshot).await.unwrap();
        assert!(current.version.is_some());
        // As recorded: the snapshot makes another version of the same state.
        assert_eq!(world.shown(VERSIONS).await, "a v, a s, a*");
        assert_eq!(world.text("a", Which::Snapshot(time)).await.unwrap(), "text");
        refused(world.remove("a", Which::Current, false).await, Refusal::SnapshotsPresent);
        world.delete("a", Some(DeleteSnapshots::Include)).await.unwrap();
        assert_eq!(world.shown(VERSIONS).await, "a v, a v, a~");
        world.drop_container("box").await;
        settle(&world).await;
    }
}

#[tokio::test]
async fn what_was_deleted_comes_back_or_goes() {
    for world in worlds() {
        world.create("box", 1).await;
        world.set(&[("blob-soft-delete", "7")]).await;
        let long = pattern(1, 90_000);
        world.put("a", &long).await.unwrap();
        let snapshot = SnapshotBlob {
            metadata: None,
            encryption: Default::default(),
            conditions: Conditions::default(),
            lease: None,
        };
        let (time, _) = world.store.snapshot_blob(&blob("a"), snapshot).await.unwrap();
        world.put("a", b"overwritten").await.unwrap();
        world.put("a", b"current").await.unwrap();
        let all = Include { snapshots: true, deleted: true, ..Include::default() };
        assert_eq!(world.shown(all).await, "a s, a s!, a s!, a");
        world.delete("a", Some(DeleteSnapshots::Include)).await.unwrap();
        assert_eq!(world.shown(all).await, "a s!, a s!, a s!, a!");
        assert_eq!(world.shown(Include { deleted: true, ..Include::default() }).await, "a!");
        assert_eq!(world.shown(Include { snapshots: true, ..Include::default() }).await, "");
        refused(world.text("a", Which::Current).await, Refusal::BlobSoftDeleted);
        refused(world.text("a", Which::Snapshot(time)).await, Refusal::BlobSoftDeleted);

        world.sweep().await;
        world.store.undelete_blob(&blob("a")).await.unwrap();
        assert_eq!(world.shown(all).await, "a s, a s, a s, a");
        assert_eq!(world.text("a", Which::Current).await.unwrap(), "current");
        assert_eq!(world.get("a", Some(time)).await.unwrap(), long);
        world.store.undelete_blob(&blob("a")).await.unwrap();
        refused(world.store.undelete_blob(&blob("b")).await, Refusal::BlobNotFound);

        // A blob that takes the place of one that was deleted makes a snapshot of it.
        world.delete("a", Some(DeleteSnapshots::Include)).await.unwrap();
        world.put("a", b"another").await.unwrap();
        assert_eq!(world.shown(all).await, "a s!, a s!, a s!, a s!, a");

        // A snapshot that was deleted goes before its time only if the account allows it.
        refused(world.remove("a", Which::Snapshot(time), true).await, Refusal::PermanentDeleteNotEnabled);
        world.set(&[("permanent-delete", "on")]).await;
        refused(world.remove("a", Which::Current, true).await, Refusal::BlobSnapshotNotSoftDeleted);
        assert!(world.remove("a", Which::Snapshot(time), true).await.unwrap());
        refused(world.text("a", Which::Snapshot(time)).await, Refusal::BlobNotFound);

        // Past its time it is gone, also before it is swept.
        world.delete("a", None).await.unwrap();
        world.advance_seconds(7 * DAY + 1);
        assert_eq!(world.shown(all).await, "");
        refused(world.text("a", Which::Current).await, Refusal::BlobNotFound);
        refused(world.store.undelete_blob(&blob("a")).await, Refusal::BlobNotFound);
        world.advance_seconds(2 * DAY);
        world.sweep().await;
        assert_eq!(world.rows(), "a1 c1");
        assert_eq!(world.content.size(), 0);
    }
}

#[tokio::test]
async fn versions_that_were_deleted() {
    for world in worlds() {
        world.create("box", 1).await;
        world.set(&[("blob-soft-delete", "1"), ("versioning", "on"), ("permanent-delete", "on")]).await;
        let first = world.put("a", b"first").await.unwrap().version.unwrap();
        let second = world.put("a", b"second").await.unwrap().version.unwrap();
        assert!(!world.remove("a", Which::Version(first), false).await.unwrap());
        refused(world.text("a", Which::Version(first)).await, Refusal::BlobSoftDeleted);
        assert_eq!(world.shown(VERSIONS).await, "a v!, a*");
        assert_eq!(world.shown(Include { versions: true, ..Include::default() }).await, "a*");
        refused(world.remove("a", Which::Version(second), true).await, Refusal::OperationNotAllowedOnRootBlob);

        // All versions come back, and none becomes current by it.
        world.remove("a", Which::Current, false).await.unwrap();
        world.remove("a", Which::Version(second), false).await.unwrap();
        assert_eq!(world.shown(VERSIONS).await, "a v!, a v!");
        world.store.undelete_blob(&blob("a")).await.unwrap();
        assert_eq!(world.shown(VERSIONS).await, "a v, a v, a~");
        assert_eq!(world.text("a", Which::Version(first)).await.unwrap(), "first");

        refused(world.remove("a", Which::Version(first), true).await, Refusal::BlobSnapshotNotSoftDeleted);
        world.remove("a", Which::Version(first), false).await.unwrap();
        assert!(world.remove("a", Which::Version(first), true).await.unwrap());
        assert_eq!(world.shown(VERSIONS).await, "a v, a~");
        world.drop_container("box").await;
        settle(&world).await;
    }
}

/// Blocks that a new list shares with a version that is kept stay with both.
#[tokio::test]
async fn blocks_of_versions() {
    for world in worlds() {
        world.create("box", 1).await;
        world.set(&[("versioning", "on")]).await;
        let (one, two) = (pattern(1, 40_000), pattern(2, 50_000));
        world.put_block("a", "QUFB", &one).await.unwrap();
        let first = world.commit("a", &[(Search::Latest, "QUFB")]).await.unwrap().version.unwrap();
        world.put_block("a", "QkJC", &two).await.unwrap();
        world.commit("a", &[(Search::Committed, "QUFB"), (Search::Latest, "QkJC")]).await.unwrap();
        world.sweep().await;
        assert_eq!(world.bytes("a", Which::Version(first)).await, one);
        assert_eq!(world.bytes("a", Which::Current).await, [one.clone(), two.clone()].concat());
        world.remove("a", Which::Version(first), false).await.unwrap();
        world.sweep().await;
        assert_eq!(world.bytes("a", Which::Current).await, [one, two].concat());
        world.drop_container("box").await;
        settle(&world).await;
    }
}

impl World {
    async fn bytes(&self, name: &str, which: Which) -> Vec<u8> {
        let read = ReadBlob { which, ..ReadBlob::default() };
        let mut reader = self.store.open_blob(&blob(name), read).await.unwrap();
        reader.seek(0, u64::MAX);
        let mut bytes = Vec::new();
        while let Some(part) = reader.next().await.unwrap() {
            bytes.extend_from_slice(&part);
        }
        bytes
    }

    async fn containers(&self) -> Vec<(String, Option<Deleted>)> {
        let mut all = Vec::new();
        let mut marker = None;
        loop {
            let list = ListContainers { deleted: true, most: 1, marker, ..ListContainers::default() };
            let page = self.store.list_containers(&container("box").account, list).await.unwrap();
            all.extend(page.items.iter().map(|item| (item.name.as_str().to_owned(), item.deleted)));
            marker = page.next;
            if marker.is_none() {
                return all;
            }
        }
    }
}

#[tokio::test]
async fn containers_come_back() {
    for mut world in worlds() {
        world.set(&[("container-soft-delete", "3")]).await;
        world.create("box", 1).await;
        let long = pattern(3, 90_000);
        world.put("a", &long).await.unwrap();
        world.drop_container("box").await;
        refused(world.text("a", Which::Current).await, Refusal::ContainerNotFound);
        world.create("box", 2).await;
        world.create("other", 3).await;
        let listed = world.containers().await;
        let names: Vec<_> = listed.iter().map(|(name, deleted)| (name.as_str(), deleted.is_some())).collect();
        assert_eq!(names, [("box", true), ("box", false), ("other", false)]);
        let version = DeletionVersion(listed[0].1.unwrap().at);
        let restore = |world: &World| {
            let store = world.store.clone();
            async move { store.restore_container(&container("box"), version).await }
        };
        refused(restore(&world).await, Refusal::ContainerAlreadyExists);
        world.drop_container("box").await;
        world.restart();
        world.sweep().await;
        restore(&world).await.unwrap();
        refused(restore(&world).await, Refusal::ContainerNotFound);
        assert_eq!(world.bytes("a", Which::Current).await, long);
        assert_eq!(world.containers().await.len(), 3, "the second life of the box is still among the deleted");
        world.drop_container("box").await;
        world.drop_container("other").await;
        settle(&world).await;
    }
}

#[tokio::test]
async fn blobs_are_found_by_their_tags() {
    for world in worlds() {
        for (at, name) in ["box", "crate", "empty"].into_iter().enumerate() {
            world.create(name, at as u128 + 1).await;
        }
        for n in 0..30 {
            world.tagged(&format!("b{n:02}"), &format!("all=x&third={}&n={n:02}", n % 3)).await;
        }
        let put = PutBlob { tags: Tags::parse_query("all=x&n=99").unwrap(), ..put_blob() };
        let at = lazuli_store::BlobAt { container: container("crate").container, ..blob("c") };
        let content = world.receive(b"x").await;
        world.store.put_blob(&at, put, content).await.unwrap();
        for most in [1, 7, 5000] {
            assert_eq!(world.found("all='x' AND n='07'", most).await, "box/b07");
            assert_eq!(world.found("n > '27'", most).await, "box/b28 box/b29 crate/c");
            assert_eq!(world.found("n >= '27' AND n < '29'", most).await, "box/b27 box/b28");
            assert_eq!(world.found("third='1' AND n < '08'", most).await, "box/b01 box/b04 box/b07");
            assert_eq!(world.found("all='x' AND @container='crate'", most).await, "crate/c");
            assert_eq!(world.found("all='x' AND @container='none'", most).await, "");
            assert_eq!(world.found("all>'x' AND all<'x'", most).await, "");
            assert_eq!(world.found("absent='x'", most).await, "");
            assert_eq!(world.found("all='x'", most).await.split(' ').count(), 31);
        }
        // What is written, deleted and brought back is found accordingly, and a previous version is not.
        world.set(&[("versioning", "on")]).await;
        world.tagged("b07", "n=70").await;
        assert_eq!(world.found("n='07'", 9).await, "");
        assert_eq!(world.found("n='70'", 9).await, "box/b07");
        world.set(&[("versioning", "off"), ("blob-soft-delete", "1")]).await;
        world.delete("b08", None).await.unwrap();
        assert_eq!(world.found("n='08'", 9).await, "");
        world.store.undelete_blob(&blob("b08")).await.unwrap();
        assert_eq!(world.found("n='08'", 9).await, "box/b08");
        let tags = Tags::parse_query("n=80").unwrap();
        let set = SetBlobTags { which: Which::Current, tags, conditions: Conditions::default(), lease: None };
        world.store.set_blob_tags(&blob("b08"), set).await.unwrap();
        assert_eq!(world.found("n='80'", 9).await, "box/b08");
        assert_eq!(world.found("n='08'", 9).await, "");
        for name in ["box", "crate", "empty"] {
            world.drop_container(name).await;
        }
        assert_eq!(world.found("all='x'", 9).await, "");
        settle(&world).await;
    }
}

/// Versions, and what was deleted softly, are found where they are asked for, and nowhere else.
#[tokio::test]
async fn the_past_is_found_by_its_tags() {
    let (versions, deleted) = (true, true);
    let none = FindInclude::default();
    let (old, gone, all) =
        (FindInclude { versions, ..none }, FindInclude { deleted, ..none }, FindInclude { versions, deleted });
    for world in worlds() {
        world.create("box", 1).await;
        world.set(&[("versioning", "on"), ("blob-soft-delete", "2")]).await;
        for n in 0..4 {
            world.tagged("a", &format!("t=x&n={n}")).await;
            world.tagged("b", "t=x&n=9").await;
        }
        for most in [1, 3, 5000] {
            assert_eq!(world.found_with("t='x'", most, none).await, "box/a box/b");
            assert_eq!(world.found_with("t='x'", most, gone).await, "box/a box/b");
            let found = world.found_with("t='x'", most, old).await;
            assert_eq!(found, "box/a+ box/a- box/a- box/a- box/b+ box/b- box/b- box/b-", "{most}");
            assert_eq!(world.found_with("t='x' AND n='1'", most, old).await, "box/a-");
            assert_eq!(world.found_with("n>='1' AND n<'9'", most, old).await, "box/a- box/a- box/a+");
        }
        // A version's own tags are changed, and a version is deleted and comes back.
        let list =
            ListBlobs { most: 9, include: Include { versions: true, ..Include::default() }, ..Default::default() };
        let page = world.store.list_blobs(&container("box"), list).await.unwrap();
        let ids: Vec<_> = page
            .entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Blob(item) => item.blob.version.filter(|_| item.name.as_str() == "a"),
                Entry::Prefix(_) => None,
            })
            .collect();
        let which = Which::Version(ids[1]);
        let tags = Tags::parse_query("n=one").unwrap();
        let set = SetBlobTags { which, tags, conditions: Conditions::default(), lease: None };
        world.store.set_blob_tags(&blob("a"), set).await.unwrap();
        assert_eq!(world.found_with("n='1'", 9, all).await, "");
        assert_eq!(world.found_with("n='one'", 9, old).await, "box/a-");
        world.remove("a", which, false).await.unwrap();
        assert_eq!(world.found_with("n='one'", 9, old).await, "");
        assert_eq!(world.found_with("n='one'", 9, gone).await, "");
        assert_eq!(world.found_with("n='one'", 9, all).await, "box/a!");
        world.store.undelete_blob(&blob("a")).await.unwrap();
        assert_eq!(world.found_with("n='one'", 9, all).await, "box/a-");
        // With versions there is nothing left of a deletion but a version; without, the blob itself.
        world.delete("b", None).await.unwrap();
        assert_eq!(world.found_with("n='9'", 9, all).await, "box/b- box/b- box/b- box/b-");
        world.set(&[("versioning", "off")]).await;
        world.tagged("c", "n=3&c=1").await;
        world.delete("c", None).await.unwrap();
        assert_eq!(world.found_with("c='1'", 9, gone).await, "box/c!");
        assert_eq!(world.found_with("c='1'", 9, old).await, "");
        world.advance_seconds(2 * DAY + 1);
        assert_eq!(world.found_with("c='1'", 9, all).await, "", "its time is over, though nobody has swept");
        world.sweep().await;
        assert_eq!(
            world.found_with("n='9'", 9, old).await.len(),
            4 * 7 - 1,
            "nobody forgets a name that versions have"
        );
        world.drop_container("box").await;
        settle(&world).await;
    }
}

/// The name of a tag is announced anew when it comes back after it was forgotten.
#[tokio::test]
async fn names_of_tags_are_forgotten_and_come_back() {
    for world in worlds() {
        world.create("box", 1).await;
        world.tagged("a", "t=1").await;
        assert_eq!(world.rows(), "T1 b1 c1 i1 k1");
        world.tagged("a", "").await;
        for _ in 0..3 {
            world.advance_seconds(DAY + 1);
            world.sweep().await;
        }
        assert_eq!(world.rows(), "b1 c1 k1");
        world.tagged("a", "t=2").await;
        assert_eq!(world.found("t='2'", 9).await, "box/a");
    }
}

/// Rule B21.
#[tokio::test]
async fn b21_deleting_again_what_is_being_deleted_is_no_fault() {
    for world in [World::plain(), World::distributed(3)] {
        world.create("box", 1).await;
        world.set(&[("container-soft-delete", "3")]).await;
        world.drop_container("box").await;
        world.advance_seconds(29);
        world.drop_container("box").await;
        world.advance_seconds(2);
        let delete = DeleteContainer { conditions: Conditions::default(), lease: None };
        let late = world.store.delete_container(&container("box"), delete).await;
        assert_eq!(late, Err(Failure::Refused(Refusal::ContainerNotFound)));
    }
}
