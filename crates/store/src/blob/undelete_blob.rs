//! Undelete Blob: all that was deleted softly under a name comes back. A blob that versions were left of does not become
//! current by it ("Soft delete for blobs": copy the version that is wanted).

use lazuli_engine::Txn;
use lazuli_model::blob::{Blob, Which};
use lazuli_model::feed::Event;
use lazuli_model::{Refusal, Tags};

use super::base;
use super::deleted::{all_deleted, deleted, take_out};
use super::replace::write_base;
use super::tagged::keep_past;
use crate::feed::note;
use crate::keys::BlobKeys;
use crate::records::encode;
use crate::transact::{Decided, get, now};
use crate::{BlobAt, Failure, Store};

impl Store {
    pub async fn undelete_blob(&self, at: &BlobAt) -> Result<(), Failure> {
        let keys = self.blob_keys(at).await?;
        loop {
            let before = self.look(|txn| deleted(txn, &keys, Which::Current)).await?;
            let tags = before.map(|blob| blob.tags).unwrap_or_default();
            self.announce_tags(&at.container_at(), &tags).await?;
            let own = keys.clone();
            if self.transact(keys.partition(), move |txn| apply(txn, &own, &tags)).await? {
                return Ok(());
            }
        }
    }
}

/// False when the blob that comes back has other tags than were `announced`.
fn apply(txn: &mut Txn<'_>, keys: &BlobKeys, announced: &Tags) -> Decided<bool> {
    let current = base(txn, keys)?;
    let gone = deleted(txn, keys, Which::Current)?.filter(|_| current.is_none());
    let snapshots = all_deleted(txn, keys, Which::Snapshot)?;
    let versions = all_deleted(txn, keys, Which::Version)?;
    let is_there = current.is_some() || txn.get(&keys.versions_only())?.is_some();
    if !is_there && gone.is_none() && snapshots.is_empty() && versions.is_empty() {
        return Err(Refusal::BlobNotFound.into());
    }
    if gone.as_ref().is_some_and(|blob| blob.tags != *announced) {
        return Ok(false);
    }
    if let Some(blob) = &gone {
        take_out(txn, keys, Which::Current, blob);
        write_base(txn, keys, None, Some(&blob.as_restored()));
        let time = now(txn);
        note(txn, keys, Which::Current, || Some(Event::undeleted(&blob.as_restored(), time)));
    }
    for (which, blob) in snapshots.iter().chain(&versions) {
        restore(txn, keys, *which, blob);
    }
    if let Some((_, newest)) = versions.last().filter(|_| current.is_none() && gone.is_none()) {
        show_newest(txn, keys, newest)?;
    }
    Ok(true)
}

fn restore(txn: &mut Txn<'_>, keys: &BlobKeys, which: Which, blob: &Blob) {
    take_out(txn, keys, which, blob);
    match which {
        Which::Current => {}
        Which::Snapshot(time) => txn.put(keys.snapshot(time), encode(&blob.as_restored())),
        Which::Version(id) => {
            let restored = blob.as_restored();
            keep_past(txn, keys, which, &restored);
            txn.put(keys.version(id), encode(&restored));
        }
    }
}

/// Where only versions are left, the newest of them is what listings show.
fn show_newest(txn: &mut Txn<'_>, keys: &BlobKeys, restored: &Blob) -> Decided<()> {
    let shown: Option<Blob> = get(txn, &keys.versions_only())?;
    if shown.is_none_or(|shown| shown.version < restored.version) {
        txn.put(keys.versions_only(), encode(&restored.as_restored()));
    }
    Ok(())
}
