//! Delete Blob: the base, a snapshot, a version, or the snapshots. Content is left to the sweeper, however many blocks it
//! has; or all is kept, as the account wants it (`model`'s `Keeping`).

use lazuli_engine::Txn;
use lazuli_model::blob::{Blob, DeleteBlob, Deletion, Fate, Keeping, Which};
use lazuli_model::feed::Event;
use lazuli_model::{Refusal, Tags, Timestamp};

use super::base_to_write;
use super::cut::{LookedOver, delete_snapshots, first_living, permit_snapshots};
use super::deleted::{deleted, keep_deleted, purge};
use super::get_blob::{absent, stored};
use super::put_blob::drop_pending;
use super::replace::delete_base;
use super::tagged::forget_past;
use crate::claims::{Trash, release};
use crate::feed::{TrackedKeys, foresee, note};
use crate::keys::BlobKeys;
use crate::lake::Address;
use crate::records::{Kept, Pending};
use crate::transact::{Decided, get, now};
use crate::witness::{Found, holder, saw};
use crate::{BlobAt, Failure, Store};

impl Store {
    /// True when it is gone for good.
    pub async fn delete_blob(&self, at: &BlobAt, delete: DeleteBlob) -> Result<bool, Failure> {
        let (address, keeping) = (self.address(at).await?, self.keeping(at, &Tags::NONE).await?);
        let keys = match address {
            Address::Flat(keys) => keys,
            Address::Path(path) => return self.delete_path_as_blob(at, path, delete).await,
        };
        let first = self.delete_named(&keys, &keeping, &delete, None).await;
        match first {
            // Only where a guarded name has more snapshots than one transaction reads.
            Err(Failure::Refused(Refusal::ServerBusy)) if delete.snapshots.is_some() => {
                let seen = self.look_over_snapshots(&keys).await?;
                self.delete_named(&keys, &keeping, &delete, seen).await
            }
            done => done,
        }
    }

    async fn delete_named(
        &self,
        keys: &TrackedKeys,
        keeping: &Keeping,
        delete: &DeleteBlob,
        seen: Option<LookedOver>,
    ) -> Result<bool, Failure> {
        let (hinted, keys, keeping, delete) = (keys.clone(), keys.clone(), *keeping, delete.clone());
        let (gone, trash) = self
            .transact(keys.written(), move |txn| {
                let mut trash = Trash::default();
                let gone = match delete.permanent {
                    true => apply_permanent(txn, &keys, &keeping, &delete, &mut trash)?,
                    false => apply(txn, &keys, &keeping, &delete, seen.as_ref(), &mut trash)?,
                };
                Ok((gone, trash.write(txn, &keys)))
            })
            .await?;
        self.hint(trash, hinted);
        Ok(gone)
    }
}

/// All that hangs on a name or an id, for good.
pub(crate) fn delete_all_of(txn: &mut Txn<'_>, keys: &BlobKeys, trash: &mut Trash) -> Decided<()> {
    // In a file system, which has no change feed.
    let keys = &TrackedKeys::from(keys.clone());
    if let Some(blob) = get::<Blob>(txn, &keys.base())? {
        delete_snapshots(txn, keys, &Keeping::NOTHING, trash)?;
        delete_base(txn, keys, &Keeping::NOTHING, &blob, trash)?;
    }
    drop_pending(txn, keys, trash)
}

pub(crate) fn apply(
    txn: &mut Txn<'_>,
    keys: &TrackedKeys,
    keeping: &Keeping,
    delete: &DeleteBlob,
    seen: Option<&LookedOver>,
    trash: &mut Trash,
) -> Decided<bool> {
    let blob = match delete.which {
        Which::Current => base_to_write(txn, keys)?,
        Which::Snapshot(_) | Which::Version(_) => stored(txn, keys, delete.which)?,
    };
    if blob.is_none()
        && let Some(pending) = get::<Pending>(txn, &keys.pending())?
        && delete.which == Which::Current
    {
        saw(Found::Entry(holder(pending.lease, now(txn))));
        delete.permit_uncommitted(pending.lease, now(txn))?;
        drop_pending(txn, keys, trash)?;
        return Ok(true);
    }
    let first = first_living(txn, keys)?;
    let has_snapshots = !txn.scan(&first, &keys.snapshots().after_prefix(), 1)?.is_empty();
    let deletion = match delete.decide(blob.as_ref(), has_snapshots, now(txn)) {
        Ok(deletion) => deletion,
        Err(refusal) => return absent(txn, keys, delete.which, refusal),
    };
    let blob = blob.ok_or(Refusal::BlobNotFound)?;
    match deletion {
        Deletion::Snapshot | Deletion::Version => delete_copy(txn, keys, keeping, delete.which, &blob, trash),
        Deletion::Base => {
            drop_pending(txn, keys, trash)?;
            delete_base(txn, keys, keeping, &blob, trash)
        }
        Deletion::BaseAndSnapshots => {
            permit_snapshots(txn, keys, seen)?;
            delete_snapshots(txn, keys, keeping, trash)?;
            drop_pending(txn, keys, trash)?;
            delete_base(txn, keys, keeping, &blob, trash)
        }
        Deletion::SnapshotsOnly => {
            permit_snapshots(txn, keys, seen)?;
            delete_snapshots(txn, keys, keeping, trash)
        }
    }
}

/// Of what was deleted softly.
fn apply_permanent(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    keeping: &Keeping,
    delete: &DeleteBlob,
    trash: &mut Trash,
) -> Decided<bool> {
    let (live, gone) = (stored(txn, keys, delete.which)?, deleted(txn, keys, delete.which)?);
    delete.decide_permanent(keeping, live.as_ref(), gone.as_ref())?;
    purge(txn, keys, delete.which, &gone.ok_or(Refusal::BlobNotFound)?, trash)?;
    Ok(true)
}

/// A snapshot or a previous version.
fn delete_copy(
    txn: &mut Txn<'_>,
    keys: &TrackedKeys,
    keeping: &Keeping,
    which: Which,
    blob: &Blob,
    trash: &mut Trash,
) -> Decided<bool> {
    match which {
        Which::Current => return Err(Refusal::BlobNotFound.into()),
        Which::Snapshot(time) => txn.delete(keys.snapshot(time)),
        Which::Version(id) => {
            forget_past(txn, keys, which, blob);
            txn.delete(keys.version(id));
            forget_version(txn, keys, id)?;
        }
    }
    let (time, fate) = (now(txn), keeping.deleted_copy(now(txn)));
    note(txn, keys, which, || Some(Event::deleted(which, blob, fate, time)));
    foresee(txn, keys, which, Some(blob), None);
    match fate {
        Fate::Deleted(deleted) => {
            keep_deleted(txn, keys, which, &blob.as_deleted(deleted), deleted);
            Ok(false)
        }
        Fate::Gone | Fate::Version(_) => {
            release(txn, keys, &blob.content, Kept::Nothing, trash)?;
            Ok(true)
        }
    }
}

/// Where only versions are left, the newest of them is what listings show.
fn forget_version(txn: &mut Txn<'_>, keys: &BlobKeys, id: Timestamp) -> Decided<()> {
    let shown: Option<Blob> = get(txn, &keys.versions_only())?;
    if shown.is_some_and(|shown| shown.version == Some(id)) {
        match txn.last(&keys.versions(), &keys.versions().after_prefix())? {
            Some((_, newest)) => txn.put(keys.versions_only(), newest),
            None => txn.delete(keys.versions_only()),
        }
    }
    Ok(())
}
