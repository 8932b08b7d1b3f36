//! Copies that take more than one transaction. A row (`g`) says which copy is under way to a blob, and what to do if its maker is
//! gone. A blob has one at a time: a copy that begins replaces the one before, which notices and stops.

use lazuli_engine::{Key, Txn};
use lazuli_model::Timestamp;

use super::pending_copy::{LOST, fail};
use crate::claims::Trash;
use crate::keys::{self, BlobKeys};
use crate::records::{Garbage, LongCopy, Task, decode};
use crate::sparse::Forgetting;
use crate::transact::{Decided, get, now};
use crate::{Failure, Store};

/// A copy that was not renewed for this long has nobody any more.
pub(super) const ALIVE_SECONDS: u64 = 10 * 60;

/// A copy from elsewhere is renewed every ten seconds. After twelve renewals that did not come, another gateway makes it. If the first one was
/// only slow, the copy is made twice and ends once: both have its id, and the second finds that it is not pending any more.
pub(super) const SEIZED_AFTER_SECONDS: u64 = 2 * 60;

/// Rows that one look of a round goes over.
const PAGE: usize = 256;

/// Whether the copy `id` is still the one under way, at this task.
pub(super) fn is_at(txn: &mut Txn<'_>, keys: &BlobKeys, id: u128, task: &Task) -> Decided<bool> {
    Ok(get::<LongCopy>(txn, &keys.long_copy())?
        .is_some_and(|long_copy| long_copy.copy == id && long_copy.task == *task))
}

/// Whatever was under way is not any more.
pub(super) fn supersede(txn: &mut Txn<'_>, keys: &BlobKeys, trash: &mut Trash) -> Decided<()> {
    let Some(long_copy) = get::<LongCopy>(txn, &keys.long_copy())? else { return Ok(()) };
    match long_copy.task {
        Task::Build { content } => trash.0.push(Garbage::Sparse(Forgetting::all(content))),
        Task::Fetch(_) | Task::SealedFetch(_) | Task::Follow => {}
    }
    txn.delete(keys.long_copy());
    Ok(())
}

/// The copy `id` was broken off.
pub(super) fn drop_build(txn: &mut Txn<'_>, keys: &BlobKeys, id: u128) -> Decided<()> {
    if get::<LongCopy>(txn, &keys.long_copy())?.is_some_and(|long_copy| long_copy.copy == id) {
        let mut trash = Trash::default();
        supersede(txn, keys, &mut trash)?;
        trash.write(txn, keys);
    }
    Ok(())
}

impl Store {
    /// A page of a container's long copies, for a round: those that nobody is at any more are ended. Gives where to go on.
    pub(crate) async fn visit_long_copies(
        &self,
        from: &Key,
        next: &Key,
        time: Timestamp,
    ) -> Result<Option<Key>, Failure> {
        let space = from.space();
        let end = keys::column(space, keys::LONG_COPIES).after_prefix();
        let rows = self.rows(from, &end, PAGE).await?;
        for (key, bytes) in &rows {
            let long_copy: LongCopy = decode(bytes)?;
            if long_copy.alive.plus_seconds(ALIVE_SECONDS) <= time {
                let keys = self.tracked_in_round(next, BlobKeys::of(space, keys::name_of(key))).await?;
                self.transact(keys.partition(), move |txn| {
                    let lost = get::<LongCopy>(txn, &keys.long_copy())?
                        .filter(|long_copy| long_copy.alive.plus_seconds(ALIVE_SECONDS) <= now(txn));
                    match lost.map(|long_copy| (long_copy.copy, long_copy.task)) {
                        Some((copy, Task::Fetch(_) | Task::SealedFetch(_))) => fail(txn, &keys, copy, LOST),
                        Some((copy, Task::Build { .. } | Task::Follow)) => drop_build(txn, &keys, copy),
                        None => Ok(()),
                    }
                })
                .await?;
            }
        }
        Ok(rows.last().filter(|_| rows.len() == PAGE).map(|(last, _)| last.successor()))
    }
}
