//! What a restart finds: extents of the process before, and everything that was acknowledged.

mod disk;
mod world;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use disk::Directory;
use lazuli_engine::content::{self, Chunks, Content, Piece, Recovery, Stage};
use lazuli_engine::{BoxFuture, Fault};
use lazuli_model::blob::{ReadBlob, Search};
use lazuli_model::container::CreateContainer;
use lazuli_store::Store;
use world::*;

type Settled = BTreeMap<u64, Vec<(u64, u64)>>;

/// Content that says it comes from an earlier process, and remembers what it is told is live.
struct Inherited {
    inner: content::Memory,
    unsettled: Vec<u64>,
    settled: Mutex<Settled>,
}

impl Content for Inherited {
    fn stage(&self, expected: Option<u64>) -> Box<dyn Stage> {
        self.inner.stage(expected)
    }

    fn read(&self, piece: Piece, from: u64, to: u64) -> Box<dyn Chunks> {
        self.inner.read(piece, from, to)
    }

    fn free(&self, pieces: Vec<Piece>) -> BoxFuture<'static, ()> {
        self.inner.free(pieces)
    }

    fn recovery(&self) -> Option<&dyn Recovery> {
        Some(self)
    }
}

impl Recovery for Inherited {
    fn unsettled(&self) -> Vec<u64> {
        let settled = self.settled.lock().unwrap();
        self.unsettled.iter().copied().filter(|extent| !settled.contains_key(extent)).collect()
    }

    fn settle(&self, extent: u64, live: Vec<(u64, u64)>) -> BoxFuture<'_, Result<(), Fault>> {
        let before = self.settled.lock().unwrap().insert(extent, live);
        assert_eq!(before, None, "an extent is settled once");
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn what_is_live_in_an_extent_is_what_claims_say() {
    let mut world = World::plain();
    world.create("box", 1).await;
    for number in 0..100 {
        world.create(&format!("other{number}"), 100 + number).await; // more spaces than one look goes over
    }
    // In memory each piece is an extent of its own, counted from one.
    world.put("gone", &pattern(1, 20_001)).await.unwrap();
    world.put("kept", &pattern(2, 20_002)).await.unwrap();
    world.put_block("block", "QUFB", &pattern(3, 20_003)).await.unwrap();
    std::mem::forget(world.receive(&pattern(4, 20_004)).await); // the process dies before a record names it
    world.put("snapped", &pattern(5, 20_005)).await.unwrap();
    world.snapshot("snapped").await;
    world.put("snapped", b"").await.unwrap();
    world.drop_container("box").await; // all of the above, with nothing swept yet
    world.create("box", 2).await;
    world.put("new", &pattern(6, 20_006)).await.unwrap();
    world.put("gone", &pattern(7, 20_007)).await.unwrap();
    world.delete("gone", None).await.unwrap();

    let inherited = Arc::new(Inherited {
        inner: world.content.clone(),
        unsettled: vec![1, 2, 3, 4, 5, 6, 7, 99],
        settled: Mutex::default(),
    });
    world.store = Store::new(world.engine.clone(), inherited.clone());
    world.sweep().await;
    let live = |length| vec![(0, length)];
    let want = [(1, 20_001), (2, 20_002), (3, 20_003), (4, 0), (5, 20_005), (6, 20_006), (7, 20_007), (99, 0)];
    let want: Settled = want
        .into_iter()
        .map(|(extent, length)| (extent, if length == 0 { Vec::new() } else { live(length) }))
        .collect();
    assert_eq!(*inherited.settled.lock().unwrap(), want, "what is dead but unswept still has its claims");
    assert_eq!(world.get("new", None).await.unwrap(), pattern(6, 20_006));
    assert_eq!(world.content.size(), 20_006 + 20_004, "the rest was swept; the orphan is the extent's affair");
}

async fn put(store: &Store, name: &str, bytes: &[u8]) {
    let received = store.receive(&mut Parts::of(bytes, 60_000), None, u64::MAX, true).await.unwrap();
    store.put_blob(&blob(name), put_blob(), received).await.unwrap();
}

async fn get(store: &Store, name: &str) -> Vec<u8> {
    let mut reader = store.open_blob(&blob(name), ReadBlob::default()).await.unwrap();
    reader.seek(0, u64::MAX);
    let mut bytes = Vec::new();
    while let Some(part) = reader.next().await.unwrap() {
        bytes.extend_from_slice(&part);
    }
    bytes
}

/// The same store over the engine and the extents that ship.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_is_there_after_reopening() {
    let directory = Directory::new("reopen");
    let big = pattern(2, 3_000_000);
    {
        let store = directory.open().await;
        let create = CreateContainer { id: 1, scope: None, metadata: Default::default(), public: Default::default() };
        store.create_container(&container("box"), create).await.unwrap();
        put(&store, "small", b"small").await;
        put(&store, "big", &pattern(1, 1_000_000)).await;
        put(&store, "big", &big).await;
        for id in ["QUFB", "QkJC"] {
            let received = store.receive(&mut Parts::of(&big, 60_000), None, u64::MAX, false).await.unwrap();
            let put = lazuli_model::blob::PutBlock { id: block_id(id), encryption: Default::default(), lease: None };
            store.put_block(&blob("blocks"), put, received).await.unwrap();
        }
        let list = block_list(&[(Search::Latest, "QkJC"), (Search::Latest, "QUFB")]);
        store.put_block_list(&blob("blocks"), list).await.unwrap();
        while store.sweep_step().await.unwrap() {}
        assert!(get(&store, "big").await == big);
    }
    let store = directory.open().await;
    while store.sweep_step().await.unwrap() {}
    assert_eq!(get(&store, "small").await, b"small");
    assert!(get(&store, "big").await == big);
    assert!(get(&store, "blocks").await == [&big[..], &big].concat());
}
