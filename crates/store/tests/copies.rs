//! Copies between blobs, containers and accounts: the bytes are right whatever happens to the source, nothing is written twice, and
//! when all is deleted and swept, all space has come back. On the plain engine, on one with the manners of a cluster, and on disk.

mod world;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use lazuli_engine::Embedded;
use lazuli_engine::extents::Extents;
use lazuli_model::blob::*;
use lazuli_model::container::{CreateContainer, DeleteContainer};
use lazuli_model::{BlobName, Conditions, Metadata, Refusal, Tags, Timestamp};
use lazuli_store::{BlobAt, Failure, Store};
use world::*;

const CONTAINERS: [&str; 3] = ["one", "two", "three"];
const NAMES: [&str; 3] = ["a", "b", "c"];
const LENGTHS: [usize; 5] = [0, 10, 20_000, 70_000, 150_000];

fn at(container_name: &str, name: &str) -> BlobAt {
    let at = container(container_name);
    BlobAt { account: at.account, container: at.container, blob: BlobName::parse(name).unwrap() }
}

fn source(which: Which) -> CopySource {
    CopySource { which, conditions: Conditions::default(), family: Family::Copy, rehydrates: false, key: None }
}

fn copying() -> CopyBlob {
    CopyBlob {
        id: 1,
        source: "http://here/".into(),
        family: Family::Copy,
        metadata: None,
        tags: CopyTags::These(Tags::default()),
        tier: None,
        seal: None,
        protection: Protection::default(),
        encryption: Encryption::Service,
        conditions: Conditions::default(),
        lease: None,
        may_overwrite: true,
    }
}

async fn copy(store: &Store, from: &BlobAt, which: Which, to: &BlobAt) -> Result<Blob, Failure> {
    let reader = store.open_source(from, &source(which)).await?;
    store.copy_blob(to, copying(), reader, which, None).await
}

async fn put(store: &Store, at: &BlobAt, bytes: &[u8]) {
    let mut body = Parts::of(bytes, 10_000);
    let received = store.receive(&mut body, Some(bytes.len() as u64), u64::MAX, false).await.unwrap();
    store.put_blob(at, put_blob(), received).await.unwrap();
}

async fn put_blocks(store: &Store, at: &BlobAt, blocks: &[Vec<u8>]) {
    let ids = ["QUFB", "QkJC", "Q0ND", "RERE"];
    for (id, bytes) in ids.iter().zip(blocks) {
        let mut body = Parts::of(bytes, 10_000);
        let received = store.receive(&mut body, Some(bytes.len() as u64), u64::MAX, false).await.unwrap();
        store
            .put_block(at, PutBlock { id: block_id(id), encryption: Default::default(), lease: None }, received)
            .await
            .unwrap();
    }
    let list: Vec<_> = ids.iter().take(blocks.len()).map(|id| (Search::Latest, *id)).collect();
    store.put_block_list(at, block_list(&list)).await.unwrap();
}

async fn get(store: &Store, at: &BlobAt, which: Which) -> Result<Vec<u8>, Failure> {
    let mut reader = store.open_blob(at, ReadBlob { which, ..ReadBlob::default() }).await?;
    reader.seek(0, u64::MAX);
    let mut bytes = Vec::new();
    while let Some(part) = reader.next().await? {
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

async fn sweep(store: &Store) {
    for _ in 0..3 {
        while store.sweep_step().await.unwrap() {}
        for _ in 0..32 {
            tokio::task::yield_now().await;
        }
    }
}

async fn create(store: &Store, name: &str, id: u128) {
    let create = CreateContainer { id, scope: None, metadata: Metadata::default(), public: Default::default() };
    store.create_container(&container(name), create).await.unwrap();
}

async fn drop_container(store: &Store, name: &str) {
    let delete = DeleteContainer { conditions: Conditions::default(), lease: None };
    store.delete_container(&container(name), delete).await.unwrap();
}

fn delete() -> DeleteBlob {
    let snapshots = Some(DeleteSnapshots::Include);
    DeleteBlob {
        which: Which::Current,
        snapshots,
        tier: Default::default(),
        permanent: false,
        conditions: Conditions::default(),
        lease: None,
    }
}

#[tokio::test]
async fn a_copy_writes_no_bytes_and_outlives_its_source() {
    let world = World::plain();
    let store = &world.store;
    create(store, "one", 1).await;
    create(store, "two", 2).await;
    let (from, to, third) = (at("one", "a"), at("two", "b"), at("one", "c"));
    let bytes = pattern(1, 100_000);
    put(store, &from, &bytes).await;
    let size = world.content.size();
    copy(store, &from, Which::Current, &to).await.unwrap();
    copy(store, &to, Which::Current, &third).await.unwrap();
    assert_eq!(world.content.size(), size, "copies share what there is");

    store.delete_blob(&from, delete()).await.unwrap();
    sweep(store).await;
    assert_eq!(get(store, &to, Which::Current).await.unwrap(), bytes);
    drop_container(store, "two").await;
    world.advance_seconds(3600);
    sweep(store).await;
    assert_eq!(get(store, &third, Which::Current).await.unwrap(), bytes);
    assert_eq!(world.content.size(), size);

    store.delete_blob(&third, delete()).await.unwrap();
    sweep(store).await;
    assert_eq!(world.content.size(), 0, "the last holder gives the bytes back");
}

#[tokio::test]
async fn blocks_and_their_ids_are_copied_and_put_from_url_has_none() {
    let world = World::plain();
    let store = &world.store;
    create(store, "one", 1).await;
    let (from, to, flat) = (at("one", "a"), at("one", "b"), at("one", "c"));
    let blocks = [pattern(1, 30_000), pattern(2, 100), pattern(3, 40_000)];
    put_blocks(store, &from, &blocks).await;
    copy(store, &from, Which::Current, &to).await.unwrap();
    let reader = store.open_source(&from, &source(Which::Current)).await.unwrap();
    let size = world.content.size();
    store.put_blob_from(&flat, put_blob(), None, reader, None).await.unwrap();
    assert_eq!(world.content.size(), size);
    for (blob, count) in [(&from, 3), (&to, 3), (&flat, 0)] {
        assert_eq!(get(store, blob, Which::Current).await.unwrap(), blocks.concat());
        assert_eq!(store.block_list(blob, get_block_list()).await.unwrap().committed.len(), count);
    }
    // A block of the copy goes into a new list, and the source is none the wiser.
    store.put_block_list(&to, block_list(&[(Search::Committed, "Q0ND")])).await.unwrap();
    store.delete_blob(&from, delete()).await.unwrap();
    world.advance_seconds(3600);
    sweep(store).await;
    assert_eq!(get(store, &to, Which::Current).await.unwrap(), blocks[2]);
    assert_eq!(get(store, &flat, Which::Current).await.unwrap(), blocks.concat());
}

#[tokio::test]
async fn a_snapshot_is_copied_over_its_base() {
    let world = World::plain();
    let store = &world.store;
    create(store, "box", 1).await;
    let base = blob("a");
    put(store, &base, &pattern(1, 50_000)).await;
    let time = world.snapshot("a").await;
    put(store, &base, &pattern(2, 60_000)).await;
    let promoted = copy(store, &base, Which::Snapshot(time), &base).await.unwrap();
    assert_eq!(promoted.copy.map(|copy| (copy.status, copy.done)), Some((CopyStatus::Success, 50_000)));
    for which in [Which::Current, Which::Snapshot(time)] {
        assert_eq!(get(store, &base, which).await.unwrap(), pattern(1, 50_000));
    }
    sweep(store).await;
    assert_eq!(world.content.size(), 50_000);
    // Onto itself, and with the snapshot gone.
    copy(store, &base, Which::Current, &base).await.unwrap();
    world.delete_snapshot("a", time).await.unwrap();
    sweep(store).await;
    assert_eq!(get(store, &base, Which::Current).await.unwrap(), pattern(1, 50_000));
    let absent = copy(store, &base, Which::Snapshot(time), &base).await;
    assert_eq!(absent.err(), Some(Failure::Refused(Refusal::BlobNotFound)));
}

/// A copy whose source goes away while it is being made: read before, claimed after.
#[tokio::test]
async fn a_source_that_is_deleted_meanwhile_is_copied_from_its_bytes() {
    let world = World::plain();
    let store = &world.store;
    create(store, "one", 1).await;
    let (from, to) = (at("one", "a"), at("one", "b"));
    put(store, &from, &pattern(1, 50_000)).await;
    let reader = store.open_source(&from, &source(Which::Current)).await.unwrap();
    store.delete_blob(&from, delete()).await.unwrap();
    sweep(store).await;
    store.copy_blob(&to, copying(), reader, Which::Current, None).await.unwrap();
    sweep(store).await;
    assert_eq!(get(store, &to, Which::Current).await.unwrap(), pattern(1, 50_000));
}

/// A random life of copies, with what each blob should read as.
struct Life {
    random: Random,
    blobs: BTreeMap<(usize, usize), Vec<u8>>,
    snapshots: BTreeMap<(usize, usize, Timestamp), Vec<u8>>,
    next_space: u128,
    next_seed: u64,
}

impl Life {
    fn new(seed: u64) -> Self {
        let random = Random(seed);
        Self { random, blobs: BTreeMap::new(), snapshots: BTreeMap::new(), next_space: 10, next_seed: 0 }
    }

    fn place(&mut self) -> (usize, usize) {
        (self.random.below(CONTAINERS.len()), self.random.below(NAMES.len()))
    }

    fn bytes(&mut self) -> Vec<u8> {
        self.next_seed += 1;
        pattern(self.next_seed, *self.random.pick(&LENGTHS))
    }

    async fn step(&mut self, store: &Store) {
        let place = self.place();
        let here = at(CONTAINERS[place.0], NAMES[place.1]);
        match self.random.below(100) {
            0..15 => {
                let bytes = self.bytes();
                put(store, &here, &bytes).await;
                self.blobs.insert(place, bytes);
            }
            15..25 => {
                let blocks: Vec<_> =
                    (0..1 + self.random.below(3)).map(|_| self.bytes()).filter(|b| !b.is_empty()).collect();
                if !blocks.is_empty() {
                    put_blocks(store, &here, &blocks).await;
                    self.blobs.insert(place, blocks.concat());
                }
            }
            25..65 => self.copy(store, place).await,
            65..78 => {
                let deleted = store.delete_blob(&here, delete()).await;
                assert_eq!(deleted.is_ok(), self.blobs.remove(&place).is_some());
                self.snapshots.retain(|key, _| (key.0, key.1) != place);
            }
            78..86 => {
                if let Some(bytes) = self.blobs.get(&place).cloned() {
                    let snapshot = SnapshotBlob {
                        metadata: None,
                        encryption: Default::default(),
                        conditions: Conditions::default(),
                        lease: None,
                    };
                    let (time, _) = store.snapshot_blob(&here, snapshot).await.unwrap();
                    self.snapshots.insert((place.0, place.1, time), bytes);
                }
            }
            86..89 => {
                drop_container(store, CONTAINERS[place.0]).await;
                self.next_space += 1;
                create(store, CONTAINERS[place.0], self.next_space).await;
                self.blobs.retain(|key, _| key.0 != place.0);
                self.snapshots.retain(|key, _| key.0 != place.0);
            }
            _ => {
                for _ in 0..self.random.below(6) {
                    store.sweep_step().await.unwrap();
                }
            }
        }
    }

    async fn copy(&mut self, store: &Store, to: (usize, usize)) {
        let there = at(CONTAINERS[to.0], NAMES[to.1]);
        let snapshot = if self.random.chance(30) && !self.snapshots.is_empty() {
            let at = self.random.below(self.snapshots.len());
            self.snapshots.iter().nth(at).map(|(key, bytes)| (*key, bytes.clone()))
        } else {
            None
        };
        let (from, which, bytes) = match snapshot {
            Some((key, bytes)) => ((key.0, key.1), Which::Snapshot(key.2), Some(bytes)),
            None => {
                let from = self.place();
                (from, Which::Current, self.blobs.get(&from).cloned())
            }
        };
        let copied = copy(store, &at(CONTAINERS[from.0], NAMES[from.1]), which, &there).await;
        assert_eq!(copied.is_ok(), bytes.is_some(), "{copied:?}");
        if let Some(bytes) = bytes {
            self.blobs.insert(to, bytes);
        }
    }

    async fn check(&self, store: &Store) {
        for (container, of) in CONTAINERS.iter().enumerate() {
            for (name, called) in NAMES.iter().enumerate() {
                let got = get(store, &at(of, called), Which::Current).await.ok();
                assert!(got.as_ref() == self.blobs.get(&(container, name)), "{of}/{called}");
            }
        }
        for ((container, name, time), bytes) in &self.snapshots {
            let got = get(store, &at(CONTAINERS[*container], NAMES[*name]), Which::Snapshot(*time)).await.unwrap();
            assert!(got == *bytes, "{container}/{name} at {time:?}");
        }
    }
}

async fn begin(store: &Store) {
    for (id, name) in CONTAINERS.iter().enumerate() {
        create(store, name, 1 + id as u128).await;
    }
}

async fn live(mut world: World, seed: u64, steps: usize) {
    begin(&world.store).await;
    let mut life = Life::new(seed);
    for step in 0..steps {
        life.step(&world.store.clone()).await;
        if life.random.chance(2) {
            world.restart();
        }
        if life.random.chance(3) {
            world.advance_seconds(400);
        }
        if step % 40 == 0 {
            life.check(&world.store).await;
        }
    }
    life.check(&world.store).await;
    for name in CONTAINERS {
        drop_container(&world.store, name).await;
    }
    for _ in 0..4 {
        world.sweep().await;
        world.advance_seconds(25 * 3600);
    }
    world.sweep().await;
    assert_eq!((world.rows(), world.content.size()), (String::new(), 0), "seed {seed}");
}

#[tokio::test]
async fn random_lives_on_the_plain_engine() {
    for seed in 0..12 {
        live(World::plain(), seed, 240).await;
    }
}

#[tokio::test]
async fn random_lives_with_the_manners_of_a_cluster() {
    for seed in 100..106 {
        live(World::distributed(seed), seed, 160).await;
    }
}

struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lazuli-store-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Waits for what the store before still does in the background, which keeps the directory in use.
    async fn open(&self) -> Store {
        for _ in 0..100_000 {
            let engine = Embedded::open(self.0.join("data"), Default::default());
            let content = Extents::open(&self.0.join("extents"), Default::default());
            if let (Ok(engine), Ok(content)) = (engine, content) {
                return Store::new(Arc::new(engine), Arc::new(content));
            }
            tokio::task::yield_now().await;
        }
        panic!("{:?} cannot be opened", self.0);
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// On disk, with the store closed and opened again; what a restart settles while copies are made must not take their bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_random_life_on_disk() {
    let directory = Directory::new("copies");
    let mut store = directory.open().await;
    begin(&store).await;
    let mut life = Life::new(7);
    for _ in 0..4 {
        for _ in 0..60 {
            life.step(&store).await;
        }
        life.check(&store).await;
        drop(store);
        store = directory.open().await;
    }
    sweep(&store).await;
    life.check(&store).await;
}

fn pages(from: u64, to: u64) -> PutPage {
    PutPage {
        pages: Pages::new(from, to - 1).unwrap(),
        sequence: SequenceConditions::default(),
        encryption: Default::default(),
        conditions: Conditions::default(),
        lease: None,
    }
}

async fn received(store: &Store, bytes: &[u8]) -> lazuli_store::Received {
    let mut body = Parts::of(bytes, 10_000);
    store.receive(&mut body, Some(bytes.len() as u64), u64::MAX, false).await.unwrap()
}

/// Pages are copied as they are written: small ones and large, over windows, with holes between them, and from a snapshot too.
#[tokio::test]
async fn pages_are_copied_by_their_windows() {
    let world = World::plain();
    let store = &world.store;
    create(store, "one", 1).await;
    create(store, "two", 2).await;
    let (from, to, early) = (at("one", "pages"), at("two", "copy"), at("two", "early"));
    let length = 5 << 20;
    store.create_page_blob(&from, put_blob(), length, 0).await.unwrap();
    let mut expected = vec![0; length as usize];
    for (seed, (start, end)) in
        [(512, 1024), (1 << 20, (3 << 20) + 4096), ((1 << 20) - 2048, (1 << 20) + 512)].into_iter().enumerate()
    {
        let bytes = pattern(seed as u64, end - start);
        store.put_page(&from, pages(start as u64, end as u64), received(store, &bytes).await).await.unwrap();
        expected[start..end].copy_from_slice(&bytes);
    }
    let before = expected.clone();
    let snapshot =
        SnapshotBlob { metadata: None, encryption: Default::default(), conditions: Conditions::default(), lease: None };
    let (time, _) = store.snapshot_blob(&from, snapshot).await.unwrap();
    let bytes = pattern(9, 1 << 20);
    store.put_page(&from, pages(2 << 20, 3 << 20), received(store, &bytes).await).await.unwrap();
    expected[2 << 20..3 << 20].copy_from_slice(&bytes);

    let size = world.content.size();
    copy(store, &from, Which::Current, &to).await.unwrap();
    copy(store, &from, Which::Snapshot(time), &early).await.unwrap();
    assert_eq!(world.content.size(), size, "pieces are shared");
    // The copy is a blob of its own, and so is what it was copied from; promoting the snapshot takes its bytes along.
    store.put_page(&to, pages(0, 512), received(store, &pattern(4, 512)).await).await.unwrap();
    copy(store, &from, Which::Snapshot(time), &from).await.unwrap();
    assert!(get(store, &from, Which::Current).await.unwrap() == before);
    store.delete_blob(&from, delete()).await.unwrap();
    world.advance_seconds(3600);
    sweep(store).await;
    expected[..512].copy_from_slice(&pattern(4, 512));
    assert!(get(store, &to, Which::Current).await.unwrap() == expected);
    assert!(get(store, &early, Which::Current).await.unwrap() == before);

    for name in ["one", "two"] {
        drop_container(store, name).await;
    }
    for _ in 0..4 {
        world.advance_seconds(25 * 3600);
        sweep(store).await;
    }
    assert_eq!((world.rows(), world.content.size()), (String::new(), 0));
}
