//! The plainest engine: a map behind a lock. It is the reference that other engines are judged by, and serves
//! `--in-memory`.
//!
//! Held true, beyond what every engine promises:
//! * with a layout, or in debug builds, each key belongs for good to one partition, and transactions and looks keep to their
//!   own (see `fence`): anything else is our mistake, which a cluster would turn into lost atomicity, so it is an assertion here;
//! * volatile rows are rows like all others: they go with the map, or, in a cluster, when a gateway ends them;
//! * [`Memory::distributed`] is the same map, but behaves like a cluster (see `distributed`), and [`Memory::gateway`]
//!   another gateway of it, with a clock of its own.

mod distributed;
mod fence;

use std::collections::{BTreeMap, HashSet};
use std::future::ready;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;

use crate::txn::{Ran, attempt, attempt_with};
use crate::{
    BoxFuture, Clock, ClockState, Engine, Entry, Fault, Halt, Job, Key, Layout, Partition, Space, Stamp, Txn, Verdict,
    View, Walker,
};

pub use distributed::Manners;
pub(crate) use distributed::Random;
pub(crate) use fence::Fence;
use fence::Owners;

/// A gateway to a map that other gateways may share.
pub struct Memory {
    gateway: Arc<Gateway>,
}

struct Gateway {
    id: u128,
    clock: Clock,
    cluster: Arc<Cluster>,
}

/// What gateways have in common.
struct Cluster {
    state: RwLock<State>,
    layout: Option<Layout>,
    distribution: Option<distributed::Distribution>,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<Key, Bytes>,
    owners: Option<Owners>,
    /// Gateways whose transactions are not taken any more.
    fenced: HashSet<u128>,
}

impl Memory {
    /// The plain engine with the system's clock.
    pub fn new() -> Self {
        Self::with_clock(Clock::system())
    }

    pub fn with_clock(clock: Clock) -> Self {
        Self::build(clock, None, None)
    }

    /// The plain engine, with each key's owner known from the key.
    pub fn laid_out(layout: Layout, clock: Clock) -> Self {
        Self::build(clock, Some(layout), None)
    }

    /// An engine that behaves like a cluster. Each run of `seed` is the same on a current-thread runtime.
    pub fn distributed(layout: Layout, seed: u64) -> Self {
        Self::distributed_with(Manners::rough(seed), layout, Clock::system())
    }

    pub fn distributed_with(manners: Manners, layout: Layout, clock: Clock) -> Self {
        Self::build(clock, Some(layout), Some(distributed::Distribution::new(manners)))
    }

    /// Another gateway to the same map: it has nothing in common with this one but what is stored.
    pub fn gateway(&self, clock: Clock) -> Self {
        self.gateway_as(0, clock)
    }

    /// The same, with the name by which it can be fenced.
    pub fn gateway_as(&self, id: u128, clock: Clock) -> Self {
        Self { gateway: Arc::new(Gateway { id, clock, cluster: self.gateway.cluster.clone() }) }
    }

    /// What a process that starts anew finds: the durable rows, and none of the volatile ones. This one goes on as it is.
    pub fn restarted(&self, clock: Clock) -> Self {
        let cluster = &self.gateway.cluster;
        assert!(cluster.distribution.is_none(), "a cluster outlives its gateways");
        let restarted = Self::build(clock, cluster.layout, None);
        let durable = self.entries().into_iter().filter(|(key, _)| !key.is_volatile());
        restarted.gateway.cluster.write().entries = durable.collect();
        restarted.gateway.clock.resume(self.gateway.clock.high());
        restarted
    }

    fn build(clock: Clock, layout: Option<Layout>, distribution: Option<distributed::Distribution>) -> Self {
        let checked = cfg!(debug_assertions) || distribution.is_some() || layout.is_some();
        let owners = checked.then(|| Owners::new(layout));
        let state = RwLock::new(State { entries: BTreeMap::new(), owners, fenced: HashSet::new() });
        let cluster = Arc::new(Cluster { state, layout, distribution });
        Self { gateway: Arc::new(Gateway { id: 0, clock, cluster }) }
    }

    /// How often a cluster was asked for something, or told something, so far: what an operation costs there.
    pub fn round_trips(&self) -> u64 {
        self.gateway.cluster.distribution.as_ref().map_or(0, distributed::Distribution::round_trips)
    }

    /// How the time that stamps tell differs from the machine's.
    pub fn clock(&self) -> ClockState {
        self.gateway.clock.state()
    }

    /// Every entry, in key order.
    pub fn entries(&self) -> Vec<(Key, Bytes)> {
        self.gateway.cluster.read().entries.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine for Memory {
    fn submit(&self, at: Partition, mut job: Box<dyn Job>) {
        if self.gateway.cluster.distribution.is_some() {
            tokio::spawn(distributed::transact(self.gateway.clone(), at, job));
            return;
        }
        let fate = self.gateway.transact(&at, job.as_mut());
        job.settle(fate);
    }

    fn look<'a>(
        &'a self,
        at: &'a Partition,
        look: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>> {
        let gateway = &self.gateway;
        if gateway.cluster.distribution.is_some() {
            return Box::pin(distributed::look(gateway, at, look));
        }
        Box::pin(ready(gateway.see(Fence::Partition(at, gateway.cluster.layout), look)))
    }

    fn scan<'a>(
        &'a self,
        space: Space,
        scan: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>> {
        if self.gateway.cluster.distribution.is_some() {
            return Box::pin(distributed::scan(&self.gateway, space, scan));
        }
        Box::pin(ready(self.gateway.see(Fence::Space(space), scan)))
    }

    fn now(&self) -> Stamp {
        self.gateway.clock.now()
    }

    fn fence(&self, gateway: u128) -> BoxFuture<'_, Result<(), Fault>> {
        self.gateway.cluster.write().fenced.insert(gateway);
        Box::pin(ready(Ok(())))
    }
}

impl Gateway {
    fn see(&self, fence: Fence<'_>, look: &mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send)) -> Result<(), Fault> {
        let state = self.cluster.read();
        let mut whole = Whole(&state.entries);
        attempt_with(look, &mut fence.around(&mut whole), self.clock.now()).map(drop)
    }

    fn transact(&self, at: &Partition, job: &mut dyn Job) -> Result<(), Fault> {
        let mut state = self.cluster.write();
        state.admit(self.id)?;
        let mut whole = Whole(&state.entries);
        let fence = Fence::Partition(at, self.cluster.layout);
        // Stamped under the lock, so that stamps are in commit order.
        match attempt(job, &mut fence.around(&mut whole), self.clock.stamp())? {
            Ran::Committed(writes) => state.apply(at, writes),
            Ran::Refused => {}
            Ran::Missed => unreachable!("a whole view misses nothing"),
        }
        Ok(())
    }
}

impl Cluster {
    // A panic under the lock is an assertion of ours that already failed a test; the map itself is never half changed.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn admit(&self, gateway: u128) -> Result<(), Fault> {
        let fenced = || Fault::Unavailable("this gateway was declared dead; start it anew".into());
        if self.fenced.contains(&gateway) { Err(fenced()) } else { Ok(()) }
    }

    fn apply(&mut self, at: &Partition, writes: BTreeMap<Key, Option<Bytes>>) {
        if let Some(owners) = &mut self.owners {
            writes.keys().for_each(|key| owners.claim(key, at));
        }
        for (key, value) in writes {
            match value {
                // Copied: an entry must not keep a whole request's buffer alive.
                Some(value) => self.entries.insert(key, Bytes::copy_from_slice(&value)),
                None => self.entries.remove(&key),
            };
        }
    }
}

/// A view of all there is.
struct Whole<'a>(&'a BTreeMap<Key, Bytes>);

impl View for Whole<'_> {
    fn get(&mut self, key: &Key) -> Result<Option<Bytes>, Halt> {
        Ok(self.0.get(key).cloned())
    }

    fn scan(&mut self, from: &Key, to: &Key, limit: usize) -> Result<Vec<(Key, Bytes)>, Halt> {
        if from >= to {
            return Ok(Vec::new());
        }
        Ok(self.0.range(from..to).take(limit).map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn last(&mut self, from: &Key, to: &Key) -> Result<Option<(Key, Bytes)>, Halt> {
        if from >= to {
            return Ok(None);
        }
        Ok(self.0.range(from..to).next_back().map(|(key, value)| (key.clone(), value.clone())))
    }

    fn walk(&mut self, from: &Key, to: &Key, walker: &mut dyn Walker) -> Result<(), Halt> {
        if from < to {
            self.0.range(from..to).any(|(key, value)| walker.see(&Entry::new(key, value)).is_break());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::{Column, EngineExt, Stop};

    fn put(memory: &Memory, partition: &'static [u8], space: Space) {
        let key = Key::new(Space(1), Column(1), &[b"a"]);
        let at = Partition::new(space, partition);
        drop(memory.transact(at, move |txn| {
            txn.put(key.clone(), "value");
            Ok::<_, Stop<()>>(())
        }));
    }

    /// The partition is the row.
    fn layout(key: &Key) -> Option<Partition> {
        Some(Partition::new(key.space(), key.row()))
    }

    #[test]
    fn a_key_has_one_partition_for_good() {
        for (partition, space) in [(&b"b"[..], Space(1)), (b"a", Space(2))] {
            for memory in [Memory::new(), Memory::laid_out(layout, Clock::system())] {
                put(&memory, b"a", Space(1));
                put(&memory, b"a", Space(1));
                assert!(catch_unwind(AssertUnwindSafe(|| put(&memory, partition, space))).is_err());
            }
        }
    }

    #[tokio::test]
    async fn a_look_keeps_to_its_partition_and_a_scan_to_its_space() {
        let memory = Memory::laid_out(layout, Clock::system());
        put(&memory, b"a", Space(1));
        let key = |space: u128| Key::new(Space(space), Column(1), &[b"a"]);
        let all = Key::new(Space(1), Column(1), &[]);
        let (own, other) = (Partition::new(Space(1), "a"), Partition::new(Space(1), "b"));
        let seen = memory.read(&own, |txn| Ok::<_, Stop<()>>(txn.get(&key(1))?)).await;
        assert_eq!(seen, Ok(Ok(Some("value".into()))));
        let beside = memory.read(&other, |txn| Ok::<_, Stop<()>>(txn.get(&key(1))?)).await;
        let over = memory.read(&other, |txn| Ok::<_, Stop<()>>(txn.scan(&all, &all.after_prefix(), 9)?)).await;
        let outside = memory.survey(Space(2), |txn| Ok::<_, Stop<()>>(txn.get(&key(1))?)).await;
        assert!(beside.is_err() && over.is_err() && outside.is_err(), "each is a decision that panicked");
        let scanned = memory.survey(Space(1), |txn| Ok::<_, Stop<()>>(txn.scan(&all, &all.after_prefix(), 9)?)).await;
        assert_eq!(scanned, Ok(Ok(vec![(key(1), "value".into())])));
    }
}
