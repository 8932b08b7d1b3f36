//! Names and nodes within a file system's transaction.

use lazuli_engine::Txn;
use lazuli_model::Timestamp;
use lazuli_model::blob::{Blob, ContentRef, Kind};
use lazuli_model::lake::{Caller, LakePath, Node, Right, permit};

use crate::keys::{BlobKeys, Located, ROOT_NODE, TreeKeys};
use crate::records::{NodeId, Pending, decode, encode};
use crate::transact::{Decided, get, now};

/// Where a path leads to: a directory that is there, and a name in it that may not be.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    pub parent: u128,
    pub name: String,
    pub entry: Option<NodeId>,
}

/// How far the directories above a path are there.
pub(crate) enum Found {
    /// All of them.
    Spot(Spot),
    /// The path is the root directory.
    Root,
    /// `parent` is there, and what follows in the path is not, from this segment on.
    Missing { parent: u128, from: usize },
    /// A file stands where a directory is wanted.
    NotDirectory,
}

/// What is there under a path: its id, record and node.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub id: u128,
    pub blob: Blob,
    pub node: Node,
    /// Bytes of both as they are stored.
    pub bytes: usize,
}

impl Standing {
    pub fn both(&self) -> (&Blob, &Node) {
        (&self.blob, &self.node)
    }
}

/// Goes down to the directory that has the last name of `path`, by the rights of `caller`.
pub(crate) fn locate(txn: &mut Txn<'_>, keys: &TreeKeys, caller: &Caller, path: &LakePath) -> Decided<Found> {
    let Some((parents, name)) = path.split() else {
        return Ok(Found::Root);
    };
    let mut directory = ROOT_NODE;
    for (at, segment) in parents.iter().enumerate() {
        pass(txn, keys, caller, directory)?;
        match get::<NodeId>(txn, &keys.entry(directory, segment))? {
            None => return Ok(Found::Missing { parent: directory, from: at }),
            Some(entry) if !entry.is_directory => return Ok(Found::NotDirectory),
            Some(entry) => directory = entry.id,
        }
    }
    pass(txn, keys, caller, directory)?;
    let entry = get(txn, &keys.entry(directory, name))?;
    Ok(Found::Spot(Spot { parent: directory, name: name.to_owned(), entry }))
}

/// Whether `caller` may go through a directory. Only those are looked up who are asked.
fn pass(txn: &mut Txn<'_>, keys: &TreeKeys, caller: &Caller, directory: u128) -> Decided<()> {
    if caller.is_bound {
        permit(caller, &node(txn, keys, directory)?.access, Right::Traverse)?;
    }
    Ok(())
}

/// The node of an entry that is there. The root has one without a row.
pub(crate) fn node(txn: &mut Txn<'_>, keys: &TreeKeys, id: u128) -> Decided<Node> {
    match get::<Node>(txn, &keys.node(id))? {
        Some(node) => Ok(node),
        None if id == ROOT_NODE => Ok(Node::root()),
        None => Err(lazuli_engine::Fault::Corrupt("an entry of a file system has no node".into()).into()),
    }
}

/// What has an id, if it is there for anybody to see.
pub(crate) fn standing(txn: &mut Txn<'_>, keys: &TreeKeys, id: u128) -> Decided<Option<Standing>> {
    let (blob, mut bytes) = match txn.get(&keys.blob(id).base())? {
        Some(stored) => (decode::<Blob>(&stored)?.at(now(txn)), stored.len()),
        None if id == ROOT_NODE => (Some(bare_root()), 0),
        None => (None, 0),
    };
    let Some(blob) = blob else { return Ok(None) };
    let node = match txn.get(&keys.node(id))? {
        Some(stored) => {
            bytes += stored.len();
            decode(&stored)?
        }
        None => node(txn, keys, id)?,
    };
    Ok(Some(Standing { id, blob, node, bytes }))
}

/// What a path leads to.
pub(crate) fn lookup(
    txn: &mut Txn<'_>,
    keys: &TreeKeys,
    caller: &Caller,
    path: &LakePath,
) -> Decided<Option<Standing>> {
    match locate(txn, keys, caller, path)? {
        Found::Root => standing(txn, keys, ROOT_NODE),
        Found::Spot(Spot { entry: Some(entry), .. }) => standing(txn, keys, entry.id),
        Found::Spot(Spot { entry: None, .. }) | Found::Missing { .. } | Found::NotDirectory => Ok(None),
    }
}

/// A root directory that was never written to, of a file system whose making was broken off.
fn bare_root() -> Blob {
    Blob::new(Kind::Block, ContentRef::EMPTY, Timestamp::from_ticks(0).plus_seconds(1))
}

/// Gives an entry its name.
pub(crate) fn link(txn: &mut Txn<'_>, keys: &TreeKeys, id: u128, node: &Node) {
    let entry = NodeId { id, is_directory: node.is_directory };
    txn.put(keys.entry(node.parent, &node.name), encode(&entry));
    txn.put(keys.node(id), encode(node));
}

/// A file whose record has gone loses its name, unless something else waits under it.
pub(crate) fn forget_name(txn: &mut Txn<'_>, keys: &BlobKeys) -> Decided<()> {
    let Located::Node(id) = keys.located() else { return Ok(()) };
    let tree = TreeKeys { space: keys.space };
    if txn.get(&keys.base())?.is_some() || txn.get(&keys.pending())?.is_some() {
        return Ok(());
    }
    let Some(node) = get::<Node>(txn, &tree.node(id))? else { return Ok(()) };
    let entry: Option<NodeId> = get(txn, &tree.entry(node.parent, &node.name))?;
    // What was deleted softly has lost its name to another.
    if entry.is_some_and(|entry| entry.id == id) {
        unlink(txn, &tree, &node);
    }
    txn.delete(tree.node(id));
    Ok(())
}

/// Takes an entry's name away; its node stays with it.
pub(crate) fn unlink(txn: &mut Txn<'_>, keys: &TreeKeys, node: &Node) {
    txn.delete(keys.entry(node.parent, &node.name));
}

/// Entries that a look for one that anybody sees goes over.
const SOME: usize = 256;

/// Whether nobody sees anything in a directory. One with many files that have expired counts as full until the sweeper has taken them away.
pub(crate) fn is_empty(txn: &mut Txn<'_>, keys: &TreeKeys, directory: u128) -> Decided<bool> {
    let all = keys.entries(directory);
    let rows = txn.scan(&all, &all.after_prefix(), SOME)?;
    for (_, bytes) in &rows {
        let entry: NodeId = crate::records::decode(bytes)?;
        if entry.is_directory || is_seen(txn, keys, entry.id)? {
            return Ok(false);
        }
    }
    Ok(rows.len() < SOME)
}

/// Whether a file is there: committed and not expired, or at least with blocks.
fn is_seen(txn: &mut Txn<'_>, keys: &TreeKeys, id: u128) -> Decided<bool> {
    let blob: Option<Blob> = get(txn, &keys.blob(id).base())?;
    let there = blob.and_then(|blob| blob.at(now(txn))).is_some();
    Ok(there || get::<Pending>(txn, &keys.blob(id).pending())?.is_some())
}
