//! Secrets in records, sealed under a key that the server is given: AES-256-GCM.
//!
//! Held true:
//! * Each sealing has a key of its own, derived (HKDF-SHA256) from the given one by a salt that is never used twice: a random
//!   number from the server, and the stamp of the transaction, in case its decision runs again.
//! * What is sealed for one row and purpose does not open for another.
//! * Without a key (a store in memory) secrets are written as they are. What is written as it is can always be read.

use std::fmt;
use std::sync::Arc;

use lazuli_engine::{Fault, Txn};
use ring::{aead, hkdf};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The key in the server's key file.
#[derive(Clone)]
pub struct SecretsKey(pub [u8; 32]);

impl fmt::Debug for SecretsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretsKey(…)")
    }
}

/// Random numbers, which only the server makes.
pub type Random = Arc<dyn Fn() -> u128 + Send + Sync>;

/// A secret as it is stored: `key (8) | salt (24) | ciphertext and tag`
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedBox {
    /// Which key it is sealed under, in a form that says nothing of the key.
    key: [u8; 8],
    salt: [u8; 24],
    bytes: Vec<u8>,
}

impl fmt::Debug for SealedBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealedBox(…)")
    }
}

/// Why a secret does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unopened {
    NoKey,
    OtherKey,
    /// Sealed under this key, for another row or changed since.
    Damaged,
}

impl From<Unopened> for Fault {
    fn from(why: Unopened) -> Self {
        Fault::Corrupt(match why {
            Unopened::NoKey => "a secret is sealed, and the server has no key file".into(),
            Unopened::OtherKey => "a secret is sealed under the key of another key file".into(),
            Unopened::Damaged => "a sealed secret was changed".into(),
        })
    }
}

/// Seals and opens.
#[derive(Clone, Default)]
pub(crate) struct Vault(Option<Arc<Sealer>>);

struct Sealer {
    key: SecretsKey,
    id: [u8; 8],
    random: Random,
}

/// A salt for one transaction, however often its decision runs.
#[derive(Clone, Copy)]
pub(crate) struct Salt(u128);

impl Vault {
    pub fn new(key: SecretsKey, random: Random) -> Self {
        let mut id = [0; 8];
        expand(&key, &[], b"lazuli key file: which key", KeyId, &mut id);
        Self(Some(Arc::new(Sealer { key, id, random })))
    }

    pub fn seals(&self) -> bool {
        self.0.is_some()
    }

    /// To be asked for before the transaction: a decision draws nothing.
    pub fn salt(&self) -> Salt {
        Salt(self.0.as_ref().map_or(0, |sealer| (sealer.random)()))
    }

    /// `None` without a key.
    pub fn seal(&self, txn: &Txn<'_>, salt: Salt, purpose: &[u8], secret: &impl Serialize) -> Option<SealedBox> {
        let sealer = self.0.as_ref()?;
        let mut fresh = [0; 24];
        fresh[..16].copy_from_slice(&salt.0.to_be_bytes());
        fresh[16..].copy_from_slice(&txn.stamp().0.to_be_bytes());
        let mut bytes = postcard::to_stdvec(secret).expect("our secrets serialize into memory");
        let sealed = sealer.derived(&fresh).seal_in_place_append_tag(nonce(), aead::Aad::from(purpose), &mut bytes);
        sealed.expect("a secret is shorter than GCM's limit");
        Some(SealedBox { key: sealer.id, salt: fresh, bytes })
    }

    pub fn open<T: DeserializeOwned>(&self, purpose: &[u8], sealed: &SealedBox) -> Result<T, Unopened> {
        let sealer = self.0.as_ref().ok_or(Unopened::NoKey)?;
        if sealed.key != sealer.id {
            return Err(Unopened::OtherKey);
        }
        let mut bytes = sealed.bytes.clone();
        let opened = sealer.derived(&sealed.salt).open_in_place(nonce(), aead::Aad::from(purpose), &mut bytes);
        let opened = opened.map_err(|_| Unopened::Damaged)?;
        postcard::from_bytes(opened).map_err(|_| Unopened::Damaged)
    }
}

/// One value is sealed under each derived key.
fn nonce() -> aead::Nonce {
    aead::Nonce::assume_unique_for_key([0; aead::NONCE_LEN])
}

impl Sealer {
    fn derived(&self, salt: &[u8]) -> aead::LessSafeKey {
        let mut key = [0; 32];
        expand(&self.key, salt, b"lazuli key file: secrets in records", DerivedKey, &mut key);
        let key = aead::UnboundKey::new(&aead::AES_256_GCM, &key).expect("a key of 32 bytes");
        aead::LessSafeKey::new(key)
    }
}

struct KeyId;
struct DerivedKey;

impl hkdf::KeyType for KeyId {
    fn len(&self) -> usize {
        8
    }
}

impl hkdf::KeyType for DerivedKey {
    fn len(&self) -> usize {
        32
    }
}

fn expand(key: &SecretsKey, salt: &[u8], purpose: &[u8], length: impl hkdf::KeyType, out: &mut [u8]) {
    let secret = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(&key.0);
    let purpose = [purpose];
    let expanded = secret.expand(&purpose, length).and_then(|expanded| expanded.fill(out));
    expanded.expect("HKDF gives as many bytes");
}
