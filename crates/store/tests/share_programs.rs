//! Random programs on a share, run on the store and on a plain reference: directories as maps, files as vectors, snapshots as copies.
//! Every answer and every refusal must be the same, on the plain engine, on one with the manners of a cluster, and on the embedded
//! one; and when all is deleted and swept, nothing may be left. Then many at once: no entry is ever lost or doubled.

mod disk;
mod share;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use disk::Directory;
use lazuli_model::file::*;
use lazuli_model::{Refusal, Timestamp};
use lazuli_store::{Failure, Store};
use share::*;
use world::*;

/// By folded path. A file has its bytes.
type Tree = BTreeMap<String, Option<Vec<u8>>>;

struct Run {
    world: World,
    random: Random,
    tree: Tree,
    snapshots: BTreeMap<Timestamp, Tree>,
}

const NAMES: [&str; 4] = ["a", "B", "c", "Dd"];

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

impl Run {
    fn path(&mut self) -> String {
        let depth = 1 + self.random.below(3);
        (0..depth).map(|_| *self.random.pick(&NAMES)).collect::<Vec<_>>().join("/")
    }

    /// A path that is there, mostly.
    fn known(&mut self) -> String {
        let paths: Vec<String> = self.tree.keys().cloned().collect();
        if paths.is_empty() || self.random.chance(15) { self.path() } else { self.random.pick(&paths).clone() }
    }

    fn find(&self, path: &str) -> Option<&Option<Vec<u8>>> {
        self.tree.get(&path.to_uppercase())
    }

    fn permit_parent(&self, path: &str) -> Result<(), Refusal> {
        let mut above = parent(path);
        while let Some(directory) = above {
            if !matches!(self.find(directory), Some(None)) {
                return Err(Refusal::ParentNotFound);
            }
            above = parent(directory);
        }
        Ok(())
    }

    fn has_children(&self, path: &str) -> bool {
        let prefix = format!("{}/", path.to_uppercase());
        self.tree.range(prefix.clone()..).next().is_some_and(|(path, _)| path.starts_with(&prefix))
    }

    fn file(&self, path: &str) -> Result<Vec<u8>, Refusal> {
        self.permit_parent(path)?;
        match self.find(path) {
            Some(Some(bytes)) => Ok(bytes.clone()),
            Some(None) | None => Err(Refusal::ResourceNotFound),
        }
    }

    async fn step(&mut self) {
        match self.random.below(20) {
            0..=2 => self.make_directory().await,
            3..=5 => self.make_file().await,
            6..=9 => self.write().await,
            10 => self.clear().await,
            11 => self.resize().await,
            12..=14 => self.rename().await,
            15 | 16 => self.delete().await,
            17 => self.snapshot().await,
            18 => self.drop_snapshot().await,
            _ => self.world.sweep().await,
        }
    }

    async fn make_directory(&mut self) {
        let path = self.path();
        let want = self.permit_parent(&path).and_then(|()| match self.find(&path) {
            Some(_) => Err(Refusal::ResourceAlreadyExists),
            None => Ok(()),
        });
        if same(&format!("mkdir {path}"), self.world.make_directory(&path).await, want) {
            self.tree.insert(path.to_uppercase(), None);
        }
    }

    async fn make_file(&mut self) {
        let path = self.path();
        let length = *self.random.pick(&[0, 1, 700, 70_000, 1_200_000]);
        let want = self.permit_parent(&path).and_then(|()| match self.find(&path) {
            Some(None) => Err(Refusal::ResourceTypeMismatch),
            Some(Some(_)) | None => Ok(()),
        });
        if same(&format!("create {path}"), self.world.make_file(&path, length).await, want) {
            self.tree.insert(path.to_uppercase(), Some(vec![0; length as usize]));
        }
    }

    async fn write(&mut self) {
        let path = self.known();
        let (from, length) = (self.random.below(80_000) as u64, *self.random.pick(&[1, 512, 5_000, 40_000]));
        let bytes = pattern(self.random.next() % 100, length);
        let end = from as usize + length;
        let want = self.file(&path).and_then(|old| if end > old.len() { Err(Refusal::InvalidRange) } else { Ok(()) });
        if same(&format!("write {path} {from}+{length}"), self.world.write(&path, from, &bytes).await, want) {
            self.change(&path, |old| old[from as usize..end].copy_from_slice(&bytes));
        }
    }

    async fn clear(&mut self) {
        let path = self.known();
        let (from, to) = (self.random.below(2000), 2000 + self.random.below(60_000));
        let want = self.file(&path).and_then(|old| if to > old.len() { Err(Refusal::InvalidRange) } else { Ok(()) });
        if same(&format!("clear {path}"), self.world.clear(&path, from as u64, to as u64).await, want) {
            self.change(&path, |old| old[from..to].fill(0));
        }
    }

    async fn resize(&mut self) {
        let path = self.known();
        let length = *self.random.pick(&[0, 600, 50_000, 1_500_000]);
        let set = SetFileProperties { length: Some(length as u64), ..SetFileProperties::default() };
        let want = self.file(&path).map(drop);
        if same(&format!("resize {path}"), self.world.store.set_file_properties(&at(&path), set).await, want) {
            self.change(&path, |old| old.resize(length, 0));
        }
    }

    fn change(&mut self, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
        if let Some(Some(bytes)) = self.tree.get_mut(&path.to_uppercase()) {
            change(bytes);
        }
    }

    async fn rename(&mut self) {
        let (from, to) = (self.known(), self.path());
        let directory = matches!(self.find(&from), Some(None));
        let replace = self.random.chance(50);
        let want = self.judge_rename(&from, &to, replace);
        let got = self.world.rename_over(&from, &to, directory, replace).await;
        if !same(&format!("rename {from} {to} {replace}"), got, want) {
            return;
        }
        let (from, to) = (from.to_uppercase(), to.to_uppercase());
        let below = format!("{from}/");
        let moved: Vec<String> =
            self.tree.keys().filter(|path| **path == from || path.starts_with(&below)).cloned().collect();
        let entries: Vec<_> =
            moved.iter().map(|path| (format!("{to}{}", &path[from.len()..]), self.tree.remove(path))).collect();
        for (path, entry) in entries {
            self.tree.insert(path, entry.unwrap());
        }
    }

    fn judge_rename(&self, from: &str, to: &str, replace: bool) -> Result<(), Refusal> {
        self.permit_parent(from)?;
        self.permit_parent(to)?;
        self.find(from).ok_or(Refusal::ResourceNotFound)?;
        let (one, other) = (from.to_uppercase(), to.to_uppercase());
        if other.starts_with(&format!("{one}/")) {
            return Err(Refusal::InvalidInput { reason: "A directory cannot be moved into itself.".into() });
        }
        match self.find(to) {
            Some(_) if one == other => Ok(()),
            Some(_) if !replace => Err(Refusal::ResourceAlreadyExists),
            Some(None) => Err(Refusal::ResourceTypeMismatch),
            Some(Some(_)) | None => Ok(()),
        }
    }

    async fn delete(&mut self) {
        let path = self.known();
        let want = self.permit_parent(&path).and_then(|()| match self.find(&path) {
            None => Err(Refusal::ResourceNotFound),
            Some(None) if self.has_children(&path) => Err(Refusal::DirectoryNotEmpty),
            Some(_) => Ok(()),
        });
        let got = match self.find(&path) {
            Some(None) => self.world.store.delete_directory(&at(&path)).await,
            Some(Some(_)) | None => self.world.store.delete_file(&at(&path), None).await.map(drop),
        };
        if same(&format!("delete {path}"), got, want) {
            self.tree.remove(&path.to_uppercase());
        }
    }

    async fn snapshot(&mut self) {
        if self.snapshots.len() < 4 {
            let time = self.world.snapshot_share().await;
            self.snapshots.insert(time, self.tree.clone());
        }
    }

    async fn drop_snapshot(&mut self) {
        let times: Vec<Timestamp> = self.snapshots.keys().copied().collect();
        if !times.is_empty() {
            let time = *self.random.pick(&times);
            self.world.delete_share_snapshot(time).await.unwrap();
            self.snapshots.remove(&time);
        }
    }

    /// Everything that can be seen, now and in every snapshot.
    async fn check(&self) {
        let now = [(None, &self.tree)];
        let then = self.snapshots.iter().map(|(time, tree)| (Some(*time), tree));
        for (snapshot, want) in now.into_iter().chain(then) {
            let got = walk(&self.world, snapshot).await;
            assert_eq!(got.keys().collect::<Vec<_>>(), want.keys().collect::<Vec<_>>(), "{snapshot:?}");
            assert!(got == *want, "bytes differ in {snapshot:?}");
        }
        let usage: usize = self.tree.values().flatten().map(Vec::len).sum();
        assert_eq!(self.world.usage().await, usage as u64);
    }

    async fn clean_up(&mut self) {
        for time in std::mem::take(&mut self.snapshots).into_keys() {
            self.world.delete_share_snapshot(time).await.unwrap();
        }
        for (path, entry) in std::mem::take(&mut self.tree).into_iter().rev() {
            match entry {
                Some(_) => self.world.store.delete_file(&at(&path), None).await.map(drop).unwrap(),
                None => self.world.store.delete_directory(&at(&path)).await.unwrap(),
            }
        }
        self.world.sweep().await;
    }
}

async fn walk(world: &World, snapshot: Option<Timestamp>) -> Tree {
    let mut tree = Tree::new();
    let mut open = vec![String::new()];
    while let Some(directory) = open.pop() {
        for name in world.list_at(&directory, snapshot).await {
            let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            match world.read_at(&path, snapshot).await {
                Ok(bytes) => tree.insert(path.to_uppercase(), Some(bytes)),
                Err(_) => {
                    open.push(path.clone());
                    tree.insert(path.to_uppercase(), None)
                }
            };
        }
    }
    tree
}

fn same<T: std::fmt::Debug>(what: &str, got: Result<T, Failure>, want: Result<(), Refusal>) -> bool {
    match (got, want) {
        (Ok(_), Ok(())) => true,
        (Err(Failure::Refused(got)), Err(want)) => {
            assert_eq!(got, want, "{what}");
            false
        }
        (got, want) => panic!("{what}: the store says {got:?}, the reference {want:?}"),
    }
}

async fn program(world: World, seed: u64, steps: usize) -> Run {
    world.create_share(1).await;
    let mut run = Run { world, random: Random(seed), tree: Tree::new(), snapshots: BTreeMap::new() };
    for step in 0..steps {
        run.world.next_gateway();
        run.step().await;
        if step % 10 == 9 {
            run.check().await;
        }
    }
    run.check().await;
    run.clean_up().await;
    run
}

/// Nothing is left but the share, and the few permissions that directories and files in several depths inherit.
fn is_bare(rows: &str) -> bool {
    let is_permissions =
        |part: &str| part.strip_prefix('P').and_then(|count| count.parse().ok()).is_some_and(|count: u32| count <= 6);
    rows.starts_with("F1") && rows.split(' ').all(|part| ["F1", "H1", "U1"].contains(&part) || is_permissions(part))
}

#[tokio::test]
async fn random_programs_on_the_plain_engine() {
    for seed in 0..30 {
        let run = program(World::plain(), seed, 120).await;
        let rows = run.world.rows();
        assert!(is_bare(&rows), "seed {seed}: {rows}");
    }
}

#[tokio::test]
async fn random_programs_on_an_engine_with_the_manners_of_a_cluster() {
    for seed in 0..6 {
        let run = program(World::distributed(seed), seed + 1000, 80).await;
        let rows = run.world.rows();
        assert!(is_bare(&rows), "seed {seed}: {rows}");
    }
}

/// On a world of several gateways, each step by the next one.
pub async fn program_in_turns(gateways: Vec<Store>, ticks: Arc<AtomicU64>, seed: u64, steps: usize) {
    program(World::shared(gateways, ticks), seed, steps).await;
}

#[tokio::test]
async fn random_programs_agree_when_gateways_take_turns() {
    for seed in 0..4 {
        let (gateways, ticks) = World::gateways(seed);
        program_in_turns(gateways, ticks, seed + 2000, 80).await;
    }
}

/// On files in a directory of its own; now and then the process ends, and another goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_random_program_goes_on_after_every_reopening() {
    for seed in 0..3 {
        let disk = Directory::new(&format!("share-programs-{seed}"));
        let mut world = World::plain();
        world.store = disk.open().await;
        world.create_share(1).await;
        let mut run = Run { world, random: Random(seed + 7), tree: Tree::new(), snapshots: BTreeMap::new() };
        for _ in 0..50 {
            run.step().await;
            if run.random.chance(12) {
                reopen(&mut run.world, &disk).await;
                run.check().await;
            }
        }
        reopen(&mut run.world, &disk).await;
        run.check().await;
        run.clean_up().await;
        assert_eq!(walk(&run.world, None).await, Tree::new());
    }
}

async fn reopen(world: &mut World, disk: &Directory) {
    world.store = World::plain().store; // lets go of the directory
    world.store = disk.open().await;
}

/// Many clients move the same files about. Each file is somewhere, once.
#[tokio::test]
async fn concurrent_renames_and_deletes_lose_and_double_nothing() {
    for seed in 0..4 {
        let world = if seed == 0 { World::plain() } else { World::distributed(seed) };
        world.create_share(1).await;
        for directory in ["x", "y", "z"] {
            world.make_directory(directory).await.unwrap();
        }
        const FILES: usize = 6;
        for file in 0..FILES {
            world.make_file(&format!("x/f{file}"), file as u64 + 1).await.unwrap();
        }
        let world = Arc::new(world);
        let movers: Vec<_> = (0..6)
            .map(|mover| {
                let world = world.clone();
                tokio::spawn(async move {
                    let mut random = Random(seed * 100 + mover);
                    let mut deleted = 0;
                    for _ in 0..25 {
                        let (from, to) = (random.one_of(&["x", "y", "z"]), random.one_of(&["x", "y", "z"]));
                        let file = random.below(FILES);
                        if mover == 0 && random.chance(10) {
                            let gone = world.store.delete_file(&at(&format!("{from}/f{file}")), None).await;
                            deleted += usize::from(gone.is_ok());
                        } else {
                            let _ = world.rename(&format!("{from}/f{file}"), &format!("{to}/f{file}"), false).await;
                        }
                    }
                    deleted
                })
            })
            .collect();
        let mut deleted = 0;
        for mover in movers {
            deleted += mover.await.unwrap();
        }
        let found = walk(&world, None).await;
        let mut lengths: Vec<usize> = found.values().flatten().map(Vec::len).collect();
        lengths.sort_unstable();
        let total = lengths.len();
        lengths.dedup();
        assert_eq!((lengths.len(), total + deleted), (total, FILES), "seed {seed}: {:?}", found.keys());
        assert_eq!(world.usage().await, lengths.iter().sum::<usize>() as u64);
    }
}

/// The process ends in the midst of renames and deletes. Whatever was under way has happened or has not: each file is somewhere, once,
/// unless somebody had begun to delete it; and what was deleted does not come back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renames_and_deletes_that_are_cut_off_lose_and_double_nothing() {
    const FILES: usize = 24;
    const PLACES: [&str; 3] = ["x", "y", "z"];
    let disk = Directory::new("share-cut-off");
    let mut world = World::plain();
    world.store = disk.open().await;
    world.create_share(1).await;
    for directory in PLACES {
        world.make_directory(directory).await.unwrap();
    }
    for file in 0..FILES {
        world.make_file(&format!("x/f{file}"), file as u64 + 1).await.unwrap();
    }
    let (begun, gone) = (Arc::new(Mutex::new(BTreeSet::new())), Arc::new(Mutex::new(BTreeSet::new())));
    let done = Arc::new(AtomicUsize::new(0));
    for round in 0..6 {
        let store = world.store.clone();
        let movers: Vec<_> = (0..6)
            .map(|mover| {
                let (store, begun, gone, done) = (store.clone(), begun.clone(), gone.clone(), done.clone());
                tokio::spawn(async move {
                    let mut random = Random(round * 100 + mover);
                    loop {
                        let file = random.below(FILES);
                        let (from, to) = (random.one_of(&PLACES), random.one_of(&PLACES));
                        let from = at(&format!("{from}/f{file}"));
                        if mover == 0 && random.chance(20) {
                            begun.lock().unwrap().insert(file);
                            if store.delete_file(&from, None).await.is_ok() {
                                gone.lock().unwrap().insert(file);
                            }
                        } else {
                            let _ = store.rename(&at(&format!("{to}/f{file}")), rename(from.path)).await;
                        }
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        drop(store);
        while done.load(Ordering::Relaxed) < (round as usize + 1) * 60 {
            tokio::task::yield_now().await;
        }
        movers.iter().for_each(|mover| mover.abort());
        reopen(&mut world, &disk).await;
        let found = walk(&world, None).await;
        let lengths: Vec<usize> = found.values().flatten().map(Vec::len).collect();
        for file in 0..FILES {
            let count = lengths.iter().filter(|length| **length == file + 1).count();
            let may_be_gone = begun.lock().unwrap().contains(&file);
            let is_gone = gone.lock().unwrap().contains(&file);
            assert!(count == 1 && !is_gone || count == 0 && may_be_gone, "round {round}, f{file}: {count} of it");
        }
        assert_eq!(world.usage().await, lengths.iter().sum::<usize>() as u64);
    }
    assert!(!gone.lock().unwrap().is_empty(), "nothing was deleted at all");
}
