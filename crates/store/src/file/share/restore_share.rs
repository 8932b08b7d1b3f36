//! Restore Share: out of the deleted ones, into a life of its own.

use lazuli_model::Refusal;
use lazuli_model::file::Share;

use super::{Born, born, keys};
use crate::file::rows::Buried;
use crate::records::encode;
use crate::transact::{get, now};
use crate::{Failure, ShareAt, Store};

impl Store {
    /// Brings back the share that was deleted under this name, with the version that a listing gave.
    pub async fn restore_share(&self, at: &ShareAt, version: u64) -> Result<Share, Failure> {
        self.end_half_deleted(at).await?;
        let name = at.clone();
        self.transact(keys::share_partition(at), move |txn| {
            if born(txn, &name)?.is_some() {
                return Err(Refusal::ShareAlreadyExists.into());
            }
            let key = keys::deleted_share(&name, version);
            let buried: Option<Buried> = get(txn, &key)?;
            let buried = buried.filter(|buried| buried.until > now(txn)).ok_or(Refusal::ShareNotFound)?;
            txn.delete(key);
            let born = Born { life: buried.born.life + 1, ..buried.born };
            txn.put(keys::share(&name), encode(&born));
            Ok(())
        })
        .await?;
        self.change_tree(at, move |tree| {
            let share = tree.share()?.restored(tree.now());
            tree.txn.put(tree.keys.properties(), encode(&share));
            Ok(share)
        })
        .await
    }
}
