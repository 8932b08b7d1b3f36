//! A store over engines in memory, with a clock that stands still unless it is moved.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use lazuli_engine::memory::Manners;
use lazuli_engine::{BoxFuture, Clock, Memory, Stamp, content};
use lazuli_model::blob::*;
use lazuli_model::container::{CreateContainer, DeleteContainer};
use lazuli_model::{AccountName, BlobName, BlockId, Conditions, ContainerName, Metadata, Tags, Timestamp};
use lazuli_store::{BlobAt, Broken, ContainerAt, Entry, Failure, Include, ListBlobs, Received, Source, Store};

pub const TICKS_PER_SECOND: u64 = 10_000_000;
const START: u64 = 638_000_000_000_000_000;

pub struct World {
    pub store: Store,
    pub engine: Arc<Memory>,
    pub content: content::Memory,
    /// Stores that share another engine and another content, and take turns being `store`.
    gateways: VecDeque<Store>,
    ticks: Arc<AtomicU64>,
}

impl World {
    pub fn plain() -> Self {
        Self::build(|clock| Memory::laid_out(lazuli_store::layout, clock))
    }

    /// Conflicts, lost answers and delays, all from the seed.
    pub fn distributed(seed: u64) -> Self {
        Self::build(|clock| Memory::distributed_with(Manners::rough(seed), lazuli_store::layout, clock))
    }

    /// A cluster in which nothing goes wrong.
    pub fn gentle() -> Self {
        Self::build(|clock| Memory::distributed_with(Manners::gentle(1), lazuli_store::layout, clock))
    }

    fn build(engine: impl FnOnce(Clock) -> Memory) -> Self {
        let ticks = Arc::new(AtomicU64::new(START));
        let wall = ticks.clone();
        let engine = Arc::new(engine(Clock::new(move || Stamp(wall.load(Ordering::Relaxed)))));
        let content = content::Memory::new();
        let store = Store::new(engine.clone(), Arc::new(content.clone()));
        Self { store, engine, content, gateways: VecDeque::new(), ticks }
    }

    /// Two gateways to one engine with the manners of a cluster, and the time that they go by.
    pub fn gateways(seed: u64) -> (Vec<Store>, Arc<AtomicU64>) {
        let world = Self::distributed(seed);
        let gateway = |id| Store::new(world.engine.clone(), Arc::new(world.content.clone())).shared_as(id);
        (vec![gateway(1), gateway(2)], world.ticks)
    }

    /// A world of these stores, which take turns. They have to go by `ticks`.
    pub fn shared(gateways: impl IntoIterator<Item = Store>, ticks: Arc<AtomicU64>) -> Self {
        let mut world = Self { gateways: gateways.into_iter().collect(), ticks, ..Self::plain() };
        world.next_gateway();
        world
    }

    /// What comes next is asked of another gateway, if there are several.
    pub fn next_gateway(&mut self) {
        if let Some(next) = self.gateways.pop_front() {
            self.store = next.clone();
            self.gateways.push_back(next);
        }
    }

    pub fn advance_seconds(&self, seconds: u64) {
        self.ticks.fetch_add(seconds * TICKS_PER_SECOND, Ordering::Relaxed);
    }

    /// As after a restart: all that was only in memory of the store is forgotten.
    pub fn restart(&mut self) {
        self.store = Store::new(self.engine.clone(), Arc::new(self.content.clone()));
    }

    pub async fn create(&self, name: &str, id: u128) {
        let create = CreateContainer { id, scope: None, metadata: Metadata::default(), public: Default::default() };
        self.store.create_container(&container(name), create).await.unwrap();
    }

    pub async fn drop_container(&self, name: &str) {
        let delete = DeleteContainer { conditions: Conditions::default(), lease: None };
        self.store.delete_container(&container(name), delete).await.unwrap();
    }

    pub async fn receive(&self, bytes: &[u8]) -> Received {
        let mut body = Parts::of(bytes, 10_000);
        self.store.receive(&mut body, Some(bytes.len() as u64), u64::MAX, false).await.unwrap()
    }

    pub async fn put(&self, name: &str, bytes: &[u8]) -> Result<Blob, Failure> {
        let content = self.receive(bytes).await;
        self.store.put_blob(&blob(name), put_blob(), content).await.map(|blob| *blob)
    }

    pub async fn put_block(&self, name: &str, id: &str, bytes: &[u8]) -> Result<(), Failure> {
        let content = self.receive(bytes).await;
        self.store
            .put_block(&blob(name), PutBlock { id: block_id(id), encryption: Default::default(), lease: None }, content)
            .await
    }

    pub async fn commit(&self, name: &str, blocks: &[(Search, &str)]) -> Result<Blob, Failure> {
        self.store.put_block_list(&blob(name), block_list(blocks)).await
    }

    pub async fn snapshot(&self, name: &str) -> Timestamp {
        let snapshot = SnapshotBlob {
            metadata: None,
            encryption: Default::default(),
            conditions: Conditions::default(),
            lease: None,
        };
        self.store.snapshot_blob(&blob(name), snapshot).await.unwrap().0
    }

    pub async fn delete(&self, name: &str, snapshots: Option<DeleteSnapshots>) -> Result<(), Failure> {
        let delete = DeleteBlob {
            which: Which::Current,
            permanent: false,
            snapshots,
            tier: Default::default(),
            conditions: Conditions::default(),
            lease: None,
        };
        self.store.delete_blob(&blob(name), delete).await.map(drop)
    }

    pub async fn delete_snapshot(&self, name: &str, time: Timestamp) -> Result<(), Failure> {
        let delete = DeleteBlob {
            permanent: false,
            which: Which::Snapshot(time),
            snapshots: None,
            tier: Default::default(),
            conditions: Conditions::default(),
            lease: None,
        };
        self.store.delete_blob(&blob(name), delete).await.map(drop)
    }

    pub async fn get(&self, name: &str, snapshot: Option<Timestamp>) -> Result<Vec<u8>, Failure> {
        self.get_range(name, snapshot, 0, u64::MAX).await
    }

    pub async fn get_range(
        &self,
        name: &str,
        snapshot: Option<Timestamp>,
        from: u64,
        to: u64,
    ) -> Result<Vec<u8>, Failure> {
        let mut reader = self
            .store
            .open_blob(&blob(name), ReadBlob { which: Which::snapshot(snapshot), ..ReadBlob::default() })
            .await?;
        reader.seek(from, to);
        let mut bytes = Vec::new();
        while let Some(part) = reader.next().await? {
            bytes.extend_from_slice(&part);
        }
        Ok(bytes)
    }

    pub async fn bytes_of(&self, name: &str, which: Which) -> Result<Vec<u8>, Failure> {
        let mut reader = self.store.open_blob(&blob(name), ReadBlob { which, ..ReadBlob::default() }).await?;
        reader.seek(0, u64::MAX);
        let mut bytes = Vec::new();
        while let Some(part) = reader.next().await? {
            bytes.extend_from_slice(&part);
        }
        Ok(bytes)
    }

    /// Sets what the account keeps.
    pub async fn keep(&self, keeping: Keeping) {
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let days = keeping.deleted_days.map_or("off".to_owned(), |days| days.to_string());
        let changes =
            vec![set("versioning", if keeping.versions { "on" } else { "off" }), set("blob-soft-delete", &days)];
        self.store.set_account(&container("box").account, changes).await.unwrap();
    }

    pub async fn delete_version(&self, name: &str, id: Timestamp) -> Result<(), Failure> {
        let delete = DeleteBlob {
            permanent: false,
            which: Which::Version(id),
            snapshots: None,
            tier: Default::default(),
            conditions: Conditions::default(),
            lease: None,
        };
        self.store.delete_blob(&blob(name), delete).await.map(drop)
    }

    /// Deletes all versions there are.
    pub async fn delete_versions(&self) {
        let include = Include { versions: true, ..Include::default() };
        let list = ListBlobs { most: 5000, include, ..ListBlobs::default() };
        let page = self.store.list_blobs(&container("box"), list).await.unwrap();
        for entry in page.entries {
            if let Entry::Blob(item) = entry {
                self.delete_version(item.name.as_str(), item.blob.version.unwrap()).await.unwrap();
            }
        }
    }

    /// Sweeps until there is nothing left to do.
    pub async fn sweep(&self) {
        for _ in 0..3 {
            while self.store.sweep_step().await.unwrap() {}
            for _ in 0..32 {
                tokio::task::yield_now().await; // what goes on by itself
            }
        }
    }

    /// Every column letter with how many rows it has, e.g. `"b2 k1"`.
    pub fn rows(&self) -> String {
        let mut counts = std::collections::BTreeMap::<u8, usize>::new();
        for (key, _) in self.engine.entries() {
            *counts.entry(key.column().0).or_default() += 1;
        }
        counts.iter().map(|(column, count)| format!("{}{count}", char::from(*column))).collect::<Vec<_>>().join(" ")
    }
}

/// How [`World::rows`] shows a volatile column.
pub fn volatile(letter: u8) -> char {
    char::from(lazuli_engine::Column::volatile(letter).0)
}

pub fn container(name: &str) -> ContainerAt {
    ContainerAt { account: AccountName::parse("account").unwrap(), container: ContainerName::parse(name).unwrap() }
}

/// A blob in the container `box`.
pub fn blob(name: &str) -> BlobAt {
    let at = container("box");
    BlobAt { account: at.account, container: at.container, blob: BlobName::parse(name).unwrap() }
}

pub fn block_id(text: &str) -> BlockId {
    BlockId::from_base64(text).unwrap()
}

pub fn put_blob() -> PutBlob {
    PutBlob {
        headers: ContentHeaders::default(),
        metadata: Metadata::default(),
        tags: Tags::default(),
        tier: None,
        protection: Default::default(),
        encryption: Default::default(),
        conditions: Conditions::default(),
        lease: None,
        may_overwrite: true,
    }
}

pub fn block_list(blocks: &[(Search, &str)]) -> PutBlockList {
    PutBlockList {
        blocks: blocks.iter().map(|(search, id)| (*search, block_id(id))).collect(),
        headers: ContentHeaders::default(),
        metadata: Metadata::default(),
        tags: Tags::default(),
        tier: None,
        protection: Default::default(),
        encryption: Default::default(),
        conditions: Conditions::default(),
        lease: None,
        may_overwrite: true,
    }
}

pub fn get_block_list() -> GetBlockList {
    GetBlockList {
        which: Which::Current,
        committed: true,
        uncommitted: true,
        conditions: Conditions::default(),
        lease: None,
    }
}

/// Bytes that differ from place to place and from seed to seed.
pub fn pattern(seed: u64, length: usize) -> Vec<u8> {
    (0..length as u64).map(|at| (at.wrapping_mul(31).wrapping_add(at >> 8).wrapping_add(seed * 7)) as u8).collect()
}

pub struct Parts(pub VecDeque<Result<Bytes, Broken>>);

impl Parts {
    pub fn of(bytes: &[u8], size: usize) -> Self {
        Self(bytes.chunks(size).map(|part| Ok(Bytes::copy_from_slice(part))).collect())
    }
}

impl Source for Parts {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Broken>> {
        let next = self.0.pop_front().transpose();
        Box::pin(async { next })
    }
}

/// SplitMix64: seeded, so that a failing seed is the bug report.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    pub fn one_of(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}
