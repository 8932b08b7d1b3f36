//! An account as it is stored: its settings as they are, its secrets sealed. And the step at the start by which directories from
//! before that come to be so.

use lazuli_engine::Txn;
use lazuli_model::account::{Account, AccountSettings, Keys, Secret};
use lazuli_model::{AccountName, Timestamp};
use serde::{Deserialize, Serialize};

use crate::records::{decode, encode};
use crate::secrets::{Random, Salt, SealedBox, SecretsKey, Unopened, Vault};
use crate::transact::{Decided, get};
use crate::{Failure, Fault, Store, keys};

/// Accounts that one look of the start goes over.
const PAGE: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountRow {
    created: Timestamp,
    secrets: Secrets,
    settings: AccountSettings,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Secrets {
    /// There are none; or there was no key to seal them with.
    Clear(AccountSecrets),
    Sealed(SealedBox),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AccountSecrets {
    keys: Option<Keys>,
    delegation: Option<Secret>,
    scopes: Option<Secret>,
}

impl AccountSecrets {
    fn is_empty(&self) -> bool {
        self.keys.is_none() && self.delegation.is_none() && self.scopes.is_none()
    }
}

/// Rows of version 1 were the account itself.
impl From<Account> for AccountRow {
    fn from(account: Account) -> Self {
        let Account { created, keys, delegation, scopes, settings } = account;
        Self { created, secrets: Secrets::Clear(AccountSecrets { keys, delegation, scopes }), settings }
    }
}

impl AccountRow {
    fn seal(account: Account, vault: &Vault, salt: Salt, txn: &Txn<'_>, name: &AccountName) -> Self {
        let row = Self::from(account);
        let sealed = match &row.secrets {
            Secrets::Clear(secrets) if !secrets.is_empty() => vault.seal(txn, salt, &purpose(name), secrets),
            Secrets::Clear(_) | Secrets::Sealed(_) => None,
        };
        match sealed {
            Some(sealed) => Self { secrets: Secrets::Sealed(sealed), ..row },
            None => row,
        }
    }

    fn open(self, vault: &Vault, name: &AccountName) -> Result<Account, Unopened> {
        let secrets = match self.secrets {
            Secrets::Clear(secrets) => secrets,
            Secrets::Sealed(sealed) => vault.open(&purpose(name), &sealed)?,
        };
        let AccountSecrets { keys, delegation, scopes } = secrets;
        Ok(Account { created: self.created, keys, delegation, scopes, settings: self.settings })
    }

    fn is_in_the_clear(&self) -> bool {
        matches!(&self.secrets, Secrets::Clear(secrets) if !secrets.is_empty())
    }
}

/// The secrets of one account do not open as those of another.
fn purpose(name: &AccountName) -> Vec<u8> {
    [b"account\0", name.as_str().as_bytes()].concat()
}

pub(crate) fn read_account(txn: &mut Txn<'_>, vault: &Vault, name: &AccountName) -> Decided<Option<Account>> {
    let row = get::<AccountRow>(txn, &keys::account(name))?;
    Ok(row.map(|row| row.open(vault, name)).transpose().map_err(Fault::from)?)
}

/// What of an account is no secret.
pub(crate) fn read_settings(txn: &mut Txn<'_>, name: &AccountName) -> Decided<Option<AccountSettings>> {
    Ok(get::<AccountRow>(txn, &keys::account(name))?.map(|row| row.settings))
}

pub(crate) fn write_account(txn: &mut Txn<'_>, vault: &Vault, salt: Salt, name: &AccountName, account: Account) {
    let row = AccountRow::seal(account, vault, salt, txn, name);
    txn.put(keys::account(name), encode(&row));
}

/// What became of accounts whose secrets stood in the clear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SealedAccounts {
    pub sealed: Vec<AccountName>,
    /// The disk would not take it: they are as they were.
    pub left: Vec<AccountName>,
}

/// Why the secrets that are stored cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretsTrouble {
    /// The secrets of this account are sealed under another key.
    OtherKey(AccountName),
    /// They are sealed under this key, and were changed.
    Damaged(AccountName),
    Failed(Failure),
}

impl From<Failure> for SecretsTrouble {
    fn from(failure: Failure) -> Self {
        SecretsTrouble::Failed(failure)
    }
}

impl Store {
    /// Seals the secrets of accounts under `key` from now on. `random` must be so.
    pub fn sealing_under(self, key: SecretsKey, random: Random) -> Self {
        Self { vault: Vault::new(key, random), ..self }
    }

    /// All that are stored, by name.
    pub async fn accounts(&self) -> Result<Vec<(AccountName, Account)>, Failure> {
        let rows = self.account_rows().await?.into_iter();
        let opened = rows.map(|(name, row)| Ok((name.clone(), row.open(&self.vault, &name)?)));
        Ok(opened.collect::<Result<Vec<_>, Fault>>()?)
    }

    /// An account whose secrets are sealed, if there is one.
    pub async fn sealed_account(&self) -> Result<Option<AccountName>, Failure> {
        let rows = self.account_rows().await?;
        let sealed = rows.into_iter().find(|(_, row)| matches!(row.secrets, Secrets::Sealed(_)));
        Ok(sealed.map(|(name, _)| name))
    }

    /// To be called at the start, with a key: sees to it that every secret is sealed under it. A crash on the way, or a full disk, leaves
    /// some in the clear, for the next start.
    pub async fn seal_secrets(&self) -> Result<SealedAccounts, SecretsTrouble> {
        let mut accounts = SealedAccounts::default();
        for (name, row) in self.account_rows().await? {
            let clear = row.is_in_the_clear();
            row.open(&self.vault, &name).map_err(|why| match why {
                Unopened::NoKey | Unopened::OtherKey => SecretsTrouble::OtherKey(name.clone()),
                Unopened::Damaged => SecretsTrouble::Damaged(name.clone()),
            })?;
            if clear && self.vault.seals() {
                match self.seal_account(&name).await {
                    Ok(()) => accounts.sealed.push(name),
                    Err(_) => accounts.left.push(name),
                }
            }
        }
        Ok(accounts)
    }

    async fn seal_account(&self, name: &AccountName) -> Result<(), Failure> {
        let (vault, salt, at) = (self.vault.clone(), self.vault.salt(), name.clone());
        let sealed = self.transact(keys::account_partition(name), move |txn| {
            if let Some(account) = read_account(txn, &vault, &at)? {
                write_account(txn, &vault, salt, &at, account);
            }
            Ok(())
        });
        sealed.await?;
        self.forget_account(name);
        Ok(())
    }

    async fn account_rows(&self) -> Result<Vec<(AccountName, AccountRow)>, Failure> {
        let all = keys::column(keys::ROOT, keys::ACCOUNTS);
        let (mut from, end) = (Some(all.clone()), all.after_prefix());
        let mut found = Vec::new();
        while let Some(start) = from {
            let rows = self.rows(&start, &end, PAGE).await?;
            from = rows.last().filter(|_| rows.len() == PAGE).map(|(last, _)| last.successor());
            for (key, bytes) in rows {
                let name = std::str::from_utf8(&key.row()).ok().and_then(|name| AccountName::parse(name).ok());
                let name = name.ok_or_else(|| Fault::Corrupt("the key of an account has no name".into()))?;
                found.push((name, decode::<AccountRow>(&bytes)?));
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
