//! Delete Blob: the base, a snapshot, or the snapshots. Content is left to the sweeper, however many blocks it has.

use lazuli_engine::Txn;
use lazuli_model::Refusal;
use lazuli_model::blob::{Blob, DeleteBlob, Deletion, Which};

use super::base;
use super::get_blob::stored;
use super::put_blob::drop_pending;
use crate::claims::{Trash, release};
use crate::keys::BlobKeys;
use crate::records::{Kept, decode};
use crate::transact::{Decided, now};
use crate::{BlobAt, Failure, Store};

impl Store {
    pub async fn delete_blob(&self, at: &BlobAt, delete: DeleteBlob) -> Result<(), Failure> {
        let keys = self.blob_keys(at).await?;
        let hinted = keys.clone();
        let trash = self
            .transact(keys.partition(), move |txn| {
                let mut trash = Trash::default();
                apply(txn, &keys, &delete, &mut trash)?;
                Ok(trash.write(txn, &keys))
            })
            .await?;
        self.hint(trash, hinted);
        Ok(())
    }
}

fn apply(txn: &mut Txn<'_>, keys: &BlobKeys, delete: &DeleteBlob, trash: &mut Trash) -> Decided<()> {
    let blob = match delete.which {
        Which::Current => base(txn, keys)?,
        Which::Snapshot(_) | Which::Version(_) => stored(txn, keys, delete.which)?,
    };
    let has_snapshots = !txn.scan(&keys.snapshots(), &keys.snapshots().after_prefix(), 1)?.is_empty();
    let deletion = delete.decide(blob.as_ref(), has_snapshots, now(txn))?;
    let blob = blob.ok_or(Refusal::BlobNotFound)?;
    match deletion {
        Deletion::Snapshot | Deletion::Version => {
            match delete.which {
                Which::Current => return Err(Refusal::BlobNotFound.into()),
                Which::Snapshot(time) => txn.delete(keys.snapshot(time)),
                Which::Version(time) => txn.delete(keys.version(time)),
            }
            release(txn, keys, &blob.content, Kept::Nothing, trash)?;
        }
        Deletion::Base => delete_base(txn, keys, &blob, trash)?,
        Deletion::BaseAndSnapshots => {
            permit_snapshots(txn, keys)?;
            delete_all(txn, keys, &blob, trash)?;
        }
        Deletion::SnapshotsOnly => {
            permit_snapshots(txn, keys)?;
            delete_snapshots(txn, keys, trash)?;
        }
    }
    Ok(())
}

/// Each snapshot may be protected by itself.
pub(super) fn permit_snapshots(txn: &mut Txn<'_>, keys: &BlobKeys) -> Decided<()> {
    for (_, bytes) in txn.scan(&keys.snapshots(), &keys.snapshots().after_prefix(), usize::MAX)? {
        decode::<Blob>(&bytes)?.permit_mutable(now(txn))?;
    }
    Ok(())
}

/// The blob with its snapshots.
pub(super) fn delete_all(txn: &mut Txn<'_>, keys: &BlobKeys, blob: &Blob, trash: &mut Trash) -> Decided<()> {
    delete_snapshots(txn, keys, trash)?;
    delete_base(txn, keys, blob, trash)
}

pub(super) fn delete_base(txn: &mut Txn<'_>, keys: &BlobKeys, blob: &Blob, trash: &mut Trash) -> Decided<()> {
    txn.delete(keys.base());
    release(txn, keys, &blob.content, Kept::Nothing, trash)?;
    drop_pending(txn, keys, trash)
}

fn delete_snapshots(txn: &mut Txn<'_>, keys: &BlobKeys, trash: &mut Trash) -> Decided<()> {
    for (key, bytes) in txn.scan(&keys.snapshots(), &keys.snapshots().after_prefix(), usize::MAX)? {
        let snapshot: Blob = decode(&bytes)?;
        release(txn, keys, &snapshot.content, Kept::Nothing, trash)?;
        txn.delete(key);
    }
    Ok(())
}
