//! The part of a partition, or of a shard, that has been loaded: rows, and the ranges in which these are all the rows.
//!
//! Held true: ranges do not touch or overlap; a read is answered from within them, or misses.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::fetch::PAGE;
use crate::{Halt, Key, View, Want};

#[derive(Clone, Debug, Default)]
pub(super) struct Loaded {
    rows: BTreeMap<Key, Bytes>,
    /// From each key to the other, without that one, nothing is missing.
    ranges: BTreeMap<Key, Key>,
    bytes: usize,
}

impl Loaded {
    /// Takes in that these are all the rows with `from <= key < to`.
    pub fn add(&mut self, from: &Key, to: &Key, rows: impl IntoIterator<Item = (Key, Bytes)>) {
        if from >= to {
            return;
        }
        for (key, value) in rows {
            debug_assert!(*from <= key && key < *to, "a row outside its range");
            self.set(key, value);
        }
        self.cover(from.clone(), to.clone());
    }

    pub fn add_one(&mut self, key: &Key, value: Option<Bytes>) {
        self.add(key, &key.successor(), value.map(|value| (key.clone(), value)));
    }

    /// What a transaction wrote is known, wherever it is.
    pub fn apply(&mut self, writes: &BTreeMap<Key, Option<Bytes>>) {
        for (key, value) in writes {
            if let Some(old) = self.rows.remove(key) {
                self.bytes -= key.as_bytes().len() + old.len();
            }
            self.add_one(key, value.clone());
        }
    }

    /// About how much memory it takes.
    pub fn size(&self) -> usize {
        const PER_ENTRY: usize = 128;
        self.bytes + PER_ENTRY * (self.rows.len() + self.ranges.len())
    }

    /// What of `want` is not here, if anything.
    pub fn lacks(&self, want: &Want) -> Option<Want> {
        match want {
            Want::Get(key) => self.end_of_range(key).is_none().then(|| want.clone()),
            Want::Scan { from, to, limit } => self.find(from, to, *limit).err(),
        }
    }

    /// The rows of a scan, or what it lacks.
    pub fn find(&self, from: &Key, to: &Key, limit: usize) -> Result<Vec<(&Key, &Bytes)>, Want> {
        let (mut found, mut at) = (Vec::new(), from);
        while at < to && found.len() < limit {
            let Some(end) = self.end_of_range(at) else {
                return Err(Want::Scan { from: at.clone(), to: to.clone(), limit: limit - found.len() });
            };
            found.extend(self.rows.range(at..end.min(to)).take(limit - found.len()));
            at = end;
        }
        Ok(found)
    }

    /// The last row of a range, or the first page of what has to be known to tell: a pool reads forwards only.
    pub fn find_last(&self, from: &Key, to: &Key) -> Result<Option<(&Key, &Bytes)>, Want> {
        let mut to = to;
        while from < to {
            let Some((start, _)) = self.ranges.range(..to).next_back().filter(|(_, end)| *end >= to) else {
                return Err(self.first_gap(from, to));
            };
            if let Some(last) = self.rows.range(from.max(start)..to).next_back() {
                return Ok(Some(last));
            }
            to = start;
        }
        Ok(None)
    }

    fn first_gap(&self, from: &Key, to: &Key) -> Want {
        let mut at = from;
        while let Some(end) = self.end_of_range(at) {
            at = end;
        }
        Want::Scan { from: at.clone(), to: to.clone(), limit: PAGE }
    }

    fn end_of_range(&self, key: &Key) -> Option<&Key> {
        self.ranges.range(..=key).next_back().map(|(_, end)| end).filter(|end| *end > key)
    }

    fn set(&mut self, key: Key, value: Bytes) {
        let length = key.as_bytes().len();
        self.bytes += length + value.len();
        if let Some(old) = self.rows.insert(key, value) {
            self.bytes -= length + old.len();
        }
    }

    fn cover(&mut self, mut from: Key, mut to: Key) {
        if let Some((start, end)) = self.ranges.range(..=&from).next_back().filter(|(_, end)| **end >= from) {
            (from, to) = (start.clone(), to.max(end.clone()));
        }
        while let Some((start, end)) = self.ranges.range(&from..=&to).next() {
            let start = start.clone();
            to = to.max(end.clone());
            self.ranges.remove(&start);
        }
        self.ranges.insert(from, to);
    }
}

/// A view over what is loaded, with the writes of transactions before it on top. It remembers its first miss.
pub(super) struct Over<'a> {
    pub loaded: &'a Loaded,
    pub writes: &'a BTreeMap<Key, Option<Bytes>>,
    /// The first is the one to load: later ones may come from having no answer.
    pub missed: Option<Want>,
}

impl<'a> Over<'a> {
    pub fn new(loaded: &'a Loaded, writes: &'a BTreeMap<Key, Option<Bytes>>) -> Self {
        Self { loaded, writes, missed: None }
    }

    fn miss(&mut self, want: Want) -> Halt {
        self.missed.get_or_insert(want);
        Halt::Miss
    }
}

impl View for Over<'_> {
    fn get(&mut self, key: &Key) -> Result<Option<Bytes>, Halt> {
        if let Some(written) = self.writes.get(key) {
            return Ok(written.clone());
        }
        match self.loaded.end_of_range(key) {
            Some(_) => Ok(self.loaded.rows.get(key).cloned()),
            None => Err(self.miss(Want::Get(key.clone()))),
        }
    }

    fn scan(&mut self, from: &Key, to: &Key, limit: usize) -> Result<Vec<(Key, Bytes)>, Halt> {
        if from >= to || limit == 0 {
            return Ok(Vec::new());
        }
        let written: Vec<_> = self.writes.range(from..to).collect();
        let found = self.loaded.find(from, to, limit.saturating_add(written.len()));
        let found = found.map_err(|lacks| self.miss(lacks))?;
        let mut merged: BTreeMap<&Key, &Bytes> = found.into_iter().collect();
        for (key, value) in written {
            match value {
                Some(value) => merged.insert(key, value),
                None => merged.remove(key),
            };
        }
        Ok(merged.into_iter().take(limit).map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn last(&mut self, from: &Key, to: &Key) -> Result<Option<(Key, Bytes)>, Halt> {
        let mut lacks = None;
        let last = crate::txn::last_over(self.writes, from, to, |from, to| match self.loaded.find_last(from, to) {
            Ok(found) => Ok(found.map(|(key, value)| (key.clone(), value.clone()))),
            Err(want) => {
                lacks.get_or_insert(want);
                Err(Halt::Miss)
            }
        });
        last.map_err(|halt| lacks.map_or(halt, |want| self.miss(want)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Space};

    fn key(n: u8) -> Key {
        Key::new(Space(1), Column(1), &[&[n]])
    }

    fn rows(all: &[u8]) -> Vec<(Key, Bytes)> {
        all.iter().map(|n| (key(*n), Bytes::from(vec![*n]))).collect()
    }

    fn found(loaded: &Loaded, from: u8, to: u8, limit: usize) -> Result<Vec<u8>, Want> {
        let found = loaded.find(&key(from), &key(to), limit)?;
        Ok(found.into_iter().map(|(_, value)| value[0]).collect())
    }

    #[test]
    fn reads_are_answered_within_ranges_and_miss_outside() {
        let mut loaded = Loaded::default();
        loaded.add(&key(10), &key(20), rows(&[11, 15]));
        loaded.add(&key(20), &key(30), rows(&[25]));
        loaded.add(&key(40), &key(50), rows(&[]));
        assert_eq!(loaded.ranges.len(), 2, "ranges that touch are one");
        assert_eq!(found(&loaded, 10, 30, 9), Ok(vec![11, 15, 25]));
        assert_eq!(found(&loaded, 12, 26, 1), Ok(vec![15]));
        assert_eq!(found(&loaded, 40, 45, 9), Ok(vec![]));
        assert_eq!(found(&loaded, 11, 45, 3), Ok(vec![11, 15, 25]), "the limit ends it before the gap");
        assert_eq!(found(&loaded, 11, 45, 4), Err(Want::Scan { from: key(30), to: key(45), limit: 1 }));
        assert_eq!(found(&loaded, 5, 45, 4), Err(Want::Scan { from: key(5), to: key(45), limit: 4 }));
        assert_eq!(loaded.lacks(&Want::Get(key(29))), None);
        assert!(loaded.lacks(&Want::Get(key(30))).is_some());
    }

    #[test]
    fn the_last_one_needs_only_the_end_of_the_range() {
        let mut loaded = Loaded::default();
        loaded.add(&key(10), &key(20), rows(&[11, 15]));
        loaded.add(&key(30), &key(40), rows(&[]));
        let last = |from, to| loaded.find_last(&key(from), &key(to)).map(|last| last.map(|(_, value)| value[0]));
        assert_eq!(last(0, 20), Ok(Some(15)));
        assert_eq!(last(12, 15), Ok(None));
        assert_eq!(last(30, 40), Ok(None));
        let lacks = |from| Err(Want::Scan { from: key(from), to: key(40), limit: PAGE });
        assert_eq!(
            loaded.find_last(&key(12), &key(40)).map(|_| ()),
            lacks(20).map_err(|mut want| {
                if let Want::Scan { to, .. } = &mut want {
                    *to = key(30);
                }
                want
            })
        );
    }

    #[test]
    fn writes_are_known_and_counted() {
        let mut loaded = Loaded::default();
        loaded.add(&key(10), &key(20), rows(&[11, 15]));
        let before = loaded.size();
        loaded.apply(&BTreeMap::from([(key(11), None), (key(12), Some("x".into())), (key(90), Some("y".into()))]));
        assert_eq!(found(&loaded, 10, 20, 9), Ok(vec![b'x', 15]));
        assert_eq!(loaded.lacks(&Want::Get(key(90))), None);
        loaded.apply(&BTreeMap::from([(key(12), None), (key(90), None), (key(11), Some(vec![11].into()))]));
        assert_eq!(loaded.bytes, before - 128 * 3);
        let nothing = BTreeMap::new();
        let mut over = Over::new(&loaded, &nothing);
        assert_eq!((over.get(&key(70)), over.get(&key(71))), (Err(Halt::Miss), Err(Halt::Miss)));
        assert_eq!(over.missed, Some(Want::Get(key(70))));
    }
}
