//! The proof cache of a connection: its last query, and what the SAS in it has proven. A client signs a SAS once and sends it with
//! every request. A query with the same text is neither decoded nor verified again. If only the SAS is the same, the query is decoded,
//! and its signature is not verified again.
//!
//! Held true:
//! * a proof holds for the account as it was then: an account with other keys or settings is another value;
//! * what depends on the time is not cached: start and expiry are compared with the clock for each request;
//! * a connection has its own cache, because a SAS also restricts addresses and protocols;
//! * the time of a comparison does not tell how much of a cached signature was guessed: texts are compared only if their hashes
//!   agree, under a random key.

use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::Query;
use crate::accounts::Account;
use crate::auth::Proven;
use crate::refusal::Refusal;

/// Longer queries are rare, and connections are many.
const TEXT_MAX: usize = 1024;

#[derive(Debug, Default)]
pub struct ProofCache {
    key: RandomState,
    last: Mutex<Option<Last>>,
    tokens: Arc<Tokens>,
}

#[derive(Debug)]
struct Last {
    hash: u64,
    /// As it was sent.
    text: String,
    said: Arc<ProvenQuery>,
}

impl ProofCache {
    pub fn query(&self, text: &str) -> Result<Arc<ProvenQuery>, Refusal> {
        let hash = self.key.hash_one(text);
        let mut last = lock(&self.last);
        if let Some(last) = last.as_ref().filter(|last| last.hash == hash && last.text == text) {
            return Ok(last.said.clone());
        }
        let said = ProvenQuery { tokens: Some(self.tokens.clone()), ..ProvenQuery::from(Query::parse(text)?) };
        let said = Arc::new(said);
        if text.len() <= TEXT_MAX {
            *last = Some(Last { hash, text: text.to_owned(), said: said.clone() });
        }
        Ok(said)
    }
}

/// The last account SAS of a connection, whatever else was in its query.
#[derive(Debug, Default)]
struct Tokens {
    key: RandomState,
    last: Mutex<Option<Token>>,
}

#[derive(Debug)]
struct Token {
    hash: u64,
    /// The text that was signed, and its signature.
    text: String,
    signature: String,
    proven: Proven,
}

impl Tokens {
    fn find(&self, text: &str, signature: &str) -> Option<Proven> {
        let hash = self.key.hash_one((text, signature));
        let last = lock(&self.last);
        let same = |token: &&Token| token.hash == hash && token.text == text && token.signature == signature;
        last.as_ref().filter(same).map(|token| token.proven.clone())
    }

    fn keep(&self, text: &str, signature: &str, proven: Proven) {
        if text.len() + signature.len() <= TEXT_MAX {
            let hash = self.key.hash_one((text, signature));
            let (text, signature) = (text.to_owned(), signature.to_owned());
            *lock(&self.last) = Some(Token { hash, text, signature, proven });
        }
    }
}

/// A query, and what it has proven.
#[derive(Debug)]
pub struct ProvenQuery {
    query: Query,
    proven: Mutex<Option<Proven>>,
    /// `None` for a request whose connection keeps nothing.
    tokens: Option<Arc<Tokens>>,
    /// What the recorder tells of its SAS: written once for all requests that say the same.
    sas_fields: OnceLock<Vec<u8>>,
}

impl ProvenQuery {
    /// What it has proven to `account`, if it has.
    pub fn proven(&self, account: &Arc<Account>) -> Option<Proven> {
        lock(&self.proven).as_ref().filter(|proven| Arc::ptr_eq(&proven.account, account)).cloned()
    }

    /// What another query of the connection has proven to `account` with the same SAS.
    pub fn proven_before(&self, account: &Arc<Account>, text: &str, signature: &str) -> Option<Proven> {
        let tokens = self.tokens.as_ref()?;
        tokens.find(text, signature).filter(|proven| Arc::ptr_eq(&proven.account, account))
    }

    /// A SAS that signs `text` was right.
    pub fn prove(&self, text: &str, signature: &str, proven: Proven) {
        if let Some(tokens) = &self.tokens {
            tokens.keep(text, signature, proven.clone());
        }
        *lock(&self.proven) = Some(proven);
    }

    /// What `read` makes of the query.
    pub(crate) fn sas_fields(&self, read: impl FnOnce(&Query) -> Vec<u8>) -> &[u8] {
        self.sas_fields.get_or_init(|| read(&self.query))
    }

    /// Whether it has proven anything to any account.
    pub fn is_proven(&self) -> bool {
        lock(&self.proven).is_some()
    }
}

impl From<Query> for ProvenQuery {
    fn from(query: Query) -> Self {
        Self { query, proven: Mutex::default(), tokens: None, sas_fields: OnceLock::new() }
    }
}

impl Deref for ProvenQuery {
    type Target = Query;

    fn deref(&self) -> &Query {
        &self.query
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_is_the_same_query_and_any_other_is_not() {
        let proofs = ProofCache::default();
        let first = proofs.query("sv=1&sig=a%2B").unwrap();
        assert_eq!(first.get("sig"), Some("a+"));
        assert!(Arc::ptr_eq(&first, &proofs.query("sv=1&sig=a%2B").unwrap()));
        for other in ["sv=1&sig=a%2b", "sv=1&sig=a%2B&", "sv=1&sig=a%2", "", "sv=1&sig=a%2B"] {
            assert!(!Arc::ptr_eq(&first, &proofs.query(other).unwrap()), "{other}");
        }
        assert_eq!(proofs.query("a=%ff").err(), Some(Refusal::InvalidUri));
        // What is too long is read, and not kept.
        let long = format!("prefix={}", "x".repeat(TEXT_MAX));
        let kept = proofs.query("a=b").unwrap();
        assert_eq!(proofs.query(&long).unwrap().get("prefix").map(str::len), Some(TEXT_MAX));
        assert!(Arc::ptr_eq(&kept, &proofs.query("a=b").unwrap()));
    }
}
