//! Accounts and their settings: one record each, in the root. What is read for every request is kept in memory.
//!
//! Held true: what this process changed is seen at once by every later request; what another process changed, within
//! [`STALE_TICKS`].

mod cache;
mod change_account;
mod delete_account;
mod reset;
mod stored;

pub(crate) use cache::Cache;
pub use cache::KnownAccount;
pub use change_account::Changes;
pub use reset::Emptied;
pub(crate) use stored::{AccountRow, FirstAccount, SecondAccountRow, read_account, read_settings, write_account};
pub use stored::{SealedAccounts, SecretsTrouble};

use std::sync::Arc;

use lazuli_engine::Txn;
use lazuli_model::account::{Account, AccountSettings, BadSetting};
use lazuli_model::{AccountName, Refusal};

use crate::transact::now;
use crate::{Failure, Store, keys};

/// One second.
const STALE_TICKS: u64 = 10_000_000;

/// Why an account was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountTrouble {
    Exists,
    NotFound,
    /// Its keys are not kept here.
    NoKeys,
    /// What it still has.
    NotEmpty(&'static str),
    Bad(BadSetting),
    Failed(Failure),
}

impl From<Failure> for AccountTrouble {
    fn from(failure: Failure) -> Self {
        AccountTrouble::Failed(failure)
    }
}

impl Store {
    /// What is known of an account, from memory as a rule.
    pub async fn known_account(&self, name: &AccountName) -> Result<KnownAccount, Failure> {
        let stamp = self.now().ticks();
        let turn = match self.accounts.get(name, stamp) {
            Ok(known) => return Ok(known),
            Err(turn) => turn,
        };
        let at = keys::account_partition(name);
        let account = self.look(&at, |txn| read_account(txn, &self.vault, name)).await?;
        Ok(self.accounts.keep(name, account, stamp, turn))
    }

    /// The settings of an account, or the defaults if none were made.
    pub async fn account_settings(&self, name: &AccountName) -> Result<Arc<AccountSettings>, Failure> {
        Ok(self.known_account(name).await?.settings)
    }

    /// The next reader looks again.
    pub(crate) fn forget_account(&self, name: &AccountName) {
        self.accounts.forget(name);
    }
}

/// An account that has no record yet.
pub(crate) fn fresh(txn: &Txn<'_>) -> Account {
    Account { created: now(txn), keys: None, delegation: None, scopes: None, settings: AccountSettings::default() }
}

impl From<Refusal> for AccountTrouble {
    fn from(refusal: Refusal) -> Self {
        AccountTrouble::Failed(refusal.into())
    }
}
