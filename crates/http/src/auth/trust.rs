//! Whose tokens are accepted, and which roles their holders have: what the operator configured. Signing keys come and go while
//! the server runs; the task that fetches them puts them here.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lazuli_model::Refusal;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use tokio::sync::Notify;

use super::failed;
use super::subject::{Assignment, same_issuer};
use crate::head::Head;

/// How much of a token is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// For development: shape, issuer, audience and times are checked, the signature is not. As Azurite's `--oauth basic`.
    Basic,
    /// Signed by a configured issuer.
    Verified,
}

pub struct Trust {
    pub mode: Mode,
    /// Accept tokens on connections without TLS.
    pub insecure: bool,
    /// Besides Azure Storage's own.
    pub audiences: Vec<String>,
    pub assignments: Vec<Assignment>,
    issuers: Vec<String>,
    keys: RwLock<HashMap<String, Arc<Vec<SigningKey>>>>,
    wanted: Notify,
}

/// A public key of an issuer.
pub struct SigningKey {
    id: Option<String>,
    kind: Kind,
}

enum Kind {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
}

/// A key set that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadKeys(String);

impl fmt::Display for BadKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust").field("mode", &self.mode).field("issuers", &self.issuers).finish_non_exhaustive()
    }
}

impl Trust {
    pub fn new(mode: Mode, issuers: Vec<String>) -> Self {
        Self {
            mode,
            insecure: false,
            audiences: Vec::new(),
            assignments: Vec::new(),
            issuers,
            keys: RwLock::default(),
            wanted: Notify::new(),
        }
    }

    /// Replaces the keys of an issuer by those of a JSON Web Key Set. Keys that are not for signing are passed over.
    pub fn set_keys(&self, issuer: &str, set: &[u8]) -> Result<usize, BadKeys> {
        let set: KeySet =
            serde_json::from_slice(set).map_err(|error| BadKeys(format!("this is no key set: {error}")))?;
        let keys: Vec<SigningKey> = set.keys.into_iter().filter_map(SigningKey::read).collect();
        if keys.is_empty() {
            return Err(BadKeys("the key set has no RSA or EC key for signatures".into()));
        }
        let count = keys.len();
        self.keys.write().unwrap_or_else(PoisonError::into_inner).insert(issuer.to_owned(), Arc::new(keys));
        Ok(count)
    }

    /// Returns when a token came with a key that is not known.
    pub async fn keys_wanted(&self) {
        self.wanted.notified().await;
    }

    /// The configured issuer that a token's `iss` is. In basic mode, Microsoft's are issuers too.
    pub(super) fn issuer<'a>(&'a self, iss: &'a str) -> Option<&'a str> {
        let configured = self.issuers.iter().find(|issuer| same_issuer(issuer, iss)).map(String::as_str);
        configured
            .or_else(|| (self.mode == Mode::Basic && MICROSOFT.iter().any(|host| iss.starts_with(host))).then_some(iss))
    }

    /// The issuers that an assignment can tell apart: with one alone, there is nothing to tell.
    pub(super) fn told_apart(&self) -> Vec<&str> {
        let named = self.assignments.iter().filter_map(|assignment| assignment.issuer.as_deref());
        let mut all: Vec<&str> = self.issuers.iter().map(String::as_str).chain(named).collect();
        all.sort_unstable();
        all.dedup_by(|one, other| same_issuer(one, other));
        all
    }

    /// Whether `issuer` signed `message`. The second is whether a key for it was found at all.
    pub(super) fn signed(
        &self,
        issuer: &str,
        algorithm: &str,
        id: Option<&str>,
        message: &[u8],
        tag: &[u8],
    ) -> (bool, bool) {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner).get(issuer).cloned().unwrap_or_default();
        let fits = |key: &&SigningKey| id.is_none() || key.id.is_none() || key.id.as_deref() == id;
        let mut found = false;
        for key in keys.iter().filter(fits) {
            found = true;
            if key.verify(algorithm, message, tag) {
                return (true, true);
            }
        }
        if !found {
            self.wanted.notify_one();
        }
        (false, found)
    }

    /// Tokens are secrets, so Azure takes them over TLS only.
    pub(super) fn permits_link(&self, head: &Head) -> Result<(), Refusal> {
        if head.secure || self.insecure {
            return Ok(());
        }
        Err(failed(
            "Authentication scheme Bearer is not allowed with HTTP. Use HTTPS, or start the server with --oauth-insecure.",
        ))
    }
}

const MICROSOFT: [&str; 6] = [
    "https://sts.windows.net/",
    "https://login.microsoftonline.com/",
    "https://sts.microsoftonline.de/",
    "https://sts.chinacloudapi.cn/",
    "https://login.microsoftonline.us/",
    "https://sts.windows-ppe.net/",
];

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<WebKey>,
}

#[derive(Deserialize)]
struct WebKey {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    n: Option<String>,
    e: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl SigningKey {
    fn read(key: WebKey) -> Option<Self> {
        if key.purpose.is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let bytes = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?.trim_end_matches('=')).ok();
        let kind = match (key.kty.as_str(), key.crv.as_deref()) {
            ("RSA", _) => Kind::Rsa { n: bytes(key.n)?, e: bytes(key.e)? },
            ("EC", Some("P-256")) => Kind::P256([vec![4], bytes(key.x)?, bytes(key.y)?].concat()),
            ("EC", Some("P-384")) => Kind::P384([vec![4], bytes(key.x)?, bytes(key.y)?].concat()),
            _ => return None,
        };
        Some(Self { id: key.kid, kind })
    }

    /// The algorithm must be one that the key is for: a token does not choose how it is checked.
    fn verify(&self, algorithm: &str, message: &[u8], tag: &[u8]) -> bool {
        match (&self.kind, algorithm) {
            (Kind::Rsa { n, e }, "RS256") => {
                RsaPublicKeyComponents { n, e }.verify(&signature::RSA_PKCS1_2048_8192_SHA256, message, tag).is_ok()
            }
            (Kind::Rsa { n, e }, "PS256") => {
                RsaPublicKeyComponents { n, e }.verify(&signature::RSA_PSS_2048_8192_SHA256, message, tag).is_ok()
            }
            (Kind::P256(point), "ES256") => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point).verify(message, tag).is_ok()
            }
            (Kind::P384(point), "ES384") => {
                UnparsedPublicKey::new(&signature::ECDSA_P384_SHA384_FIXED, point).verify(message, tag).is_ok()
            }
            _ => false,
        }
    }
}
