//! The hot entries: values that looks asked for lately, kept above the store, whose point reads cost several microseconds.
//!
//! Held true:
//! * an entry is the value of its key in the published state, unless the sequence is odd: then the writer is at work;
//! * the sequence moves with each publishing, so whoever finds it unmoved has seen one state, whatever he read;
//! * bytes are bounded. Two generations per shard: a hit moves up to the young one; when that is half the budget, it
//!   becomes the old one, and what was old is forgotten.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use foldhash::fast::RandomState;

use super::stretches::{Stretch, Stretches};
use crate::Key;

const SHARDS: usize = 32;
/// Larger values are worth a read of their own.
const VALUE_MAX: usize = 64 << 10;
/// What an entry costs beside its key and value, roughly.
const ENTRY_BYTES: usize = 128;

pub(super) struct Hot {
    sequence: AtomicU64,
    stretches: Stretches,
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

impl Hot {
    pub fn new(bytes: u64, stretch_bytes: u64) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        let generation_bytes = usize::try_from(bytes).unwrap_or(usize::MAX) / SHARDS / 2;
        let stretches = Stretches::new(stretch_bytes);
        Self { sequence: AtomicU64::new(0), stretches, shards, generation_bytes }
    }

    pub fn sequence(&self) -> u64 {
        self.sequence.load(Ordering::SeqCst)
    }

    pub fn stretches(&self) -> &Stretches {
        &self.stretches
    }

    /// Keeps a stretch that was read of the state of `sequence`, unless that has passed.
    pub fn learn_stretch(&self, stretch: Stretch, sequence: u64) {
        self.stretches.learn(stretch, || self.sequence() == sequence);
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
        self.sequence.fetch_add(1, Ordering::SeqCst);
        self.stretches.forget(writes.clone().map(|(key, _)| key));
        for (key, value) in writes {
            self.shard(key).replace(key, value);
        }
        publish();
        self.sequence.fetch_add(1, Ordering::SeqCst);
    }

    /// Lets `publish` make the state anything, and forgets all entries.
    pub fn forget(&self, publish: impl FnOnce()) {
        self.sequence.fetch_add(1, Ordering::SeqCst);
        self.stretches.forget_all();
        for shard in &self.shards {
            *shard.lock().unwrap_or_else(PoisonError::into_inner) = Shard::default();
        }
        publish();
        self.sequence.fetch_add(1, Ordering::SeqCst);
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
        let hot = Hot::new(1 << 20, 1 << 20);
        let before = hot.sequence();
        hot.publish([(&key(1), &value("new"))].into_iter(), || {});
        hot.learn(&key(1), &value("old"), before);
        assert_eq!(hot.get(&key(1)), None);
        hot.learn(&key(1), &value("new"), hot.sequence());
        assert_eq!(hot.get(&key(1)), Some(value("new")));
    }

    #[test]
    fn entries_follow_what_is_published() {
        let hot = Hot::new(1 << 20, 1 << 20);
        for n in 0..4 {
            hot.learn(&key(n), &value("old"), hot.sequence());
        }
        let large = Some(Bytes::from(vec![0; VALUE_MAX + 1]));
        let writes = [(key(1), value("new")), (key(2), None), (key(3), large), (key(4), value("unknown"))];
        hot.publish(writes.iter().map(|(key, value)| (key, value)), || {
            assert_eq!(hot.sequence() % 2, 1);
            hot.learn(&key(4), &value("half published"), hot.sequence());
        });
        let known = [0, 1, 2, 3, 4].map(|n| hot.get(&key(n)));
        assert_eq!(known, [Some(value("old")), Some(value("new")), Some(None), None, None]);
        hot.forget(|| {});
        assert_eq!(hot.get(&key(0)), None);
    }

    #[test]
    fn bytes_are_bounded_and_what_is_used_stays() {
        let hot = Hot::new(1 << 20, 1 << 20);
        for n in 0..100_000 {
            hot.learn(&key(n), &value("value"), hot.sequence());
            assert!(hot.get(&key(0)).is_some(), "{n}");
        }
        let count = |shard: &Mutex<Shard>| shard.lock().map(|shard| shard.young.len() + shard.old.len()).unwrap_or(0);
        let kept: usize = hot.shards.iter().map(count).sum();
        assert!(kept * (ENTRY_BYTES + 21 + 5) <= (1 << 20) + SHARDS * 1024, "{kept}");
    }
}
