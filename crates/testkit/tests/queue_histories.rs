//! Producers and consumers of one queue through the real store, under a clock that jumps: every history must have an order
//! that the rules explain. So no message is lost, invented, or held by two, receipts are obeyed and counts are right.
//!
//! `LAZULI_HISTORIES` sets how many, `LAZULI_SEED` where to begin; a failure prints its seed and its story.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use lazuli_engine::clock::{Clock, TICKS_PER_SECOND};
use lazuli_engine::content::Memory as ContentMemory;
use lazuli_engine::embedded::{Embedded, Options};
use lazuli_engine::memory::{Manners, Memory};
use lazuli_engine::{Engine, Stamp};
use lazuli_model::queue::{CreateQueue, Receipt};
use lazuli_model::{AccountName, Metadata, QueueName};
use lazuli_store::{Delivery, Failure, QueueAt, Store};
use lazuli_testkit::chance::{Chance, number, seed};
use lazuli_testkit::linear::check;
use lazuli_testkit::queue_history::{Answer, Call, OneQueue, Op, QueueEvent, choose};

const CLIENTS: usize = 5;
const CALLS: usize = 14;

/// Carries one call out. `None` when the machine broke, so that nobody knows.
async fn call(store: &Store, at: &QueueAt, call: &Call, fresh: u128) -> Option<Answer> {
    let shown = |found: Vec<Delivery>| found.into_iter().map(|one| (one.message, one.text)).collect();
    let answer = match call {
        Call::Put(put) => store.put_message(at, put.clone()).await.map(Answer::Put),
        Call::Get(get) => store.get_messages(at, *get).await.map(|found| Answer::Got(shown(found))),
        Call::Peek { most } => store.peek_messages(at, *most).await.map(|found| Answer::Peeked(shown(found))),
        Call::Update(update) => store.update_message(at, update.clone()).await.map(Answer::Updated),
        Call::Delete(delete) => store.delete_message(at, *delete).await.map(|()| Answer::Deleted),
        Call::Clear => store.clear_messages(at, fresh).await.map(|()| Answer::Cleared),
    };
    match answer {
        Ok(answer) => Some(answer),
        Err(Failure::Refused(refusal)) => Some(Answer::Refused(refusal)),
        Err(Failure::Broken(_)) => None,
    }
}

/// What all clients of a history share.
#[derive(Clone)]
struct Scene {
    store: Store,
    at: QueueAt,
    /// Numbers that nobody has had: of calls, values and spaces.
    next: Arc<AtomicU64>,
    wall: Arc<AtomicU64>,
    seed: u64,
}

async fn client(id: usize, scene: Scene, mut chance: Chance) -> Vec<QueueEvent> {
    let mut events = Vec::new();
    let mut known: Vec<(u128, Receipt)> = Vec::new();
    for _ in 0..CALLS {
        if chance.one_in(4) {
            scene.wall.fetch_add((1 + chance.below(3) as u64) * TICKS_PER_SECOND, SeqCst);
        }
        let asked = choose(&mut chance, &known, scene.next.fetch_add(1, SeqCst));
        let fresh = (u128::from(scene.seed) << 64) | (1 << 32) | u128::from(scene.next.fetch_add(1, SeqCst));
        let (called, from) = (scene.next.fetch_add(1, SeqCst), scene.store.now());
        let waiting = call(&scene.store, &scene.at, &asked, fresh);
        let answer = match asked.may_be_lost() && chance.one_in(6) {
            true => impatient(waiting, chance.below(4)).await,
            false => waiting.await,
        };
        let until = scene.store.now();
        if let Some(Answer::Got(found)) = &answer {
            known.extend(found.iter().map(|(message, _)| (message.id, message.receipt())));
        }
        if let Some(Answer::Updated(message) | Answer::Put(message)) = &answer {
            known.push((message.id, message.receipt()));
        }
        let returned = answer.map(|answer| (answer, scene.next.fetch_add(1, SeqCst)));
        events.push(QueueEvent { client: id, op: Op { call: asked, from, until }, called, returned });
    }
    events
}

/// Polls a call a few times, then drops it.
async fn impatient(waiting: impl Future<Output = Option<Answer>>, patience: usize) -> Option<Answer> {
    let mut waiting = std::pin::pin!(waiting);
    for _ in 0..=patience {
        tokio::select! {
            biased;
            answer = &mut waiting => return answer,
            () = tokio::task::yield_now() => {}
        }
    }
    None
}

async fn one_history(engine: Arc<dyn Engine>, wall: Arc<AtomicU64>, seed: u64) -> Vec<QueueEvent> {
    let store = Store::new(engine, Arc::new(ContentMemory::new()));
    let at = QueueAt {
        account: AccountName::parse("devstoreaccount1").expect("a name"),
        queue: QueueName::parse(&format!("history{seed}")).expect("a name"),
    };
    let create = CreateQueue { id: (u128::from(seed) << 64) | 1, metadata: Metadata::default() };
    store.create_queue(&at, create).await.expect("the queue is created");
    let scene = Scene { store: store.clone(), at, next: Arc::new(AtomicU64::new(1)), wall, seed };
    let mut chance = Chance::new(seed);
    let sweeper = tokio::spawn(sweep(store, chance.draw()));
    let clients: Vec<_> =
        (0..CLIENTS).map(|id| tokio::spawn(client(id, scene.clone(), Chance::new(chance.draw())))).collect();
    let mut events = Vec::new();
    for client in clients {
        events.extend(client.await.expect("no client panics"));
    }
    sweeper.abort();
    events
}

/// Collecting what was cleared must change nothing that anyone sees.
async fn sweep(store: Store, seed: u64) {
    let mut chance = Chance::new(seed);
    loop {
        if chance.one_in(4) {
            let _ = store.sweep_step().await;
        }
        tokio::task::yield_now().await;
    }
}

fn judge(name: &str, seed: u64, events: &[QueueEvent]) {
    if let Err(violation) = check(&OneQueue, events) {
        panic!("{name}, LAZULI_SEED={seed}: {} of {} explained\n{}", violation.done, violation.of, violation.story);
    }
}

/// A clock that stands still until somebody pushes it.
fn false_clock() -> (Arc<AtomicU64>, Clock) {
    let wall = Arc::new(AtomicU64::new(639_000_000_000_000_000));
    let read = wall.clone();
    (wall, Clock::new(move || Stamp(read.load(SeqCst))))
}

fn seeds() -> std::ops::Range<u64> {
    let first = seed(1);
    first..first + number("LAZULI_HISTORIES", 300)
}

#[test]
fn queues_over_a_distributed_engine_are_linearizable() {
    for seed in seeds() {
        let (wall, clock) = false_clock();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let engine = Arc::new(Memory::distributed_with(Manners::rough(seed), lazuli_store::layout, clock));
        let events = runtime.block_on(one_history(engine, wall, seed));
        judge("distributed", seed, &events);
    }
}

#[test]
fn queues_over_the_embedded_engine_are_linearizable() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("queue-histories-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let (wall, clock) = false_clock();
    let options = Options { clock, ..Options::default() };
    let engine: Arc<dyn Engine> = Arc::new(Embedded::open(&path, options).expect("an engine"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().expect("a runtime");
    for seed in seeds() {
        let events = runtime.block_on(one_history(engine.clone(), wall.clone(), seed));
        judge("embedded", seed, &events);
    }
    drop(engine);
    let _ = std::fs::remove_dir_all(&path);
}
