//! The range cache: runs of adjacent rows that walks read lately, each run in one buffer. `lsm-tree`'s iterators merge, look into
//! blocks and count references for each row; a walk over a cached range reads memory.
//!
//! Held true:
//! * a cached range has all rows between its two keys, as they are in the published state and in every state since the one it was
//!   read from;
//! * ranges do not overlap;
//! * bytes are bounded. When the cache is full, a new range replaces one that was asked for its space several times since it was
//!   last used. So a long walk, repeated, still finds the part of itself that stayed, and does not evict what it needs next.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;

use crate::range_cache::{Note, Stretched};
use crate::{Entry, Key, Walker};

/// Long enough that finding the next one costs nothing beside passing over it, short enough that a write spoils little.
const LENGTH_MAX: usize = 64 << 10;
/// How often a range survives a request for its space: a walk over five times what fits still finds what stays.
const CREDIT: u8 = 4;
/// Entries of which something is noted together, beside what is noted of all.
const PART: usize = 32;
/// What a range and a part of it cost beside the buffer and the notes, roughly.
const RANGE_BYTES: usize = 256;
const PART_BYTES: usize = 64;

pub(super) struct RangeCache {
    kept: RwLock<Kept>,
    /// How many there are, for the writer, who asks with each batch.
    count: AtomicUsize,
    bytes_max: usize,
    length: usize,
}

#[derive(Default)]
struct Kept {
    by_start: BTreeMap<Key, Arc<CachedRange>>,
    bytes: usize,
    /// Which one was asked last for its room.
    hand: Option<Key>,
}

pub(super) struct CachedRange {
    from: Key,
    to: Key,
    /// The state it was read of.
    since: u64,
    /// How often it may still be asked for its room.
    credit: AtomicU8,
    buffer: Bytes,
    /// Where each entry's key and value end.
    ends: Box<[(u32, u32)]>,
    note: Note,
    /// One for each part.
    notes: Box<[Note]>,
}

/// Some entries of a range.
struct Part<'a> {
    cached: &'a CachedRange,
    which: Range<usize>,
}

/// What there is at a key.
pub(super) enum Lookup {
    Known(Arc<CachedRange>),
    /// Nothing, up to the next range.
    Unknown {
        until: Option<Key>,
    },
}

impl RangeCache {
    pub fn new(bytes: u64) -> Self {
        let bytes_max = usize::try_from(bytes).unwrap_or(usize::MAX);
        let length = (bytes_max / 1024).min(LENGTH_MAX);
        Self { kept: RwLock::default(), count: AtomicUsize::new(0), bytes_max, length }
    }

    /// What there is at `key` that is right for the state of `sequence`.
    pub fn at(&self, key: &Key, sequence: u64) -> Lookup {
        let kept = self.read();
        let before = kept.by_start.range(..=key).next_back();
        if let Some((_, cached)) = before.filter(|(_, cached)| *key < cached.to && cached.since <= sequence) {
            cached.credit.store(CREDIT, Relaxed);
            return Lookup::Known(cached.clone());
        }
        let mut behind = kept.by_start.range((Excluded(key), Unbounded));
        Lookup::Unknown { until: behind.next().map(|(start, _)| start.clone()) }
    }

    /// Whether there is room for one more, or was made.
    pub fn has_room(&self) -> bool {
        if self.length == 0 {
            return false;
        }
        let has_room = |kept: &Kept| kept.bytes + self.length + RANGE_BYTES <= self.bytes_max;
        if has_room(&self.read()) {
            return true;
        }
        let mut kept = self.write();
        let next = match &kept.hand {
            Some(hand) => kept.by_start.range((Excluded(hand), Unbounded)).next(),
            None => None,
        };
        let Some((start, cached)) = next.or_else(|| kept.by_start.first_key_value()) else { return has_room(&kept) };
        let (start, credit) = (start.clone(), cached.credit.load(Relaxed));
        match credit.checked_sub(1) {
            Some(less) => cached.credit.store(less, Relaxed),
            None => self.remove(&mut kept, &start),
        }
        kept.hand = Some(start);
        has_room(&kept)
    }

    /// Keeps a range if `is_current` says, under the lock, that what it was read of is still the published state.
    pub fn learn(&self, cached: CachedRange, is_current: impl FnOnce() -> bool) {
        let mut kept = self.write();
        let bytes = cached.bytes();
        let before = kept.by_start.range(..&cached.to).next_back();
        let overlaps = before.is_some_and(|(_, before)| before.to > cached.from);
        if overlaps || kept.bytes + bytes > self.bytes_max {
            return;
        }
        // Counted first: a writer who has not seen the count has moved the state before we ask.
        self.count.fetch_add(1, SeqCst);
        if !is_current() {
            self.count.fetch_sub(1, SeqCst);
            return;
        }
        kept.bytes += bytes;
        kept.by_start.insert(cached.from.clone(), Arc::new(cached));
    }

    /// Lets go of what `keys` are in, before they change.
    pub fn forget<'a>(&self, keys: impl Iterator<Item = &'a Key>) {
        if self.count.load(SeqCst) == 0 {
            return;
        }
        let mut kept = self.write();
        for key in keys {
            let within = kept.by_start.range(..=key).next_back().filter(|(_, cached)| *key < cached.to);
            if let Some(start) = within.map(|(start, _)| start.clone()) {
                self.remove(&mut kept, &start);
            }
        }
    }

    pub fn forget_all(&self) {
        let mut kept = self.write();
        *kept = Kept::default();
        self.count.store(0, SeqCst);
    }

    /// How long a range should be.
    pub fn length(&self) -> usize {
        self.length
    }

    fn remove(&self, kept: &mut Kept, start: &Key) {
        if let Some(cached) = kept.by_start.remove(start) {
            kept.bytes -= cached.bytes();
            self.count.fetch_sub(1, SeqCst);
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Kept> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Kept> {
        self.kept.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedRange {
    /// The first key behind it.
    pub fn to(&self) -> &Key {
        &self.to
    }

    /// Shows `walker` the entries with `from <= key < to`, but for the parts that it passes over.
    pub fn walk(&self, from: &Key, to: &Key, walker: &mut dyn Walker) -> ControlFlow<()> {
        let first = if *from <= self.from { 0 } else { self.count_before(from) };
        let end = if self.to <= *to { self.ends.len() } else { self.count_before(to) };
        if end - first == self.ends.len() && end > PART && passes(walker, self) {
            return ControlFlow::Continue(());
        }
        let mut at = first;
        while at < end {
            let which = at..end.min(at - at % PART + PART);
            at = which.end;
            let is_whole = which.start % PART == 0 && (which.len() == PART || at == self.ends.len());
            if !is_whole || !passes(walker, &Part { cached: self, which: which.clone() }) {
                self.show(which, |entry| walker.see(entry))?;
            }
        }
        ControlFlow::Continue(())
    }

    fn show<'a>(&'a self, which: Range<usize>, mut see: impl FnMut(&Entry<'a>) -> ControlFlow<()>) -> ControlFlow<()> {
        let mut begin = self.begin(which.start);
        for (key_end, value_end) in &self.ends[which] {
            let (key_end, value_end) = (*key_end as usize, *value_end as usize);
            see(&Entry::within(&self.buffer, &self.buffer[begin..key_end], &self.buffer[key_end..value_end]))?;
            begin = value_end;
        }
        ControlFlow::Continue(())
    }

    fn show_all<'a>(&'a self, which: Range<usize>, see: &mut dyn FnMut(&Entry<'a>)) {
        let _ = self.show(which, |entry| {
            see(entry);
            ControlFlow::Continue(())
        });
    }

    fn begin(&self, n: usize) -> usize {
        n.checked_sub(1).map_or(0, |before| self.ends[before].1 as usize)
    }

    /// How many entries have keys before this one.
    fn count_before(&self, key: &Key) -> usize {
        let key_at = |n: usize| &self.buffer[self.begin(n)..self.ends[n].0 as usize];
        partition_point(self.ends.len(), |n| key_at(n) < key.as_bytes())
    }

    /// What `buffer` holds: all entries with `from <= key < to`, in the state of `sequence`.
    pub fn new((from, to): (Key, Key), buffer: Vec<u8>, ends: Vec<(u32, u32)>, sequence: u64) -> Self {
        let notes = ends.chunks(PART).map(|_| Note::new()).collect();
        let (buffer, ends) = (buffer.into_boxed_slice().into(), ends.into());
        let credit = AtomicU8::new(CREDIT);
        Self { from, to, since: sequence, credit, buffer, ends, note: Note::new(), notes }
    }

    /// With all that may be noted: there is no saying when it will be.
    fn bytes(&self) -> usize {
        let mut notes = self.room();
        self.parts(&mut |part| notes += part.room() + PART_BYTES);
        self.buffer.len() + size_of_val(&self.ends[..]) + notes + RANGE_BYTES
    }
}

impl Stretched for CachedRange {
    fn note(&self) -> &Note {
        &self.note
    }

    fn room(&self) -> usize {
        self.buffer.len() / 12
    }

    fn each<'a>(&'a self, see: &mut dyn FnMut(&Entry<'a>)) {
        self.show_all(0..self.ends.len(), see);
    }

    fn parts(&self, see: &mut dyn FnMut(&dyn Stretched)) {
        for at in (0..self.ends.len()).step_by(PART) {
            see(&Part { cached: self, which: at..self.ends.len().min(at + PART) });
        }
    }
}

fn passes(walker: &mut dyn Walker, stretch: &dyn Stretched) -> bool {
    walker.skipping().is_some_and(|skipping| skipping.passes(stretch))
}

impl Stretched for Part<'_> {
    fn note(&self) -> &Note {
        &self.cached.notes[self.which.start / PART]
    }

    fn room(&self) -> usize {
        (self.cached.begin(self.which.end) - self.cached.begin(self.which.start)) / 8
    }

    fn each<'a>(&'a self, see: &mut dyn FnMut(&Entry<'a>)) {
        self.cached.show_all(self.which.clone(), see);
    }

    fn parts(&self, _see: &mut dyn FnMut(&dyn Stretched)) {}
}

/// How many of the first numbers `is_before` holds for, if it holds for no other.
fn partition_point(count: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::range_cache::Skipping;
    use crate::{Column, Space};

    fn key(n: u32) -> Key {
        Key::new(Space(1), Column(1), &[&n.to_be_bytes()])
    }

    /// The entries `from..to`, each with a value of its number.
    fn cached(from: u32, to: u32, since: u64) -> CachedRange {
        let (mut buffer, mut ends) = (Vec::new(), Vec::new());
        for n in from..to {
            buffer.extend_from_slice(key(n).as_bytes());
            let key_end = buffer.len() as u32;
            buffer.extend_from_slice(&n.to_be_bytes());
            ends.push((key_end, buffer.len() as u32));
        }
        CachedRange::new((key(from), key(to)), buffer, ends, since)
    }

    fn learn(ranges: &RangeCache, from: u32, to: u32, since: u64) {
        ranges.learn(cached(from, to, since), || true);
    }

    fn is_known(ranges: &RangeCache, n: u32, sequence: u64) -> bool {
        matches!(ranges.at(&key(n), sequence), Lookup::Known(_))
    }

    #[test]
    fn a_range_shows_what_is_asked_of_it() {
        let cached = cached(10, 20, 0);
        for (from, to, shown) in [(0, 30, 10..20), (12, 15, 12..15), (10, 11, 10..11), (19, 99, 19..20), (15, 15, 0..0)]
        {
            let mut seen = Vec::new();
            let flow = cached.walk(&key(from), &key(to), &mut |entry: &Entry<'_>| {
                seen.push(entry.keep());
                ControlFlow::Continue(())
            });
            let wanted: Vec<_> = shown.map(|n: u32| (key(n), Bytes::copy_from_slice(&n.to_be_bytes()))).collect();
            assert_eq!((seen, flow), (wanted, ControlFlow::Continue(())), "{from} to {to}");
        }
    }

    /// Passes over these, and sees the rest.
    struct Choosy(Vec<Range<u32>>, Vec<u32>);

    fn number(entry: &Entry<'_>) -> u32 {
        u32::from_be_bytes(entry.value.try_into().expect("a number"))
    }

    impl Walker for Choosy {
        fn see(&mut self, entry: &Entry<'_>) -> ControlFlow<()> {
            self.1.push(number(entry));
            ControlFlow::Continue(())
        }

        fn skipping(&mut self) -> Option<&mut dyn Skipping> {
            Some(self)
        }
    }

    impl Skipping for Choosy {
        fn passes(&mut self, cached: &dyn Stretched) -> bool {
            let mut all = Vec::new();
            cached.each(&mut |entry| all.push(number(entry)));
            let range = all[0]..all[0] + all.len() as u32;
            let noted = cached.note().get_or_init(|| Box::new(range.clone()));
            assert_eq!(noted.downcast_ref(), Some(&range), "a note is of its own part");
            self.0.contains(&range)
        }
    }

    #[test]
    fn a_range_and_whole_parts_are_passed_over() {
        let cached = cached(0, 80, 0);
        for (from, to, passed, shown) in [
            (0, 80, vec![0..80, 0..32], Vec::from_iter(0..0)),
            (0, 80, vec![32..64, 0..64], (0..32).chain(64..80).collect()),
            (0, 99, vec![0..32, 32..64, 64..80], vec![]),
            // Of the first and the last part some are not asked for, so that they are not asked about.
            (1, 79, vec![0..80, 0..32, 1..32, 32..64, 64..80], (1..32).chain(64..79).collect()),
            (40, 50, vec![32..64, 40..50], (40..50).collect()),
        ] {
            let mut choosy = Choosy(passed, Vec::new());
            assert!(cached.walk(&key(from), &key(to), &mut choosy).is_continue());
            assert_eq!(choosy.1, shown, "{from} to {to}");
        }
    }

    #[test]
    fn the_parts_of_a_range_are_all_of_it() {
        for count in [1, 32, 33, 80] {
            let (cached, mut seen) = (cached(0, count, 0), Vec::new());
            cached.parts(&mut |part| part.each(&mut |entry| seen.push(number(entry))));
            assert_eq!(seen, Vec::from_iter(0..count));
        }
    }

    #[test]
    fn a_range_is_for_its_state_and_those_behind_it_until_it_is_written_to() {
        let ranges = RangeCache::new(1 << 20);
        learn(&ranges, 10, 20, 4);
        assert!(is_known(&ranges, 10, 4) && is_known(&ranges, 19, 6));
        assert!(!is_known(&ranges, 9, 4) && !is_known(&ranges, 20, 4) && !is_known(&ranges, 10, 2));
        ranges.forget([key(9), key(20)].iter());
        assert!(is_known(&ranges, 10, 6));
        // Also of a key that was not there: the range says so.
        ranges.forget([key(15).successor()].iter());
        assert!(!is_known(&ranges, 10, 6));
    }

    #[test]
    fn what_overlaps_or_has_passed_is_not_learnt() {
        let ranges = RangeCache::new(1 << 20);
        learn(&ranges, 10, 20, 4);
        for (from, to) in [(0, 11), (12, 13), (19, 30), (5, 40)] {
            learn(&ranges, from, to, 4);
        }
        ranges.learn(cached(30, 40, 4), || false);
        learn(&ranges, 20, 25, 4);
        let known: Vec<u32> = (0..50).filter(|n| is_known(&ranges, *n, 4)).collect();
        assert_eq!(known, (10..25).collect::<Vec<_>>());
        assert_eq!(ranges.count.load(SeqCst), 2);
    }

    #[test]
    fn bytes_are_bounded_and_a_walk_over_more_finds_what_stays() {
        let ranges = RangeCache::new(4 << 20);
        let walk = || {
            let mut found = 0;
            for n in (0..100_000).step_by(40) {
                if is_known(&ranges, n, 0) {
                    found += 1;
                } else if ranges.has_room() {
                    learn(&ranges, n, n + 40, 0);
                }
            }
            assert!(ranges.read().bytes <= 4 << 20);
            found
        };
        assert_eq!(walk(), 0);
        let kept = ranges.count.load(SeqCst);
        assert!(kept > 500, "{kept}");
        // What has stayed is found by every walk, though each passes over more than fits.
        let found: Vec<usize> = (0..4).map(|_| walk()).collect();
        assert!(found.iter().all(|found| *found >= kept * 9 / 10), "{found:?} of {kept}");
        // And when nobody asks for it any more, it makes room.
        for _ in 0..(usize::from(CREDIT) + 1) * kept + 2 {
            if ranges.has_room() {
                learn(&ranges, 200_000, 200_040, 0);
            }
        }
        assert!(is_known(&ranges, 200_000, 0));
    }
}
