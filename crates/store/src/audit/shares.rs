//! The tree of one share: names, nodes, and what is counted of them.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use lazuli_engine::{Fault, Key};
use lazuli_model::file::{FileId, Node};

use super::Audit;
use crate::file::keys::{self, read_epoch};
use crate::file::rows::{Head, Name, NameRow, NodeRow, Usage};
use crate::records::{Count, decode};

#[derive(Default)]
pub(super) struct Tree {
    /// The newest of each, since it comes first.
    names: BTreeMap<Key, Option<Name>>,
    nodes: BTreeMap<FileId, Option<Node>>,
    children: BTreeMap<FileId, u32>,
    beneath: BTreeMap<FileId, u32>,
    handles: BTreeMap<FileId, u32>,
    usage: Option<u64>,
    head: Option<Head>,
}

impl Tree {
    pub fn see(&mut self, key: &Key, bytes: &Bytes) -> Result<(), Fault> {
        match key.column() {
            keys::NAMES => {
                let (name, _) = read_epoch(key).ok_or_else(|| odd(key))?;
                let row = decode::<NameRow>(bytes)?.0;
                self.names.entry(name).or_insert(row);
            }
            keys::NODES => {
                let id = id(key)?;
                if let std::collections::btree_map::Entry::Vacant(fresh) = self.nodes.entry(id) {
                    fresh.insert(decode::<NodeRow>(bytes)?.0);
                }
            }
            keys::CHILDREN => drop(self.children.insert(id(key)?, decode::<Count>(bytes)?.0)),
            keys::BENEATH => drop(self.beneath.insert(id(key)?, decode::<Count>(bytes)?.0)),
            keys::OPENS => *self.handles.entry(id(key)?).or_default() += 1,
            keys::USAGE => self.usage = Some(decode::<Usage>(bytes)?.0),
            keys::HEADS => self.head = Some(decode(bytes)?),
            _ => {}
        }
        Ok(())
    }

    pub fn judge(&self, place: &str, audit: &mut Audit) {
        let mut children: BTreeMap<FileId, u32> = BTreeMap::new();
        let mut reached = BTreeSet::new();
        for (key, name) in self.names.iter().filter_map(|(key, name)| Some((key, name.as_ref()?))) {
            match id(key) {
                Ok(parent) => *children.entry(parent).or_default() += 1,
                Err(_) => audit.add(place, "a name's key is too short"),
            }
            reached.insert(name.id);
            if !matches!(self.nodes.get(&name.id), Some(Some(_))) {
                audit.add(place, format!("{} has a name and is not there", name.name));
            }
        }
        compare(place, audit, "names in directory", &children, &self.children);
        let mut beneath: BTreeMap<FileId, u32> = BTreeMap::new();
        for (file, handles) in &self.handles {
            let mut at = self.node(*file).map(|node| node.parent);
            while let Some(directory) = at.filter(|directory| *directory != FileId::ROOT) {
                *beneath.entry(directory).or_default() += handles;
                at = self.node(directory).map(|node| node.parent);
            }
        }
        compare(place, audit, "handles below directory", &beneath, &self.beneath);
        let files = self.nodes.values().flatten().filter(|node| reached.contains(&node.id));
        let used: u64 = files.map(|node| node.length).sum();
        let counted = self.usage.or_else(|| self.head.as_ref().map(|head| head.usage)).unwrap_or(0);
        if used != counted {
            audit.add(place, format!("files take up {used} bytes; {counted} are counted"));
        }
    }

    fn node(&self, id: FileId) -> Option<&Node> {
        self.nodes.get(&id)?.as_ref()
    }
}

fn compare(place: &str, audit: &mut Audit, what: &str, found: &BTreeMap<FileId, u32>, counted: &BTreeMap<FileId, u32>) {
    for id in found.keys().chain(counted.keys()).collect::<BTreeSet<_>>() {
        let (found, counted) = (found.get(id).copied().unwrap_or(0), counted.get(id).copied().unwrap_or(0));
        if found != counted {
            audit.add(place, format!("{found} {what} {}; {counted} are counted", id.0));
        }
    }
}

fn id(key: &Key) -> Result<FileId, Fault> {
    key.row().first_chunk().map(|id| FileId(u64::from_be_bytes(*id))).ok_or_else(|| odd(key))
}

fn odd(key: &Key) -> Fault {
    Fault::Corrupt(format!("the key {key:?}"))
}
