//! The task of a shard that a gateway writes to: it takes what was submitted in turns, and ends when nobody needs it.
//!
//! Held true: one operator of a gateway is in flight at a shard. What comes meanwhile leaves together with the next.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

use super::Gateway;
use super::fetch::Place;
use super::loaded::Loaded;
use super::state::State;
use crate::clock::Stopwatch;
use crate::{Fault, Job, Partition, Stamp, Want};

/// A shard that nothing was submitted to for so long is forgotten.
const IDLE: Duration = Duration::from_secs(30);
/// Transactions that leave together, at most.
const BATCH_MAX: usize = 256;
/// What a shard keeps of what it has read, at most, and all shards together.
const KEPT_MAX: usize = 8 << 20;
const KEPT_TOTAL: usize = 128 << 20;

/// A job on its way through a shard.
pub(super) struct Submitted {
    pub at: Partition,
    pub job: Box<dyn Job>,
    /// All that it was found to read, or said it will.
    pub wants: Vec<Want>,
    /// What it was stamped with, as long as that is later than the partition's version. A decision may read up to its stamp: with another
    /// one at each run it would miss something new each time.
    pub stamp: Option<Stamp>,
    pub conflicts: u32,
    since: Stopwatch,
}

impl Submitted {
    pub fn new(at: Partition, job: Box<dyn Job>) -> Self {
        let wants = job.wants();
        Self { at, job, wants, stamp: None, conflicts: 0, since: Stopwatch::start() }
    }

    pub fn settle(self, fate: Result<(), Fault>) {
        self.job.settle(fate);
    }

    pub fn waits_longer_than(&self, patience: Duration) -> bool {
        u128::from(self.since.nanos()) > patience.as_nanos()
    }
}

/// What a shard's task knows.
pub(super) struct Shard {
    pub gateway: Arc<Gateway>,
    pub place: Place,
    pub pending: VecDeque<Submitted>,
    /// Partitions, as they were when their version was last seen.
    pub known: HashMap<Bytes, Known>,
    /// This gateway's mark in the shard; `None`: not read yet.
    pub mark: Option<Bytes>,
    pub state: State,
    /// Operators in a row that came too late.
    pub conflicts: u32,
    /// Rows written since they were counted.
    pub grown: usize,
    /// What it counts for in the gateway's `kept`.
    kept: usize,
}

impl Drop for Shard {
    fn drop(&mut self) {
        self.gateway.kept.fetch_sub(self.kept, Ordering::Relaxed);
    }
}

pub(super) struct Known {
    pub version: u64,
    pub loaded: Loaded,
    /// Seen in this turn: what rests on it alone need not be proved again.
    pub is_fresh: bool,
}

/// The shard's partitions are elsewhere.
pub(super) struct Moved;

pub(super) async fn serve(gateway: Arc<Gateway>, place: Place, mut queue: UnboundedReceiver<Submitted>) {
    let mut shard = Shard {
        gateway,
        place,
        pending: VecDeque::new(),
        known: HashMap::new(),
        mark: None,
        state: State::Live,
        conflicts: 0,
        grown: 0,
        kept: 0,
    };
    loop {
        if shard.pending.is_empty() {
            match timeout(IDLE, queue.recv()).await {
                Ok(Some(submitted)) => shard.pending.push_back(submitted),
                Ok(None) => return,
                Err(_) => {
                    shard.forget(&mut queue);
                    return;
                }
            }
        }
        while shard.pending.len() < BATCH_MAX
            && let Ok(submitted) = queue.try_recv()
        {
            shard.pending.push_back(submitted);
        }
        if let Err(Moved) = shard.turn().await {
            let moved = shard.gateway.moved(shard.place, &shard.state).await;
            if let Err(fault) = moved {
                shard.pending.drain(..).for_each(|submitted| submitted.settle(Err(fault.clone())));
            }
            shard.forget(&mut queue);
            return;
        }
        shard.bound_memory();
        shard.split_if_large();
    }
}

impl Shard {
    /// Forgets what it has read, if that has become too much. It is read again when it is needed.
    fn bound_memory(&mut self) {
        const PER_PARTITION: usize = 256;
        let all = &self.gateway.kept;
        let size = self.known.values().map(|known| known.loaded.size() + PER_PARTITION).sum::<usize>();
        let others = all.load(Ordering::Relaxed).saturating_sub(self.kept);
        let kept = if size > KEPT_MAX || others + size > KEPT_TOTAL { 0 } else { size };
        if kept == 0 {
            self.known.clear();
        }
        all.fetch_add(kept, Ordering::Relaxed);
        all.fetch_sub(std::mem::replace(&mut self.kept, kept), Ordering::Relaxed);
    }

    /// Ends the task. What is still waiting goes to the shard, or to the task, that comes after it.
    fn forget(&mut self, queue: &mut UnboundedReceiver<Submitted>) {
        let mut shards = self.gateway.shards.lock().unwrap_or_else(PoisonError::into_inner);
        queue.close();
        shards.remove(&(self.place.space, self.place.shard));
        drop(shards);
        let mut left: Vec<Submitted> = self.pending.drain(..).collect();
        while let Ok(submitted) = queue.try_recv() {
            left.push(submitted);
        }
        for submitted in left {
            self.gateway.clone().submit(submitted);
        }
    }
}
