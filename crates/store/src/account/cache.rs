//! Accounts in memory. A change forgets the account and begins a new turn, so that a read which began before the change
//! cannot put back what it saw.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::RandomState;
use lazuli_model::AccountName;
use lazuli_model::account::{Account, AccountSettings};

use super::STALE_TICKS;

/// Names that nobody has may be asked for without end.
const MOST: usize = 10_000;

/// An account as every request needs it. `account` is `None` for one that was never stored.
#[derive(Clone, Debug)]
pub struct KnownAccount {
    pub account: Option<Arc<Account>>,
    pub settings: Arc<AccountSettings>,
}

#[derive(Default)]
pub(crate) struct Cache(RwLock<Known>);

#[derive(Default)]
struct Known {
    by_name: HashMap<AccountName, (u64, KnownAccount), RandomState>,
    turn: u64,
}

impl Cache {
    /// What is known at `stamp`, or the turn in which to look.
    pub fn get(&self, name: &AccountName, stamp: u64) -> Result<KnownAccount, u64> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        match known.by_name.get(name) {
            Some((read, account)) if stamp < read.saturating_add(STALE_TICKS) => Ok(account.clone()),
            Some(_) | None => Err(known.turn),
        }
    }

    pub fn keep(&self, name: &AccountName, account: Option<Account>, stamp: u64, turn: u64) -> KnownAccount {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // The same values stay at the same place in memory, so that a cache made from them sees that it still holds.
        let before = known.by_name.get(name).map(|(_, before)| before.clone());
        let settings = account.as_ref().map(|account| account.settings.clone()).unwrap_or_default();
        let fresh = match before {
            Some(before) if before.account.as_deref() == account.as_ref() => before,
            Some(_) | None => KnownAccount { account: account.map(Arc::new), settings: Arc::new(settings) },
        };
        let room = fresh.account.is_some() || known.by_name.len() < MOST || known.by_name.contains_key(name);
        if turn == known.turn && room {
            known.by_name.insert(name.clone(), (stamp, fresh.clone()));
        }
        fresh
    }

    pub fn forget(&self, name: &AccountName) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.turn += 1;
        known.by_name.remove(name);
    }
}
