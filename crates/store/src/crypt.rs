//! Content that is encrypted by a customer's key, or by that of an encryption scope: AES-256 in counter mode, from a nonce of its own for each body, so that any
//! range can be read without the rest. docs/decisions has why.
//!
//! Held true: a customer's key is in memory while its request lasts, is never printed, and is never stored; what is stored is the nonce,
//! and in the blob's record the key's SHA-256. Whoever calls has compared that with the key. The key of a scope is derived from a
//! secret of its account, and is not printed either.

use std::fmt;

use aes::Aes256;
use bytes::{Bytes, BytesMut};
use crc_fast::CrcAlgorithm;
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use serde::{Deserialize, Serialize};

/// A key that came with a request, and its SHA-256; or that of a scope, of which nobody asks for a hash.
#[derive(Clone)]
pub struct CustomerKey {
    key: [u8; 32],
    hash: [u8; 32],
}

/// The counter's first value. Never twice with one key: it is as long as a key's block, and random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nonce([u8; 16]);

/// How a body is to be encrypted: by which key, and from which random number on.
pub struct Lock {
    key: CustomerKey,
    nonce: Nonce,
}

impl Lock {
    pub(crate) fn is_by(&self, key: &CustomerKey) -> bool {
        self.key.key == key.key
    }

    /// The lock for one of several bodies of one request: each begins so far from the others that their counters never meet.
    pub(crate) fn part(&mut self) -> Lock {
        let part = Lock { key: self.key.clone(), nonce: self.nonce };
        let next = u128::from_be_bytes(self.nonce.0).wrapping_add(1 << 64);
        self.nonce = Nonce(next.to_be_bytes());
        part
    }
}

impl CustomerKey {
    pub fn new(key: [u8; 32], hash: [u8; 32]) -> Self {
        Self { key, hash }
    }

    pub fn hash(&self) -> [u8; 32] {
        self.hash
    }

    /// For one body. `random` must be so.
    pub fn lock(&self, random: u128) -> Lock {
        Lock { key: self.clone(), nonce: Nonce(random.to_be_bytes()) }
    }

    /// Encrypts or decrypts what stands at `offset` of a body.
    pub(crate) fn apply(&self, nonce: Nonce, offset: u64, bytes: Bytes) -> Bytes {
        let mut cipher = self.cipher(nonce);
        cipher.seek(offset);
        keyed(&mut cipher, bytes)
    }

    fn cipher(&self, nonce: Nonce) -> Ctr128BE<Aes256> {
        Ctr128BE::new(&self.key.into(), &nonce.0.into())
    }
}

fn keyed(cipher: &mut Ctr128BE<Aes256>, bytes: Bytes) -> Bytes {
    // In place when nobody else has the bytes.
    let mut bytes = bytes.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
    cipher.apply_keystream(&mut bytes);
    bytes.freeze()
}

impl fmt::Debug for CustomerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomerKey(…)")
    }
}

/// A body on its way in.
pub(crate) struct Sealing {
    nonce: Nonce,
    cipher: Ctr128BE<Aes256>,
    crc64: crc_fast::Digest,
}

impl Sealing {
    pub fn new(lock: Lock) -> Self {
        let cipher = lock.key.cipher(lock.nonce);
        Self { nonce: lock.nonce, cipher, crc64: crc_fast::Digest::new(CrcAlgorithm::Crc64Nvme) }
    }

    pub fn nonce(&self) -> Nonce {
        self.nonce
    }

    /// The next bytes, encrypted.
    pub fn seal(&mut self, bytes: Bytes) -> Bytes {
        self.crc64.update(&bytes);
        keyed(&mut self.cipher, bytes)
    }

    /// Of what the client sent.
    pub fn crc64(self) -> u64 {
        self.crc64.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST SP 800-38A, F.5.5.
    #[test]
    fn the_published_vector() {
        let hex = |text: &str| -> Vec<u8> {
            (0..text.len() / 2).map(|at| u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).unwrap()).collect()
        };
        let key: [u8; 32] = hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4").try_into().unwrap();
        let lock = CustomerKey::new(key, [0; 32]).lock(0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_feff);
        let plain = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
        let sealed = Sealing::new(lock).seal(plain.into());
        assert_eq!(sealed[..], hex("601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5")[..]);
    }

    #[test]
    fn any_range_can_be_opened_alone() {
        let key = CustomerKey::new([7; 32], [0; 32]);
        let plain: Vec<u8> = (0..1000u32).map(|byte| byte as u8).collect();
        let mut sealing = Sealing::new(key.lock(u128::MAX)); // the counter goes round
        let nonce = sealing.nonce();
        let sealed: Vec<u8> = plain.chunks(37).flat_map(|part| sealing.seal(Bytes::copy_from_slice(part))).collect();
        assert_ne!(sealed, plain);
        for (from, to) in [(0, 1000), (0, 1), (15, 17), (16, 32), (999, 1000), (500, 500)] {
            let range = Bytes::copy_from_slice(&sealed[from..to]);
            assert_eq!(key.apply(nonce, from as u64, range)[..], plain[from..to]);
        }
    }
}
