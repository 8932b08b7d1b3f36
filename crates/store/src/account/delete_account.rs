//! Delete an account that has nothing in it any more.

use lazuli_engine::Txn;
use lazuli_model::AccountName;
use lazuli_model::feed::CONTAINER;

use super::{AccountTrouble, read_settings};
use crate::transact::Decided;
use crate::{Failure, Store, keys};

impl Store {
    /// With its settings and the properties of its services. What is created while it is deleted stays where it is, out of reach, and
    /// comes back with an account of the same name.
    pub async fn delete_account(&self, name: &AccountName) -> Result<(), AccountTrouble> {
        if let Some(what) = self.first_content(name).await? {
            return Err(AccountTrouble::NotEmpty(what));
        }
        self.drop_feed(name).await?;
        let at = name.clone();
        let run = move |txn: &mut Txn<'_>| -> Decided<Result<(), AccountTrouble>> {
            let key = keys::account(&at);
            if read_settings(txn, &at)?.is_none() {
                return Ok(Err(AccountTrouble::NotFound));
            }
            txn.delete(key);
            txn.delete(keys::feed(&at));
            let properties = keys::all_properties(&at);
            for (key, _) in txn.scan(&properties, &properties.after_prefix(), usize::MAX)? {
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
        let feed = keys::container(name.as_str(), CONTAINER);
        self.scan(keys::ROOT, |txn| {
            for (what, all) in &kinds {
                // The feed is the account's own, and goes with it.
                let found = txn.scan(all, &all.after_prefix(), 2)?;
                if found.iter().any(|(key, _)| *key != feed) {
                    return Ok(Some(*what));
                }
            }
            Ok(None)
        })
        .await
    }
}
