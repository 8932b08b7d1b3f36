//! Waiting for others: until a client has given up what it caches, a lock is free, or time is up.
//!
//! Held true: who waits listens before it looks, so that what settles in between is not missed; and it has a timer of its own, so that
//! no other work has to go on for it to end. What is waited for is in the share's rows; these only say when to look again.
//!
//! Who waited has its turn before who comes later: a client that gives something up is answered when all who waited have looked again.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use lazuli_engine::BoxFuture;
use lazuli_model::Timestamp;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::ShareAt;
use crate::Store;

/// How often one of several gateways looks at what others may have done.
pub const LOOK_SECONDS: u64 = 1;

/// Ends after so long. Only the server makes them.
pub type Alarm = Arc<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;

#[derive(Default)]
pub(crate) struct Breaks {
    /// Shares with notices that no gateway has taken yet.
    noticed: Mutex<HashSet<ShareAt>>,
    asked: Notify,
    /// A handle was closed, a break acknowledged, a lock given up; or time has passed.
    settled: Notify,
    turns: Mutex<Turns>,
    /// Somebody who waits has looked, or waits no more.
    looked: Notify,
    alarm: OnceLock<Alarm>,
}

/// Who waits, and how much of what has settled each has seen.
#[derive(Default)]
struct Turns {
    /// How often something has settled.
    settled: u64,
    /// Of each that waits, how often that was before its last look.
    seen: HashMap<u64, u64>,
    next: u64,
}

impl Breaks {
    /// A transaction in a share has left notices.
    pub fn ask(&self, at: &ShareAt) {
        self.noticed.lock().unwrap_or_else(PoisonError::into_inner).insert(at.clone());
        self.asked.notify_one();
    }

    pub fn settle(&self) {
        self.turns().settled += 1;
        self.settled.notify_waiters();
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends when all who wait have looked at what has settled until now. Not for those who wait themselves.
    pub async fn all_have_looked(&self) {
        let settled = self.turns().settled;
        loop {
            let mut looked = std::pin::pin!(self.looked.notified());
            looked.as_mut().enable();
            if self.turns().seen.values().all(|seen| *seen >= settled) {
                return;
            }
            looked.await;
        }
    }

    /// To be called before looking.
    pub fn listen(&self) -> Pin<Box<Notified<'_>>> {
        let mut settled = Box::pin(self.settled.notified());
        settled.as_mut().enable();
        settled
    }

    async fn ring(&self, at: Option<Timestamp>, now: Timestamp) {
        match (at, self.alarm.get()) {
            (Some(at), Some(alarm)) => {
                // A little later: the engine's clock may be behind, and who comes too early only looks again.
                let ticks = at.ticks().saturating_sub(now.ticks()).saturating_add(20_000);
                alarm(Duration::from_nanos(ticks.saturating_mul(100))).await;
            }
            (None, _) | (_, None) => std::future::pending().await,
        }
    }
}

/// How a caller waits.
pub trait Waiting: Sync {
    /// It begins to wait. Said once, before anything is waited for, and when notices of what it waits for can be taken.
    fn begins(&self) -> BoxFuture<'_, ()>;
    /// Ends when the caller does not want to wait any more.
    fn cancelled(&self) -> BoxFuture<'_, ()>;
}

/// Waits for as long as it takes.
pub struct Patience;

impl Waiting for Patience {
    fn begins(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

/// What an attempt came to.
pub(super) enum Attempt<T> {
    Done(T),
    /// Not yet. Something ends by itself then.
    Wait(Option<Timestamp>),
}

/// One caller's waiting.
pub(super) struct Wait<'a> {
    store: &'a Store,
    waiting: &'a dyn Waiting,
    pub begun: bool,
    /// Its number among those who wait, once it does.
    number: Option<u64>,
    /// What had settled before its last look.
    seen: u64,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.store.breaks.turns().seen.remove(&number);
            self.store.breaks.looked.notify_waiters();
        }
    }
}

impl<'a> Wait<'a> {
    pub fn new(store: &'a Store, waiting: &'a dyn Waiting) -> Self {
        Self { store, waiting, begun: false, number: None, seen: 0 }
    }

    /// To be called before each look.
    pub fn listen(&mut self) -> Pin<Box<Notified<'a>>> {
        let settled = self.store.breaks.listen();
        self.seen = self.store.breaks.turns().settled;
        settled
    }

    /// It has looked, and goes on waiting.
    fn has_looked(&mut self) {
        let breaks = &self.store.breaks;
        let mut turns = breaks.turns();
        let next = turns.next;
        let number = *self.number.get_or_insert(next);
        turns.next = next.max(number + 1);
        turns.seen.insert(number, self.seen);
        drop(turns);
        breaks.looked.notify_waiters();
    }

    /// Waits until it is worth another look. False when the caller does not want to.
    pub async fn pass(&mut self, settled: Pin<Box<Notified<'a>>>, until: Option<Timestamp>) -> bool {
        // It has its turn from now on, whatever its beginning takes.
        self.has_looked();
        if !std::mem::replace(&mut self.begun, true) {
            self.waiting.begins().await;
        }
        let now = self.store.now();
        // What settles at another gateway wakes nobody here.
        let until = match &self.store.sharing {
            Some(_) => {
                let look = now.plus_seconds(LOOK_SECONDS);
                Some(until.map_or(look, |until| until.min(look)))
            }
            None => until,
        };
        tokio::select! {
            biased;
            () = self.waiting.cancelled() => false,
            () = settled => true,
            () = self.store.breaks.ring(until, now) => true,
        }
    }
}

impl Store {
    /// How those who wait are woken when their time is up. Without it, [`Store::sweep_step`] has to be called now and then.
    pub fn waking_by(self, alarm: Alarm) -> Self {
        let _ = self.breaks.alarm.set(alarm);
        self
    }

    /// Whether others use the same engine, so that notices may come from them.
    pub fn is_shared(&self) -> bool {
        self.sharing.is_some()
    }

    /// Waits until there may be notices for a gateway, and gives the shares in which: then [`Store::take_notices`] there.
    pub async fn noticed(&self) -> Vec<ShareAt> {
        loop {
            let shares = std::mem::take(&mut *self.breaks.noticed.lock().unwrap_or_else(PoisonError::into_inner));
            if !shares.is_empty() {
                return shares.into_iter().collect();
            }
            self.breaks.asked.notified().await;
        }
    }
}
