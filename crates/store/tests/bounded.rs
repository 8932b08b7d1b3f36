//! M6. A decision reads and writes a bounded number of rows, whatever a blob's past: nobody else writes while it runs.

mod share;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use lazuli_engine::{
    BoxFuture, Engine, Fault, Halt, Job, Key, Memory, Partition, Space, Stamp, Txn, Verdict, View, content,
};
use lazuli_model::Refusal;
use lazuli_model::blob::{DeleteSnapshots, Expiry, Keeping, ReadBlob, SetBlobExpiry, SetLegalHold, Which};
use lazuli_model::file::Disposition;
use lazuli_model::file::arbiter::{Access, Cache, Caching, HANDLES_MAX, Opening, Reach};
use lazuli_model::lake::{Acl, Caller, Change, CreatePath, LakePath, SetAccessControl};
use lazuli_store::{
    AccessWalk, DeletePath, DeletedPath, Failure, Include, ListBlobs, ListPaths, NewEntry, OpenFile, Opened, PathAt,
    Patience, RequestContext, Store, Wanted,
};
use world::*;

/// More than any transaction here needs, and far fewer than there are.
const ROWS_MAX: usize = 1500;
const VERSIONS: usize = 40_000;
const SNAPSHOTS: usize = 3_000;

/// An engine that counts the rows which each transaction reads and writes.
struct Counting {
    inner: Arc<Memory>,
    most: Arc<AtomicUsize>,
}

impl Engine for Counting {
    fn submit(&self, at: Partition, job: Box<dyn Job>) {
        self.inner.submit(at, Box::new(Counted { job, most: self.most.clone() }));
    }

    fn look<'a>(
        &'a self,
        at: &'a Partition,
        look: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>> {
        self.inner.look(at, look)
    }

    fn scan<'a>(
        &'a self,
        space: Space,
        scan: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>> {
        self.inner.scan(space, scan)
    }

    fn now(&self) -> Stamp {
        self.inner.now()
    }
}

struct Counted {
    job: Box<dyn Job>,
    most: Arc<AtomicUsize>,
}

impl Job for Counted {
    fn run(&mut self, txn: &mut Txn<'_>) -> Verdict {
        let stamp = txn.stamp();
        let mut view = CountingView { txn, rows: 0 };
        let mut own = Txn::new(&mut view, stamp);
        let verdict = self.job.run(&mut own);
        let writes = own.into_writes();
        self.most.fetch_max(view.rows + writes.len(), Relaxed);
        for (key, value) in writes {
            match value {
                Some(value) => txn.put(key, value),
                None => txn.delete(key),
            }
        }
        verdict
    }

    fn settle(self: Box<Self>, fate: Result<(), Fault>) {
        self.job.settle(fate);
    }
}

struct CountingView<'a, 'b> {
    txn: &'a mut Txn<'b>,
    rows: usize,
}

impl View for CountingView<'_, '_> {
    fn get(&mut self, key: &Key) -> Result<Option<Bytes>, Halt> {
        self.rows += 1;
        self.txn.get(key)
    }

    fn scan(&mut self, from: &Key, to: &Key, limit: usize) -> Result<Vec<(Key, Bytes)>, Halt> {
        let found = self.txn.scan(from, to, limit)?;
        self.rows += found.len() + 1;
        Ok(found)
    }

    fn last(&mut self, from: &Key, to: &Key) -> Result<Option<(Key, Bytes)>, Halt> {
        self.rows += 1;
        self.txn.last(from, to)
    }
}

struct Trial {
    world: World,
    most: Arc<AtomicUsize>,
}

impl Trial {
    async fn new(keeping: Keeping) -> Self {
        let mut world = World::plain();
        let most = Arc::new(AtomicUsize::new(0));
        let engine = Counting { inner: world.engine.clone(), most: most.clone() };
        world.store = Store::new(Arc::new(engine), Arc::new(world.content.clone()) as Arc<dyn content::Content>);
        world.create("box", 1).await;
        world.keep(keeping).await;
        Self { world, most }
    }

    fn check(&self, what: &str) {
        let most = self.most.swap(0, Relaxed);
        assert!(most <= ROWS_MAX, "{what}: {most} rows in one transaction");
    }

    async fn list(&self, include: Include) -> usize {
        let mut list = ListBlobs { most: 5000, include, ..ListBlobs::default() };
        let mut count = 0;
        loop {
            let page = self.world.store.list_blobs(&container("box"), list.clone()).await.unwrap();
            count += page.entries.len();
            match page.next {
                Some(next) => list.marker = Some(next),
                None => return count,
            }
        }
    }
}

#[tokio::test]
async fn many_versions() {
    let trial = Trial::new(Keeping { versions: true, ..Keeping::NOTHING }).await;
    let world = &trial.world;
    for number in 0..VERSIONS {
        world.put("b", &(number as u32).to_be_bytes()).await.unwrap();
    }
    trial.check("overwriting");
    world.delete("b", None).await.unwrap();
    trial.check("deleting the blob");
    let versions = Include { versions: true, ..Include::default() };
    assert_eq!(trial.list(versions).await, VERSIONS);
    let read = world.store.blob(&blob("b"), ReadBlob::default()).await;
    assert_eq!(read.err(), Some(Failure::Refused(Refusal::BlobNotFound)));
    let list =
        ListBlobs { most: 10, include: Include { versions_only: true, ..Include::default() }, ..ListBlobs::default() };
    let newest = |page: lazuli_store::BlobPage| match page.entries.into_iter().next() {
        Some(lazuli_store::Entry::Blob(item)) => item.blob.version.expect("it is a version"),
        other => panic!("{other:?}"),
    };
    let first = newest(world.store.list_blobs(&container("box"), list.clone()).await.unwrap());
    world.delete_version("b", first).await.unwrap();
    trial.check("deleting the newest version");
    assert!(newest(world.store.list_blobs(&container("box"), list).await.unwrap()) < first);
    world.put("b", b"again").await.unwrap();
    trial.check("writing it anew");
    world.sweep().await;
    trial.check("sweeping");
}

/// Snapshots that are deleted together are gone together, though the rows go later.
#[tokio::test]
async fn many_snapshots() {
    for days in [None, Some(7)] {
        for how in [DeleteSnapshots::Include, DeleteSnapshots::Only] {
            let trial = Trial::new(Keeping { deleted_days: days, ..Keeping::NOTHING }).await;
            let world = &trial.world;
            let content = pattern(7, 50_000);
            world.put("b", &content).await.unwrap();
            let mut times = Vec::new();
            for _ in 0..SNAPSHOTS {
                times.push(world.snapshot("b").await);
            }
            trial.check("making snapshots");
            assert_eq!(world.delete("b", None).await, Err(Failure::Refused(Refusal::SnapshotsPresent)));
            world.delete("b", Some(how)).await.unwrap();
            trial.check("deleting all of them");
            let only = matches!(how, DeleteSnapshots::Only);
            let (living, all) = (usize::from(only), if days.is_some() { SNAPSHOTS + 1 } else { usize::from(only) });
            let snapshots = Include { snapshots: true, ..Include::default() };
            let deleted = Include { deleted: true, ..snapshots };
            let expected = if days.is_some() { Refusal::BlobSoftDeleted } else { Refusal::BlobNotFound };
            for swept in [false, true] {
                assert_eq!(trial.list(snapshots).await, living, "{days:?}, swept: {swept}");
                assert_eq!(trial.list(deleted).await, all, "{days:?}, swept: {swept}");
                for time in [times[0], times[SNAPSHOTS / 2], times[SNAPSHOTS - 1]] {
                    let read = world.bytes_of("b", Which::Snapshot(time)).await;
                    assert_eq!(read, Err(Failure::Refused(expected.clone())), "{days:?}, swept: {swept}");
                }
                if only && !swept {
                    let later = world.snapshot("b").await;
                    assert!(world.bytes_of("b", Which::Snapshot(later)).await.is_ok(), "a new one is there");
                    world.delete_snapshot("b", later).await.unwrap();
                    if days.is_some() {
                        break; // one more is among the deleted
                    }
                }
                world.sweep().await;
                trial.check("sweeping");
            }
            if days.is_some() {
                world.store.undelete_blob(&blob("b")).await.unwrap();
                trial.check("bringing them back");
                for time in [times[0], times[SNAPSHOTS - 1]] {
                    assert_eq!(world.bytes_of("b", Which::Snapshot(time)).await.unwrap(), content);
                }
                assert!(trial.list(snapshots).await > SNAPSHOTS);
            } else {
                world.delete("b", None).await.ok();
                world.sweep().await;
                assert_eq!(world.content.size(), 0, "nothing is left of them");
            }
        }
    }
}

/// A feed is told of each snapshot, though most of them are deleted later.
#[tokio::test]
async fn many_snapshots_and_a_feed() {
    for days in ["off", "7"] {
        let trial = Trial::new(Keeping::NOTHING).await;
        let world = &trial.world;
        let set = [("change-feed", "on"), ("blob-soft-delete", days)];
        let changes = set.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        world.store.set_account(&container("box").account, changes).await.unwrap();
        world.put("b", b"x").await.unwrap();
        for _ in 0..SNAPSHOTS {
            world.snapshot("b").await;
        }
        let notes = || {
            let noted = |key: &Key| key.column().0 == b'f' && key.space().0 == 1;
            world.engine.entries().into_iter().filter(|(key, _)| noted(key)).count()
        };
        let before = notes();
        trial.check("making snapshots");
        world.delete("b", Some(DeleteSnapshots::Include)).await.unwrap();
        trial.check("deleting all of them");
        assert_eq!(trial.list(Include { snapshots: true, ..Include::default() }).await, 0);
        world.sweep().await;
        trial.check("sweeping");
        assert_eq!(notes(), before + SNAPSHOTS + 1, "each of them is told");
        while world.store.feed_step().await.unwrap() {}
        assert_eq!(notes(), 0, "and published");
    }
}

/// One protected snapshot among many is found without reading them all in the transaction.
#[tokio::test]
async fn many_snapshots_under_a_guard() {
    let trial = Trial::new(Keeping::NOTHING).await;
    let world = &trial.world;
    world.put("b", b"x").await.unwrap();
    let mut times = Vec::new();
    for _ in 0..SNAPSHOTS {
        times.push(world.snapshot("b").await);
    }
    let (middle, last) = (times[SNAPSHOTS / 2], times[SNAPSHOTS - 1]);
    for time in [middle, last] {
        let hold = |hold| SetLegalHold { which: Which::Snapshot(time), hold };
        world.store.set_legal_hold(&blob("b"), hold(true)).await.unwrap();
        for how in [DeleteSnapshots::Include, DeleteSnapshots::Only] {
            let refused = world.delete("b", Some(how)).await;
            assert_eq!(refused, Err(Failure::Refused(Refusal::BlobImmutableDueToLegalHold)));
            trial.check("refusing to delete them");
        }
        world.store.set_legal_hold(&blob("b"), hold(false)).await.unwrap();
    }
    world.delete("b", Some(DeleteSnapshots::Include)).await.unwrap();
    trial.check("deleting them");
    world.sweep().await;
    trial.check("sweeping");
    assert_eq!(trial.list(Include { snapshots: true, ..Include::default() }).await, 0);
    assert_eq!(world.content.size(), 0);
}

/// A file has so many handles, and no more.
#[tokio::test]
async fn many_handles() {
    let trial = Trial::new(Keeping::NOTHING).await;
    let world = &trial.world;
    world.create_share(2).await;
    world.make_file("f", 10).await.unwrap();
    let all = Access { read: true, write: true, delete: true };
    let opening = Opening {
        access: Access { read: true, write: false, delete: false },
        sharing: all,
        reach: Reach::Content,
        truncate: false,
        delete_on_close: false,
        caching: Caching::NONE,
        cache: Cache::Oplock,
        epoch: 0,
        again: false,
    };
    let open = OpenFile {
        claim: None,
        session: 1,
        gateway: 5,
        client: "10.0.0.4:50000".into(),
        client_name: "box".into(),
        opening,
        disposition: Disposition::Open,
        wanted: Wanted::Anything,
        new: NewEntry::default(),
    };
    let mut held = Vec::new();
    for _ in 0..HANDLES_MAX {
        held.push(world.store.open_handle(&share::at("f"), open.clone(), &Patience).await.unwrap().unwrap());
    }
    let one_more = world.store.open_handle(&share::at("f"), open.clone(), &Patience).await;
    assert_eq!(one_more.map(drop), Err(Failure::Refused(Refusal::TooManyHandles)));
    let most = trial.most.swap(0, Relaxed);
    assert!(most <= HANDLES_MAX + 100, "{most} rows in one transaction");
    let Opened { handle, entry, .. } = held.swap_remove(7);
    world.store.close_handle(&share::share_at(), entry.node.id, handle).await.unwrap();
    world.store.open_handle(&share::at("f"), open, &Patience).await.unwrap();
}

fn path(text: &str) -> PathAt {
    let container = container("box");
    PathAt { account: container.account, container: container.container, path: LakePath::parse(text).unwrap() }
}

/// A caller that is bound by lists needs rights on every directory that goes, however many there are.
#[tokio::test]
async fn a_large_tree_that_is_bound_by_lists() {
    const DIRECTORIES: usize = 60;
    const FILES: usize = 50;
    let trial = Trial::new(Keeping::NOTHING).await;
    let owner = trial.world.store.clone();
    let on = vec![("hierarchical-namespace".to_owned(), "on".to_owned())];
    trial.world.drop_container("box").await;
    owner.set_account(&container("box").account, on).await.unwrap();
    trial.world.create("box", 7).await;
    for directory in 0..DIRECTORIES {
        for file in 0..FILES {
            trial.world.put(&format!("d/{directory:02}/sub/{file:02}"), b"x").await.unwrap();
        }
    }
    let alice = owner.acting_for(RequestContext {
        caller: Caller { oid: Some("alice".into()), groups: Vec::new(), is_bound: true }.into(),
        ..RequestContext::default()
    });
    let mut walk = AccessWalk {
        change: Change::Modify,
        acl: Acl::parse("user:alice:rwx", false).unwrap(),
        most: 500,
        force: false,
        continuation: None,
    };
    while let Some(next) = owner.set_access_recursive(&path(""), walk.clone()).await.unwrap().next {
        walk.continuation = Some(next);
    }
    trial.most.store(0, Relaxed);
    let delete = DeletePath { recursive: true, ..DeletePath::default() };
    let last = format!("d/{:02}/sub", DIRECTORIES - 1);
    let set = |acl: &str| SetAccessControl { acl: Some(Acl::parse(acl, false).unwrap()), ..Default::default() };
    owner.set_access_control(&path(&last), set("user::rwx,group::---,other::---")).await.unwrap();
    let denied = alice.delete_path(&path("d"), delete.clone()).await;
    assert_eq!(denied, Err(Failure::Refused(Refusal::AuthorizationPermissionMismatch)));
    trial.check("refusing to delete it");
    let list = async || {
        let all = ListPaths { recursive: true, most: 5000, ..ListPaths::default() };
        owner.list_paths(&path(""), all).await
    };
    assert_eq!(list().await.unwrap().items.len(), 1 + DIRECTORIES * (FILES + 2), "all of it is there");
    owner.set_access_control(&path(&last), set("user::rwx,user:alice:rwx,group::---,other::---")).await.unwrap();
    assert_eq!(alice.delete_path(&path("d"), delete).await, Ok(DeletedPath::Gone));
    trial.check("deleting it");
    assert!(list().await.unwrap().items.is_empty());
    trial.world.sweep().await;
    trial.check("sweeping");
}

/// Files that have expired and are not swept yet.
#[tokio::test]
async fn a_directory_full_of_what_has_expired() {
    let trial = Trial::new(Keeping::NOTHING).await;
    let world = &trial.world;
    let on = vec![("hierarchical-namespace".to_owned(), "on".to_owned())];
    world.drop_container("box").await;
    world.store.set_account(&container("box").account, on).await.unwrap();
    world.create("box", 7).await;
    for file in 0..SNAPSHOTS {
        let name = format!("d/{file:05}");
        world.put(&name, b"x").await.unwrap();
        let expire = SetBlobExpiry { expiry: Expiry::RelativeToNow(2000), lease: None };
        world.store.set_blob_expiry(&blob(&name), expire).await.unwrap();
    }
    world.advance_seconds(10);
    trial.most.store(0, Relaxed);
    let emptied = world.store.delete_path(&path("d"), DeletePath::default()).await;
    assert_eq!(emptied, Err(Failure::Refused(Refusal::DirectoryNotEmpty)));
    trial.check("looking whether it is empty");
    world.sweep().await;
    trial.check("sweeping");
    assert_eq!(world.store.delete_path(&path("d"), DeletePath::default()).await, Ok(DeletedPath::Gone));
}

/// What a page of paths holds is bounded by bytes: access control lists are kilobytes long, and a page may have 5,000 paths.
#[tokio::test]
async fn a_page_of_paths_with_long_lists() {
    const FILES: usize = 1500;
    let trial = Trial::new(Keeping::NOTHING).await;
    let world = &trial.world;
    let on = vec![("hierarchical-namespace".to_owned(), "on".to_owned())];
    world.drop_container("box").await;
    world.store.set_account(&container("box").account, on).await.unwrap();
    world.create("box", 7).await;
    let named: Vec<String> = (0..28).map(|at| format!("user:{}{at:02}:r--,", "u".repeat(254))).collect();
    let acl = Acl::parse(&format!("{}user::rwx,group::---,mask::rwx,other::---", named.concat()), false).unwrap();
    for file in 0..FILES {
        let create = CreatePath { acl: Some(acl.clone()), ..CreatePath::plain(false) };
        world.store.create_path(&path(&format!("{file:05}")), create).await.unwrap();
    }
    let all = ListPaths { recursive: true, most: 5000, ..ListPaths::default() };
    let first = world.store.list_paths(&path(""), all.clone()).await.unwrap();
    assert!(first.items.len() * 28 * 256 < 9 << 20, "{} paths on a page", first.items.len());
    let rest = ListPaths { continuation: first.next, ..all };
    let second = world.store.list_paths(&path(""), rest).await.unwrap();
    assert_eq!((first.items.len() + second.items.len(), second.next), (FILES, None));
    let mut list = ListBlobs { most: 5000, ..ListBlobs::default() };
    let first = world.store.list_blobs(&container("box"), list.clone()).await.unwrap();
    assert!(first.entries.len() * 28 * 256 < 9 << 20, "{} blobs on a page", first.entries.len());
    list.marker = first.next;
    let second = world.store.list_blobs(&container("box"), list).await.unwrap();
    assert_eq!(first.entries.len() + second.entries.len(), FILES);
}
