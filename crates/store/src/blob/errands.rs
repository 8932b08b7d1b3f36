//! Copies that take more than one transaction: a row (`g`) says which is under way to a blob, and what to do if nobody is at it
//! any more. There is one at a time; another that begins takes its place, and the one before notices.

use lazuli_engine::{Key, Txn};
use lazuli_model::Timestamp;

use super::pending_copy::{LOST, fail};
use crate::claims::Trash;
use crate::keys::{self, BlobKeys};
use crate::records::{Errand, Garbage, Task, decode};
use crate::sparse::Forgetting;
use crate::transact::{Decided, get, now};
use crate::{Failure, Store};

/// A copy that was not renewed for this long has nobody any more.
pub(super) const ALIVE_SECONDS: u64 = 10 * 60;

/// Rows that one look of a round goes over.
const PAGE: usize = 256;

/// Whether the copy `id` is still the one under way, at this task.
pub(super) fn is_at(txn: &mut Txn<'_>, keys: &BlobKeys, id: u128, task: &Task) -> Decided<bool> {
    Ok(get::<Errand>(txn, &keys.errand())?.is_some_and(|errand| errand.copy == id && errand.task == *task))
}

/// Whatever was under way is not any more.
pub(super) fn supersede(txn: &mut Txn<'_>, keys: &BlobKeys, trash: &mut Trash) -> Decided<()> {
    let Some(errand) = get::<Errand>(txn, &keys.errand())? else { return Ok(()) };
    match errand.task {
        Task::Build { content } => trash.0.push(Garbage::Sparse(Forgetting::all(content))),
        Task::Fetch(_) | Task::SealedFetch(_) | Task::Follow => {}
    }
    txn.delete(keys.errand());
    Ok(())
}

/// The copy `id` was broken off.
pub(super) fn drop_build(txn: &mut Txn<'_>, keys: &BlobKeys, id: u128) -> Decided<()> {
    if get::<Errand>(txn, &keys.errand())?.is_some_and(|errand| errand.copy == id) {
        let mut trash = Trash::default();
        supersede(txn, keys, &mut trash)?;
        trash.write(txn, keys);
    }
    Ok(())
}

impl Store {
    /// A page of a container's errands, for a round: those that nobody is at any more are ended. Gives where to go on.
    pub(crate) async fn visit_errands(&self, from: &Key, next: &Key, time: Timestamp) -> Result<Option<Key>, Failure> {
        let space = from.space();
        let end = keys::column(space, keys::ERRANDS).after_prefix();
        let rows = self.rows(from, &end, PAGE).await?;
        for (key, bytes) in &rows {
            let errand: Errand = decode(bytes)?;
            if errand.alive.plus_seconds(ALIVE_SECONDS) <= time {
                let keys = self.told_in_round(next, BlobKeys::of(space, keys::name_of(key))).await?;
                self.transact(keys.partition(), move |txn| {
                    let lost = get::<Errand>(txn, &keys.errand())?
                        .filter(|errand| errand.alive.plus_seconds(ALIVE_SECONDS) <= now(txn));
                    match lost.map(|errand| (errand.copy, errand.task)) {
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
