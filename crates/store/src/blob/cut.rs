//! Snapshots that are deleted together. A few are deleted in the transaction itself. For many, the transaction writes one row, the
//! cut: a snapshot that is not younger than the cut is gone. The sweeper deletes the rows, a bounded number at a time.
//!
//! Held true: a snapshot whose time is not after the cut's is gone for every operation, or deleted softly if the cut says so.

use lazuli_engine::{Key, Txn};
use lazuli_model::blob::{Blob, Fate, Keeping, Which};
use lazuli_model::feed::Event;
use lazuli_model::{Refusal, Timestamp};

use super::deleted::{keep_deleted, purge};
use crate::claims::{Trash, release};
use crate::feed::{TrackedKeys, foresee, note};
use crate::keys::BlobKeys;
use crate::records::{Cut, Garbage, Guard, Kept, decode, encode};
use crate::transact::{Decided, get, now};
use crate::{Failure, Store};

/// Records that one transaction deletes, or brings back.
pub(super) const AT_ONCE: usize = 256;

/// Where the rows of snapshots begin that are not behind a cut.
pub(super) fn first_living(txn: &mut Txn<'_>, keys: &BlobKeys) -> Decided<Key> {
    let cut: Option<Cut> = get(txn, &keys.cut())?;
    Ok(cut.map_or_else(|| keys.snapshots(), |cut| keys.snapshot(cut.until).successor()))
}

/// The cut that a snapshot is behind, if it is.
pub(crate) fn cut_of(txn: &mut Txn<'_>, keys: &BlobKeys, time: Timestamp) -> Decided<Option<Cut>> {
    let cut: Option<Cut> = get(txn, &keys.cut())?;
    Ok(cut.filter(|cut| time <= cut.until))
}

/// What a look at all snapshots of a name has found, while its guard was this one.
#[derive(Clone, Debug)]
pub(crate) struct LookedOver {
    guard: Guard,
    permitted: Result<(), Refusal>,
}

/// Each snapshot may be protected by itself. None is under a name that has no guard. Where there are many, they have been looked over before.
pub(super) fn permit_snapshots(txn: &mut Txn<'_>, keys: &BlobKeys, seen: Option<&LookedOver>) -> Decided<()> {
    let Some(guard) = get::<Guard>(txn, &keys.guard())? else { return Ok(()) };
    if let Some(seen) = seen.filter(|seen| seen.guard == guard) {
        return Ok(seen.permitted.clone()?);
    }
    let first = first_living(txn, keys)?;
    match permit_some(txn, keys, &first)? {
        Some(_) => Err(Refusal::ServerBusy.into()),
        None => Ok(()),
    }
}

/// Some of the snapshots from a row on. Gives the row to go on from, if there are more.
fn permit_some(txn: &mut Txn<'_>, keys: &BlobKeys, from: &Key) -> Decided<Option<Key>> {
    let rows = txn.scan(from, &keys.snapshots().after_prefix(), AT_ONCE)?;
    for (_, bytes) in &rows {
        decode::<Blob>(bytes)?.permit_mutable(now(txn))?;
    }
    Ok(rows.last().filter(|_| rows.len() == AT_ONCE).map(|(last, _)| last.successor()))
}

/// True when they are gone for good.
pub(super) fn delete_snapshots(
    txn: &mut Txn<'_>,
    keys: &TrackedKeys,
    keeping: &Keeping,
    trash: &mut Trash,
) -> Decided<bool> {
    let (time, fate) = (now(txn), keeping.deleted_copy(now(txn)));
    let first = first_living(txn, keys)?;
    let rows = txn.scan(&first, &keys.snapshots().after_prefix(), AT_ONCE + 1)?;
    if rows.len() > AT_ONCE {
        txn.put(keys.cut(), encode(&Cut { until: time, kept: kept(fate), told: keys.telling() }));
        trash.0.push(Garbage::Cut);
    } else {
        for (key, bytes) in rows {
            delete_snapshot(txn, keys, &key, &bytes, fate, trash)?;
        }
    }
    Ok(fate == Fate::Gone)
}

fn kept(fate: Fate) -> Option<lazuli_model::blob::Deleted> {
    match fate {
        Fate::Deleted(deleted) => Some(deleted),
        Fate::Gone | Fate::Version(_) => None,
    }
}

fn delete_snapshot(
    txn: &mut Txn<'_>,
    keys: &TrackedKeys,
    key: &Key,
    bytes: &[u8],
    fate: Fate,
    trash: &mut Trash,
) -> Decided<()> {
    let (blob, which): (Blob, _) = (decode(bytes)?, Which::Snapshot(time_of(key)));
    let time = now(txn);
    txn.delete(key.clone());
    note(txn, keys, which, || Some(Event::deleted(which, &blob, fate, time)));
    foresee(txn, keys, which, Some(&blob), None);
    match fate {
        Fate::Deleted(deleted) => keep_deleted(txn, keys, which, &blob.as_deleted(deleted), deleted),
        Fate::Gone | Fate::Version(_) => release(txn, keys, &blob.content, Kept::Nothing, trash)?,
    }
    Ok(())
}

pub(super) fn time_of(key: &Key) -> Timestamp {
    Timestamp::from_ticks(key.row().last_chunk().map_or(0, |ticks| u64::from_be_bytes(*ticks)))
}

/// Deletes some of what is behind the cut; the last of it takes the cut away. True when that is done. Adds to `others` where notes were made.
pub(crate) fn delete_cut(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    more: &mut Vec<Garbage>,
    others: &mut Vec<TrackedKeys>,
) -> Decided<bool> {
    let Some(cut) = get::<Cut>(txn, &keys.cut())? else { return Ok(true) };
    let keys = &TrackedKeys::resumed(keys.clone(), cut.told);
    others.push(keys.clone());
    let fate = cut.kept.map_or(Fate::Gone, Fate::Deleted);
    let rows = txn.scan(&keys.snapshots(), &keys.snapshot(cut.until).successor(), AT_ONCE)?;
    let mut trash = Trash::default();
    for (key, bytes) in &rows {
        delete_snapshot(txn, keys, key, bytes, fate, &mut trash)?;
    }
    more.append(&mut trash.0);
    let done = rows.len() < AT_ONCE;
    if done {
        txn.delete(keys.cut());
    }
    Ok(done)
}

/// The same of snapshots that were deleted softly before `until`, which go for good.
pub(crate) fn purge_some(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    until: Timestamp,
    more: &mut Vec<Garbage>,
) -> Decided<bool> {
    let first = keys.all_deleted(keys.deleted(Which::Snapshot(until)).column());
    let rows = txn.scan(&first, &keys.deleted(Which::Snapshot(until)).successor(), AT_ONCE)?;
    let mut trash = Trash::default();
    for (key, bytes) in &rows {
        purge(txn, keys, Which::Snapshot(time_of(key)), &decode(bytes)?, &mut trash)?;
    }
    more.append(&mut trash.0);
    Ok(rows.len() < AT_ONCE)
}

impl Store {
    /// Deletes all that is behind the cut, before snapshots are brought back.
    pub(super) async fn finish_cut(&self, keys: &BlobKeys) -> Result<(), Failure> {
        while self.look(&keys.partition(), |txn| Ok(txn.get(&keys.cut())?)).await?.is_some() {
            let own = keys.clone();
            let step = move |txn: &mut Txn<'_>| {
                let (mut more, mut others) = (Vec::new(), Vec::new());
                delete_cut(txn, &own, &mut more, &mut others)?;
                Ok((Trash(more).write(txn, &own), others))
            };
            let (trash, others) = self.transact(keys.partition(), step).await?;
            others.iter().for_each(|keys| self.hint_feed(keys));
            self.hint(trash, keys.clone());
        }
        Ok(())
    }

    /// Looks whether any snapshot is protected, a bounded number at a time. Nothing where a transaction can look by itself.
    pub(super) async fn look_over_snapshots(&self, keys: &BlobKeys) -> Result<Option<LookedOver>, Failure> {
        let first = |txn: &mut Txn<'_>| {
            let Some(guard) = get::<Guard>(txn, &keys.guard())? else { return Ok(None) };
            let from = first_living(txn, keys)?;
            let rows = txn.scan(&from, &keys.snapshots().after_prefix(), AT_ONCE)?;
            Ok((rows.len() == AT_ONCE).then_some((guard, from)))
        };
        let Some((guard, mut from)) = self.look(&keys.partition(), first).await? else { return Ok(None) };
        loop {
            match self.look(&keys.partition(), |txn| permit_some(txn, keys, &from)).await {
                Ok(Some(next)) => from = next,
                Ok(None) => return Ok(Some(LookedOver { guard, permitted: Ok(()) })),
                Err(Failure::Refused(refusal)) => return Ok(Some(LookedOver { guard, permitted: Err(refusal) })),
                Err(failure) => return Err(failure),
            }
        }
    }
}
