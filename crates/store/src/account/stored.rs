//! An account as it is stored: the settings that were changed, by name, and its secrets sealed. And the step at the start by which directories
//! from before that come to be so.

mod before;

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

pub use before::{FirstAccount, SecondAccountRow};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountRow {
    created: Timestamp,
    secrets: Secrets,
    /// Name and value of each that is not the default, so that new ones need no new encoding.
    settings: Vec<(String, String)>,
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

impl From<Account> for AccountRow {
    fn from(account: Account) -> Self {
        let Account { created, keys, delegation, scopes, settings } = account;
        Self {
            created,
            secrets: Secrets::Clear(AccountSecrets { keys, delegation, scopes }),
            settings: named(&settings),
        }
    }
}

fn named(settings: &AccountSettings) -> Vec<(String, String)> {
    settings.changed().map(|(name, value)| (name.to_owned(), value)).collect()
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

    fn open(self, vault: &Vault, name: &AccountName) -> Result<Account, Unreadable> {
        let settings = self.settings()?;
        let secrets = match self.secrets {
            Secrets::Clear(secrets) => secrets,
            Secrets::Sealed(sealed) => vault.open(&purpose(name), &sealed)?,
        };
        let AccountSecrets { keys, delegation, scopes } = secrets;
        Ok(Account { created: self.created, keys, delegation, scopes, settings })
    }

    /// A directory that a newer program wrote may have settings that are not known here. To go on without one would be to forget it.
    fn settings(&self) -> Result<AccountSettings, Fault> {
        let settings = AccountSettings::default().with(self.settings.iter().map(|(name, value)| (name, value)));
        settings.map_err(|bad| Fault::Corrupt(format!("the settings of an account cannot be read: {bad}")))
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

/// Why a row is no account.
enum Unreadable {
    Secrets(Unopened),
    Settings(Fault),
}

impl From<Unopened> for Unreadable {
    fn from(why: Unopened) -> Self {
        Unreadable::Secrets(why)
    }
}

impl From<Fault> for Unreadable {
    fn from(fault: Fault) -> Self {
        Unreadable::Settings(fault)
    }
}

impl From<Unreadable> for Fault {
    fn from(why: Unreadable) -> Self {
        match why {
            Unreadable::Secrets(why) => why.into(),
            Unreadable::Settings(fault) => fault,
        }
    }
}

/// What of an account is no secret.
pub(crate) fn read_settings(txn: &mut Txn<'_>, name: &AccountName) -> Decided<Option<AccountSettings>> {
    let row = get::<AccountRow>(txn, &keys::account(name))?;
    Ok(row.map(|row| row.settings()).transpose()?)
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

    /// The settings of every account that has some.
    pub(crate) async fn all_settings(&self) -> Result<Vec<(AccountName, AccountSettings)>, Failure> {
        let rows = self.account_rows().await?.into_iter();
        Ok(rows.map(|(name, row)| Ok((name, row.settings()?))).collect::<Result<Vec<_>, Fault>>()?)
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
                Unreadable::Secrets(Unopened::NoKey | Unopened::OtherKey) => SecretsTrouble::OtherKey(name.clone()),
                Unreadable::Secrets(Unopened::Damaged) => SecretsTrouble::Damaged(name.clone()),
                Unreadable::Settings(fault) => SecretsTrouble::Failed(Failure::Broken(fault)),
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
