//! The tree of one share: names, nodes, and what is counted of them.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use lazuli_engine::{Fault, Key};
use lazuli_model::Timestamp;
use lazuli_model::file::arbiter::{Open, Standing};
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
    handles: BTreeMap<FileId, Vec<Open>>,
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
            keys::OPENS => self.handles.entry(id(key)?).or_default().push(decode(bytes)?),
            keys::USAGE => self.usage = Some(decode::<Usage>(bytes)?.0),
            keys::HEADS => self.head = Some(decode(bytes)?),
            _ => {}
        }
        Ok(())
    }

    /// `now` is not before the last change of the share: a break that ended by itself is still in its row.
    pub fn judge(&self, now: Timestamp, place: &str, audit: &mut Audit) {
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
        for (file, opens) in &self.handles {
            let standing = Standing { opens: opens.clone(), ..Standing::default() }.at(now);
            if let Some((one, other)) = standing.disagreement() {
                let (file, one, other) = (file.0, one.handle, other.handle);
                audit.add(
                    place,
                    format!("the handles {one} and {other} of file {file} share a cache and do not agree on it"),
                );
            }
            let handles = u32::try_from(opens.len()).unwrap_or(u32::MAX);
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

#[cfg(test)]
mod tests {
    use lazuli_model::file::arbiter::{Access, BREAK_ENDS_SECONDS, Breaking, Cache, Caching};

    use super::*;
    use crate::file::keys::ShareKeys;
    use crate::records::encode;

    const BEGIN: Timestamp = Timestamp::from_ticks(1_000_000_000);

    fn open(handle: u64, epoch: u16, breaking: Option<Breaking>) -> Open {
        let cache = Cache::Lease { client: 1, key: 7 };
        let (client, client_name) = (String::new(), String::new());
        Open {
            handle,
            session: 1,
            gateway: 5,
            client,
            client_name,
            access: Access::NONE,
            sharing: Access::NONE,
            opened: BEGIN,
            reconnected: None,
            delete_on_close: false,
            attributes_only: false,
            caching: if breaking.is_some() { Caching::ALL } else { Caching::NONE },
            cache,
            epoch,
            breaking,
            locks: Vec::new(),
        }
    }

    fn found(opens: &[Open], now: Timestamp) -> Vec<String> {
        let (keys, mut tree, mut audit) = (ShareKeys::new(1), Tree::default(), Audit::default());
        for open in opens {
            tree.see(&keys.open(FileId(3), open.handle), &encode(open)).unwrap();
        }
        tree.judge(now, "share s", &mut audit);
        audit.damage
    }

    #[test]
    fn handles_that_share_a_cache_agree_on_it() {
        assert_eq!(found(&[open(10, 1, None), open(11, 1, None)], BEGIN), [""; 0]);
        let damage = found(&[open(10, 1, None), open(11, 2, None)], BEGIN);
        assert_eq!(damage, ["share s: the handles 10 and 11 of file 3 share a cache and do not agree on it"]);
        let breaking = Some(Breaking { to: Caching::NONE, wanted: Caching::NONE, since: BEGIN });
        let one_is_told = [open(10, 1, breaking), open(11, 1, None)];
        assert_eq!(found(&one_is_told, BEGIN).len(), 1);
        // A break that nobody acknowledged has ended by itself, whichever row says so.
        assert_eq!(found(&one_is_told, BEGIN.plus_seconds(BREAK_ENDS_SECONDS)), [""; 0]);
    }
}
