//! Random programs on a file system, run on the store and on a plain reference: paths as a map, files as vectors. Both doors are used, the
//! Data Lake's and the Blob API's. Every answer and every refusal must be the same, on the plain engine and on one with the manners of a
//! cluster; and when all is deleted and swept, nothing may be left. Then what a reference is too plain for: leases, lists, the past.

mod lake_parts;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use lake_parts::blob_names;
use lazuli_model::blob::{ContentHeaders, Encryption, ReadBlob};
use lazuli_model::lake::{
    Acl, AppendData, Caller, Change, CreatePath, FlushData, LakePath, Mode, RenameMode, RenamePath, SetAccessControl,
};
use lazuli_model::{BlobName, Conditions, Refusal};
use lazuli_store::{
    AccessWalk, BlobAt, DeletePath, DeletedPath, Failure, Include, ListBlobs, ListPaths, PathAt, RequestContext, Store,
};
use world::*;

/// A file has its bytes.
type Tree = BTreeMap<String, Option<Vec<u8>>>;

fn at(path: &str) -> PathAt {
    let container = container("box");
    PathAt { account: container.account, container: container.container, path: LakePath::parse(path).unwrap() }
}

async fn file_system(world: &World) {
    let on = vec![("hierarchical-namespace".to_owned(), "on".to_owned())];
    world.store.set_account(&container("box").account, on).await.unwrap();
    world.create("box", 7).await;
}

fn flush(position: u64) -> FlushData {
    FlushData {
        position,
        retain: false,
        headers: ContentHeaders::default(),
        encryption: Encryption::Service,
        conditions: Conditions::default(),
        lease: None,
        step: None,
    }
}

async fn append(world: &World, path: &str, position: u64, bytes: &[u8]) -> Result<(), Failure> {
    let append = AppendData { position, encryption: Encryption::Service, lease: None, step: None, flush: None };
    let content = world.receive(bytes).await;
    world.store.append_data(&at(path), append, content).await.map(drop)
}

async fn paths(store: &Store, directory: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut continuation = None;
    loop {
        let list = ListPaths { recursive: true, continuation, begin_from: None, most: 3 };
        let page = store.list_paths(&at(directory), list).await.unwrap();
        all.extend(page.items.into_iter().map(|item| item.path));
        match page.next {
            Some(next) => continuation = Some(next),
            None => return all,
        }
    }
}

struct Run {
    world: World,
    random: Random,
    tree: Tree,
}

const NAMES: [&str; 4] = ["a", "b", "b-", "c"];

impl Run {
    fn path(&mut self) -> String {
        let depth = 1 + self.random.below(3);
        (0..depth).map(|_| *self.random.pick(&NAMES)).collect::<Vec<_>>().join("/")
    }

    fn known(&mut self) -> String {
        let paths: Vec<String> = self.tree.keys().cloned().collect();
        if paths.is_empty() || self.random.chance(20) { self.path() } else { self.random.pick(&paths).clone() }
    }

    fn below<'a>(tree: &'a Tree, path: &'a str) -> impl Iterator<Item = &'a String> {
        tree.keys().filter(move |other| other.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
    }

    /// Directories above a path are made, unless a file is in the way.
    fn make_parents(&self, path: &str) -> Result<Tree, Refusal> {
        let mut tree = self.tree.clone();
        for (end, _) in path.match_indices('/') {
            match tree.get(&path[..end]) {
                Some(None) => {}
                Some(Some(_)) => return Err(Refusal::PathAlreadyExists { is_directory: false }),
                None => drop(tree.insert(path[..end].to_owned(), None)),
            }
        }
        Ok(tree)
    }

    fn create(&self, path: &str, is_directory: bool) -> Result<Tree, Refusal> {
        let mut tree = self.make_parents(path)?;
        match tree.get(path) {
            Some(there) if there.is_none() != is_directory => {
                Err(Refusal::PathAlreadyExists { is_directory: !is_directory })
            }
            Some(_) | None => {
                tree.insert(path.to_owned(), (!is_directory).then(Vec::new));
                Ok(tree)
            }
        }
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<Tree, Refusal> {
        let mut tree = self.make_parents(path)?;
        match tree.get(path) {
            Some(None) => Err(Refusal::ResourceTypeMismatch),
            Some(Some(_)) | None => {
                tree.insert(path.to_owned(), Some(bytes.to_vec()));
                Ok(tree)
            }
        }
    }

    fn rename(&self, from: &str, to: &str) -> Result<Tree, Refusal> {
        if to.strip_prefix(from).is_some_and(|rest| rest.starts_with('/')) {
            return Err(Refusal::InvalidRenameSourcePath);
        }
        let moved = self.tree.get(from).ok_or(Refusal::SourcePathNotFound)?.clone();
        let mut tree = self.make_parents(to)?;
        if tree.len() > self.tree.len() {
            return Err(Refusal::RenameDestinationParentPathNotFound);
        }
        if from == to {
            return Ok(tree);
        }
        match tree.get(to) {
            Some(there) if there.is_none() != moved.is_none() => {
                return Err(Refusal::InvalidSourceOrDestinationResourceType);
            }
            Some(there) if Self::below(&tree, to).next().is_some() => {
                return Err(Refusal::PathAlreadyExists { is_directory: there.is_none() });
            }
            Some(_) | None => {}
        }
        let below: Vec<String> = Self::below(&tree, from).cloned().collect();
        for old in below {
            let value = tree.remove(&old).unwrap();
            tree.insert(format!("{to}{}", &old[from.len()..]), value);
        }
        tree.remove(from);
        tree.insert(to.to_owned(), moved);
        Ok(tree)
    }

    fn delete(&self, path: &str, recursive: bool) -> Result<Tree, Refusal> {
        let mut tree = self.tree.clone();
        tree.get(path).ok_or(Refusal::BlobNotFound)?;
        let below: Vec<String> = Self::below(&tree, path).cloned().collect();
        if !below.is_empty() && !recursive {
            return Err(Refusal::DirectoryNotEmpty);
        }
        below.iter().chain([&path.to_owned()]).for_each(|gone| drop(tree.remove(gone)));
        Ok(tree)
    }

    /// Compares an answer with the reference's, and goes on from there.
    fn settle<T>(&mut self, what: &str, got: Result<T, Failure>, want: Result<Tree, Refusal>) {
        match (got, want) {
            (Ok(_), Ok(tree)) => self.tree = tree,
            (Err(Failure::Refused(got)), Err(want)) => assert_eq!(got, want, "{what}"),
            (got, want) => panic!("{what}: {:?}, expected {:?}", got.err(), want.err()),
        }
    }

    async fn step(&mut self) {
        let store = self.world.store.clone();
        match self.random.below(8) {
            0 | 1 => {
                let (path, is_directory) = (self.path(), self.random.chance(50));
                let got = store.create_path(&at(&path), CreatePath::plain(is_directory)).await;
                let want = self.create(&path, is_directory);
                self.settle(&format!("create {path} {is_directory}"), got, want);
            }
            2 => {
                let path = self.known();
                let bytes = pattern(self.random.below(1000) as u64, self.random.below(40_000));
                let (got, want) = (self.world.put(&path, &bytes).await, self.put(&path, &bytes));
                self.settle(&format!("put {path}"), got, want);
            }
            3 => self.write().await,
            4 | 5 => {
                let (from, to) = (self.known(), self.known());
                let got = store.rename_path(&at(&from), &at(&to), RenamePath::default()).await;
                let want = self.rename(&from, &to);
                self.settle(&format!("rename {from} to {to}"), got, want);
            }
            6 => {
                let (path, recursive) = (self.known(), self.random.chance(40));
                let delete = DeletePath { recursive, ..DeletePath::default() };
                let got = store.delete_path(&at(&path), delete).await;
                let want = self.delete(&path, recursive);
                self.settle(&format!("delete {path} {recursive}"), got, want);
            }
            _ => {
                let path = self.known();
                let (got, want) = (self.world.delete(&path, None).await, self.delete(&path, false));
                self.settle(&format!("delete blob {path}"), got, want);
            }
        }
    }

    /// Appends in two pieces, the later one first, and flushes.
    async fn write(&mut self) {
        let path = self.known();
        let length = self.tree.get(&path).and_then(|file| file.as_ref().map(Vec::len)).unwrap_or(0);
        let from = if self.random.chance(20) { self.random.below(length + 1) } else { length };
        let bytes = pattern(self.random.below(1000) as u64, 2 + self.random.below(40_000));
        let middle = bytes.len() / 2;
        let cut = if self.random.chance(20) { self.random.below(bytes.len()) } else { bytes.len() };
        let second = append(&self.world, &path, (from + middle) as u64, &bytes[middle..]).await;
        let want = match self.tree.get(&path) {
            None => Err(Refusal::BlobNotFound),
            Some(None) => Err(Refusal::ResourceTypeMismatch),
            Some(Some(old)) => {
                let mut new = old[..from.min(old.len())].to_vec();
                new.extend_from_slice(&bytes[..cut]);
                // Bytes of the file beyond what was appended, but within the flushed length, stay.
                let mut tree = self.tree.clone();
                tree.insert(path.clone(), Some(new));
                Ok(tree)
            }
        };
        if want.is_err() {
            return self.settle(&format!("append to {path}"), second, want);
        }
        second.unwrap();
        append(&self.world, &path, from as u64, &bytes[..middle]).await.unwrap();
        let got = self.world.store.flush_data(&at(&path), flush((from + cut) as u64)).await;
        self.settle(&format!("flush {path} at {}", from + cut), got, want);
    }

    async fn compare(&mut self) {
        let mut want: Vec<String> = self.tree.keys().cloned().collect();
        // Depth first: a directory, then what is in it.
        want.sort_by_key(|path| path.split('/').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(paths(&self.world.store, "").await, want);
        let list = ListBlobs { most: 5000, ..ListBlobs::default() };
        let listed = self.world.store.list_blobs(&container("box"), list).await.unwrap();
        assert_eq!(blob_names(&listed), want, "by the other door");
        self.compare_parts(&want).await;
        for (path, file) in &self.tree {
            if let Some(bytes) = file {
                assert_eq!(&self.world.get(path, None).await.unwrap(), bytes, "{path}");
            }
        }
    }
}

async fn program(world: World, seed: u64, steps: usize) -> World {
    file_system(&world).await;
    let mut run = Run { world, random: Random(seed), tree: Tree::new() };
    for step in 0..steps {
        run.world.next_gateway();
        run.step().await;
        if step % 20 == 19 {
            run.compare().await;
        }
        if run.random.chance(10) {
            run.world.sweep().await;
        }
    }
    run.compare().await;
    for name in NAMES {
        let delete = DeletePath { recursive: true, ..DeletePath::default() };
        let _ = run.world.store.delete_path(&at(name), delete).await;
    }
    assert_eq!(paths(&run.world.store, "").await, Vec::<String>::new());
    run.world.sweep().await;
    run.world
}

fn assert_bare(world: &World) {
    // The root directory, the account and the container.
    assert_eq!((world.rows().as_str(), world.content.size()), ("M1 a1 b1 c1", 0));
}

#[tokio::test]
async fn programs_agree_with_the_reference() {
    for seed in 0..12 {
        assert_bare(&program(World::plain(), seed, 120).await);
    }
}

#[tokio::test]
async fn programs_agree_on_a_cluster() {
    for seed in 0..4 {
        assert_bare(&program(World::distributed(seed), 100 + seed, 60).await);
    }
}

/// On a world of several gateways, each step by the next one.
pub async fn program_in_turns(gateways: Vec<Store>, ticks: Arc<AtomicU64>, seed: u64, steps: usize) {
    program(World::shared(gateways, ticks), seed, steps).await;
}

#[tokio::test]
async fn programs_agree_when_gateways_take_turns() {
    for seed in 0..4 {
        let (gateways, ticks) = World::gateways(seed);
        program_in_turns(gateways, ticks, 200 + seed, 60).await;
    }
}

/// A rename of a directory is one row, whatever is below: the number of rows that it writes does not grow.
#[tokio::test]
async fn a_rename_takes_all_below_with_it() {
    let world = World::plain();
    file_system(&world).await;
    for number in 0..50 {
        world.put(&format!("from/deep/er/{number}"), b"x").await.unwrap();
    }
    let before = world.store.path_access(&at("from/deep/er/7"), ReadBlob::default(), false).await.unwrap();
    let nowhere = world.store.rename_path(&at("from/deep"), &at("to/new"), RenamePath::default()).await;
    assert_eq!(nowhere.err(), Some(Failure::Refused(Refusal::RenameDestinationParentPathNotFound)));
    world.store.create_path(&at("to"), CreatePath::plain(true)).await.unwrap();
    world.store.rename_path(&at("from/deep"), &at("to/new"), RenamePath::default()).await.unwrap();
    let after = world.store.path_access(&at("to/new/er/7"), ReadBlob::default(), false).await.unwrap();
    assert_eq!(before.blob, after.blob, "ETag, times and content stay");
    assert_eq!(paths(&world.store, "from").await, Vec::<String>::new());
    assert_eq!(paths(&world.store, "to").await.len(), 52);
}

#[tokio::test]
async fn what_is_appended_is_seen_when_it_is_flushed() {
    let world = World::plain();
    file_system(&world).await;
    world.store.create_path(&at("f"), CreatePath::plain(false)).await.unwrap();
    append(&world, "f", 5, b"world").await.unwrap();
    assert_eq!(world.get("f", None).await.unwrap(), b"");
    let hole = world.store.flush_data(&at("f"), flush(10)).await;
    assert_eq!(hole.err(), Some(Failure::Refused(Refusal::InvalidFlushPosition)));
    append(&world, "f", 0, b"hello").await.unwrap();
    let retained = FlushData { retain: true, ..flush(7) };
    world.store.flush_data(&at("f"), retained).await.unwrap();
    assert_eq!(world.get("f", None).await.unwrap(), b"hellowo");
    world.store.flush_data(&at("f"), flush(10)).await.unwrap();
    assert_eq!(world.get("f", None).await.unwrap(), b"helloworld");
    world.store.flush_data(&at("f"), flush(2)).await.unwrap();
    assert_eq!(world.get("f", None).await.unwrap(), b"he");
}

#[tokio::test]
async fn a_deleted_path_comes_back_with_what_was_below() {
    let world = World::plain();
    let account = container("box").account;
    let on = [("hierarchical-namespace", "on"), ("blob-soft-delete", "1")];
    let on = on.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    world.store.set_account(&account, on).await.unwrap();
    world.create("box", 7).await;
    world.put("d/e/f", b"kept").await.unwrap();
    let delete = DeletePath { recursive: true, ..DeletePath::default() };
    let DeletedPath::Kept(id) = world.store.delete_path(&at("d"), delete.clone()).await.unwrap() else {
        panic!("it was to be kept")
    };
    assert!(world.get("d/e/f", None).await.is_err());
    world.sweep().await;
    assert!(world.store.undelete_path(&at("d"), id).await.unwrap().is_directory);
    assert_eq!(world.get("d/e/f", None).await.unwrap(), b"kept");
    let DeletedPath::Kept(id) = world.store.delete_path(&at("d"), delete).await.unwrap() else {
        panic!("it was to be kept")
    };
    world.advance_seconds(3 * 24 * 60 * 60);
    assert!(world.store.undelete_path(&at("d"), id).await.is_err());
    world.sweep().await;
    assert_eq!((world.rows().as_str(), world.content.size()), ("M1 a1 b1 c1", 0));
}

fn blob_at(path: &str) -> BlobAt {
    let container = container("box");
    BlobAt { account: container.account, container: container.container, blob: BlobName::parse(path).unwrap() }
}

fn bound(oid: &str) -> Caller {
    Caller { oid: Some(oid.to_owned()), groups: Vec::new(), is_bound: true }
}

/// `mode=posix`, which is the default of the REST API: as `mv` has it. SDKs ask for the other one.
#[tokio::test]
async fn a_rename_goes_into_a_directory_if_that_is_asked_for() {
    let world = World::plain();
    file_system(&world).await;
    for path in ["from/a", "full/b", "file"] {
        world.put(path, b"x").await.unwrap();
    }
    world.store.create_path(&at("empty"), CreatePath::plain(true)).await.unwrap();
    let posix = RenamePath { mode: RenameMode::Posix, ..RenamePath::default() };
    let rename = async |from: &str, to: &str| world.store.rename_path(&at(from), &at(to), posix.clone()).await;
    rename("from", "full").await.unwrap();
    rename("file", "empty").await.unwrap();
    assert_eq!(paths(&world.store, "").await, ["empty", "empty/file", "full", "full/b", "full/from", "full/from/a"]);
    let refused = |refusal| Some(Failure::Refused(refusal));
    assert_eq!(rename("full", "full").await.err(), refused(Refusal::InvalidRenameSourcePath), "into itself");
    world.store.create_path(&at("from/c"), CreatePath::plain(true)).await.unwrap();
    assert_eq!(rename("from", "full").await.err(), refused(Refusal::PathAlreadyExists { is_directory: true }));
    // Onto what is no directory, or is not there, there is no difference.
    rename("full/b", "empty/file").await.unwrap();
    rename("from", "new").await.unwrap();
    assert_eq!(
        paths(&world.store, "").await,
        ["empty", "empty/file", "full", "full/from", "full/from/a", "new", "new/c"]
    );
}

#[tokio::test]
async fn a_file_is_listed_as_itself() {
    let world = World::plain();
    file_system(&world).await;
    world.put("d/f", b"four").await.unwrap();
    for recursive in [false, true] {
        let list = ListPaths { recursive, most: 10, ..ListPaths::default() };
        let page = world.store.list_paths(&at("d/f"), list).await.unwrap();
        let items: Vec<_> = page.items.iter().map(|item| (item.path.as_str(), item.blob.content.length)).collect();
        assert_eq!((items.as_slice(), page.next), (&[("d/f", 4)][..], None));
    }
}

/// It puts a name into a directory; and what was deleted from a directory is known to those who may list it.
#[tokio::test]
async fn lists_are_asked_for_what_was_deleted() {
    let world = World::plain();
    let on = [("hierarchical-namespace", "on"), ("blob-soft-delete", "1")];
    let on = on.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    world.store.set_account(&container("box").account, on).await.unwrap();
    world.create("box", 7).await;
    world.put("d/f", b"kept").await.unwrap();
    let DeletedPath::Kept(id) = world.store.delete_path(&at("d/f"), DeletePath::default()).await.unwrap() else {
        panic!("it was to be kept")
    };
    let set = async |path: &str, mode| {
        let set = SetAccessControl { permissions: Some(Mode::of(mode)), ..Default::default() };
        world.store.set_access_control(&at(path), set).await.unwrap();
    };
    let alice = world.store.acting_for(RequestContext { caller: bound("alice").into(), ..RequestContext::default() });
    let known = async || {
        let include = Include { deleted_only: true, ..Include::default() };
        let list = ListBlobs { most: 10, include, ..ListBlobs::default() };
        alice.list_blobs(&container("box"), list).await.unwrap().entries.len()
    };
    let denied = Some(Failure::Refused(Refusal::AuthorizationPermissionMismatch));
    set("", 0o751).await;
    for (mode, knows) in [(0o750, 0), (0o751, 0), (0o754, 0), (0o755, 1)] {
        set("d", mode).await;
        assert_eq!(known().await, knows, "{mode:o}");
        assert_eq!(alice.undelete_path(&at("d/f"), id).await.err(), denied, "{mode:o}");
    }
    set("d", 0o753).await;
    alice.undelete_path(&at("d/f"), id).await.unwrap();
    assert_eq!(world.get("d/f", None).await.unwrap(), b"kept");
}

/// Nobody who is bound by lists gets past one, by either door.
#[tokio::test]
async fn lists_are_asked_by_both_doors() {
    let mut world = World::plain();
    file_system(&world).await;
    world.put("open/closed/file", b"x").await.unwrap();
    let denied = Some(Failure::Refused(Refusal::AuthorizationPermissionMismatch));
    let owner = world.store.clone();
    let set = |path: &'static str, acl: &'static str| {
        let store = owner.clone();
        let acl = Some(Acl::parse(acl, false).unwrap());
        async move { store.set_access_control(&at(path), SetAccessControl { acl, ..Default::default() }).await.unwrap() }
    };
    world.store = owner.acting_for(RequestContext { caller: bound("alice").into(), ..RequestContext::default() });
    assert_eq!(world.get("open/closed/file", None).await.err(), denied, "no x on the root");
    set("", "user::rwx,group::---,other::--x").await;
    set("open", "user::rwx,group::---,other::--x").await;
    set("open/closed", "user::rwx,user:alice:--x,group::---,other::---").await;
    assert_eq!(world.get("open/closed/file", None).await.err(), denied, "no r on the file");
    set("open/closed/file", "user::rw-,user:alice:r--,group::---,other::---").await;
    assert_eq!(world.get("open/closed/file", None).await.unwrap(), b"x");
    for directory in ["", "open", "open/closed"] {
        set(directory, "user::rwx,user:alice:rw-,group::---,other::---").await;
        assert_eq!(world.get("open/closed/file", None).await.err(), denied, "r on the file, and no x on {directory:?}");
        set(directory, "user::rwx,user:alice:--x,group::---,other::---").await;
    }
    assert_eq!(world.put("open/closed/file", b"y").await.err(), denied, "no w on the file");
    assert_eq!(world.put("open/closed/new", b"y").await.err(), denied, "no w on the directory");
    assert_eq!(world.delete("open/closed/file", None).await.err(), denied);
    let list = ListPaths { recursive: false, most: 10, ..ListPaths::default() };
    assert_eq!(world.store.list_paths(&at("open/closed"), list.clone()).await.err(), denied, "no r on the directory");
    let renamed = world.store.rename_path(&at("open/closed/file"), &at("open/stolen"), RenamePath::default()).await;
    assert_eq!(renamed.err(), denied);
    let grab = SetAccessControl { permissions: Some(Mode::of(0o777)), ..Default::default() };
    assert_eq!(world.store.set_access_control(&at("open/closed/file"), grab).await.err(), denied, "not the owner");
    set("open/closed", "user::rwx,user:alice:rwx,group::---,other::---").await;
    world.put("open/closed/new", b"y").await.unwrap();
    let made = owner.path_access(&at("open/closed/new"), ReadBlob::default(), false).await.unwrap();
    assert_eq!(made.node.unwrap().access.owner, "alice");
    assert_eq!(world.store.list_paths(&at("open/closed"), list).await.unwrap().items.len(), 2);
    world.delete("open/closed/file", None).await.unwrap();
}

/// It puts a name into a directory, so it asks the directory's list, by either door.
#[tokio::test]
async fn undelete_asks_the_list_of_the_directory() {
    let mut world = World::plain();
    file_system(&world).await;
    let (account, soft) = (container("box").account, vec![("blob-soft-delete".to_owned(), "1".to_owned())]);
    world.store.set_account(&account, soft).await.unwrap();
    world.put("d/file", b"x").await.unwrap();
    let owner = world.store.clone();
    let set = |path: &'static str, acl: &'static str| {
        let (store, acl) = (owner.clone(), Some(Acl::parse(acl, false).unwrap()));
        async move { store.set_access_control(&at(path), SetAccessControl { acl, ..Default::default() }).await.unwrap() }
    };
    set("", "user::rwx,group::---,other::--x").await;
    set("d", "user::rwx,user:alice:r-x,group::---,other::---").await;
    let DeletedPath::Kept(id) = owner.delete_path(&at("d/file"), DeletePath::default()).await.unwrap() else {
        panic!("it was to be kept")
    };
    let denied = Some(Failure::Refused(Refusal::AuthorizationPermissionMismatch));
    world.store = owner.acting_for(RequestContext { caller: bound("alice").into(), ..RequestContext::default() });
    assert_eq!(world.store.undelete_path(&at("d/file"), id).await.err(), denied);
    assert_eq!(world.store.undelete_blob(&blob_at("d/file")).await.err(), denied);
    set("d", "user::rwx,user:alice:-wx,group::---,other::---").await;
    world.store.undelete_blob(&blob_at("d/file")).await.unwrap();
    assert_eq!(paths(&owner, "d").await, ["d/file"]);
}

#[tokio::test]
async fn lists_are_changed_so_many_at_a_time() {
    let world = World::plain();
    file_system(&world).await;
    for path in ["d/a", "d/b/c", "d/b/d", "d/e"] {
        world.put(path, b"x").await.unwrap();
    }
    let mut walk = AccessWalk {
        change: Change::Modify,
        acl: Acl::parse("user:alice:r--", false).unwrap(),
        most: 2,
        force: false,
        continuation: None,
    };
    let mut tried = Vec::new();
    loop {
        let walked = world.store.set_access_recursive(&at("d"), walk.clone()).await.unwrap();
        tried.push((walked.directories, walked.files));
        match walked.next {
            Some(next) => walk.continuation = Some(next),
            None => break,
        }
    }
    assert_eq!(tried, [(1, 1), (1, 1), (0, 2)]);
    let bob = world.store.acting_for(RequestContext { caller: bound("bob").into(), ..RequestContext::default() });
    let set = SetAccessControl {
        acl: Some(Acl::parse("user::rwx,group::---,other::--x", false).unwrap()),
        ..Default::default()
    };
    world.store.set_access_control(&at(""), set).await.unwrap();
    let walked = bob.set_access_recursive(&at("d"), AccessWalk { continuation: None, ..walk.clone() }).await.unwrap();
    assert_eq!((walked.failures.len(), walked.next), (1, None), "it ends at the first failure");
    let all = AccessWalk { force: true, most: 2000, continuation: None, ..walk };
    assert_eq!(bob.set_access_recursive(&at("d"), all).await.unwrap().failures.len(), 6);
}
