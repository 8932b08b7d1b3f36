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

/// The share as it is, with its head; nothing when it was deleted in this life.
fn living(txn: &mut Txn<'_>, born: &Born) -> Decided<Option<(Share, Head)>> {
    let keys = ShareKeys::new(born.id);
    let head: Head = get(txn, &keys.head())?.unwrap_or_else(|| Head::new(born.share.quota_gib));
    if head.ended.is_some_and(|ended| ended.life == born.life) {
        return Ok(None);
    }
    let share = get(txn, &keys.properties())?.unwrap_or_else(|| born.share.clone());
    Ok(Some((share, head)))
}

impl Store {
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
            Ok((share, tree.head.usage))
        })
        .await
    }

    /// For judging who may: the stored policies.
    pub async fn share_for_access(&self, at: &ShareAt) -> Result<Option<Share>, Failure> {
        self.look(|txn| match born(txn, at)? {
            Some(born) => Ok(living(txn, &born)?.map(|(share, _)| share)),
            None => Ok(None),
        })
        .await
    }
}
