//! Renames from one file system to another, and what is left of them wherever the gateway dies: a path is at one of its two names, whole,
//! and nothing is left over.

mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use lazuli_engine::{BoxFuture, Engine, Fault, Job, Memory, Partition, Space, Stamp, Txn, Verdict};
use lazuli_model::Refusal;
use lazuli_model::lake::{CreatePath, LakePath, RenamePath};
use lazuli_store::{DeletePath, Failure, ListPaths, PathAt, Store};
use world::*;

fn at(system: &str, path: &str) -> PathAt {
    let container = container(system);
    PathAt { account: container.account, container: container.container, path: LakePath::parse(path).unwrap() }
}

async fn two_file_systems(world: &World) {
    let on = vec![("hierarchical-namespace".to_owned(), "on".to_owned())];
    world.store.set_account(&container("box").account, on).await.unwrap();
    world.create("box", 7).await;
    world.create("far", 8).await;
    for (path, length) in [("d/a", 5), ("d/sub/b", 40_000), ("d/sub/c", 0)] {
        world.put(path, &pattern(1, length)).await.unwrap();
    }
    world.store.create_path(&at("box", "d/empty"), CreatePath::plain(true)).await.unwrap();
}

async fn paths(store: &Store, system: &str) -> Vec<String> {
    let list = ListPaths { recursive: true, most: 1000, ..ListPaths::default() };
    let page = store.list_paths(&at(system, ""), list).await.unwrap();
    page.items.into_iter().map(|item| item.path).collect()
}

const BEFORE: [&str; 6] = ["d", "d/a", "d/empty", "d/sub", "d/sub/b", "d/sub/c"];
const AFTER: [&str; 6] = ["e", "e/a", "e/empty", "e/sub", "e/sub/b", "e/sub/c"];

/// When both are deleted nothing is left but the account, two containers and their root directories. Bytes that a gateway had staged when it
/// died are not asked about here: a start settles them.
async fn all_gone(world: &World, died: bool) {
    for (system, name) in [("box", "d"), ("far", "e")] {
        let delete = DeletePath { recursive: true, ..DeletePath::default() };
        let _ = world.store.delete_path(&at(system, name), delete).await;
    }
    world.sweep().await;
    assert_eq!(world.rows(), "M2 a1 b2 c2");
    assert!(died || world.content.size() == 0);
}

#[tokio::test]
async fn a_directory_moves_as_it_is() {
    let world = World::plain();
    two_file_systems(&world).await;
    let before = world.store.path_access(&at("box", "d/sub/b"), Default::default(), false).await.unwrap();
    world.store.rename_path(&at("box", "d"), &at("far", "e"), RenamePath::default()).await.unwrap();
    assert_eq!(
        (paths(&world.store, "box").await, paths(&world.store, "far").await),
        (vec![], AFTER.map(str::to_owned).to_vec())
    );
    let after = world.store.path_access(&at("far", "e/sub/b"), Default::default(), false).await.unwrap();
    let (old, new) = (&before.blob, &after.blob);
    assert_eq!(
        (old.etag, old.modified, old.created, old.content.length),
        (new.etag, new.modified, new.created, new.content.length)
    );
    all_gone(&world, false).await;
}

#[tokio::test]
async fn what_the_target_refuses_stays_where_it_was() {
    let world = World::plain();
    two_file_systems(&world).await;
    world.store.create_path(&at("far", "e/full"), CreatePath::plain(true)).await.unwrap();
    for (to, want) in [
        ("e", Refusal::PathAlreadyExists { is_directory: true }),
        ("none/e", Refusal::RenameDestinationParentPathNotFound),
    ] {
        let refused = world.store.rename_path(&at("box", "d"), &at("far", to), RenamePath::default()).await;
        assert_eq!(refused.err(), Some(Failure::Refused(want)));
        assert_eq!(paths(&world.store, "box").await, BEFORE);
    }
    all_gone(&world, false).await;
}

/// An engine that dies: from some write on, it does nothing more.
struct Dying {
    inner: Arc<Memory>,
    left: AtomicUsize,
}

impl Engine for Dying {
    fn submit(&self, at: Partition, job: Box<dyn Job>) {
        match self.left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)) {
            Ok(_) => self.inner.submit(at, job),
            Err(_) => job.settle(Err(Fault::Unavailable("it is dead".into()))),
        }
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

#[tokio::test]
async fn wherever_it_dies_it_is_all_or_nothing() {
    let (mut stayed, mut moved, mut nowhere) = (0, 0, 0);
    for writes in 0..40 {
        let mut world = World::plain();
        two_file_systems(&world).await;
        let engine = Arc::new(Dying { inner: world.engine.clone(), left: AtomicUsize::new(writes) });
        let dying = Store::new(engine, Arc::new(world.content.clone()));
        let renamed = dying.rename_path(&at("box", "d"), &at("far", "e"), RenamePath::default()).await;
        drop(dying);
        // Nobody ever sees half of it, or both.
        let seen = (paths(&world.store, "box").await, paths(&world.store, "far").await);
        nowhere += usize::from(seen == (vec![], vec![]));
        let whole = |seen: &[String], want: &[&str]| seen.is_empty() || seen == want;
        assert!(whole(&seen.0, &BEFORE) && whole(&seen.1, &AFTER), "after {writes} writes: {seen:?}");
        assert!(seen.0.is_empty() || seen.1.is_empty(), "after {writes} writes: {seen:?}");
        assert!(renamed.is_err() || seen.1 == AFTER, "told that it is there");
        world.restart();
        world.advance_seconds(301);
        world.sweep().await;
        match (paths(&world.store, "box").await, paths(&world.store, "far").await) {
            (left, none) if left == BEFORE && none.is_empty() => stayed += 1,
            (none, there) if none.is_empty() && there == AFTER => moved += 1,
            other => panic!("after {writes} writes: {other:?}"),
        }
        for name in ["d/sub/b", "e/sub/b"] {
            let system = if name.starts_with('d') { "box" } else { "far" };
            if let Ok(found) = world.store.path_access(&at(system, name), Default::default(), false).await {
                assert_eq!(found.blob.content.length, 40_000);
            }
        }
        world.advance_seconds(301);
        world.sweep().await;
        all_gone(&world, renamed.is_err()).await;
        if renamed.is_ok() {
            break;
        }
    }
    assert!(
        stayed > 3 && moved > 1 && nowhere > 3,
        "{stayed} stayed, {moved} moved, {nowhere} were hidden when it died"
    );
}
