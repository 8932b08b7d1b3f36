//! What becomes of the record that a new one replaces: one place, for every operation that writes a blob.
//!
//! Held true:
//! * the tag index has a row for each tag of each base record, and no other. The index of the past has one for each tag of a version or a
//!   soft-deleted record (`tagged`). The index of expiries has one for each record that expires;
//! * a blob without a base record is either restorable (`deleted`), or has versions only (`versions_only`), or is gone; a blob with a
//!   base record has neither row.

use lazuli_engine::Txn;
use lazuli_model::blob::{Blob, Fate, Keeping, Superseded, Which};
use lazuli_model::feed::Event;
use lazuli_model::{Refusal, Timestamp};

use super::deleted::{keep_deleted, purge, purge_all, take_out};
use super::stored_at;
use super::tagged::{forget_past, index, keep_past};
use crate::claims::{Trash, is_shared, release, share};
use crate::feed::{TrackedKeys, foresee, note};
use crate::keys::{BlobKeys, Located, TreeKeys};
use crate::records::{Guard, Kept, Mark, encode};
use crate::transact::{Decided, get, now};

/// `new`, with a content of its own, takes the place of `old`; where versions are kept it gets an id. Of the old content,
/// `kept` went over to the new one, which may be only if the old one does not [`outlive`](outlives) this.
pub(crate) fn replace(
    txn: &mut Txn<'_>,
    keys: &TrackedKeys,
    keeping: &Keeping,
    old: Option<&Blob>,
    new: &mut Blob,
    kept: Kept,
    trash: &mut Trash,
) -> Decided<()> {
    let time = now(txn);
    permit_reachable(txn, keys)?;
    old.map_or(Ok(()), |old| keeping.permit_overwrite(old, time))?;
    new.version = keeping.new_version(time);
    let fate = old.map(|old| (old, keeping.overwritten(old, time)));
    note(txn, keys, Which::Current, || Some(Event::created(fate, new, time)));
    match fate {
        None => supersede(txn, keys, keeping, new, trash)?,
        Some((old, Fate::Gone)) => release(txn, keys, &old.content, kept, trash)?,
        Some((old, Fate::Version(id))) => drop(keep_version(txn, keys, old, id)?),
        Some((old, Fate::Deleted(deleted))) => {
            keep_deleted(txn, keys, Which::Snapshot(time), &old.as_deleted(deleted), deleted);
        }
    }
    write_base(txn, keys, old, Some(new));
    Ok(())
}

/// A file that has been deleted while a copy to it was on its way is not written to: nobody would ever find it.
fn permit_reachable(txn: &mut Txn<'_>, keys: &BlobKeys) -> Decided<()> {
    match keys.located() {
        Located::Flat(_) => Ok(()),
        Located::Node(id) => match txn.get(&TreeKeys { space: keys.space }.node(id))? {
            Some(_) => Ok(()),
            None => Err(Refusal::BlobNotFound.into()),
        },
    }
}

/// Whether anything keeps the content of `old` when `replace` has put another in its place.
pub(super) fn outlives(txn: &mut Txn<'_>, keys: &BlobKeys, keeping: &Keeping, old: &Blob) -> Decided<bool> {
    Ok(keeping.overwritten(old, now(txn)) != Fate::Gone || is_shared(txn, keys, &old.content)?)
}

/// The same blob after its content changed in place (Append Block, Put Page): no version is made of it, and its tags are
/// what they were.
pub(crate) fn touch(txn: &mut Txn<'_>, keys: &TrackedKeys, new: &Blob) {
    write_base(txn, keys, Some(new), Some(new));
}

/// A change of the record that makes a version (Set Blob Metadata, Snapshot Blob), with the content shared.
pub(super) fn revise(
    txn: &mut Txn<'_>,
    keys: &TrackedKeys,
    keeping: &Keeping,
    old: &Blob,
    new: &mut Blob,
) -> Decided<()> {
    new.version = keeping.new_version(now(txn));
    if let Some(id) = keeping.changed(old) {
        new.content = share(txn, keys, &old.content)?;
        keep_version(txn, keys, old, id)?;
    }
    change(txn, keys, old, new);
    Ok(())
}

/// The same blob with the same content, changed in its record alone, and no version made of it.
pub(crate) fn change(txn: &mut Txn<'_>, keys: &TrackedKeys, old: &Blob, new: &Blob) {
    let time = now(txn);
    note(txn, keys, Which::Current, || Event::changed(Which::Current, old, new, time));
    write_base(txn, keys, Some(old), Some(new));
}

/// As [`change`], of a snapshot or a version too.
pub(super) fn change_at(txn: &mut Txn<'_>, keys: &TrackedKeys, which: Which, old: &Blob, new: &Blob) {
    guard(txn, keys, new);
    let at = stored_at(which, old);
    let row = match at {
        Which::Current => return change(txn, keys, old, new),
        Which::Snapshot(time) => keys.snapshot(time),
        Which::Version(id) => keys.version(id),
    };
    let time = now(txn);
    note(txn, keys, at, || Event::changed(at, old, new, time));
    foresee(txn, keys, at, Some(old), Some(new));
    if old.tags != new.tags {
        forget_past(txn, keys, at, old);
        keep_past(txn, keys, at, new);
    }
    txn.put(row, encode(new));
}

/// The blob goes, to where what was deleted goes. True when it is gone for good.
pub(super) fn delete_base(
    txn: &mut Txn<'_>,
    keys: &TrackedKeys,
    keeping: &Keeping,
    old: &Blob,
    trash: &mut Trash,
) -> Decided<bool> {
    let time = now(txn);
    let fate = keeping.deleted(old, time);
    note(txn, keys, Which::Current, || Some(Event::deleted(Which::Current, old, fate, time)));
    match fate {
        Fate::Gone => {
            release(txn, keys, &old.content, Kept::Nothing, trash)?;
            if let Some((_, bytes)) = txn.last(&keys.versions(), &keys.versions().after_prefix())? {
                txn.put(keys.versions_only(), bytes);
            }
        }
        Fate::Version(id) => {
            let id = keep_version(txn, keys, old, id)?;
            txn.put(keys.versions_only(), encode(&old.as_version(id)));
        }
        Fate::Deleted(deleted) => keep_deleted(txn, keys, Which::Current, &old.as_deleted(deleted), deleted),
    }
    write_base(txn, keys, Some(old), None);
    unguard(txn, keys)?;
    Ok(fate == Fate::Gone)
}

/// The base record, its rows of the tag index, and that of its expiry.
pub(super) fn write_base(txn: &mut Txn<'_>, keys: &TrackedKeys, old: Option<&Blob>, new: Option<&Blob>) {
    let expires = |blob: Option<&Blob>| blob.and_then(|blob| blob.expires);
    if expires(old) != expires(new) {
        expires(old).into_iter().for_each(|time| txn.delete(keys.expiry(time)));
        expires(new).into_iter().for_each(|time| txn.put(keys.expiry(time), encode(&Mark)));
    }
    foresee(txn, keys, Which::Current, old, new);
    index(txn, keys, old.map(|old| &old.tags), new.map(|new| &new.tags));
    match new {
        Some(new) => {
            guard(txn, keys, new);
            txn.put(keys.base(), encode(new));
        }
        None => txn.delete(keys.base()),
    }
}

/// The id that it got. A blob from before versions were kept may find that the time of its creation is taken: by a version
/// of its own, from before versions were not kept.
fn keep_version(txn: &mut Txn<'_>, keys: &BlobKeys, old: &Blob, id: Timestamp) -> Decided<Timestamp> {
    let taken = old.version.is_none()
        && (txn.get(&keys.version(id))?.is_some() || txn.get(&keys.deleted(Which::Version(id)))?.is_some());
    let id = if taken { old.modified } else { id };
    let version = old.as_version(id);
    keep_past(txn, keys, Which::Version(id), &version);
    txn.put(keys.version(id), encode(&version));
    Ok(id)
}

/// A blob where there was none.
fn supersede(txn: &mut Txn<'_>, keys: &BlobKeys, keeping: &Keeping, new: &Blob, trash: &mut Trash) -> Decided<()> {
    if txn.get(&keys.versions_only())?.is_some() {
        txn.delete(keys.versions_only());
    }
    let Some(before) = get::<Blob>(txn, &keys.deleted(Which::Current))? else {
        return Ok(());
    };
    let time = now(txn);
    match keeping.superseded(&before, new.kind, time) {
        Superseded::Snapshot(deleted) => {
            take_out(txn, keys, Which::Current, &before);
            keep_deleted(txn, keys, Which::Snapshot(time), &before, deleted);
            Ok(())
        }
        Superseded::AllGone => purge_all(txn, keys, trash),
        Superseded::Gone => purge(txn, keys, Which::Current, &before, trash),
    }
}

/// Notes that something under this name may be protected, which keeps the container from being deleted.
fn guard(txn: &mut Txn<'_>, keys: &BlobKeys, new: &Blob) {
    if new.is_guarded() {
        let stamp = txn.stamp().0;
        txn.put(keys.guard(), encode(&Guard { stamp }));
    }
}

/// Forgets that, when nothing is left under the name that could be protected.
fn unguard(txn: &mut Txn<'_>, keys: &BlobKeys) -> Decided<()> {
    if txn.get(&keys.guard())?.is_none() {
        return Ok(());
    }
    for rows in [keys.snapshots(), keys.versions()] {
        if !txn.scan(&rows, &rows.after_prefix(), 1)?.is_empty() {
            return Ok(());
        }
    }
    txn.delete(keys.guard());
    Ok(())
}
