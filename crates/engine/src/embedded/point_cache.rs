//! The point cache: values that were read lately, by key, and keys known to be absent. A point read of `lsm-tree` costs several
//! microseconds. The range cache stands beside it, because both change with the same sequence number.
//!
//! Held true:
//! * an entry is the value of its key in the published state, unless the sequence is odd: then the writer is publishing;
//! * the sequence changes with each publication, so a reader that finds it unchanged has read one state;
//! * bytes are bounded. Each shard has two generations. A hit moves an entry to the young one; when the young one has half the
//!   budget, it becomes the old one, and the old one is dropped.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use foldhash::fast::RandomState;

use super::range_cache::{CachedRange, RangeCache};
use crate::Key;

const SHARDS: usize = 32;
/// Larger values are worth a read of their own.
const VALUE_MAX: usize = 64 << 10;
/// What an entry costs beside its key and value, roughly.
const ENTRY_BYTES: usize = 128;

pub(super) struct PointCache {
    sequence: AtomicU64,
    ranges: RangeCache,
    shards: Vec<Mutex<Shard>>,
    /// The budget of one generation of one shard.
    generation_bytes: usize,
}

type Entries = HashMap<Key, Option<Bytes>, RandomState>;

#[derive(Default)]
struct Shard {
    young: Entries,
    young_bytes: usize,
    old: Entries,
}

impl PointCache {
    pub fn new(bytes: u64, range_cache_bytes: u64) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        let generation_bytes = usize::try_from(bytes).unwrap_or(usize::MAX) / SHARDS / 2;
        let ranges = RangeCache::new(range_cache_bytes);
        Self { sequence: AtomicU64::new(0), ranges, shards, generation_bytes }
    }

    pub fn sequence(&self) -> u64 {
        self.sequence.load(Ordering::SeqCst)
    }

    pub fn ranges(&self) -> &RangeCache {
        &self.ranges
    }

    /// Keeps a range that was read of the state of `sequence`, unless that has passed.
    pub fn learn_range(&self, cached: CachedRange, sequence: u64) {
        self.ranges.learn(cached, || self.sequence() == sequence);
    }

    /// What is known of `key`: `Some(None)` is a key known to be absent.
    pub fn get(&self, key: &Key) -> Option<Option<Bytes>> {
        let mut shard = self.shard(key);
        if let Some(value) = shard.young.get(key) {
            return Some(value.clone());
        }
        let (key, value) = shard.old.remove_entry(key)?;
        shard.insert(key, value.clone(), self.generation_bytes);
        Some(value)
    }

    /// Remembers what was read of the state of `sequence`, unless that has passed.
    pub fn learn(&self, key: &Key, value: &Option<Bytes>, sequence: u64) {
        if value.as_ref().is_some_and(|value| value.len() > VALUE_MAX) {
            return;
        }
        // Copied: what was read is a slice of a block, which it would keep alive.
        let owned = Key::from_stored(Bytes::copy_from_slice(key.as_bytes())).expect("a key is a key");
        let value = value.as_ref().map(|value| Bytes::copy_from_slice(value));
        let mut shard = self.shard(key);
        // Asked under the lock: from here on the writer cannot have passed this shard without our seeing it.
        if sequence.is_multiple_of(2) && self.sequence() == sequence {
            shard.insert(owned, value, self.generation_bytes);
        }
    }

    /// Lets `publish` make `writes` the state, and the entries agree with it.
    pub fn publish<'a>(
        &self,
        writes: impl Iterator<Item = (&'a Key, &'a Option<Bytes>)> + Clone,
        publish: impl FnOnce(),
    ) {
        self.begin_change();
        self.ranges.forget(writes.clone().map(|(key, _)| key));
        for (key, value) in writes {
            self.shard(key).replace(key, value);
        }
        publish();
        self.sequence.fetch_add(1, Ordering::SeqCst);
    }

    /// Lets `publish` make the state anything, and forgets all entries.
    pub fn forget(&self, publish: impl FnOnce()) {
        self.begin_change();
        self.ranges.forget_all();
        for shard in &self.shards {
            *shard.lock().unwrap_or_else(PoisonError::into_inner) = Shard::default();
        }
        publish();
        self.sequence.fetch_add(1, Ordering::SeqCst);
    }

    /// Makes the sequence odd. There is one writer, which ends each change before it begins another.
    fn begin_change(&self) {
        let before = self.sequence.fetch_add(1, Ordering::SeqCst);
        assert!(before.is_multiple_of(2), "the state is published by two at once");
    }

    fn shard(&self, key: &Key) -> MutexGuard<'_, Shard> {
        // FNV-1a over the end of the key, where keys differ; the maps have a hash of their own that clients cannot foresee.
        let bytes = key.as_bytes();
        let tail = &bytes[bytes.len().saturating_sub(12)..];
        let hash = tail
            .iter()
            .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3));
        self.shards[(hash >> 32) as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shard {
    fn insert(&mut self, key: Key, value: Option<Bytes>, generation_bytes: usize) {
        self.young_bytes += key.as_bytes().len() + value.as_ref().map_or(0, Bytes::len) + ENTRY_BYTES;
        self.young.insert(key, value);
        if self.young_bytes > generation_bytes {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
    }

    /// Only what is known is kept up to date: what nobody asks for is not worth the room.
    fn replace(&mut self, key: &Key, value: &Option<Bytes>) {
        self.old.remove(key);
        if let Some(known) = self.young.get_mut(key) {
            match value {
                Some(value) if value.len() > VALUE_MAX => drop(self.young.remove(key)),
                value => *known = value.as_ref().map(|value| Bytes::copy_from_slice(value)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Space};

    fn key(n: u32) -> Key {
        Key::new(Space(1), Column(1), &[&n.to_be_bytes()])
    }

    fn value(text: &'static str) -> Option<Bytes> {
        Some(Bytes::from(text))
    }

    #[test]
    fn what_was_read_of_a_state_that_has_passed_is_not_learnt() {
        let cache = PointCache::new(1 << 20, 1 << 20);
        let before = cache.sequence();
        cache.publish([(&key(1), &value("new"))].into_iter(), || {});
        cache.learn(&key(1), &value("old"), before);
        assert_eq!(cache.get(&key(1)), None);
        cache.learn(&key(1), &value("new"), cache.sequence());
        assert_eq!(cache.get(&key(1)), Some(value("new")));
    }

    #[test]
    fn entries_follow_what_is_published() {
        let cache = PointCache::new(1 << 20, 1 << 20);
        for n in 0..4 {
            cache.learn(&key(n), &value("old"), cache.sequence());
        }
        let large = Some(Bytes::from(vec![0; VALUE_MAX + 1]));
        let writes = [(key(1), value("new")), (key(2), None), (key(3), large), (key(4), value("unknown"))];
        cache.publish(writes.iter().map(|(key, value)| (key, value)), || {
            assert_eq!(cache.sequence() % 2, 1);
            cache.learn(&key(4), &value("half published"), cache.sequence());
        });
        let known = [0, 1, 2, 3, 4].map(|n| cache.get(&key(n)));
        assert_eq!(known, [Some(value("old")), Some(value("new")), Some(None), None, None]);
        cache.forget(|| {});
        assert_eq!(cache.get(&key(0)), None);
    }

    #[test]
    fn bytes_are_bounded_and_what_is_used_stays() {
        let cache = PointCache::new(1 << 20, 1 << 20);
        for n in 0..100_000 {
            cache.learn(&key(n), &value("value"), cache.sequence());
            assert!(cache.get(&key(0)).is_some(), "{n}");
        }
        let count = |shard: &Mutex<Shard>| shard.lock().map(|shard| shard.young.len() + shard.old.len()).unwrap_or(0);
        let kept: usize = cache.shards.iter().map(count).sum();
        assert!(kept * (ENTRY_BYTES + 21 + 5) <= (1 << 20) + SHARDS * 1024, "{kept}");
    }
}
