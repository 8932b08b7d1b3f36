//! The tree of one file system: each name stands for a node that has this name and no other, and from each node the way leads up to the root
//! directory, to a path that was deleted or is being moved, or to garbage that waits for the sweeper.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use lazuli_engine::{Fault, Key};
use lazuli_model::lake::Node;

use super::Audit;
use crate::keys::{self, ROOT_NODE, TreeKeys};
use crate::lake::keys::read_id;
use crate::records::{NodeId, RemovedPath, decode};

#[derive(Default)]
pub(super) struct PathTree {
    /// By directory and name.
    entries: BTreeMap<(u128, String), NodeId>,
    nodes: BTreeMap<u128, Node>,
    /// What has no name and is kept: deleted, or on its way to another file system.
    kept: BTreeSet<u128>,
    has_garbage: bool,
}

impl PathTree {
    pub fn see(&mut self, key: &Key, bytes: &Bytes) -> Result<(), Fault> {
        let id = || read_id(&key.row()).ok_or_else(|| odd(key));
        match key.column() {
            keys::ENTRIES => {
                let name = TreeKeys::read_entry(key).ok_or_else(|| odd(key))?;
                self.entries.insert((id()?, name), decode(bytes)?);
            }
            keys::PATH_NODES => drop(self.nodes.insert(id()?, decode(bytes)?)),
            keys::REMOVED => drop(self.kept.insert(decode::<RemovedPath>(bytes)?.node.id)),
            keys::GARBAGE => self.has_garbage = true,
            _ => {}
        }
        Ok(())
    }

    pub fn judge(&self, place: &str, audit: &mut Audit) {
        for ((directory, name), entry) in &self.entries {
            match self.nodes.get(&entry.id) {
                None => audit.add(place, format!("{name} has a name and is not there")),
                Some(node) if node.parent != *directory || node.name != *name => {
                    audit.add(place, format!("{name} has another name, {}, as well", node.name));
                }
                Some(node) if node.is_directory != entry.is_directory => {
                    audit.add(place, format!("{name} is a directory by its name or by its node, and not by both"));
                }
                Some(_) => {}
            }
        }
        let mut reached: BTreeSet<u128> = self.kept.iter().copied().chain([ROOT_NODE]).collect();
        for id in self.nodes.keys() {
            if let Some(lost) = self.climb(*id, &mut reached)
                // What is taken apart has lost its name, and garbage says so.
                && !self.has_garbage
            {
                let name = self.nodes.get(&lost).map_or("", |node| &node.name);
                audit.add(place, format!("{name} is there and has no name"));
            }
        }
    }

    /// Goes up to what is known to be reached; otherwise says what has no name on the way. A circle has none.
    fn climb(&self, from: u128, reached: &mut BTreeSet<u128>) -> Option<u128> {
        let (mut way, mut at) = (BTreeSet::new(), from);
        while !reached.contains(&at) {
            let node = self.nodes.get(&at)?;
            let is_named = self.entries.get(&(node.parent, node.name.clone())).is_some_and(|entry| entry.id == at);
            if !is_named || !way.insert(at) {
                return Some(at);
            }
            at = node.parent;
        }
        reached.extend(way);
        None
    }
}

fn odd(key: &Key) -> Fault {
    Fault::Corrupt(format!("the key {key:?}"))
}
