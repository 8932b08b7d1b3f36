//! Rename: a name goes and another comes, in one transaction, whatever is below. Between two file systems, which are two partitions, what
//! is moved is copied (`between`).

use lazuli_engine::Txn;
use lazuli_model::Refusal;
use lazuli_model::blob::Blob;
use lazuli_model::lake::{RenameMode, RenamePath, Right, permit, permit_removal, permit_rename};

use super::address::PathAddress;
use super::tree::{self, Standing, is_empty, link, lookup, standing, unlink};
use super::{Address, PathAt};
use crate::blob::delete_all_of;
use crate::claims::Trash;
use crate::keys::BlobKeys;
use crate::records::encode;
use crate::transact::{Decided, now};
use crate::{Failure, Store};

impl Store {
    /// The record as it is under its new name.
    pub async fn rename_path(&self, from: &PathAt, to: &PathAt, rename: RenamePath) -> Result<Blob, Failure> {
        let (source, target) = (self.path_address(from).await?, self.path_address(to).await?);
        let (Address::Path(source), Address::Path(target)) = (source, target) else {
            return Err(Refusal::HierarchicalNamespaceNotEnabled.into());
        };
        if source.keys != target.keys {
            return super::between::rename(self, source, target, rename).await;
        }
        permit_rename(&from.path, &to.path)?;
        let partition = source.keys.partition();
        let (blob, trash) = self.transact(partition, move |txn| within(txn, &source, &target, &rename)).await?;
        self.hint_left(trash);
        Ok(blob)
    }
}

fn within(
    txn: &mut Txn<'_>,
    source: &PathAddress,
    target: &PathAddress,
    rename: &RenamePath,
) -> Decided<(Blob, Option<BlobKeys>)> {
    let keys = &source.keys;
    let moved = lookup(txn, keys, &source.caller, &source.path)?;
    let making = match &moved {
        Some(_) => {
            let target = destination(txn, source, target, rename)?;
            permit_rename(&source.path, &target.path)?;
            Some(target.existing_parent(txn)?)
        }
        None => None,
    };
    let onto = match making.as_ref().and_then(|making| making.entry) {
        Some(entry) => standing(txn, keys, entry.id)?,
        None => None,
    };
    let empty = match &onto {
        Some(onto) if onto.node.is_directory => is_empty(txn, keys, onto.id)?,
        Some(_) | None => true,
    };
    let seen = onto.as_ref().map(|onto| (&onto.blob, &onto.node, empty));
    let same = moved.as_ref().zip(onto.as_ref()).is_some_and(|(moved, onto)| moved.id == onto.id);
    let blob = match same {
        // Onto itself it stays as it is, whatever is in it.
        true => rename.decide(moved.as_ref().map(Standing::both), None, now(txn))?,
        false => rename.decide(moved.as_ref().map(Standing::both), seen, now(txn))?,
    };
    let (Some(moved), Some(making)) = (moved, making) else { return Err(Refusal::SourcePathNotFound.into()) };
    if same {
        return Ok((blob, None));
    }
    permit_ends(txn, source, &moved, making.parent, onto.as_ref())?;
    // What nobody sees goes with the name as well.
    let garbage = match making.entry {
        Some(entry) => remove_replaced(txn, target, entry.id)?,
        None => None,
    };
    unlink(txn, keys, &moved.node);
    link(txn, keys, moved.id, &rename.moved(&moved.node, making.parent, making.name));
    if blob.lease != moved.blob.lease {
        txn.put(keys.blob(moved.id).base(), encode(&blob));
    }
    Ok((blob, garbage))
}

/// Where a rename leads to: into a directory that is there, if that is how it was asked for.
pub(super) fn destination(
    txn: &mut Txn<'_>,
    source: &PathAddress,
    target: &PathAddress,
    rename: &RenamePath,
) -> Decided<PathAddress> {
    if rename.mode == RenameMode::Legacy {
        return Ok(target.clone());
    }
    let there = lookup(txn, &target.keys, &target.caller, &target.path)?;
    let is_directory = there.is_some_and(|there| there.node.is_directory);
    let path = rename.destination(&source.path, &target.path, is_directory)?;
    Ok(PathAddress { path, ..target.clone() })
}

fn permit_ends(
    txn: &mut Txn<'_>,
    source: &PathAddress,
    moved: &Standing,
    parent: u128,
    onto: Option<&Standing>,
) -> Decided<()> {
    if !source.caller.is_bound {
        return Ok(());
    }
    let (old, new) =
        (tree::node(txn, &source.keys, moved.node.parent)?.access, tree::node(txn, &source.keys, parent)?.access);
    permit_removal(&source.caller, &old, &moved.node.access)?;
    match onto {
        Some(onto) => permit_removal(&source.caller, &new, &onto.node.access)?,
        None => permit(&source.caller, &new, Right::Link)?,
    }
    Ok(())
}

/// A file, or a directory with nothing in it, of which another takes the name.
fn remove_replaced(txn: &mut Txn<'_>, target: &PathAddress, id: u128) -> Decided<Option<BlobKeys>> {
    let (keys, mut trash) = (target.keys.blob(id), Trash::default());
    delete_all_of(txn, &keys, &mut trash)?;
    txn.delete(target.keys.node(id));
    Ok(trash.leave(txn, &keys))
}
