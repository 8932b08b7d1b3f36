//! AES-256 in counter mode: how bodies were encrypted before there were segments. Byte *n* of a body is keyed by its place alone.
//! Only read any more.

use aes::Aes256;
use bytes::{Bytes, BytesMut};
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use lazuli_engine::content::Chunks;
use lazuli_engine::{BoxFuture, Fault};

use super::{CustomerKey, Nonce};

/// Encrypts or decrypts what stands at `offset` of a body.
pub(super) fn apply(key: &CustomerKey, nonce: Nonce, offset: u64, bytes: Bytes) -> Bytes {
    keyed(&mut cipher(key, nonce, offset), bytes)
}

fn cipher(key: &CustomerKey, nonce: Nonce, offset: u64) -> Ctr128BE<Aes256> {
    let mut cipher = Ctr128BE::new(&key.key.into(), &nonce.0.into());
    cipher.seek(offset);
    cipher
}

fn keyed(cipher: &mut Ctr128BE<Aes256>, bytes: Bytes) -> Bytes {
    // In place when nobody else has the bytes.
    let mut bytes = bytes.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
    cipher.apply_keystream(&mut bytes);
    bytes.freeze()
}

/// A piece on its way out.
pub(super) struct Opening {
    cipher: Ctr128BE<Aes256>,
    stored: Box<dyn Chunks>,
}

impl Opening {
    pub fn new(key: &CustomerKey, nonce: Nonce, offset: u64, stored: Box<dyn Chunks>) -> Self {
        Self { cipher: cipher(key, nonce, offset), stored }
    }
}

impl Chunks for Opening {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Fault>> {
        Box::pin(async { Ok(self.stored.next().await?.map(|bytes| keyed(&mut self.cipher, bytes))) })
    }
}
