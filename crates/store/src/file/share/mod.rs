//! Operations on shares.

mod change;
mod create_share;
mod delete_share;
mod list_shares;
mod restore_share;
mod snapshot_share;

pub use list_shares::{DeletedShare, ListShares, ShareItem, SharePage};

use lazuli_engine::Txn;
use lazuli_model::file::{ReadShare, Share};

use super::keys::{self, ShareKeys};
use super::rows::{Born, Head};
use super::{Failure, ShareAt, Store};
use crate::transact::{Decided, get};

/// 1601-01-01, from which Windows counts: what tells one deleted share from another is such a time.
const WINDOWS_EPOCH: u64 = 504_911_232_000_000_000;

fn born(txn: &mut Txn<'_>, at: &ShareAt) -> Decided<Option<Born>> {
    get(txn, &keys::share(at))
}

/// The share as it is; nothing when it was deleted in this life.
fn living(txn: &mut Txn<'_>, born: &Born) -> Decided<Option<Share>> {
    let keys = ShareKeys::new(born.id);
    let head: Option<Head> = get(txn, &keys.head())?;
    if head.and_then(|head| head.ended).is_some_and(|ended| ended.life == born.life) {
        return Ok(None);
    }
    Ok(Some(get(txn, &keys.properties())?.unwrap_or_else(|| born.share.clone())))
}

impl Store {
    async fn born(&self, at: &ShareAt) -> Result<Option<Born>, Failure> {
        self.look(&keys::share_partition(at), |txn| born(txn, at)).await
    }

    /// Before a name is made anew: ends what a process that died has left half deleted.
    async fn end_half_deleted(&self, at: &ShareAt) -> Result<(), Failure> {
        let Some(born) = self.born(at).await? else { return Ok(()) };
        let share = self.look(&ShareKeys::new(born.id).partition(), |txn| living(txn, &born)).await?;
        if share.is_none() {
            self.bury_share(at).await?;
        }
        Ok(())
    }

    /// Get Share Properties, Metadata and ACL.
    pub async fn share(&self, at: &ShareAt, read: ReadShare) -> Result<Share, Failure> {
        Ok(self.share_usage(at, read).await?.0)
    }

    /// Get Share Stats: with the bytes that files take up.
    pub async fn share_usage(&self, at: &ShareAt, read: ReadShare) -> Result<(Share, u64), Failure> {
        self.look_tree(at, None, |tree| {
            let share = match read.snapshot {
                Some(time) => tree.snapshot(time)?.share,
                None => tree.share()?,
            };
            read.decide(&share, tree.now())?;
            Ok((share, tree.usage()?))
        })
        .await
    }

    /// For judging who may: the stored policies.
    pub async fn share_for_access(&self, at: &ShareAt) -> Result<Option<Share>, Failure> {
        let Some(born) = self.born(at).await? else { return Ok(None) };
        self.look(&ShareKeys::new(born.id).partition(), |txn| living(txn, &born)).await
    }
}
