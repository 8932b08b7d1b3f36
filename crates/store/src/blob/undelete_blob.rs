//! Undelete Blob: all that was deleted softly under a name comes back. A blob that versions were left of does not become
//! current by it ("Soft delete for blobs": copy the version that is wanted).

use lazuli_engine::{Key, Txn};
use lazuli_model::blob::{Blob, Which};
use lazuli_model::feed::Event;
use lazuli_model::{Refusal, Tags, Timestamp};

use super::base_to_write;
use super::deleted::{deleted, some_deleted, take_out};
use super::replace::write_base;
use super::tagged::keep_past;
use crate::feed::{TrackedKeys, note};
use crate::keys::BlobKeys;
use crate::lake::Address;
use crate::records::encode;
use crate::transact::{Decided, get, now};
use crate::{BlobAt, Failure, Store};

impl Store {
    pub async fn undelete_blob(&self, at: &BlobAt) -> Result<(), Failure> {
        let keys = match self.address(at).await? {
            Address::Flat(keys) => keys,
            Address::Path(path) => return self.undelete_newest(path).await,
        };
        self.finish_cut(&keys).await?;
        let mut at_row = Some(Progress::default());
        // The blob comes back with the first transaction, and much of its past with later ones.
        while let Some(progress) = at_row {
            let before = self.look(&keys.partition(), |txn| deleted(txn, &keys, Which::Current)).await?;
            let tags = before.map(|blob| blob.tags).unwrap_or_default();
            self.announce_tags(&at.container_at(), &tags).await?;
            let own = keys.clone();
            at_row = self.transact(keys.written(), move |txn| apply(txn, &own, &tags, &progress)).await?;
        }
        Ok(())
    }
}

/// Where snapshots and versions go on that are to come back. Nothing where there are no more.
#[derive(Clone)]
struct Progress {
    snapshots: Option<Option<Key>>,
    versions: Option<Option<Key>>,
    is_first: bool,
}

impl Default for Progress {
    fn default() -> Self {
        Self { snapshots: Some(None), versions: Some(None), is_first: true }
    }
}

/// Where to go on, if anywhere. It is where this began when the blob that comes back has other tags than were `announced`.
fn apply(txn: &mut Txn<'_>, keys: &TrackedKeys, announced: &Tags, from: &Progress) -> Decided<Option<Progress>> {
    let current = base_to_write(txn, keys)?;
    let gone = deleted(txn, keys, Which::Current)?.filter(|_| current.is_none() && from.is_first);
    let mut some = |of: fn(Timestamp) -> Which, from: &Option<Option<Key>>| match from {
        Some(from) => some_deleted(txn, keys, of, from.as_ref()),
        None => Ok((Vec::new(), None)),
    };
    let (snapshots, more_snapshots) = some(Which::Snapshot, &from.snapshots)?;
    let (versions, more_versions) = some(Which::Version, &from.versions)?;
    let (snapshots_on, versions_on) = (more_snapshots.map(Some), more_versions.map(Some));
    let is_there = current.is_some() || txn.get(&keys.versions_only())?.is_some();
    let nothing = gone.is_none() && snapshots.is_empty() && versions.is_empty();
    let next = Progress { snapshots: snapshots_on, versions: versions_on, is_first: false };
    let next = (next.snapshots.is_some() || next.versions.is_some()).then_some(next);
    if from.is_first && !is_there && nothing && next.is_none() {
        return Err(Refusal::BlobNotFound.into());
    }
    if gone.as_ref().is_some_and(|blob| blob.tags != *announced) {
        return Ok(Some(from.clone()));
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
    Ok(next)
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
