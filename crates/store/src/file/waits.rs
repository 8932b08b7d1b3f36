//! Waiting for others: until a client has given up what it caches, a lock is free, or time is up.
//!
//! Held true: who waits listens before it looks, so that what settles in between is not missed; and it has a timer of its own, so that
//! no other work has to go on for it to end. What is waited for is in the share's rows; these only say when to look again.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
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
    alarm: OnceLock<Alarm>,
}

impl Breaks {
    /// A transaction in a share has left notices.
    pub fn ask(&self, at: &ShareAt) {
        self.noticed.lock().unwrap_or_else(PoisonError::into_inner).insert(at.clone());
        self.asked.notify_one();
    }

    pub fn settle(&self) {
        self.settled.notify_waiters();
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
    /// It begins to wait. Said once, before anything is waited for.
    fn begins(&self);
    /// Ends when the caller does not want to wait any more.
    fn cancelled(&self) -> BoxFuture<'_, ()>;
}

/// Waits for as long as it takes.
pub struct Patience;

impl Waiting for Patience {
    fn begins(&self) {}

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
}

impl<'a> Wait<'a> {
    pub fn new(store: &'a Store, waiting: &'a dyn Waiting) -> Self {
        Self { store, waiting, begun: false }
    }

    pub fn listen(&self) -> Pin<Box<Notified<'a>>> {
        self.store.breaks.listen()
    }

    /// Waits until it is worth another look. False when the caller does not want to.
    pub async fn pass(&mut self, settled: Pin<Box<Notified<'a>>>, until: Option<Timestamp>) -> bool {
        if !std::mem::replace(&mut self.begun, true) {
            self.waiting.begins();
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
