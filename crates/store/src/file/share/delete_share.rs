//! Delete Share: the whole of it, with or without a way back, or one of its snapshots.
//!
//! The share's own space says first that it has ended; from then on nobody can act in it. Its row in the root follows in a second
//! transaction. If a process dies between the two, the next Create Share of that name finishes the work, or the sweeper does.

use lazuli_engine::{Key, Space};
use lazuli_model::file::share::SNAPSHOTS_MAX;
use lazuli_model::file::{DeleteShare, Share};
use lazuli_model::{Lease, Refusal, Timestamp};

use super::{Head, ShareKeys, WINDOWS_EPOCH, born, keys};
use crate::file::rows::{Buried, Ended, Snapshot};
use crate::file::tree::Tree;
use crate::keys::{DEAD_SPACES, ROOT};
use crate::records::{DeadSpace, Garbage, decode, encode};
use crate::sweep::bury;
use crate::transact::{Decided, Trouble, get, now};
use crate::{Failure, ShareAt, Store};

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;
/// Among so many that were deleted lately.
const DEAD_LOOKED_AT: usize = 10_000;

impl Store {
    pub async fn delete_share(&self, at: &ShareAt, delete: DeleteShare) -> Result<(), Failure> {
        if let Some(time) = delete.snapshot {
            return self.change_tree(at, move |tree| delete_snapshot(tree, &delete, time)).await;
        }
        let found = match self.found_share(at).await {
            // Observed: to delete a share with its snapshots once more, while it goes, is no error.
            Err(Failure::Refused(Refusal::ShareNotFound)) if delete.snapshots.is_some() && self.goes(at).await? => {
                return Ok(());
            }
            found => found?,
        };
        let life = found.life;
        self.change_found(found, move |tree| {
            let now = tree.now();
            let share = tree.share()?;
            delete.decide(&share, &snapshot_leases(tree)?, now)?;
            let days = delete.retention_days;
            let until = days.map(|days| now.plus_seconds(u64::from(days) * SECONDS_PER_DAY));
            tree.change_head().ended = Some(Ended { life, until });
            Ok(())
        })
        .await?;
        self.bury_share(at).await
    }

    /// Whether a share of this name was deleted, and its space is still being swept.
    async fn goes(&self, at: &ShareAt) -> Result<bool, Failure> {
        let partition = keys::share_partition(at).name;
        self.scan(ROOT, |txn| {
            let all = Key::new(ROOT, DEAD_SPACES, &[]);
            let rows = txn.scan(&all, &all.after_prefix(), DEAD_LOOKED_AT)?;
            let mut dead = rows.iter().filter_map(|(_, bytes)| decode::<DeadSpace>(bytes).ok());
            Ok(dead.any(|dead| dead.partition[..] == partition[..]))
        })
        .await
    }

    /// Takes a share that has ended out of the root. What cannot be brought back is left to the sweeper.
    pub(crate) async fn bury_share(&self, at: &ShareAt) -> Result<(), Failure> {
        let Some(ended_one) = self.born(at).await? else { return Ok(()) };
        let share_keys = ShareKeys::new(ended_one.id);
        let partition = share_keys.partition();
        let ended = self.look(&partition, |txn| {
            let head: Option<Head> = get(txn, &share_keys.head())?;
            let ended = head.and_then(|head| head.ended).filter(|ended| ended.life == ended_one.life);
            let share: Option<Share> = get(txn, &share_keys.properties())?;
            Ok(ended.map(|ended| (ended, share)))
        });
        let Some((ended, share)) = ended.await? else { return Ok(()) };
        let at = at.clone();
        let partition = keys::share_partition(&at);
        let space = self
            .transact(partition.clone(), move |txn| {
                let current = born(txn, &at)?;
                if current.is_none_or(|born| (born.id, born.life) != (ended_one.id, ended_one.life)) {
                    return Ok(None); // somebody was faster
                }
                txn.delete(keys::share(&at));
                let Some(until) = ended.until else {
                    bury(txn, &partition, Space(ended_one.id));
                    return Ok(Some(Space(ended_one.id)));
                };
                let share = share.clone().unwrap_or_else(|| ended_one.share.clone()).buried();
                let buried = Buried { born: ended_one.clone(), share, deleted: now(txn), until };
                txn.put(keys::deleted_share(&at, version(now(txn))), encode(&buried));
                Ok(None)
            })
            .await?;
        if let Some(space) = space {
            self.sweep.hint_space(space);
        }
        Ok(())
    }

    /// A deleted share that nobody can bring back any more.
    pub(crate) async fn end_buried(&self, at: ShareAt, version: u64) -> Result<(), Failure> {
        let partition = keys::share_partition(&at);
        let space = self
            .transact(partition.clone(), move |txn| {
                let key = keys::deleted_share(&at, version);
                let buried: Option<Buried> = get(txn, &key)?;
                let Some(buried) = buried.filter(|buried| buried.until <= now(txn)) else { return Ok(None) };
                txn.delete(key);
                let space = Space(buried.born.id);
                bury(txn, &partition, space);
                Ok(Some(space))
            })
            .await?;
        if let Some(space) = space {
            self.sweep.hint_space(space);
        }
        Ok(())
    }
}

/// `01D8DA93665D1D85`, as a number.
pub(super) fn version(deleted: Timestamp) -> u64 {
    deleted.ticks().saturating_sub(WINDOWS_EPOCH)
}

fn snapshot_leases(tree: &mut Tree<'_, '_>) -> Decided<Vec<Lease>> {
    let all = tree.keys.snapshots();
    let rows = tree.txn.scan(&all, &all.after_prefix(), SNAPSHOTS_MAX)?;
    rows.iter().map(|(_, bytes)| Ok(decode::<Snapshot>(bytes)?.share.lease)).collect()
}

fn delete_snapshot(tree: &mut Tree<'_, '_>, delete: &DeleteShare, time: Timestamp) -> Decided<()> {
    // Rule F6.
    let snapshot = match tree.snapshot(time) {
        Err(Trouble::Refused(Refusal::ShareNotFound)) => return Err(Refusal::ShareSnapshotNotFound.into()),
        snapshot => snapshot?,
    };
    delete.decide_snapshot(&snapshot.share, tree.now())?;
    tree.txn.delete(tree.keys.snapshot(time));
    tree.change_head().snapshots.retain(|epoch| *epoch != snapshot.epoch);
    tree.trash.0.push(Garbage::Superseded { snapshot: snapshot.epoch });
    Ok(())
}
