//! Volatile rows (decision 11): in memory, gone with the process, and of the same states as the rows on disk.
//!
//! Held true:
//! * a snapshot sees the volatile rows of its own state: each row has versions, numbered as the tree's batches are;
//! * only the writer adds versions, before it publishes the state that shows them;
//! * a version that no open snapshot can see goes with one of the next changes, so memory is bounded by the rows there are;
//! * the volatile half of a batch whose commit failed is kept in doubt until the reopened log says whether the other half is there.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;

use super::keys::Writes;
use crate::{Entry, Key, Stamp, Walker};

#[derive(Default)]
pub(super) struct Volatile(RwLock<Rows>);

#[derive(Default)]
struct Rows {
    rows: BTreeMap<Key, Vec<Version>>,
    /// Rows with more than one version, or deleted, by the snapshot from which on the last version alone is seen.
    stale: VecDeque<(u64, Key)>,
    /// A batch whose commit failed, by its mark.
    in_doubt: Option<(Stamp, Writes)>,
}

struct Version {
    /// The first snapshot that sees it.
    since: u64,
    value: Option<Bytes>,
}

impl Volatile {
    pub fn get(&self, key: &Key, snapshot: u64) -> Option<Bytes> {
        self.read().rows.get(key).and_then(|versions| seen(versions, snapshot)).cloned()
    }

    pub fn scan(&self, from: &Key, to: &Key, limit: usize, snapshot: u64) -> Vec<(Key, Bytes)> {
        let rows = self.read();
        let seen = rows.range(from, to, snapshot).take(limit);
        seen.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    pub fn last(&self, from: &Key, to: &Key, snapshot: u64) -> Option<(Key, Bytes)> {
        let rows = self.read();
        let last = rows.range(from, to, snapshot).next_back();
        last.map(|(key, value)| (key.clone(), value.clone()))
    }

    pub fn walk(&self, from: &Key, to: &Key, snapshot: u64, walker: &mut dyn Walker) {
        self.read().range(from, to, snapshot).any(|(key, value)| walker.see(&Entry::new(key, value)).is_break());
    }

    /// Adds versions that snapshots see from `since` on. Nobody looks at a state before `oldest` any more.
    pub fn apply(&self, writes: &Writes, since: u64, oldest: u64) {
        let mut rows = self.write();
        for (key, value) in writes {
            rows.add(key, value, since);
        }
        rows.prune(oldest);
    }

    /// The commit of the batch with this mark failed, and nobody knows yet whether it is in the log.
    pub fn doubt(&self, mark: Stamp, writes: Writes) {
        self.write().in_doubt = Some((mark, writes));
    }

    /// The store was reopened: there are no snapshots of the states before, and `mark` says which batches it has.
    pub fn resume(&self, mark: Stamp) {
        let mut rows = self.write();
        if let Some((_, writes)) = rows.in_doubt.take().filter(|(doubted, _)| *doubted <= mark) {
            for (key, value) in &writes {
                rows.add(key, value, u64::MAX);
            }
        }
        rows.stale.clear();
        rows.rows.retain(|_, versions| {
            let last = versions.pop().and_then(|version| version.value);
            versions.clear();
            versions.extend(last.map(|value| Version { since: 0, value: Some(value) }));
            !versions.is_empty()
        });
    }

    pub fn count(&self) -> usize {
        self.read().rows.len()
    }

    fn read(&self) -> RwLockReadGuard<'_, Rows> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Rows> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    fn range(&self, from: &Key, to: &Key, snapshot: u64) -> impl DoubleEndedIterator<Item = (&Key, &Bytes)> {
        let rows = (from < to).then(|| self.rows.range(from..to)).into_iter().flatten();
        rows.filter_map(move |(key, versions)| Some((key, seen(versions, snapshot)?)))
    }

    fn add(&mut self, key: &Key, value: &Option<Bytes>, since: u64) {
        // Copied: a row must not keep a whole request's buffer alive.
        let value = value.as_ref().map(|value| Bytes::copy_from_slice(value));
        if value.is_none() && !self.rows.contains_key(key) {
            return;
        }
        let owned = Key::from_stored(Bytes::copy_from_slice(key.as_bytes())).expect("a key is a key");
        let versions = self.rows.entry(owned).or_default();
        debug_assert!(versions.last().is_none_or(|last| last.since < since), "versions are in the order of states");
        let is_stale = value.is_none() || !versions.is_empty();
        versions.push(Version { since, value });
        if is_stale {
            self.stale.push_back((since, key.clone()));
        }
    }

    fn prune(&mut self, oldest: u64) {
        while let Some((_, key)) = self.stale.pop_front_if(|(since, _)| *since <= oldest) {
            let Some(versions) = self.rows.get_mut(&key) else { continue };
            let first_seen = versions.iter().rposition(|version| version.since <= oldest).unwrap_or(0);
            versions.drain(..first_seen);
            if versions.first().is_some_and(|version| version.since <= oldest && version.value.is_none()) {
                versions.remove(0);
            }
            if versions.is_empty() {
                self.rows.remove(&key);
            }
        }
    }
}

fn seen(versions: &[Version], snapshot: u64) -> Option<&Bytes> {
    versions.iter().rfind(|version| version.since <= snapshot)?.value.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Space};

    fn key(n: u8) -> Key {
        Key::new(Space(1), Column::volatile(b'A'), &[&[n]])
    }

    fn writes(rows: &[(u8, Option<&'static str>)]) -> Writes {
        rows.iter().map(|(n, value)| (key(*n), value.map(Bytes::from))).collect()
    }

    fn all(volatile: &Volatile, snapshot: u64) -> Vec<(u8, Bytes)> {
        let found = volatile.scan(&key(0), &key(255), 99, snapshot);
        assert_eq!(volatile.last(&key(0), &key(255), snapshot), found.last().cloned());
        found.into_iter().map(|(key, value)| (key.row()[0], value)).collect()
    }

    #[test]
    fn each_snapshot_sees_its_own_state() {
        let volatile = Volatile::default();
        volatile.apply(&writes(&[(1, Some("a")), (2, Some("a"))]), 10, 9);
        volatile.apply(&writes(&[(1, Some("b")), (2, None), (3, Some("b"))]), 20, 10);
        assert_eq!(all(&volatile, 9), []);
        assert_eq!(all(&volatile, 10), [(1, "a".into()), (2, "a".into())]);
        assert_eq!(all(&volatile, 19), all(&volatile, 10));
        assert_eq!(all(&volatile, 20), [(1, "b".into()), (3, "b".into())]);
        assert_eq!(volatile.get(&key(2), 19), Some("a".into()));
        assert_eq!(volatile.get(&key(2), 20), None);
    }

    #[test]
    fn what_no_snapshot_sees_goes() {
        let volatile = Volatile::default();
        for n in 0..1_000_u64 {
            let since = 10 + n;
            volatile.apply(&writes(&[(1, Some("value")), (2, (n % 2 == 0).then_some("value"))]), since, since - 1);
            let versions: usize = volatile.read().rows.values().map(Vec::len).sum();
            assert!(versions <= 4 && volatile.read().stale.len() <= 2, "{n}");
        }
        volatile.apply(&writes(&[(1, None), (2, None)]), 5_000, 4_999);
        volatile.apply(&writes(&[]), 5_001, 5_000);
        assert_eq!((volatile.count(), volatile.read().stale.len()), (0, 0));
    }

    #[test]
    fn a_batch_in_doubt_is_there_if_the_log_has_it() {
        for (mark, expected) in [(6, "old"), (7, "new"), (8, "new")] {
            let volatile = Volatile::default();
            volatile.apply(&writes(&[(1, Some("old")), (2, Some("old"))]), 10, 9);
            volatile.doubt(Stamp(7), writes(&[(1, Some("new"))]));
            volatile.resume(Stamp(mark));
            assert_eq!(all(&volatile, 0), [(1, expected.into()), (2, "old".into())]);
            volatile.resume(Stamp(100));
            assert_eq!(all(&volatile, 0)[0].1, expected, "a doubt is settled once");
        }
    }
}
