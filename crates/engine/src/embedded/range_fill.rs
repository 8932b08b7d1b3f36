//! Fills the range cache with the rows that a walk reads from the tables.

use bytes::Bytes;

use super::point_cache::PointCache;
use super::range_cache::CachedRange;
use crate::{Entry, Key};

pub(super) struct RangeFill<'a> {
    cache: &'a PointCache,
    /// The state that is walked over.
    sequence: u64,
    under_way: Option<Next>,
    /// What was passed over since there was no room.
    passed_bytes: usize,
    /// It is part of a longer walk: there is a range before it, or behind.
    is_beside: bool,
}

/// A range that is not at its end yet.
struct Next {
    from: Key,
    buffer: Vec<u8>,
    ends: Vec<(u32, u32)>,
}

impl<'a> RangeFill<'a> {
    /// For a walk from `from`, perhaps beside a range.
    pub fn new(cache: &'a PointCache, sequence: u64, from: &Key, is_beside: bool) -> Self {
        let under_way = cache.ranges().has_room().then(|| Next::new(from.clone(), cache.ranges().length()));
        Self { cache, sequence, under_way, passed_bytes: 0, is_beside }
    }

    pub fn add(&mut self, entry: &Entry<'_>) {
        let length = self.cache.ranges().length();
        if self.under_way.as_mut().is_some_and(|next| next.add(entry, length)) {
            return;
        }
        self.passed_bytes += entry.key.len() + entry.value.len();
        if let Some(full) = self.under_way.take() {
            self.keep(full, copied(entry.key));
        } else if self.passed_bytes < length {
            return;
        }
        self.passed_bytes = 0;
        if self.cache.ranges().has_room() {
            let mut next = Next::new(copied(entry.key), length);
            // One that is longer than a range is in none.
            self.under_way = next.add(entry, length).then_some(next);
        }
    }

    /// The walk is over. `to` says that it has seen all that is before it.
    pub fn end(mut self, to: Option<&Key>) {
        let Some(last) = self.under_way.take() else { return };
        if let Some(to) = to.cloned().or_else(|| last.last_key().map(|key| key.successor())) {
            self.keep(last, to);
        }
    }

    /// A short range by itself is not worth its space: a few entries are not read faster from it. Between
    /// others it is, since to begin to walk in the store costs as much as hundreds of entries.
    fn keep(&mut self, next: Next, to: Key) {
        if self.is_beside || next.buffer.len() >= self.cache.ranges().length() / 4 {
            let cached = CachedRange::new((next.from, to), next.buffer, next.ends, self.sequence);
            self.cache.learn_range(cached, self.sequence);
            self.is_beside = true;
        }
    }
}

impl Next {
    fn new(from: Key, length_max: usize) -> Self {
        Self { from, buffer: Vec::with_capacity(length_max), ends: Vec::new() }
    }

    /// False if it would be too long with it.
    fn add(&mut self, entry: &Entry<'_>, length_max: usize) -> bool {
        if self.buffer.len() + entry.key.len() + entry.value.len() > length_max {
            return false;
        }
        self.buffer.extend_from_slice(entry.key);
        let key_end = self.buffer.len() as u32;
        self.buffer.extend_from_slice(entry.value);
        self.ends.push((key_end, self.buffer.len() as u32));
        true
    }

    fn last_key(&self) -> Option<Key> {
        let (key_end, _) = *self.ends.last()?;
        let begin = self.ends.iter().rev().nth(1).map_or(0, |(_, end)| *end);
        Some(copied(&self.buffer[begin as usize..key_end as usize]))
    }
}

/// Copied: what is shown is a slice of a block, which it would keep alive.
fn copied(key: &[u8]) -> Key {
    Key::from_stored(Bytes::copy_from_slice(key)).expect("only keys are shown")
}
