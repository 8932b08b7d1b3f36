//! What a connection remembers of the query it was asked with last. A client signs a SAS once and sends it with every request; as
//! long as the query stays the same, letter for letter, it is neither decoded nor verified again. If only the SAS stays the same,
//! it is decoded, and not verified again.
//!
//! Held true:
//! * what was proven to an account holds for that account as it was then: with other keys or settings it is another one;
//! * what depends on the moment is not remembered: times are compared with those of each request;
//! * the memory of one connection is its own, because addresses and protocols are proven, too;
//! * the time it takes tells nobody how much of a remembered signature was guessed: texts are compared only where their hashes
//!   agree, under a key that nobody knows.

use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lazuli_model::Refusal;

use super::Query;
use crate::accounts::Account;
use crate::auth::Proven;

/// Longer queries are rare, and connections are many.
const TEXT_MAX: usize = 1024;

#[derive(Debug, Default)]
pub struct Recall {
    key: RandomState,
    last: Mutex<Option<Last>>,
    tokens: Arc<Tokens>,
}

#[derive(Debug)]
struct Last {
    hash: u64,
    /// As it was sent.
    text: String,
    said: Arc<Said>,
}

impl Recall {
    pub fn query(&self, text: &str) -> Result<Arc<Said>, Refusal> {
        let hash = self.key.hash_one(text);
        let mut last = lock(&self.last);
        if let Some(last) = last.as_ref().filter(|last| last.hash == hash && last.text == text) {
            return Ok(last.said.clone());
        }
        let said = Said { tokens: Some(self.tokens.clone()), ..Said::from(Query::parse(text)?) };
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
pub struct Said {
    query: Query,
    proven: Mutex<Option<Proven>>,
    /// `None` where nobody will ask again.
    tokens: Option<Arc<Tokens>>,
}

impl Said {
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

    /// Whether it has proven anything, to whomever.
    pub fn is_proven(&self) -> bool {
        lock(&self.proven).is_some()
    }
}

impl From<Query> for Said {
    fn from(query: Query) -> Self {
        Self { query, proven: Mutex::default(), tokens: None }
    }
}

impl Deref for Said {
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
        let recall = Recall::default();
        let first = recall.query("sv=1&sig=a%2B").unwrap();
        assert_eq!(first.get("sig"), Some("a+"));
        assert!(Arc::ptr_eq(&first, &recall.query("sv=1&sig=a%2B").unwrap()));
        for other in ["sv=1&sig=a%2b", "sv=1&sig=a%2B&", "sv=1&sig=a%2", "", "sv=1&sig=a%2B"] {
            assert!(!Arc::ptr_eq(&first, &recall.query(other).unwrap()), "{other}");
        }
        assert_eq!(recall.query("a=%ff").err(), Some(Refusal::InvalidUri));
        // What is too long is read, and not kept.
        let long = format!("prefix={}", "x".repeat(TEXT_MAX));
        let kept = recall.query("a=b").unwrap();
        assert_eq!(recall.query(&long).unwrap().get("prefix").map(str::len), Some(TEXT_MAX));
        assert!(Arc::ptr_eq(&kept, &recall.query("a=b").unwrap()));
    }
}
