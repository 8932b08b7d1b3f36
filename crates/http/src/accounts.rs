//! The accounts that are served, and their keys. Keys are decoded and prepared once; they are never printed.

use std::collections::HashMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::AccountName;
use ring::hmac;

/// Accounts by name.
#[derive(Debug)]
pub struct Accounts {
    by_name: HashMap<String, Account>,
    public_access: bool,
}

/// An account's one or two keys. Either may sign, so that keys can be changed without a pause.
pub struct Account {
    name: AccountName,
    keys: Vec<hmac::Key>,
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

impl Default for Accounts {
    fn default() -> Self {
        Self { by_name: HashMap::new(), public_access: true }
    }
}

impl Accounts {
    /// No accounts; public access to containers that ask for it is allowed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a container's own setting may open it to anyone (Azure's AllowBlobPublicAccess).
    pub fn allow_public_access(&mut self, allow: bool) {
        self.public_access = allow;
    }

    pub fn public_access_allowed(&self) -> bool {
        self.public_access
    }

    /// Adds an account, or replaces the keys of one. Keys are Base64.
    pub fn add(&mut self, name: AccountName, keys: &[&str]) -> Result<(), BadKey> {
        if !(1..=2).contains(&keys.len()) {
            return Err(BadKey::WrongCount);
        }
        let keys = keys.iter().map(|key| prepare(key)).collect::<Result<Vec<_>, _>>()?;
        self.by_name.insert(name.as_str().to_owned(), Account { name, keys });
        Ok(())
    }

    pub fn get(&self, name: &str) -> Option<&Account> {
        self.by_name.get(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &AccountName> {
        self.by_name.values().map(|account| &account.name)
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
    pub fn name(&self) -> &AccountName {
        &self.name
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
