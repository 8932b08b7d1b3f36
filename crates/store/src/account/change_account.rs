//! Create an account, change its settings, change one of its keys.

use lazuli_engine::Txn;
use lazuli_model::AccountName;
use lazuli_model::account::{Account, AccountSettings, Keys, Secret, WhichKey};

use super::{AccountTrouble, fresh, read_account, write_account};
use crate::transact::Decided;
use crate::{Store, keys};

type Changed = Result<Account, AccountTrouble>;
/// Name and value.
pub type Changes = Vec<(String, String)>;

impl Store {
    pub async fn create_account(&self, name: &AccountName, keys: Keys, changes: Changes) -> Changed {
        let at = name.clone();
        self.change(name, move |current, new| {
            if current.is_some() {
                return Err(AccountTrouble::Exists);
            }
            let settings = changed(&new.settings, &changes, &at)?;
            Ok(Account { keys: Some(keys.clone()), settings, ..new })
        })
        .await
    }

    /// Changes settings; an account whose keys are elsewhere gets its record with the first of them.
    pub async fn set_account(&self, name: &AccountName, changes: Changes) -> Changed {
        let turning = changes.iter().any(|(name, _)| name == "hierarchical-namespace" || name == "kind");
        if turning && let Some(what) = self.first_content(name).await? {
            let was = self.known_account(name).await?.settings;
            let now = was.with(changes.iter().map(pair)).map_err(AccountTrouble::Bad)?;
            if was.hierarchical_namespace != now.hierarchical_namespace || was.kind != now.kind {
                return Err(AccountTrouble::NotEmpty(what));
            }
        }
        let at = name.clone();
        self.change(name, move |current, new| {
            let account = current.unwrap_or(new);
            let settings = changed(&account.settings, &changes, &at)?;
            Ok(Account { settings, ..account })
        })
        .await
    }

    pub async fn rotate_account_key(&self, name: &AccountName, which: WhichKey, key: String) -> Changed {
        self.change(name, move |current, _| {
            let mut account = current.ok_or(AccountTrouble::NotFound)?;
            let keys = account.keys.as_mut().ok_or(AccountTrouble::NoKeys)?;
            match which {
                WhichKey::Key1 => keys.key1.clone_from(&key),
                WhichKey::Key2 => keys.key2.clone_from(&key),
            }
            Ok(account)
        })
        .await
    }

    /// What delegation keys are derived from: `candidate`, if there was nothing before.
    pub async fn delegation_secret(&self, name: &AccountName, candidate: Secret) -> Result<Secret, AccountTrouble> {
        if let Some(secret) = self.known_account(name).await?.account.and_then(|account| account.delegation) {
            return Ok(secret);
        }
        let changed = self.change(name, move |current, new| {
            let account = current.unwrap_or(new);
            Ok(Account { delegation: account.delegation.or(Some(candidate)), ..account })
        });
        Ok(changed.await?.delegation.unwrap_or(candidate))
    }

    /// What the keys of scopes are derived from: `candidate`, if there was nothing before.
    pub async fn scope_secret(&self, name: &AccountName, candidate: Secret) -> Result<Secret, AccountTrouble> {
        if let Some(secret) = self.known_account(name).await?.account.and_then(|account| account.scopes) {
            return Ok(secret);
        }
        let changed = self.change(name, move |current, new| {
            let account = current.unwrap_or(new);
            Ok(Account { scopes: account.scopes.or(Some(candidate)), ..account })
        });
        Ok(changed.await?.scopes.unwrap_or(candidate))
    }

    /// Every delegation key that was given out, and every SAS signed with one, is good no more.
    pub async fn revoke_delegation_keys(&self, name: &AccountName) -> Changed {
        self.change(name, |current, _| {
            let account = current.ok_or(AccountTrouble::NotFound)?;
            Ok(Account { delegation: None, ..account })
        })
        .await
    }

    /// `decide` gets the account as it is, and as a new one would be.
    async fn change(
        &self,
        name: &AccountName,
        decide: impl Fn(Option<Account>, Account) -> Changed + Send + 'static,
    ) -> Changed {
        let (vault, salt, at) = (self.vault.clone(), self.vault.salt(), name.clone());
        let run = move |txn: &mut Txn<'_>| -> Decided<Changed> {
            let current = read_account(txn, &vault, &at)?;
            let changed = decide(current, fresh(txn));
            if let Ok(account) = &changed {
                write_account(txn, &vault, salt, &at, account.clone());
            }
            Ok(changed)
        };
        let changed = self.transact(keys::account_partition(name), run).await;
        self.forget_account(name);
        self.feeds.wake();
        changed?
    }
}

/// All or none, and only what this account can have.
fn changed(was: &AccountSettings, changes: &Changes, at: &AccountName) -> Result<AccountSettings, AccountTrouble> {
    let settings = was.with(changes.iter().map(pair)).map_err(AccountTrouble::Bad)?;
    settings.check_for(at).map_err(AccountTrouble::Bad)?;
    Ok(settings)
}

fn pair(change: &(String, String)) -> (&str, &str) {
    (&change.0, &change.1)
}
