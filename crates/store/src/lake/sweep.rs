//! What is left of deleted paths, taken apart in bounded steps; and those that were kept, when their time is over.

use lazuli_engine::{Key, Space, Txn};
use lazuli_model::Timestamp;

use super::delete_path::bury;
use crate::blob::delete_all_of;
use crate::claims::Trash;
use crate::feed::TrackedKeys;
use crate::keys::{self, BlobKeys, Located, Moving, TreeKeys};
use crate::records::{Garbage, NodeId, RemovedPath, decode};
use crate::transact::{Decided, get, now};
use crate::{Failure, Store};

/// Entries that one transaction takes.
const ENTRIES: usize = 64;
/// Rows that one step of a round looks at.
const PAGE: usize = 64;

/// Entries of a directory that has no name any more; then the directory itself. True when nothing is left. What is in it and has garbage
/// of its own is added to `others`.
pub(crate) fn collect_subtree(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    more: &mut Vec<Garbage>,
    others: &mut Vec<TrackedKeys>,
) -> Decided<bool> {
    let Located::Node(id) = keys.located() else { return Ok(true) };
    let tree = TreeKeys { space: keys.space };
    let all = tree.entries(id);
    let rows = txn.scan(&all, &all.after_prefix(), ENTRIES)?;
    for (key, bytes) in &rows {
        let entry: NodeId = decode(bytes)?;
        others.extend(bury(txn, &tree, entry.id, entry.is_directory)?.map(TrackedKeys::from));
        txn.delete(key.clone());
    }
    if rows.len() == ENTRIES {
        return Ok(false);
    }
    let mut trash = Trash::default();
    delete_all_of(txn, keys, &mut trash)?;
    more.extend(trash.0);
    txn.delete(tree.node(id));
    Ok(true)
}

/// How far a round over the deleted paths of a file system has come.
pub(crate) struct RemovedRound {
    from: Key,
    /// The container that comes after it.
    next: Key,
}

impl RemovedRound {
    pub fn of(space: Space, next: Key) -> Self {
        Self { from: keys::column(space, keys::REMOVED), next }
    }
}

impl Store {
    /// One step: where it goes on, or with which container the round does.
    pub(crate) async fn visit_removed(
        &self,
        round: RemovedRound,
        now: Timestamp,
    ) -> Result<Result<RemovedRound, Key>, Failure> {
        let end = keys::column(round.from.space(), keys::REMOVED).after_prefix();
        let rows = self.rows(&round.from, &end, PAGE).await?;
        for (key, bytes) in &rows {
            let deleted = decode::<RemovedPath>(bytes)?.deleted;
            let moves = || TreeKeys::read_removed(key).is_some_and(|(path, _)| Moving::read(&path).is_some());
            if deleted.is_over(now) {
                self.drop_removed(key.clone()).await?;
            } else if moves() {
                // Nobody waits a day for a path that is at neither name.
                self.sweep.hint_round(deleted.until);
            }
        }
        Ok(match rows.last() {
            Some((last, _)) if rows.len() == PAGE => Ok(RemovedRound { from: last.successor(), ..round }),
            Some(_) | None => Err(round.next),
        })
    }

    async fn drop_removed(&self, key: Key) -> Result<(), Failure> {
        let tree = TreeKeys { space: key.space() };
        if let Some((moving, id)) = TreeKeys::read_removed(&key).and_then(|(path, id)| Some((Moving::read(&path)?, id)))
        {
            return self.settle_move(tree, key, moving, id).await;
        }
        let left = self.transact(tree.partition(), move |txn| {
            let removed: Option<RemovedPath> = get(txn, &key)?;
            let Some(removed) = removed.filter(|removed| removed.deleted.is_over(now(txn))) else {
                return Ok(None); // it has come back
            };
            txn.delete(key.clone());
            bury(txn, &tree, removed.node.id, removed.node.is_directory)
        });
        self.hint_left(left.await?);
        Ok(())
    }
}
