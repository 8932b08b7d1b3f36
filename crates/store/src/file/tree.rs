//! A share within a transaction, or as a snapshot saw it: names, nodes, and what keeps them for the snapshots.
//!
//! Held true:
//! * What a reader of epoch E sees of a name or a node is its newest row that is not newer than E; that row may say that nothing is
//!   there.
//! * A row is written at the newest epoch. The row before it stays as long as a snapshot sees it, and is then noted under the newest
//!   snapshot there is, so that deleting that snapshot finds it without a scan of the share.
//! * An oldest row never says that nothing is there.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::{Key, Txn};
use lazuli_model::file::entry::resized;
use lazuli_model::file::{EntryName, FileId, FilePath, Kind, Node, Sddl, Share};
use lazuli_model::{Lease, Refusal, Timestamp};
use serde::Serialize;

use super::ShareAt;
use super::keys::{ShareKeys, at_epoch, read_epoch};
use super::rows::{Head, Held, KeptRow, Name, NameRow, NodeRow, Snapshot, Superseded, Usage};
use crate::claims::Trash;
use crate::records::{Count, Record, decode, encode};
use crate::transact::{Decided, get, now};

/// A share that was found, before any transaction in it.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub at: ShareAt,
    pub keys: ShareKeys,
    pub life: u32,
    /// As it was made.
    pub born: Arc<Share>,
}

pub(crate) struct Tree<'t, 'a> {
    pub txn: &'t mut Txn<'a>,
    pub keys: &'t ShareKeys,
    pub head: Head,
    pub born: &'t Share,
    pub trash: Trash,
    /// What is read: the newest, or as a snapshot saw it.
    epoch: u64,
    head_changed: bool,
    /// How many this transaction leaves for gateways.
    pub(super) notices: u32,
    /// Others who wait should look again.
    pub(super) settles: bool,
    id_given: bool,
    /// Rows that a listing has read ahead, from there on.
    pub(super) ahead: BTreeMap<Key, Bytes>,
    pub(super) ahead_from: Key,
}

/// What a transaction has left for others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    /// For the sweeper.
    pub trash: bool,
    /// For gateways.
    pub notices: bool,
    /// For those who wait.
    pub settles: bool,
}

/// Where a path led.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    pub parent: FileId,
    /// All directories on the way, from the root.
    pub above: Vec<FileId>,
    pub name: EntryName,
    pub found: Option<Name>,
}

/// A row with an epoch, as the tree writes it.
pub(super) trait Epochal: Record + Serialize {
    fn is_nothing(&self) -> bool;
}

impl Epochal for NodeRow {
    fn is_nothing(&self) -> bool {
        self.0.is_none()
    }
}

impl Epochal for NameRow {
    fn is_nothing(&self) -> bool {
        self.0.is_none()
    }
}

impl<'t, 'a> Tree<'t, 'a> {
    /// The share as it is. Refused when it was deleted.
    pub fn new(txn: &'t mut Txn<'a>, found: &'t Found) -> Decided<Self> {
        let head: Head = get(txn, &found.keys.head())?.unwrap_or_else(|| Head::new(found.born.quota_gib));
        if head.ended.is_some_and(|ended| ended.life == found.life) {
            return Err(Refusal::ShareNotFound.into());
        }
        let epoch = head.epoch;
        Ok(Self {
            txn,
            keys: &found.keys,
            head,
            born: &found.born,
            trash: Trash::default(),
            epoch,
            head_changed: false,
            notices: 0,
            settles: false,
            id_given: false,
            ahead: BTreeMap::new(),
            ahead_from: found.keys.head(),
        })
    }

    /// The share as it was, if a time is given.
    pub fn at(txn: &'t mut Txn<'a>, found: &'t Found, snapshot: Option<Timestamp>) -> Decided<Self> {
        let mut tree = Self::new(txn, found)?;
        if let Some(time) = snapshot {
            tree.epoch = tree.snapshot(time)?.epoch;
        }
        Ok(tree)
    }

    pub fn snapshot(&mut self, time: Timestamp) -> Decided<Snapshot> {
        Ok(get(self.txn, &self.keys.snapshot(time))?.ok_or(Refusal::ShareNotFound)?)
    }

    pub fn now(&self) -> Timestamp {
        now(self.txn)
    }

    /// The epoch that is read.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    pub fn change_head(&mut self) -> &mut Head {
        self.head_changed = true;
        &mut self.head
    }

    /// Writes what the transaction leaves besides its rows, and says who has to be woken.
    pub fn finish(self) -> Left {
        if self.head_changed {
            self.txn.put(self.keys.head(), encode(&self.head));
        }
        let (notices, settles) = (self.notices > 0, self.settles);
        Left { trash: self.trash.write(self.txn, &self.keys.content), notices, settles }
    }

    pub fn share(&mut self) -> Decided<Share> {
        Ok(get(self.txn, &self.keys.properties())?.unwrap_or_else(|| self.born.clone()))
    }

    fn newest<T: Record>(&mut self, prefix: &Key) -> Decided<Option<T>> {
        // What was changed at this epoch is found by its key; a scan would pass over all its earlier states in the store's memory.
        let own = at_epoch(prefix, self.epoch);
        if let Some(bytes) = self.txn.get(&own)? {
            return Ok(Some(decode(&bytes)?));
        }
        let rows = self.txn.scan(&own, &prefix.after_prefix(), 1)?;
        Ok(rows.first().map(|(_, bytes)| decode(bytes)).transpose()?)
    }

    pub fn node(&mut self, id: FileId) -> Decided<Option<Node>> {
        let row: Option<NodeRow> = self.newest(&self.keys.node(id))?;
        match row.and_then(|row| row.0) {
            None if id == FileId::ROOT => Ok(Some(Node::root(self.born.modified, Sddl::root().key()))),
            node => Ok(node),
        }
    }

    /// A node that a name names.
    pub fn node_of(&mut self, name: &Name) -> Decided<Node> {
        let lost = || lazuli_engine::Fault::Corrupt(format!("a name without a node: {:?}", name.id));
        Ok(self.node(name.id)?.ok_or_else(lost)?)
    }

    pub fn name(&mut self, parent: FileId, name: &EntryName) -> Decided<Option<Name>> {
        let row: Option<NameRow> = self.newest(&self.keys.name(parent, &name.folded()))?;
        Ok(row.and_then(|row| row.0))
    }

    /// Down to the directory that the last step is in.
    pub fn reach(&mut self, path: &FilePath) -> Decided<Reached> {
        let (parents, name) = path.split().ok_or(Refusal::InvalidResourceName)?;
        let mut above = vec![FileId::ROOT];
        let mut parent = FileId::ROOT;
        for step in parents {
            let found = self.name(parent, step)?.filter(|found| found.kind == Kind::Directory);
            parent = found.ok_or(Refusal::ParentNotFound)?.id;
            above.push(parent);
        }
        let found = self.name(parent, name)?;
        Ok(Reached { parent, above, name: name.clone(), found })
    }

    /// The entry at a path, with the directory it is in; the root is in itself.
    pub fn find(&mut self, path: &FilePath) -> Decided<(Node, FileId)> {
        if path.is_root() {
            return Ok((self.node(FileId::ROOT)?.ok_or(Refusal::ResourceNotFound)?, FileId::ROOT));
        }
        let reached = self.reach(path)?;
        let found = reached.found.ok_or(Refusal::ResourceNotFound)?;
        Ok((self.node_of(&found)?, reached.parent))
    }

    pub fn find_directory(&mut self, path: &FilePath) -> Decided<(Node, FileId)> {
        let (node, parent) = self.find(path)?;
        match node.kind {
            Kind::Directory if self.is_going(node.id)? => Err(Refusal::DeletePending.into()),
            Kind::Directory => Ok((node, parent)),
            Kind::File | Kind::Symlink => Err(Refusal::ResourceNotFound.into()),
        }
    }

    pub fn find_file(&mut self, path: &FilePath) -> Decided<(Node, FileId)> {
        let (node, parent) = self.find(path)?;
        if node.kind == Kind::Directory { Err(Refusal::ResourceNotFound.into()) } else { Ok((node, parent)) }
    }

    pub fn put_node(&mut self, node: &Node) -> Decided<()> {
        self.supersede(&self.keys.node(node.id), NodeRow(Some(node.clone())))
    }

    pub fn remove_node(&mut self, id: FileId) -> Decided<()> {
        self.supersede(&self.keys.node(id), NodeRow(None))
    }

    pub fn put_name(&mut self, parent: FileId, name: Name) -> Decided<()> {
        let prefix = self.keys.name(parent, &lazuli_model::file::fold(&name.name));
        self.supersede(&prefix, NameRow(Some(name)))
    }

    pub fn remove_name(&mut self, parent: FileId, name: &str) -> Decided<()> {
        self.supersede(&self.keys.name(parent, &lazuli_model::file::fold(name)), NameRow(None))
    }

    /// Writes a row at the newest epoch, and keeps the one before as long as a snapshot sees it.
    fn supersede<T: Epochal>(&mut self, prefix: &Key, row: T) -> Decided<()> {
        let key = at_epoch(prefix, self.head.epoch);
        // The row of this epoch is asked for by its key: see `newest`.
        let before = match self.txn.get(&key)? {
            Some(_) => self.txn.scan(&key.successor(), &prefix.after_prefix(), 1)?.pop().map(|(older, _)| older),
            None => {
                let rows = self.txn.scan(&key, &prefix.after_prefix(), 2)?;
                let mut older = rows.into_iter().map(|(older, _)| older);
                match older.next().and_then(|row| read_epoch(&row).map(|(_, since)| (row, since))) {
                    Some((row, since)) if self.head.snapshots.last().is_some_and(|newest| *newest >= since) => {
                        self.note_row(&row, since);
                        Some(row)
                    }
                    Some((row, _)) => {
                        self.txn.delete(row);
                        older.next()
                    }
                    None => None,
                }
            }
        };
        if row.is_nothing() && before.is_none() {
            self.txn.delete(key);
        } else {
            self.txn.put(key, encode(&row));
        }
        Ok(())
    }

    fn note_row(&mut self, row: &Key, since: u64) {
        if let Some(newest) = self.head.snapshots.last() {
            self.txn.put(self.keys.superseded_row(*newest, row), encode(&Superseded::Row { since }));
        }
    }

    pub fn count_children(&mut self, id: FileId) -> Decided<u32> {
        Ok(get::<Count>(self.txn, &self.keys.children(id))?.map_or(0, |count| count.0))
    }

    pub fn adopt(&mut self, parent: FileId) -> Decided<()> {
        let count = self.count_children(parent)?;
        self.txn.put(self.keys.children(parent), encode(&Count(count.saturating_add(1))));
        Ok(())
    }

    pub fn orphan(&mut self, parent: FileId) -> Decided<()> {
        match self.count_children(parent)?.saturating_sub(1) {
            0 => self.txn.delete(self.keys.children(parent)),
            count => self.txn.put(self.keys.children(parent), encode(&Count(count))),
        }
        Ok(())
    }

    /// An id that no entry of the share ever had: the stamp of this transaction. (Earlier versions counted from 1.)
    pub fn next_id(&mut self) -> FileId {
        assert!(!self.id_given, "a transaction makes one entry: the next one may have the stamp after this one's");
        self.id_given = true;
        FileId(self.txn.stamp().0)
    }

    /// The lengths of all files together.
    pub fn usage(&mut self) -> Decided<u64> {
        Ok(get::<Usage>(self.txn, &self.keys.usage())?.map_or(self.head.usage, |usage| usage.0))
    }

    /// The share holds so many bytes more, and less. Growing beyond the quota is refused.
    pub fn resize(&mut self, before: u64, after: u64) -> Decided<()> {
        if before == after {
            return Ok(());
        }
        let usage = resized(self.usage()?, before, after, self.head.quota_gib)?;
        self.txn.put(self.keys.usage(), encode(&Usage(usage)));
        Ok(())
    }

    pub fn held(&mut self, id: FileId) -> Decided<Held> {
        let kept: KeptRow = get(self.txn, &self.keys.held(id))?.unwrap_or_default();
        let delete_pending = self.txn.get(&self.keys.delete_pending(id))?.is_some();
        Ok(Held { lease: kept.lease, delete_pending })
    }

    /// Whether it goes with its last handle. In a snapshot nothing does.
    pub fn is_going(&mut self, id: FileId) -> Decided<bool> {
        Ok(!self.is_snapshot() && self.txn.get(&self.keys.delete_pending(id))?.is_some())
    }

    pub fn put_held(&mut self, id: FileId, held: Held) {
        let Held { lease, delete_pending } = held;
        let (kept, pending) = (self.keys.held(id), self.keys.delete_pending(id));
        let before = self.txn.get(&kept);
        let now = (lease != Lease::default()).then(|| encode(&KeptRow::new(lease)));
        // What changes nothing durable waits for no disk.
        match (before, now) {
            (Ok(before), now) if before == now => {}
            (_, Some(now)) => self.txn.put(kept, now),
            (_, None) => self.txn.delete(kept),
        }
        if delete_pending { self.txn.put(pending, "") } else { self.txn.delete(pending) }
    }

    /// A snapshot's leases are not those of its files.
    pub fn is_snapshot(&self) -> bool {
        self.epoch != self.head.epoch
    }
}
