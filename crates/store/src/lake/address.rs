//! Where a blob is, before its partition has been looked at: a name of a flat container, which is a partition; or a path of a file system,
//! which is resolved in the transaction, by the rights of the caller.

use std::borrow::Cow;
use std::sync::Arc;

use lazuli_engine::{Partition, Txn};
use lazuli_model::blob::{Blob, ContentRef, Kind};
use lazuli_model::lake::{Caller, CreatePath, LakePath, Node, Right, permit, permit_removal};
use lazuli_model::{Refusal, Timestamp};

use super::tree::{self, Found, Spot, link, locate};
use crate::feed::TrackedKeys;
use crate::keys::{self, NOWHERE, ROOT_NODE, TreeKeys};
use crate::records::{NodeId, encode};
use crate::transact::{Decided, Target, now};

#[derive(Clone, Debug)]
pub(crate) enum Address {
    Flat(TrackedKeys),
    Path(PathAddress),
}

#[derive(Clone, Debug)]
pub(crate) struct PathAddress {
    pub keys: TreeKeys,
    pub path: LakePath,
    pub caller: Arc<Caller>,
}

/// What a path that is about to be written leads to.
#[derive(Clone, Debug)]
pub(crate) struct Making {
    pub parent: u128,
    pub name: String,
    pub entry: Option<NodeId>,
    /// Ids that this transaction has given out.
    pub made: u8,
}

impl Address {
    pub fn partition(&self) -> Partition {
        match self {
            Address::Flat(keys) => keys.partition(),
            Address::Path(path) => path.keys.partition(),
        }
    }

    /// For a transaction that writes the blob. The rows of a path are known only as it is followed.
    pub fn written(&self) -> Target {
        match self {
            Address::Flat(keys) => keys.written(),
            Address::Path(path) => path.keys.partition().into(),
        }
    }

    /// The keys of what is there. What is not there has keys under which there is nothing, so that an operation refuses in its own words.
    pub fn find(&self, txn: &mut Txn<'_>, right: Right) -> Decided<Cow<'_, TrackedKeys>> {
        match self {
            Address::Flat(keys) => Ok(Cow::Borrowed(keys)),
            Address::Path(path) => Ok(Cow::Owned(path.keys.blob(path.find(txn, right)?).into())),
        }
    }

    /// The same for what may have to be made: then it has a name, parents and a node, and the operation writes its record.
    pub fn make(&self, txn: &mut Txn<'_>) -> Decided<Cow<'_, TrackedKeys>> {
        match self {
            Address::Flat(keys) => Ok(Cow::Borrowed(keys)),
            Address::Path(path) => Ok(Cow::Owned(path.keys.blob(path.make_file(txn)?).into())),
        }
    }
}

impl PathAddress {
    /// The id, or [`NOWHERE`].
    pub fn find(&self, txn: &mut Txn<'_>, right: Right) -> Decided<u128> {
        let (id, parent) = match locate(txn, &self.keys, &self.caller, &self.path)? {
            Found::Root => (ROOT_NODE, ROOT_NODE),
            Found::Spot(Spot { entry: Some(entry), parent, .. }) => (entry.id, parent),
            Found::Spot(Spot { entry: None, .. }) | Found::Missing { .. } | Found::NotDirectory => return Ok(NOWHERE),
        };
        if self.caller.is_bound {
            let node = tree::node(txn, &self.keys, id)?;
            match right {
                // A caller that has come so far has passed all directories above.
                Right::Traverse => {}
                Right::Link => {
                    let parent = tree::node(txn, &self.keys, parent)?;
                    permit_removal(&self.caller, &parent.access, &node.access)?;
                }
                Right::Read | Right::Write | Right::ReadWrite | Right::List => {
                    permit(&self.caller, &node.access, right)?;
                }
            }
        }
        Ok(id)
    }

    /// Where a path is to be moved to: the directory must be there ("Path - Create", and what Hadoop expects of it).
    pub fn existing_parent(&self, txn: &mut Txn<'_>) -> Decided<Making> {
        match locate(txn, &self.keys, &self.caller, &self.path)? {
            Found::Root => Err(Refusal::PathAlreadyExists { is_directory: true }.into()),
            Found::NotDirectory => Err(Refusal::PathAlreadyExists { is_directory: false }.into()),
            Found::Missing { .. } => Err(Refusal::RenameDestinationParentPathNotFound.into()),
            Found::Spot(Spot { parent, name, entry }) => Ok(Making { parent, name, entry, made: 0 }),
        }
    }

    /// Where a path is to be written: directories above it that are missing are made.
    pub fn make_parents(&self, txn: &mut Txn<'_>) -> Decided<Making> {
        let (mut parent, from) = match locate(txn, &self.keys, &self.caller, &self.path)? {
            Found::Root => return Err(Refusal::PathAlreadyExists { is_directory: true }.into()),
            Found::NotDirectory => return Err(Refusal::PathAlreadyExists { is_directory: false }.into()),
            Found::Spot(Spot { parent, name, entry }) => return Ok(Making { parent, name, entry, made: 0 }),
            Found::Missing { parent, from } => (parent, from),
        };
        let (parents, name) = self.path.split().ok_or(Refusal::PathIsRoot)?;
        let (mut access, mut made) = (tree::node(txn, &self.keys, parent)?.access, 0);
        permit(&self.caller, &access, Right::Link)?;
        let create = CreatePath::plain(true);
        let missing = (parents.len() - from) as u64;
        for segment in &parents[from..] {
            access = create.access(&access, None, &self.caller)?;
            let id = keys::node_id(txn.stamp().0, made);
            made += 1;
            let node = Node { parent, name: segment.clone(), access: access.clone(), ..Node::root() };
            link(txn, &self.keys, id, &node);
            // Each has an ETag of its own, and none is later than what is made in it.
            let age = missing + 1 - u64::from(made);
            let time = Timestamp::from_ticks(now(txn).ticks().saturating_sub(age));
            let blob = Blob::new(Kind::Block, ContentRef::EMPTY, time);
            txn.put(self.keys.blob(id).base(), encode(&blob));
            parent = id;
        }
        Ok(Making { parent, name: name.to_owned(), entry: None, made })
    }

    /// A file for an operation of the Blob API to write. A directory is not overwritten by it.
    fn make_file(&self, txn: &mut Txn<'_>) -> Decided<u128> {
        let making = self.make_parents(txn)?;
        match making.entry {
            Some(entry) if entry.is_directory => Err(Refusal::ResourceTypeMismatch.into()),
            Some(entry) => {
                if self.caller.is_bound {
                    permit(&self.caller, &tree::node(txn, &self.keys, entry.id)?.access, Right::Write)?;
                }
                Ok(entry.id)
            }
            None => self.link_new(txn, &making, &CreatePath::plain(false)),
        }
    }

    /// A new entry where nothing is. Its record is the caller's to write.
    pub fn link_new(&self, txn: &mut Txn<'_>, making: &Making, create: &CreatePath) -> Decided<u128> {
        let parent = tree::node(txn, &self.keys, making.parent)?;
        permit(&self.caller, &parent.access, Right::Link)?;
        let access = create.access(&parent.access, None, &self.caller)?;
        let id = keys::node_id(txn.stamp().0, making.made);
        let node = Node {
            parent: making.parent,
            name: making.name.clone(),
            is_directory: create.is_directory,
            access,
            context: create.context.clone(),
            transaction: create.transaction.clone(),
        };
        link(txn, &self.keys, id, &node);
        Ok(id)
    }
}
