//! The engine of a cluster: spaces as objects of a RADOS pool, which any number of gateways share. None of them owns anything,
//! and none talks to another.
//!
//! Held true:
//! * a partition lies in one shard, which is one object, and a transaction is one atomic operator on it;
//! * each partition has a version, the stamp of its last transaction. An operator names the versions that its decisions rest on, and
//!   is applied only if they still hold: so nothing that was read has changed, ranges included, and stamps strictly increase;
//! * each gateway has a mark in a shard, the number of its last operator there, and an operator names the mark before it. So one whose
//!   answer was lost is found by its number, and can be kept from ever being applied by moving the mark;
//! * transactions of one gateway that meet at a shard go out as one operator (`turn`); what it has read is kept, and used again only as
//!   far as the operator proves that it still holds;
//! * a gateway that another one declared dead is shut out by the cluster (`fence`);
//! * a shard with many rows is split by the names of partitions while it is in use (`split`). So a listing in the order of names
//!   reads the shards of its page, and no others.

mod content;
mod directory;
mod extents;
mod fence;
mod fetch;
mod lease;
mod loaded;
mod look;
mod names;
mod pool;
mod scan;
mod shard;
mod simulated;
mod split;
mod state;
mod turn;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::OnceCell;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::memory::Random;
use crate::{BoxFuture, Clock, ClockState, Engine, Fault, Job, Layout, Partition, Space, Stamp, Txn, Verdict};

pub use content::Objects;
pub use extents::HEARTBEAT_SECONDS;
pub use pool::{Found, Pool, ReadStep, Reading, Trouble, WriteStep};
pub use simulated::Simulated;

use directory::Directory;
use fetch::Place;
use shard::Submitted;

/// How the engine goes about it. Whatever is chosen, gateways with other choices can share the pool.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// A shard with more rows than this is split. Ceph warns of objects with 200,000.
    pub split_rows: usize,
    /// How often a transaction is tried that others overtake, and how long.
    pub tries: u32,
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { split_rows: 64_000, tries: 64, patience: Duration::from_secs(25) }
    }
}

/// A gateway to a pool.
pub struct Rados {
    gateway: Arc<Gateway>,
}

struct Gateway {
    pool: Arc<dyn Pool>,
    layout: Layout,
    clock: Arc<Clock>,
    /// Of this process: nobody has had it before.
    id: u128,
    options: Options,
    directory: Directory,
    shards: Mutex<HashMap<(Space, names::ShardId), UnboundedSender<Submitted>>>,
    operators: AtomicU64,
    /// About how much memory shards keep what they have read in.
    kept: AtomicUsize,
    random: Mutex<Random>,
    runtime: Handle,
    leases: Mutex<HashMap<String, Stamp>>,
    /// Set once the cluster knows which client this gateway is.
    enrolled: OnceCell<()>,
    /// What its transactions name pieces of.
    content: OnceLock<Objects>,
    counters: Counters,
}

/// What happened so far, for metrics.
#[derive(Debug, Default)]
struct Counters {
    transactions: AtomicU64,
    operators: AtomicU64,
    reads: AtomicU64,
    conflicts: AtomicU64,
    lost: AtomicU64,
    splits: AtomicU64,
}

/// What a gateway has done since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Transactions that were committed.
    pub transactions: u64,
    /// Operators that committed them.
    pub operators: u64,
    /// Operators that read.
    pub reads: u64,
    /// Operators that came too late, because another gateway had changed what they rest on.
    pub conflicts: u64,
    /// Operators whose answer did not come.
    pub lost: u64,
    /// Shards that were split.
    pub splits: u64,
}

impl Rados {
    /// A gateway to `pool`, whose work is done on the runtime of the caller. `id` must be one that no gateway ever had.
    pub fn new(pool: Arc<dyn Pool>, layout: Layout, clock: Arc<Clock>, id: u128, options: Options) -> Self {
        let gateway = Gateway {
            pool,
            layout,
            clock,
            id,
            options,
            directory: Directory::default(),
            shards: Mutex::default(),
            operators: AtomicU64::new(0),
            kept: AtomicUsize::new(0),
            random: Mutex::new(Random(id as u64 ^ (id >> 64) as u64)),
            runtime: Handle::current(),
            leases: Mutex::default(),
            enrolled: OnceCell::new(),
            content: OnceLock::new(),
            counters: Counters::default(),
        };
        Self { gateway: Arc::new(gateway) }
    }

    /// Commits nothing once `content` takes its gateway for dead: a transaction might name what was staged before, and others may have given
    /// that back.
    pub fn commits_while(&self, content: Objects) {
        let _ = self.gateway.content.set(content);
    }

    /// Whether this gateway holds the lease on `work`, which it takes if nobody has it. It lasts a minute, and is renewed by asking.
    pub async fn hold_lease(&self, work: &str) -> Result<bool, Fault> {
        lease::hold(&self.gateway, work).await
    }

    pub fn clock(&self) -> ClockState {
        self.gateway.clock.state()
    }

    pub fn metrics(&self) -> Metrics {
        let Counters { transactions, operators, reads, conflicts, lost, splits } = &self.gateway.counters;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Metrics {
            transactions: count(transactions),
            operators: count(operators),
            reads: count(reads),
            conflicts: count(conflicts),
            lost: count(lost),
            splits: count(splits),
        }
    }
}

impl Engine for Rados {
    fn submit(&self, at: Partition, job: Box<dyn Job>) {
        self.gateway.clone().submit(Submitted::new(at, job));
    }

    fn look<'a>(
        &'a self,
        at: &'a Partition,
        look: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(look::look(&self.gateway, at, look))
    }

    fn scan<'a>(
        &'a self,
        space: Space,
        scan: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(scan::scan(&self.gateway, space, scan))
    }

    fn now(&self) -> Stamp {
        self.gateway.clock.now()
    }

    fn fence(&self, gateway: u128) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(async move { fence::fence(&*self.gateway.pool, gateway).await })
    }

    fn forget(&self, space: Space) {
        let gateway = self.gateway.clone();
        self.gateway.runtime.spawn(async move {
            if let Err(fault) = split::forget(&gateway, space).await {
                tracing::warn!(?fault, space = space.0, "the empty objects of a deleted space are left behind");
            }
        });
    }
}

impl Gateway {
    /// To the task of its shard, which is started if there is none.
    fn submit(self: Arc<Self>, submitted: Submitted) {
        let space = submitted.at.space;
        let shard = self.directory.find(space, &submitted.at.name);
        let mut shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = match shards.get(&(space, shard)) {
            Some(queue) => match queue.send(submitted) {
                Ok(()) => return,
                Err(refused) => refused.0,
            },
            None => submitted,
        };
        let (sender, queue) = unbounded_channel();
        sender.send(refused).expect("the queue is open");
        shards.insert((space, shard), sender);
        drop(shards);
        self.runtime.clone().spawn(shard::serve(self, Place { space, shard }, queue));
    }

    /// A stamp later than `last`, which another gateway may have given.
    fn stamp_after(&self, last: u64) -> Stamp {
        self.catch_up(last);
        self.clock.stamp()
    }

    /// Moves the clock past a stamp of another gateway: else this one would wait until its own has caught up.
    fn catch_up(&self, last: u64) {
        if last > self.clock.high().0 {
            self.clock.resume(Stamp(last));
        }
    }

    /// The number of an operator, which no other operator of this gateway has.
    fn next_operator(&self) -> u64 {
        self.operators.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn random(&self) -> u64 {
        self.random.lock().unwrap_or_else(PoisonError::into_inner).next()
    }

    /// Waits longer after each conflict; how long is drawn, so that two that met do not meet again.
    async fn back_off(&self, conflicts: u32) {
        let Some(doublings) = conflicts.checked_sub(2) else { return };
        let most = Duration::from_millis(1 << doublings.min(6));
        pause(most.mul_f64((self.random() % 1000) as f64 / 1000.0)).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "backoff between two tries: no decision sees it")]
async fn pause(length: Duration) {
    tokio::time::sleep(length).await;
}
