//! Delete: a name goes, in one transaction, and with it all that is below. Where deleted paths are kept, it stays under the path it had;
//! otherwise the sweeper takes it apart, in bounded steps.

use lazuli_engine::{Key, Txn};
use lazuli_model::blob::{DeleteBlob, Deleted, Deletion, Which};
use lazuli_model::lake::{AccessControl, Right, permit, permit_removal};
use lazuli_model::lease::{self, On};
use lazuli_model::{Conditions, LeaseId, Refusal, Timestamp};

use super::address::PathAddress;
use super::tree::{self, Standing, is_empty, lookup, unlink};
use super::{Address, PathAt};
use crate::blob::{apply_delete, delete_all_of};
use crate::claims::Trash;
use crate::feed::TrackedKeys;
use crate::keys::{BlobKeys, ROOT_NODE, TreeKeys};
use crate::records::{Garbage, NodeId, RemovedPath, decode, encode};
use crate::transact::{Decided, now};
use crate::{BlobAt, Failure, Store};

/// Entries that one look goes over.
const LOOKED_AT: usize = 256;

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
        let seen = if delete.recursive { self.look_below(&path).await? } else { None };
        let (deleted, left) = self
            .transact(path.keys.partition(), move |txn| {
                let found = lookup(txn, &path.keys, &path.caller, &path.path)?;
                let found = permit_delete(txn, &path, &delete, seen.as_ref(), found)?;
                remove(txn, &path, &found, days)
            })
            .await?;
        self.hint_left(left);
        Ok(deleted)
    }

    /// Whether a caller that is bound by lists has all rights on every directory that goes. There may be any number, so they are looked at
    /// some at a time, before the transaction; a list that changes meanwhile may come too late. Nothing if the caller is not bound.
    async fn look_below(&self, path: &PathAddress) -> Result<Option<LookedBelow>, Failure> {
        if !path.caller.is_bound {
            return Ok(None);
        }
        let top = |txn: &mut Txn<'_>| lookup(txn, &path.keys, &path.caller, &path.path);
        let directory = match self.look(&path.keys.partition(), top).await {
            Ok(Some(found)) if found.node.is_directory => found.id,
            // For the transaction to say.
            Ok(_) | Err(Failure::Refused(_)) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let mut left = vec![path.keys.entries(directory)];
        while !left.is_empty() {
            match self.look(&path.keys.partition(), |txn| permit_some_below(txn, path, left.clone())).await {
                Ok(rest) => left = rest,
                Err(Failure::Refused(refusal)) => return Ok(Some(LookedBelow { directory, permitted: Err(refusal) })),
                Err(failure) => return Err(failure),
            }
        }
        Ok(Some(LookedBelow { directory, permitted: Ok(()) }))
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

/// What a look at all that is below a directory has found.
struct LookedBelow {
    directory: u128,
    permitted: Result<(), Refusal>,
}

fn permit_delete(
    txn: &mut Txn<'_>,
    path: &PathAddress,
    delete: &DeletePath,
    below: Option<&LookedBelow>,
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
        return Err(Refusal::PathIsRoot.into());
    }
    lease::permit_write(found.blob.lease, delete.lease, now(txn), On::Blob)?;
    found.blob.permit_mutable(now(txn))?;
    permit_unlink(txn, path, &found)?;
    if found.node.is_directory && !is_empty(txn, &path.keys, found.id)? {
        if !delete.recursive {
            return Err(Refusal::DirectoryNotEmpty.into());
        }
        permit_all(path, &found.node.access)?;
        match below.filter(|below| below.directory == found.id) {
            Some(below) => below.permitted.clone()?,
            // It came to be there just now.
            None if path.caller.is_bound => return Err(Refusal::ServerBusy.into()),
            None => {}
        }
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

fn permit_all(path: &PathAddress, access: &AccessControl) -> Decided<()> {
    if path.caller.is_bound {
        permit(&path.caller, access, Right::List)?;
        permit(&path.caller, access, Right::Link)?;
    }
    Ok(())
}

/// Goes over some entries, depth first. `left` has the entry to go on from in each directory on the way down, and is given back for the next look.
fn permit_some_below(txn: &mut Txn<'_>, path: &PathAddress, mut left: Vec<Key>) -> Decided<Vec<Key>> {
    let mut room = LOOKED_AT;
    while let Some(from) = left.pop() {
        if room == 0 {
            left.push(from);
            return Ok(left);
        }
        let end = path.keys.end_of_entries(&from);
        for (key, bytes) in txn.scan(&from, &end, room)? {
            room -= 1;
            let entry: NodeId = decode(&bytes)?;
            if entry.is_directory {
                permit_all(path, &tree::node(txn, &path.keys, entry.id)?.access)?;
                left.push(key.successor());
                left.push(path.keys.entries(entry.id));
                break;
            }
            if room == 0 {
                left.push(key.successor());
            }
        }
    }
    Ok(left)
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
    let keys = TrackedKeys::from(path.keys.blob(id));
    let Some(found) = tree::standing(txn, &path.keys, id)?.filter(|_| delete.which == Which::Current) else {
        // A snapshot, or what has no record: nothing, or blocks that wait.
        let mut trash = Trash::default();
        let gone = apply_delete(txn, &keys, &lazuli_model::blob::Keeping::NOTHING, delete, None, &mut trash)?;
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
            let gone = apply_delete(txn, &keys, &lazuli_model::blob::Keeping::NOTHING, delete, None, &mut trash)?;
            Ok((gone, trash.leave(txn, &keys)))
        }
    }
}
