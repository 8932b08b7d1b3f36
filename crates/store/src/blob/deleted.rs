//! Blobs, snapshots and versions that were deleted softly. They have columns of their own, so an operation on the living blob does not
//! read them.
//!
//! Held true: each has a row that says when its retention ends (`due`), written and removed together with it. A record past
//! its retention is treated as gone.

use lazuli_engine::{Key, Txn};
use lazuli_model::Timestamp;
use lazuli_model::blob::{Blob, Deleted, Which};

use super::cut::{AT_ONCE, cut_of, purge_some, time_of};
use super::tagged::{forget_past, keep_past};
use crate::claims::{Trash, release};
use crate::keys::{self, BlobKeys};
use crate::records::{Due, Garbage, Kept, decode, encode};
use crate::transact::{Decided, get, now};
use crate::{Failure, Store};

pub(super) fn keep_deleted(txn: &mut Txn<'_>, keys: &BlobKeys, which: Which, blob: &Blob, deleted: Deleted) {
    keep_past(txn, keys, which, blob);
    txn.put(keys.deleted(which), encode(blob));
    txn.put(keys.due(deleted.until, which), encode(&Due));
}

/// What was deleted softly, if it can still be brought back.
pub(super) fn deleted(txn: &mut Txn<'_>, keys: &BlobKeys, which: Which) -> Decided<Option<Blob>> {
    let time = now(txn);
    let blob: Option<Blob> = match get(txn, &keys.deleted(which))? {
        Some(blob) => Some(blob),
        None => behind_cut(txn, keys, which)?,
    };
    Ok(blob.filter(|blob| blob.deleted.is_some_and(|deleted| !deleted.is_over(time))))
}

/// A snapshot that is deleted softly, though its row has not moved yet.
fn behind_cut(txn: &mut Txn<'_>, keys: &BlobKeys, which: Which) -> Decided<Option<Blob>> {
    let Which::Snapshot(time) = which else { return Ok(None) };
    let Some(kept) = cut_of(txn, keys, time)?.and_then(|cut| cut.kept) else { return Ok(None) };
    let blob: Option<Blob> = get(txn, &keys.snapshot(time))?;
    Ok(blob.map(|blob| blob.as_deleted(kept)))
}

/// Where something was found, and what.
pub(super) type Found = (Which, Blob);

/// Snapshots, or versions, that can be brought back, from `from` on, or from the first; and where to go on.
pub(super) fn some_deleted(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    of: fn(Timestamp) -> Which,
    from: Option<&Key>,
) -> Decided<(Vec<Found>, Option<Key>)> {
    let time = now(txn);
    let all = keys.all_deleted(keys.deleted(of(time)).column());
    let rows = txn.scan(from.unwrap_or(&all), &all.after_prefix(), AT_ONCE)?;
    let next = rows.last().filter(|_| rows.len() == AT_ONCE).map(|(last, _)| last.successor());
    let mut found = Vec::new();
    for (key, bytes) in rows {
        let blob: Blob = decode(&bytes)?;
        if blob.deleted.is_some_and(|deleted| !deleted.is_over(time)) {
            found.push((of(time_of(&key)), blob));
        }
    }
    Ok((found, next))
}

/// It is among the deleted no more: it comes back, or goes for good.
pub(super) fn take_out(txn: &mut Txn<'_>, keys: &BlobKeys, which: Which, blob: &Blob) {
    forget_past(txn, keys, which, blob);
    txn.delete(keys.deleted(which));
    if let Some(deleted) = blob.deleted {
        txn.delete(keys.due(deleted.until, which));
    }
}

/// It goes for good.
pub(super) fn purge(txn: &mut Txn<'_>, keys: &BlobKeys, which: Which, blob: &Blob, trash: &mut Trash) -> Decided<()> {
    take_out(txn, keys, which, blob);
    release(txn, keys, &blob.content, Kept::Nothing, trash)
}

/// The blob and its snapshots that were deleted softly go for good; of many snapshots, some are left to the sweeper.
pub(super) fn purge_all(txn: &mut Txn<'_>, keys: &BlobKeys, trash: &mut Trash) -> Decided<()> {
    if let Some(blob) = get::<Blob>(txn, &keys.deleted(Which::Current))? {
        purge(txn, keys, Which::Current, &blob, trash)?;
    }
    let until = now(txn);
    let mut more = Vec::new();
    if !purge_some(txn, keys, until, &mut more)? {
        more.push(Garbage::Purged { until });
    }
    trash.0.append(&mut more);
    Ok(())
}

impl Store {
    /// What a note says is due, goes.
    pub(crate) async fn drop_due(&self, space: lazuli_engine::Space, note: Key) -> Result<(), Failure> {
        let Some((until, name, which)) = keys::read_due(&note) else {
            return Ok(());
        };
        let keys = BlobKeys::of(space, name);
        let hinted = keys.clone();
        let trash = self
            .transact(keys.partition(), move |txn| {
                if until > now(txn) || txn.get(&note)?.is_none() {
                    return Ok(false);
                }
                let mut trash = Trash::default();
                match get::<Blob>(txn, &keys.deleted(which))? {
                    Some(blob) if blob.deleted.is_some_and(|deleted| deleted.until == until) => {
                        purge(txn, &keys, which, &blob, &mut trash)?;
                    }
                    Some(_) | None => txn.delete(note.clone()),
                }
                Ok(trash.write(txn, &keys))
            })
            .await?;
        self.hint(trash, hinted);
        Ok(())
    }
}
