//! Asserts that the users of the engine read and write only keys of the partition that they named.

use std::collections::HashMap;

use bytes::Bytes;

use crate::{Entry, Halt, Key, Layout, Partition, Space, View, Walker};

/// Which partition each key belongs to: the layout says it, or else the first that writes the key. A delete does not end it.
pub(super) enum Owners {
    LaidOut(Layout),
    Learned(HashMap<Key, Partition>),
}

impl Owners {
    pub fn new(layout: Option<Layout>) -> Self {
        layout.map_or_else(|| Self::Learned(HashMap::new()), Self::LaidOut)
    }

    pub fn claim(&mut self, key: &Key, at: &Partition) {
        assert_eq!(key.space(), at.space, "{key:?} is written by a transaction of another space");
        let owner = match self {
            Self::LaidOut(layout) => layout(key),
            Self::Learned(owners) => Some(owners.entry(key.clone()).or_insert_with(|| at.clone()).clone()),
        };
        assert!(owner.is_none_or(|owner| owner == *at), "{key:?} belongs to another partition than {at:?}, for good");
    }
}

/// What a look, a scan or a transaction may read.
#[derive(Clone, Copy)]
pub(crate) enum Fence<'a> {
    /// Without a layout nobody knows what is in a partition, only in which space it is.
    Partition(&'a Partition, Option<Layout>),
    Space(Space),
}

impl<'a> Fence<'a> {
    pub fn around<'v>(self, view: &'v mut dyn View) -> Fenced<'a, 'v> {
        Fenced { fence: self, view }
    }

    fn check(self, key: &Key) {
        match self {
            Self::Space(space) => assert_eq!(key.space(), space, "{key:?} is read from another space"),
            Self::Partition(at, layout) => {
                assert_eq!(key.space(), at.space, "{key:?} is read from another space");
                let owner = layout.and_then(|layout| layout(key));
                assert!(owner.is_none_or(|owner| owner == *at), "{key:?} is read from the partition {at:?}");
            }
        }
    }

    /// The bounds of a range need not be keys; what lies between them has to be within.
    fn check_range(self, from: &Key, entries: &[(Key, Bytes)]) {
        let space = match self {
            Self::Space(space) => space,
            Self::Partition(at, _) => at.space,
        };
        assert_eq!(from.space(), space, "a range from {from:?} is read from another space");
        entries.iter().for_each(|(key, _)| self.check(key));
    }
}

/// A view that may not be asked for what lies beyond the fence.
pub(crate) struct Fenced<'a, 'v> {
    fence: Fence<'a>,
    view: &'v mut dyn View,
}

impl View for Fenced<'_, '_> {
    fn get(&mut self, key: &Key) -> Result<Option<Bytes>, Halt> {
        self.fence.check(key);
        self.view.get(key)
    }

    fn scan(&mut self, from: &Key, to: &Key, limit: usize) -> Result<Vec<(Key, Bytes)>, Halt> {
        let entries = self.view.scan(from, to, limit)?;
        self.fence.check_range(from, &entries);
        Ok(entries)
    }

    fn last(&mut self, from: &Key, to: &Key) -> Result<Option<(Key, Bytes)>, Halt> {
        let entry = self.view.last(from, to)?;
        self.fence.check_range(from, entry.as_slice());
        Ok(entry)
    }

    fn walk(&mut self, from: &Key, to: &Key, walker: &mut dyn Walker) -> Result<(), Halt> {
        self.fence.check_range(from, &[]);
        let fence = self.fence;
        self.view.walk(from, to, &mut |entry: &Entry<'_>| {
            fence.check(&entry.keep().0);
            walker.see(entry)
        })
    }
}
