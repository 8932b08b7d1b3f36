//! MD5 of many uploads at once. `lanes` is the arithmetic, `service` the threads that do it for all uploads of a store.
//!
//! Held true: a digest depends on the bytes alone, not on how they were cut up nor on which streams went beside it.

mod lanes;
mod service;

pub use service::{Digests, Job};

use lanes::{INITIAL, Md5Block, Words, advance_one};

/// A digest on its way: what MD5 has made of the whole blocks so far, and the bytes since the last of them.
pub struct Md5 {
    state: Words,
    /// The first `length % 64` of these count.
    tail: Md5Block,
    length: u64,
}

impl Md5 {
    pub fn new() -> Self {
        Self { state: INITIAL, tail: [0; 64], length: 0 }
    }

    fn in_tail(&self) -> usize {
        (self.length % 64) as usize
    }

    /// Takes bytes into the tail, up to the end of its block, and says how many.
    fn fill(&mut self, bytes: &[u8]) -> usize {
        let from = self.in_tail();
        let count = bytes.len().min(64 - from);
        self.tail[from..from + count].copy_from_slice(&bytes[..count]);
        self.length += count as u64;
        if from + count == 64 {
            advance_one(&mut self.state, &[self.tail]);
        }
        count
    }

    /// The padding of RFC 1321, 3.1 and 3.2: a one bit, zeros, and the length in bits, in a block or two.
    pub fn finish(mut self) -> [u8; 16] {
        let bits = self.length.wrapping_mul(8).to_le_bytes();
        let from = self.in_tail();
        self.tail[from] = 0x80;
        self.tail[from + 1..].fill(0);
        if from + 1 > 56 {
            advance_one(&mut self.state, &[self.tail]);
            self.tail.fill(0);
        }
        self.tail[56..].copy_from_slice(&bits);
        advance_one(&mut self.state, &[self.tail]);
        let mut digest = [0; 16];
        for (at, word) in digest.chunks_exact_mut(4).zip(self.state) {
            at.copy_from_slice(&word.to_le_bytes());
        }
        digest
    }
}

#[cfg(test)]
mod tests;
