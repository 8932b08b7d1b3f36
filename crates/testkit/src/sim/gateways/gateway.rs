//! One gateway: a store over an engine that can be stopped, with its background work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use lazuli_engine::content;
use lazuli_engine::memory::Memory;
use lazuli_engine::{BoxFuture, Engine, Fault, Job, Partition, Space, Stamp, Txn, Verdict};
use lazuli_store::{Gone, HEARTBEAT_SECONDS, Store};

use super::{SECOND, World};
use crate::chance::Chance;

pub struct Gateway {
    pub id: u128,
    pub store: Store,
    content: content::Memory,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    dead: AtomicBool,
    stalled: AtomicBool,
    /// It was stopped at some time: its readers may find that something is gone.
    was_stalled: AtomicBool,
    /// How often its heartbeat came round.
    rounds: AtomicU64,
    resting: AtomicBool,
}

impl Gateway {
    pub fn new(id: u128, engine: Memory, content: content::Memory) -> Arc<Self> {
        let state = Arc::new(State::default());
        let engine = Stoppable { inner: Arc::new(engine), state: state.clone() };
        let store = Store::new(Arc::new(engine), Arc::new(content.clone())).digesting_here().shared_as(id);
        Arc::new(Self { id, store, content, state })
    }

    pub fn is_awake(&self) -> bool {
        !self.state.dead.load(SeqCst) && !self.state.stalled.load(SeqCst)
    }

    /// Whether nothing stopped it so far.
    pub fn is_sound(&self) -> bool {
        self.is_awake() && !self.state.was_stalled.load(SeqCst)
    }

    pub fn is_dead(&self) -> bool {
        self.state.dead.load(SeqCst)
    }

    pub fn rounds(&self) -> u64 {
        self.state.rounds.load(SeqCst)
    }

    pub fn kill(&self) {
        self.state.dead.store(true, SeqCst);
        self.content.kill();
    }

    pub fn stall(&self, stalled: bool) {
        self.state.stalled.store(stalled, SeqCst);
        self.state.was_stalled.store(true, SeqCst);
    }

    /// Its background work ends, and what is left is done here, to the end.
    pub async fn rest(&self) {
        self.state.resting.store(true, SeqCst);
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        let mut idle = 0;
        while idle < 3 {
            let fed = self.store.feed_step().await;
            let swept = self.store.sweep_step().await;
            idle = if matches!((fed, swept), (Ok(false), Ok(false))) { idle + 1 } else { 0 };
            tokio::task::yield_now().await;
        }
    }

    /// Starts what a server does beside its clients.
    pub(in crate::sim) fn work(self: &Arc<Self>, world: &Arc<World>, chance: &mut Chance) {
        tokio::spawn(attend(self.clone(), world.clone()));
        tokio::spawn(sweep(self.clone(), Chance::new(chance.draw())));
    }
}

/// Heartbeats, and the end of those who have fallen silent. A gateway that was declared dead itself ends.
async fn attend(gateway: Arc<Gateway>, world: Arc<World>) {
    let mut last = world.now();
    while !gateway.is_dead() {
        gateway.state.wake().await;
        if world.now() >= last + HEARTBEAT_SECONDS * SECOND {
            last = world.now();
            match gateway.store.beat(gateway.id, false).await {
                Ok(true) => {}
                Ok(false) => return gateway.kill(),
                Err(lazuli_store::Failure::Broken(Fault::Unavailable(what))) if what.contains("declared dead") => {
                    return gateway.kill();
                }
                Err(_) => last = 0, // again at once
            }
            if matches!(gateway.store.has_silent_gateway().await, Ok(true)) {
                let _ = gateway.store.end_handles(Gone::Silent).await;
            }
        }
        gateway.state.rounds.fetch_add(1, SeqCst);
        tokio::task::yield_now().await;
    }
}

async fn sweep(gateway: Arc<Gateway>, mut chance: Chance) {
    while !gateway.is_dead() && !gateway.state.resting.load(SeqCst) {
        match chance.below(6) {
            0 | 1 => drop(gateway.store.sweep_step().await),
            2 => drop(gateway.store.feed_step().await),
            _ => {}
        }
        tokio::task::yield_now().await;
    }
}

impl State {
    async fn wake(&self) {
        while self.stalled.load(SeqCst) && !self.dead.load(SeqCst) {
            tokio::task::yield_now().await;
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.dead.load(SeqCst) { Err(Fault::Unavailable("this gateway is dead".into())) } else { Ok(()) }
    }
}

/// An engine as a process has it that can be stopped: what it sent before is on its way.
struct Stoppable {
    inner: Arc<Memory>,
    state: Arc<State>,
}

impl Engine for Stoppable {
    fn submit(&self, at: Partition, job: Box<dyn Job>) {
        let (inner, state) = (self.inner.clone(), self.state.clone());
        if !state.stalled.load(SeqCst) && !state.dead.load(SeqCst) {
            return inner.submit(at, job);
        }
        tokio::spawn(async move {
            state.wake().await;
            match state.check() {
                Ok(()) => inner.submit(at, job),
                Err(fault) => job.settle(Err(fault)),
            }
        });
    }

    fn look<'a>(
        &'a self,
        at: &'a Partition,
        look: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            self.state.wake().await;
            self.state.check()?;
            self.inner.look(at, look).await
        })
    }

    fn scan<'a>(
        &'a self,
        space: Space,
        scan: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            self.state.wake().await;
            self.state.check()?;
            self.inner.scan(space, scan).await
        })
    }

    fn now(&self) -> Stamp {
        self.inner.now()
    }

    fn fence(&self, gateway: u128) -> BoxFuture<'_, Result<(), Fault>> {
        self.inner.fence(gateway)
    }
}
