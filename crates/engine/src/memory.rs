//! The plainest engine: a map behind a lock. It is the reference that other engines are judged by, and serves
//! `--in-memory`.
//!
//! Held true, beyond what every engine promises:
//! * in debug builds, each key belongs for good to the partition that first wrote it: a write from another partition
//!   is our mistake, which a cluster would turn into lost atomicity, so it is an assertion here;
//! * [`Memory::distributed`] is the same map behind the manners of a cluster (see `distributed`).

mod distributed;

use std::collections::{BTreeMap, HashMap};
use std::future::ready;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;

use crate::txn::{Ran, attempt, attempt_with};
use crate::{BoxFuture, Clock, Engine, Entry, Fault, Halt, Job, Key, Partition, Stamp, Txn, Verdict, View, Walker};

pub use distributed::Manners;
pub(crate) use distributed::Random;

pub struct Memory {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Clock,
    state: RwLock<State>,
    distribution: Option<distributed::Distribution>,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<Key, Bytes>,
    owners: Option<Owners>,
}

/// Which partition each key belongs to. Kept after a delete: ownership is for good.
#[derive(Default)]
struct Owners(HashMap<Key, Partition>);

impl Memory {
    /// The plain engine with the system's clock.
    pub fn new() -> Self {
        Self::with_clock(Clock::system())
    }

    pub fn with_clock(clock: Clock) -> Self {
        Self::build(clock, None)
    }

    /// An engine with the manners of a cluster, each run of `seed` the same on a current-thread runtime.
    pub fn distributed(seed: u64) -> Self {
        Self::distributed_with(Manners::rough(seed), Clock::system())
    }

    pub fn distributed_with(manners: Manners, clock: Clock) -> Self {
        Self::build(clock, Some(distributed::Distribution::new(manners)))
    }

    fn build(clock: Clock, distribution: Option<distributed::Distribution>) -> Self {
        let checked = cfg!(debug_assertions) || distribution.is_some();
        let state = State { entries: BTreeMap::new(), owners: checked.then(Owners::default) };
        Self { shared: Arc::new(Shared { clock, state: RwLock::new(state), distribution }) }
    }

    /// Every entry, in key order.
    pub fn entries(&self) -> Vec<(Key, Bytes)> {
        self.shared.read().entries.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine for Memory {
    fn submit(&self, at: Partition, mut job: Box<dyn Job>) {
        if self.shared.distribution.is_some() {
            tokio::spawn(distributed::transact(self.shared.clone(), at, job));
            return;
        }
        let fate = self.shared.transact(&at, job.as_mut());
        job.settle(fate);
    }

    fn look<'a>(
        &'a self,
        look: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>> {
        if self.shared.distribution.is_some() {
            return Box::pin(distributed::look(&self.shared, look));
        }
        let state = self.shared.read();
        let seen = attempt_with(look, &mut Whole(&state.entries), self.shared.clock.now());
        Box::pin(ready(seen.map(drop)))
    }

    fn now(&self) -> Stamp {
        self.shared.clock.now()
    }
}

impl Shared {
    fn transact(&self, at: &Partition, job: &mut dyn Job) -> Result<(), Fault> {
        let mut state = self.write();
        // Stamped under the lock, so that stamps are in commit order.
        match attempt(job, &mut Whole(&state.entries), self.clock.stamp())? {
            Ran::Committed(writes) => state.apply(at, writes),
            Ran::Refused => {}
            Ran::Missed => unreachable!("a whole view misses nothing"),
        }
        Ok(())
    }

    // A panic under the lock is an assertion of ours that already failed a test; the map itself is never half changed.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
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

impl Owners {
    fn claim(&mut self, key: &Key, at: &Partition) {
        assert_eq!(key.space(), at.space, "{key:?} is written by a transaction of another space");
        let owner = self.0.entry(key.clone()).or_insert_with(|| at.clone());
        assert_eq!(owner, at, "{key:?} belongs to another partition, for good");
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
    use crate::{Column, EngineExt, Space, Stop};

    fn put(memory: &Memory, partition: &'static [u8], space: Space) {
        let key = Key::new(Space(1), Column(1), &[b"key"]);
        let at = Partition::new(space, partition);
        drop(memory.transact(at, move |txn| {
            txn.put(key.clone(), "value");
            Ok::<_, Stop<()>>(())
        }));
    }

    #[test]
    fn a_key_has_one_partition_for_good() {
        for (partition, space) in [(&b"b"[..], Space(1)), (b"a", Space(2))] {
            let memory = Memory::new();
            put(&memory, b"a", Space(1));
            put(&memory, b"a", Space(1));
            assert!(catch_unwind(AssertUnwindSafe(|| put(&memory, partition, space))).is_err());
        }
    }
}
