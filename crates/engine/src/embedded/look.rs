//! A look at one durable state: from the caches where they have the rows, from a snapshot where not.
//!
//! Held true: all that a look sees is of one state. Cached rows are taken on the assumption that the sequence will not have changed; this is
//! checked when a snapshot is first needed, or at the end. If it has changed, the look runs again on a snapshot alone, which cannot fail.

use std::ops::ControlFlow;

use bytes::Bytes;

use super::keys::{Keys, Snapshotted};
use super::point_cache::PointCache;
use super::range_cache::Lookup;
use super::range_fill::RangeFill;
use crate::txn::{Ran, attempt_with};
use crate::{Entry, Fault, Halt, Key, Stamp, Txn, Verdict, View, Walker};

pub(super) fn look(
    keys: &Keys,
    cache: &PointCache,
    now: Stamp,
    look: &mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
) -> Result<(), Fault> {
    let mut view = Looking::new(keys, cache);
    let seen = attempt_with(look, &mut view, now);
    if matches!(seen, Ok(Ran::Missed)) || !view.is_of_one_state() {
        return attempt_with(look, &mut keys.snapshot(), now).map(drop);
    }
    seen.map(drop)
}

struct Looking<'a> {
    keys: &'a Keys,
    cache: &'a PointCache,
    sequence: u64,
    trusting: bool,
    snapshot: Option<Snapshotted<'a>>,
    /// The state that the snapshot is of, if that is known: it moved while it was taken, or it did not.
    state: Option<u64>,
}

impl<'a> Looking<'a> {
    fn new(keys: &'a Keys, cache: &'a PointCache) -> Self {
        Self { keys, cache, sequence: cache.sequence(), trusting: false, snapshot: None, state: None }
    }

    fn has_moved(&self) -> bool {
        self.sequence % 2 == 1 || self.cache.sequence() != self.sequence
    }

    /// With a snapshot, trust was settled when it was taken.
    fn is_of_one_state(&self) -> bool {
        self.snapshot.is_some() || !self.trusting || !self.has_moved()
    }

    fn known(&mut self, key: &Key) -> Option<Option<Bytes>> {
        if self.sequence % 2 == 1 {
            return None;
        }
        let known = self.cache.get(key)?;
        if self.snapshot.is_none() {
            self.trusting = true;
        } else if self.has_moved() {
            return None; // it may be newer than the snapshot
        }
        Some(known)
    }

    fn snapshot(&mut self) -> Result<&mut Snapshotted<'a>, Halt> {
        if self.snapshot.is_none() {
            let before = self.cache.sequence();
            let snapshot = self.keys.snapshot();
            self.state = (before.is_multiple_of(2) && self.cache.sequence() == before).then_some(before);
            if self.trusting && self.has_moved() {
                return Err(Halt::Miss);
            }
            self.snapshot = Some(snapshot);
        }
        self.snapshot.as_mut().ok_or(Halt::Miss)
    }
}

impl View for Looking<'_> {
    fn get(&mut self, key: &Key) -> Result<Option<Bytes>, Halt> {
        if key.is_volatile() {
            return self.snapshot()?.get(key);
        }
        if let Some(known) = self.known(key) {
            return Ok(known);
        }
        let value = self.snapshot()?.get(key)?;
        self.cache.learn(key, &value, self.sequence);
        Ok(value)
    }

    fn scan(&mut self, from: &Key, to: &Key, limit: usize) -> Result<Vec<(Key, Bytes)>, Halt> {
        self.snapshot()?.scan(from, to, limit)
    }

    fn last(&mut self, from: &Key, to: &Key) -> Result<Option<(Key, Bytes)>, Halt> {
        self.snapshot()?.last(from, to)
    }

    fn walk(&mut self, from: &Key, to: &Key, walker: &mut dyn Walker) -> Result<(), Halt> {
        self.snapshot()?;
        let Some(state) = self.state.filter(|_| !from.is_volatile()) else {
            return self.snapshot()?.walk(from, to, walker);
        };
        let mut at = from.clone();
        while at < *to {
            let (next, flow) = match self.cache.ranges().at(&at, state) {
                Lookup::Known(cached) => (cached.to().clone(), cached.walk(&at, to, walker)),
                Lookup::Unknown { until } => {
                    let until = until.filter(|until| until < to);
                    let is_beside = until.is_some() || at != *from;
                    let end = until.unwrap_or_else(|| to.clone());
                    let fill = RangeFill::new(self.cache, state, &at, is_beside);
                    let flow = self.walk_apart(&at, &end, fill, walker)?;
                    (end, flow)
                }
            };
            if flow.is_break() {
                break;
            }
            at = next;
        }
        Ok(())
    }
}

impl Looking<'_> {
    /// Walks where there is no range, and makes some.
    fn walk_apart(
        &mut self,
        from: &Key,
        to: &Key,
        mut fill: RangeFill<'_>,
        walker: &mut dyn Walker,
    ) -> Result<ControlFlow<()>, Halt> {
        let mut flow = ControlFlow::Continue(());
        self.snapshot()?.walk(from, to, &mut |entry: &Entry<'_>| {
            fill.add(entry);
            flow = walker.see(entry);
            flow
        })?;
        fill.end(flow.is_continue().then_some(to));
        Ok(flow)
    }
}
