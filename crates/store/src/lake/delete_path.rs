//! Delete: a name goes, in one transaction, and with it all that is below. Where deleted paths are kept, it stays under the path it had;
//! otherwise the sweeper takes it apart, in bounded steps.

use lazuli_engine::Txn;
use lazuli_model::blob::{DeleteBlob, Deleted, Deletion, Which};
use lazuli_model::lake::{Right, permit, permit_removal};
use lazuli_model::lease::{self, On};
use lazuli_model::{Conditions, LeaseId, Refusal, Timestamp};

use super::address::PathAddress;
use super::tree::{self, Standing, is_empty, lookup, unlink};
use super::{Address, PathAt};
use crate::blob::{apply_delete, delete_all_of};
use crate::claims::Trash;
use crate::keys::{BlobKeys, ROOT_NODE, TreeKeys};
use crate::records::{Garbage, NodeId, RemovedPath, decode, encode};
use crate::transact::{Decided, now};
use crate::{BlobAt, Failure, Store};

#[derive(Clone, Debug, Default)]
pub struct DeletePath {
    pub recursive: bool,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

/// What became of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletedPath {
    Gone,
    /// It can be brought back by this id.
    Kept(u64),
}

impl Store {
    pub async fn delete_path(&self, at: &PathAt, delete: DeletePath) -> Result<DeletedPath, Failure> {
        let path = match self.path_address(at).await? {
            Address::Path(path) => path,
            Address::Flat(_) => return self.delete_flat(at, delete).await,
        };
        let days = self.kept_days(&at.account).await?;
        let (deleted, left) = self
            .transact(path.keys.partition(), move |txn| {
                let found = lookup(txn, &path.keys, &path.caller, &path.path)?;
                let found = permit_delete(txn, &path, &delete, found)?;
                remove(txn, &path, &found, days)
            })
            .await?;
        self.hint_left(left);
        Ok(deleted)
    }

    async fn delete_flat(&self, at: &PathAt, delete: DeletePath) -> Result<DeletedPath, Failure> {
        let DeletePath { recursive: _, conditions, lease } = delete;
        let (which, tier) = (Which::Current, Default::default());
        let delete = DeleteBlob { which, permanent: false, snapshots: None, tier, conditions, lease };
        self.delete_blob(&at.blob_at()?, delete).await.map(|_| DeletedPath::Gone)
    }

    async fn kept_days(&self, account: &lazuli_model::AccountName) -> Result<Option<u32>, Failure> {
        Ok(self.account_settings(account).await?.blob_soft_delete.days)
    }

    /// Delete Blob, of a file system: by its rules, a directory only if it is empty.
    pub(crate) async fn delete_path_as_blob(
        &self,
        at: &BlobAt,
        path: PathAddress,
        delete: DeleteBlob,
    ) -> Result<bool, Failure> {
        let days = self.kept_days(&at.account).await?;
        let (gone, left) =
            self.transact(path.keys.partition(), move |txn| delete_as_blob(txn, &path, &delete, days)).await?;
        self.hint_left(left);
        Ok(gone)
    }
}

fn permit_delete(
    txn: &mut Txn<'_>,
    path: &PathAddress,
    delete: &DeletePath,
    found: Option<Standing>,
) -> Decided<Standing> {
    let seen = found.as_ref().map(|found| lazuli_model::conditions::Seen {
        etag: found.blob.etag,
        modified: found.blob.modified,
        tags: &found.blob.tags,
    });
    delete.conditions.permit_source(seen)?;
    let found = found.ok_or(Refusal::BlobNotFound)?;
    if found.id == ROOT_NODE {
        return Err(Refusal::InvalidUri.into());
    }
    lease::permit_write(found.blob.lease, delete.lease, now(txn), On::Blob)?;
    found.blob.permit_mutable(now(txn))?;
    permit_unlink(txn, path, &found)?;
    if found.node.is_directory && !is_empty(txn, &path.keys, found.id)? {
        if !delete.recursive {
            return Err(Refusal::DirectoryNotEmpty.into());
        }
        permit_all_below(txn, path, found.id)?;
    }
    Ok(found)
}

fn permit_unlink(txn: &mut Txn<'_>, path: &PathAddress, found: &Standing) -> Decided<()> {
    if path.caller.is_bound {
        let parent = tree::node(txn, &path.keys, found.node.parent)?;
        permit_removal(&path.caller, &parent.access, &found.node.access)?;
    }
    Ok(())
}

/// A caller that is bound by lists needs all rights on every directory that goes.
fn permit_all_below(txn: &mut Txn<'_>, path: &PathAddress, directory: u128) -> Decided<()> {
    if !path.caller.is_bound {
        return Ok(());
    }
    let mut left = vec![directory];
    while let Some(directory) = left.pop() {
        let access = tree::node(txn, &path.keys, directory)?.access;
        permit(&path.caller, &access, Right::List)?;
        permit(&path.caller, &access, Right::Link)?;
        let all = path.keys.entries(directory);
        for (_, bytes) in txn.scan(&all, &all.after_prefix(), usize::MAX)? {
            let entry: NodeId = decode(&bytes)?;
            left.extend(entry.is_directory.then_some(entry.id));
        }
    }
    Ok(())
}

/// Takes the name away, and leaves what it stood for where it can be brought back, or to the sweeper.
fn remove(
    txn: &mut Txn<'_>,
    path: &PathAddress,
    found: &Standing,
    days: Option<u32>,
) -> Decided<(DeletedPath, Option<BlobKeys>)> {
    unlink(txn, &path.keys, &found.node);
    let Some(days) = days else {
        return Ok((DeletedPath::Gone, bury(txn, &path.keys, found.id, found.node.is_directory)?));
    };
    let at = now(txn);
    let deletion = deletion_id(at);
    let node = NodeId { id: found.id, is_directory: found.node.is_directory };
    let deleted = Deleted { at, until: at.plus_seconds(u64::from(days) * 24 * 60 * 60) };
    txn.put(path.keys.removed(&path.path.to_string(), deletion), encode(&RemovedPath { node, deleted }));
    Ok((DeletedPath::Kept(deletion), None))
}

/// What has lost its name: a file goes, a directory is taken apart by the sweeper.
pub(super) fn bury(txn: &mut Txn<'_>, keys: &TreeKeys, id: u128, is_directory: bool) -> Decided<Option<BlobKeys>> {
    let own = keys.blob(id);
    let mut trash = Trash::default();
    if is_directory {
        trash.0.push(Garbage::Subtree);
    } else {
        delete_all_of(txn, &own, &mut trash)?;
        txn.delete(keys.node(id));
    }
    Ok(trash.leave(txn, &own))
}

/// Ticks since 1601, as Azure has it.
fn deletion_id(at: Timestamp) -> u64 {
    at.ticks().saturating_sub(Timestamp::WINDOWS_EPOCH.ticks())
}

fn delete_as_blob(
    txn: &mut Txn<'_>,
    path: &PathAddress,
    delete: &DeleteBlob,
    days: Option<u32>,
) -> Decided<(bool, Option<BlobKeys>)> {
    let id = path.find(txn, Right::Link)?;
    let keys = path.keys.blob(id);
    let Some(found) = tree::standing(txn, &path.keys, id)?.filter(|_| delete.which == Which::Current) else {
        // A snapshot, or what has no record: nothing, or blocks that wait.
        let mut trash = Trash::default();
        let gone = apply_delete(txn, &keys, &lazuli_model::blob::Keeping::NOTHING, delete, &mut trash)?;
        tree::forget_name(txn, &keys)?;
        return Ok((gone, trash.leave(txn, &keys)));
    };
    if found.node.is_directory && !is_empty(txn, &path.keys, id)? {
        return Err(Refusal::DirectoryNotEmpty.into());
    }
    let has_snapshots = !txn.scan(&keys.snapshots(), &keys.snapshots().after_prefix(), 1)?.is_empty();
    match delete.decide(Some(&found.blob), has_snapshots, now(txn))? {
        Deletion::Base | Deletion::BaseAndSnapshots => {
            let (deleted, left) = remove(txn, path, &found, days)?;
            Ok((deleted == DeletedPath::Gone, left))
        }
        Deletion::SnapshotsOnly | Deletion::Snapshot | Deletion::Version => {
            let mut trash = Trash::default();
            let gone = apply_delete(txn, &keys, &lazuli_model::blob::Keeping::NOTHING, delete, &mut trash)?;
            Ok((gone, trash.leave(txn, &keys)))
        }
    }
}
