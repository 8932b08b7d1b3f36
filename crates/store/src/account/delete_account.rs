//! Delete an account that has nothing in it any more.

use lazuli_engine::{Key, Txn};
use lazuli_model::AccountName;
use lazuli_model::analytics::LOGS;
use lazuli_model::feed::CONTAINER;
use lazuli_model::service::Of;

use super::{AccountTrouble, read_settings};
use crate::transact::Decided;
use crate::{Failure, Store, keys};

/// Containers and tables that an account may have without anybody having made them: its feed, its logs, and nine tables of metrics.
const OWN: usize = 11;

impl Store {
    /// With its settings and the properties of its services. What is created while it is deleted stays where it is, out of reach, and
    /// comes back with an account of the same name.
    pub async fn delete_account(&self, name: &AccountName) -> Result<(), AccountTrouble> {
        if let Some(what) = self.first_content(name).await? {
            return Err(AccountTrouble::NotEmpty(what));
        }
        self.drop_feed(name).await?;
        self.drop_analytics(name).await?;
        let at = name.clone();
        let run = move |txn: &mut Txn<'_>| -> Decided<Result<(), AccountTrouble>> {
            let key = keys::account(&at);
            if read_settings(txn, &at)?.is_none() {
                return Ok(Err(AccountTrouble::NotFound));
            }
            txn.delete(key);
            txn.delete(keys::feed(&at));
            let properties = keys::all_properties(&at);
            for (key, _) in txn.scan(&properties, &properties.after_prefix(), Of::ALL.len())? {
                txn.delete(key);
            }
            Ok(Ok(()))
        };
        let deleted = self.transact(keys::account_partition(name), run).await;
        self.forget_account(name);
        deleted?
    }

    /// What the account has, if anything.
    pub(super) async fn first_content(&self, name: &AccountName) -> Result<Option<&'static str>, Failure> {
        let kinds = [
            ("containers", keys::containers(name, b"")),
            ("queues", keys::queues(name, b"")),
            ("tables", keys::tables(name, b"")),
            ("file shares", crate::file::keys::shares(name, b"")),
        ];
        let (feed, logs) = (keys::container(name.as_str(), CONTAINER), keys::container(name.as_str(), LOGS));
        let metrics = keys::tables(name, b"$");
        let (first, last) = (metrics.clone(), metrics.after_prefix());
        let is_own = |key: &Key| *key == feed || *key == logs || (*key >= first && *key < last);
        self.scan(keys::ROOT, |txn| {
            for (what, all) in &kinds {
                // The feed, logs and metrics are the account's own, and go with it.
                let found = txn.scan(all, &all.after_prefix(), OWN + 1)?;
                if found.iter().any(|(key, _)| !is_own(key)) {
                    return Ok(Some(*what));
                }
            }
            Ok(None)
        })
        .await
    }
}
