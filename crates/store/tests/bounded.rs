//! M6. A decision reads and writes a bounded number of rows, whatever a blob's past: nobody else writes while it runs.

mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use lazuli_engine::{
    BoxFuture, Engine, Fault, Halt, Job, Key, Memory, Partition, Space, Stamp, Txn, Verdict, View, content,
};
use lazuli_model::Refusal;
use lazuli_model::blob::{DeleteSnapshots, Keeping, ReadBlob, Which};
use lazuli_store::{Failure, Include, ListBlobs, Store};
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
