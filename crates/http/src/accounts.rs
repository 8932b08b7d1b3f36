//! The accounts that are served, and their keys. Keys are decoded and prepared once; they are never printed.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use foldhash::fast::RandomState;
use lazuli_model::{AccountName, AccountSettings};
use lazuli_store::Store;
use ring::hmac;

use crate::auth::Trust;
use crate::refusal::Failure;

/// Accounts by name: those of the configuration, and those that are stored, as far as they were asked for.
#[derive(Debug, Default)]
pub struct Accounts {
    by_name: RwLock<HashMap<String, Arc<Account>, RandomState>>,
    trust: Option<Arc<Trust>>,
}

/// An account's one or two keys. Either may sign, so that keys can be changed without a pause.
pub struct Account {
    name: AccountName,
    keys: Vec<hmac::Key>,
    /// What user delegation keys are derived from, once one was asked for.
    delegation: Option<hmac::Key>,
    /// Its keys are the configuration's, whatever is stored.
    configured: bool,
    settings: Arc<AccountSettings>,
}

/// An account key that cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadKey {
    NotBase64,
    Empty,
    /// An account has one or two.
    WrongCount,
}

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BadKey::NotBase64 => "an account key must be Base64, as the connection string has it",
            BadKey::Empty => "an account key must not be empty",
            BadKey::WrongCount => "an account has one or two keys",
        })
    }
}

impl std::error::Error for BadKey {}

impl Accounts {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an account of the configuration, or replaces the keys of one. Keys are Base64.
    pub fn add(&mut self, name: AccountName, keys: &[&str]) -> Result<(), BadKey> {
        if !(1..=2).contains(&keys.len()) {
            return Err(BadKey::WrongCount);
        }
        let keys = keys.iter().map(|key| prepare(key)).collect::<Result<Vec<_>, _>>()?;
        self.put(Account { name, keys, delegation: None, configured: true, settings: Arc::default() });
        Ok(())
    }

    /// Accept bearer tokens that `trust` vouches for.
    pub fn accept_tokens(&mut self, trust: Arc<Trust>) {
        self.trust = Some(trust);
    }

    pub fn trust(&self) -> Option<&Arc<Trust>> {
        self.trust.as_ref()
    }

    pub fn get(&self, name: &str) -> Option<Arc<Account>> {
        self.by_name.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Whether its keys are the configuration's.
    pub fn configured(&self, name: &str) -> bool {
        self.get(name).is_some_and(|account| account.configured)
    }

    pub fn names(&self) -> Vec<AccountName> {
        let by_name = self.by_name.read().unwrap_or_else(PoisonError::into_inner);
        by_name.values().map(|account| account.name.clone()).collect()
    }

    /// Brings what is known of `name` up to what is stored. To be done before [`Accounts::get`] at each request: accounts and
    /// their settings are changed while the server runs.
    pub async fn learn(&self, name: &str, store: &Store) -> Result<(), Failure> {
        let Ok(parsed) = AccountName::parse(name) else { return Ok(()) };
        let stored = store.known_account(&parsed).await?;
        let current = self.get(name);
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(&current.settings, &stored.settings)) {
            return Ok(());
        }
        let delegation = stored.account.as_ref().and_then(|account| account.delegation);
        let delegation = delegation.map(|secret| hmac::Key::new(hmac::HMAC_SHA256, &secret.0));
        let kept = stored.account.as_ref().and_then(|account| account.keys.as_ref());
        match (current, kept) {
            (Some(current), _) if current.configured => {
                let keys = current.keys.clone();
                self.put(Account { name: parsed, keys, delegation, configured: true, settings: stored.settings });
            }
            (_, Some(kept)) => {
                // They were made by the server, so they are good; one that is not signs nothing.
                let keys = [&kept.key1, &kept.key2].into_iter().filter_map(|key| prepare(key).ok()).collect();
                self.put(Account { name: parsed, keys, delegation, configured: false, settings: stored.settings });
            }
            (Some(_), None) => {
                self.by_name.write().unwrap_or_else(PoisonError::into_inner).remove(name);
            }
            (None, None) => {}
        }
        Ok(())
    }

    fn put(&self, account: Account) {
        let mut by_name = self.by_name.write().unwrap_or_else(PoisonError::into_inner);
        by_name.insert(account.name.as_str().to_owned(), Arc::new(account));
    }
}

fn prepare(base64: &str) -> Result<hmac::Key, BadKey> {
    let bytes = STANDARD.decode(base64.trim()).map_err(|_| BadKey::NotBase64)?;
    if bytes.is_empty() {
        return Err(BadKey::Empty);
    }
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}

impl Account {
    /// Whether what `other` signs is this account's.
    pub fn shares_key_with(&self, other: &Account) -> bool {
        let text = b"whether two accounts have a key in common";
        self.name == other.name && other.keys.iter().any(|key| self.signed(text, hmac::sign(key, text).as_ref()))
    }

    pub fn name(&self) -> &AccountName {
        &self.name
    }

    /// As they were when the request came.
    pub fn settings(&self) -> &Arc<AccountSettings> {
        &self.settings
    }

    pub fn delegation(&self) -> Option<&hmac::Key> {
        self.delegation.as_ref()
    }

    /// Whether one of the keys made `tag` over `message`, compared in constant time.
    pub fn signed(&self, message: &[u8], tag: &[u8]) -> bool {
        self.keys.iter().any(|key| hmac::verify(key, message, tag).is_ok())
    }

    /// Signs with the first key; Base64.
    pub fn sign(&self, message: &[u8]) -> String {
        self.keys.first().map(|key| STANDARD.encode(hmac::sign(key, message))).unwrap_or_default()
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("name", &self.name).field("keys", &self.keys.len()).finish()
    }
}

#[cfg(test)]
impl Accounts {
    /// With these settings for an account that is there.
    pub fn set(&mut self, name: &str, settings: AccountSettings) {
        let account = self.get(name).expect("the account");
        let (name, keys, delegation) = (account.name.clone(), account.keys.clone(), account.delegation.clone());
        self.put(Account { name, keys, delegation, configured: true, settings: Arc::new(settings) });
    }

    pub fn delegate(&mut self, name: &str, secret: &[u8]) {
        let account = self.get(name).expect("the account");
        let (name, keys, settings) = (account.name.clone(), account.keys.clone(), account.settings.clone());
        let delegation = Some(hmac::Key::new(hmac::HMAC_SHA256, secret));
        self.put(Account { name, keys, delegation, configured: true, settings });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts(keys: &[&str]) -> Result<Accounts, BadKey> {
        let mut accounts = Accounts::new();
        accounts.add(AccountName::parse("account1").expect("a name"), keys)?;
        Ok(accounts)
    }

    #[test]
    fn keys_are_checked_and_not_shown() {
        assert_eq!(accounts(&["!"]).err(), Some(BadKey::NotBase64));
        assert_eq!(accounts(&[""]).err(), Some(BadKey::Empty));
        assert_eq!(accounts(&[]).err(), Some(BadKey::WrongCount));
        let shown = format!("{:?}", accounts(&["c2VjcmV0"]).expect("a key"));
        assert!(!shown.contains("c2VjcmV0") && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn either_key_signs() {
        let both = accounts(&["b25l", "dHdv"]).expect("keys");
        for key in ["b25l", "dHdv"] {
            let one = accounts(&[key]).expect("key");
            let tag = STANDARD.decode(one.get("account1").expect("account").sign(b"text")).expect("base64");
            assert!(both.get("account1").expect("account").signed(b"text", &tag));
            assert!(!both.get("account1").expect("account").signed(b"texts", &tag));
        }
    }
}
