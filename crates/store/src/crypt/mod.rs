//! Content that is encrypted by a customer's key, or by that of an encryption scope (docs/decisions/0006-customer-keys.md draws the bytes).
//!
//! Held true:
//! * A customer's key is in memory while its request lasts, is never printed, and is never stored. What is stored is a nonce for each
//!   body, and in the blob's record the key's SHA-256. Callers have compared that with the key. The key of a scope is derived
//!   from a secret of its account, and is not printed either.
//! * A body is encrypted once, from a random nonce of its own, whatever is copied or shared of it afterwards.
//! * New bodies are in authenticated segments: what is read is what was sent, or `Fault::Corrupt`. Bodies in counter mode, from earlier
//!   versions, are still read, and have the extents' checksums only.

mod counter;
mod segments;
#[cfg(test)]
mod tests;

use std::fmt;

use bytes::Bytes;
use lazuli_engine::Fault;
use lazuli_engine::content::{Chunks, Content, Piece};
use serde::{Deserialize, Serialize};

pub(crate) use segments::{SEGMENT, Sealing};

/// A key that came with a request, and its SHA-256; or that of a scope, of which nobody asks for a hash.
#[derive(Clone)]
pub struct CustomerKey {
    key: [u8; 32],
    hash: [u8; 32],
}

/// What makes the encryption of a body unlike that of any other under the same key. Random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nonce([u8; 16]);

/// How a body is to be encrypted: by which key, and with which nonce.
pub struct Lock {
    key: CustomerKey,
    nonce: Nonce,
}

impl Lock {
    pub(crate) fn is_by(&self, key: &CustomerKey) -> bool {
        self.key.key == key.key
    }

    /// The lock for one of several bodies of one request, with a nonce that no other has.
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
}

impl fmt::Debug for CustomerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomerKey(…)")
    }
}

/// How a body is stored. The first two are encoded as the `Option<Nonce>` that records had before there were segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cipher {
    /// As it was sent.
    None,
    Counter(Nonce),
    Segments(Nonce),
}

impl Cipher {
    /// How many bytes a body of `length` takes.
    pub(crate) fn stored_length(self, length: u64) -> u64 {
        match self {
            Cipher::None | Cipher::Counter(_) => length,
            Cipher::Segments(_) => segments::stored_length(length),
        }
    }

    /// For a place that holds the part of a body of `length` bytes which begins at `at`.
    pub(crate) fn part(self, at: u64, length: u64) -> Sealed {
        match self {
            Cipher::None => Sealed::None,
            Cipher::Counter(nonce) => Sealed::Counter { nonce, at },
            Cipher::Segments(nonce) => Sealed::Segments { nonce, at, length },
        }
    }
}

/// How the bytes of a place are stored: as part of a body, in which they begin at `at`. The first two are encoded as the option that
/// windows had before there were segments. Offsets and lengths are those of what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sealed {
    None,
    Counter {
        nonce: Nonce,
        at: u64,
    },
    /// `length` is that of the whole body.
    Segments {
        nonce: Nonce,
        at: u64,
        length: u64,
    },
}

impl Sealed {
    /// How much of its body a place of `stored` bytes holds.
    pub(crate) fn length(self, stored: u64) -> u64 {
        match self {
            Sealed::None | Sealed::Counter { .. } => stored,
            Sealed::Segments { .. } => segments::sent_length(stored),
        }
    }

    /// Whether bytes of a place can be read without the rest of it.
    pub(crate) fn can_be_cut(self) -> bool {
        match self {
            Sealed::None | Sealed::Counter { .. } => true,
            Sealed::Segments { .. } => false,
        }
    }

    /// The bytes `from..to` of a place that is a piece, as they were sent.
    pub(crate) fn read(
        self,
        content: &dyn Content,
        key: Option<&CustomerKey>,
        piece: Piece,
        from: u64,
        to: u64,
    ) -> Result<Box<dyn Chunks>, Fault> {
        match self {
            Sealed::None => Ok(content.read(piece, from, to)),
            Sealed::Counter { nonce, at } => {
                Ok(Box::new(counter::Opening::new(required(key)?, nonce, at + from, content.read(piece, from, to))))
            }
            Sealed::Segments { nonce, at, length } => {
                let range = segments::Range::of(at, length, from, to)?;
                let stored = range.stored(piece.length);
                let stream = content.read(piece, stored.start, stored.end);
                Ok(Box::new(segments::Opening::new(required(key)?, nonce, range, stream)))
            }
        }
    }

    /// The same of a place that is all in `stored`.
    pub(crate) fn open(self, key: Option<&CustomerKey>, stored: &Bytes, from: u64, to: u64) -> Result<Bytes, Fault> {
        let cut = |from: u64, to: u64| {
            let within = from <= to && to <= stored.len() as u64;
            let cut = within.then(|| stored.slice(from as usize..to as usize));
            cut.ok_or_else(|| Fault::Corrupt("a row has fewer bytes than its record says".into()))
        };
        match self {
            Sealed::None => cut(from, to),
            Sealed::Counter { nonce, at } => Ok(counter::apply(required(key)?, nonce, at + from, cut(from, to)?)),
            Sealed::Segments { nonce, at, length } => {
                let range = segments::Range::of(at, length, from, to)?;
                let part = range.stored(stored.len() as u64);
                range.open(required(key)?, nonce, cut(part.start, part.end)?)
            }
        }
    }
}

fn required(key: Option<&CustomerKey>) -> Result<&CustomerKey, Fault> {
    key.ok_or_else(|| Fault::Corrupt("encrypted content was opened without its key".into()))
}
