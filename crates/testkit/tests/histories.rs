//! Concurrent clients on one blob through the real store: every history must have an order that the rules explain.
//!
//! `LAZULI_HISTORIES` sets how many, `LAZULI_SEED` where to begin; a failure prints its seed and its story.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use lazuli_engine::content::Memory as ContentMemory;
use lazuli_engine::embedded::{Embedded, Options};
use lazuli_engine::memory::Memory;
use lazuli_engine::{BoxFuture, Engine};
use lazuli_model::blob::{LeaseBlob, PutBlock};
use lazuli_model::container::CreateContainer;
use lazuli_model::{AccountName, BlobName, ContainerName, Metadata};
use lazuli_store::{BlobAt, Broken, Failure, Received, Source, Store};
use lazuli_testkit::blob_history::{self as history, Answer, BlobEvent, Known, OneBlob, Op};
use lazuli_testkit::chance::{Chance, number, seed};
use lazuli_testkit::linear::check;

const CLIENTS: usize = 5;
const CALLS: usize = 12;

/// A body that is already here.
struct Whole(Option<Bytes>);

impl Source for Whole {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Broken>> {
        let bytes = self.0.take();
        Box::pin(async move { Ok(bytes) })
    }
}

/// A number as content: small, or long enough to be staged outside the record.
fn content(value: u64) -> Bytes {
    let repeats = if value.is_multiple_of(3) { 5_000 } else { 1 };
    value.to_be_bytes().repeat(repeats).into()
}

/// The numbers that `content` wrote, if every byte of each is there.
fn numbers(mut bytes: &[u8]) -> Vec<u64> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let value = u64::from_be_bytes(bytes[..8].try_into().expect("whole numbers"));
        let expected = content(value);
        assert!(bytes.starts_with(&expected), "half of something: {value} in {} bytes", bytes.len());
        bytes = &bytes[expected.len()..];
        found.push(value);
    }
    found
}

async fn receive(store: &Store, value: u64) -> Received {
    let bytes = content(value);
    let length = bytes.len() as u64;
    store.receive(&mut Whole(Some(bytes)), Some(length), u64::MAX, false).await.expect("it is received")
}

/// Carries one call out. `None` when the machine broke, so that nobody knows.
async fn call(store: &Store, at: &BlobAt, op: &Op) -> Option<Answer> {
    let answer = match op {
        Op::Put { value, guard } => {
            let body = receive(store, *value).await;
            store.put_blob(at, history::put_blob(guard), body).await.map(|blob| Answer::Written(blob.etag))
        }
        Op::PutBlock { block, value, lease } => {
            let body = receive(store, *value).await;
            let put = PutBlock { id: history::block_id(*block), encryption: Default::default(), lease: *lease };
            store.put_block(at, put, body).await.map(|()| Answer::Staged)
        }
        Op::PutBlockList { blocks, guard } => {
            let list = history::put_block_list(blocks, guard);
            store.put_block_list(at, list).await.map(|blob| Answer::Written(blob.etag))
        }
        Op::SetMetadata { value, guard } => {
            let set = history::set_metadata(*value, guard);
            store.set_blob_metadata(at, set).await.map(|blob| Answer::Written(blob.etag))
        }
        Op::Read { guard } => read(store, at, history::read_blob(None, guard)).await,
        Op::ReadSnapshot { time } => {
            let unguarded = history::Guard { conditions: Default::default(), lease: None };
            read(store, at, history::read_blob(Some(*time), &unguarded)).await
        }
        Op::Delete { snapshots, guard } => {
            store.delete_blob(at, history::delete_blob(*snapshots, guard)).await.map(|_| Answer::Deleted)
        }
        Op::Snapshot { guard } => {
            store.snapshot_blob(at, history::snapshot_blob(guard)).await.map(|(time, _)| Answer::Snapshot(time))
        }
        Op::Lease { action, conditions } => {
            let lease = LeaseBlob { action: *action, conditions: conditions.clone() };
            store.lease_blob(at, lease).await.map(|(blob, outcome)| Answer::Leased { etag: blob.etag, id: outcome.id })
        }
    };
    match answer {
        Ok(answer) => Some(answer),
        Err(Failure::Refused(refusal)) => Some(Answer::Refused(refusal)),
        Err(Failure::Broken(_)) => None,
    }
}

async fn read(store: &Store, at: &BlobAt, read: lazuli_model::blob::ReadBlob) -> Result<Answer, Failure> {
    let mut reader = store.open_blob(at, read).await?;
    let mut bytes = Vec::new();
    reader.seek(0, reader.blob.content.length);
    while let Some(chunk) = reader.next().await? {
        bytes.extend_from_slice(&chunk);
    }
    let blob = &reader.blob;
    Ok(Answer::Read { etag: blob.etag, content: numbers(&bytes), metadata: blob.metadata.clone() })
}

/// One client: calls, learns, and sometimes hangs up before the answer (D5: what began still happens, or never did).
async fn client(id: usize, store: Store, at: BlobAt, mut chance: Chance, clock: Arc<AtomicU64>) -> Vec<BlobEvent> {
    let mut events = Vec::new();
    let mut known = Known::default();
    for _ in 0..CALLS {
        let op = history::choose(&mut chance, &known, clock.fetch_add(1, Ordering::SeqCst));
        let called = clock.fetch_add(1, Ordering::SeqCst);
        let hangs_up = !op.leaves_etag() && chance.one_in(8);
        let answer =
            if hangs_up { impatient(&store, &at, &op, chance.below(4)).await } else { call(&store, &at, &op).await };
        let returned = answer.map(|answer| (answer, clock.fetch_add(1, Ordering::SeqCst)));
        match returned.as_ref().map(|(answer, _)| answer) {
            Some(Answer::Written(etag) | Answer::Read { etag, .. } | Answer::Leased { etag, .. }) => {
                known.etag = Some(*etag)
            }
            Some(Answer::Snapshot(time)) => known.snapshot = Some(*time),
            Some(Answer::Staged | Answer::Deleted | Answer::Refused(_)) | None => {}
        }
        events.push(BlobEvent { client: id, op, called, returned });
    }
    events
}

/// Polls a call a few times, then drops it.
async fn impatient(store: &Store, at: &BlobAt, op: &Op, patience: usize) -> Option<Answer> {
    let mut waiting = std::pin::pin!(call(store, at, op));
    for _ in 0..=patience {
        tokio::select! {
            biased;
            answer = &mut waiting => return answer,
            () = tokio::task::yield_now() => {}
        }
    }
    None
}

async fn one_history(engine: Arc<dyn Engine>, seed: u64) -> Vec<BlobEvent> {
    let store = Store::new(engine, Arc::new(ContentMemory::new()));
    let at = BlobAt {
        account: AccountName::parse("devstoreaccount1").expect("a name"),
        container: ContainerName::parse(&format!("history{seed}")).expect("a name"),
        blob: BlobName::parse("blob").expect("a name"),
    };
    let create = CreateContainer {
        id: u128::from(seed) + 1,
        scope: None,
        metadata: Metadata::default(),
        public: Default::default(),
    };
    store.create_container(&at.container_at(), create).await.expect("the container is created");
    let clock = Arc::new(AtomicU64::new(1));
    let mut chance = Chance::new(seed);
    let sweeper = tokio::spawn(sweep(store.clone(), chance.draw()));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|id| tokio::spawn(client(id, store.clone(), at.clone(), Chance::new(chance.draw()), clock.clone())))
        .collect();
    let mut events = Vec::new();
    for client in clients {
        events.extend(client.await.expect("no client panics"));
    }
    sweeper.abort();
    events
}

/// Collecting garbage must change nothing that anyone sees.
async fn sweep(store: Store, seed: u64) {
    let mut chance = Chance::new(seed);
    loop {
        if chance.one_in(4) {
            let _ = store.sweep_step().await;
        }
        tokio::task::yield_now().await;
    }
}

fn judge(name: &str, seed: u64, events: &[BlobEvent]) {
    if let Err(violation) = check(&OneBlob, events) {
        panic!("{name}, LAZULI_SEED={seed}: {} of {} explained\n{}", violation.done, violation.of, violation.story);
    }
}

fn seeds() -> std::ops::Range<u64> {
    let first = seed(1);
    first..first + number("LAZULI_HISTORIES", 300)
}

#[test]
fn histories_over_a_distributed_engine_are_linearizable() {
    for seed in seeds() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let events = runtime.block_on(one_history(Arc::new(Memory::distributed(lazuli_store::layout, seed)), seed));
        judge("distributed", seed, &events);
    }
}

#[test]
fn histories_over_the_embedded_engine_are_linearizable() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("histories-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let engine: Arc<dyn Engine> = Arc::new(Embedded::open(&path, Options::default()).expect("an engine"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().expect("a runtime");
    for seed in seeds() {
        let events = runtime.block_on(one_history(engine.clone(), seed));
        judge("embedded", seed, &events);
    }
    drop(engine);
    let _ = std::fs::remove_dir_all(&path);
}
