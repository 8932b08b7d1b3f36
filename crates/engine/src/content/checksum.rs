//! CRC64 (NVME), the checksum of blocks, of pieces and of whole content, so that each byte is summed once:
//! the whole is computed from its blocks.

use std::sync::LazyLock;

use crc_fast::CrcAlgorithm::Crc64Nvme;
use crc_fast::{Digest, checksum, checksum_combine};

/// Content is checked in blocks of this many bytes.
pub(crate) const BLOCK: usize = 64 << 10;

pub(crate) fn crc64(bytes: &[u8]) -> u64 {
    checksum(Crc64Nvme, bytes)
}

/// What a block of zeros does to the checksum before it, as a matrix over GF(2): one column for each bit.
/// `checksum_combine` builds this for every call (about 50 µs); for one length it is worth keeping.
static PAST_BLOCK: LazyLock<[u64; 64]> =
    LazyLock::new(|| std::array::from_fn(|bit| checksum_combine(Crc64Nvme, 1 << bit, 0, BLOCK as u64)));

/// The checksum of everything so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Running(u64);

impl Running {
    /// Takes the next block in; `bytes` have the checksum `crc`.
    pub fn push(&mut self, bytes: &[u8], crc: u64) {
        if bytes.len() == BLOCK {
            let moved = (0..64).filter(|bit| self.0 >> bit & 1 == 1).fold(0, |sum, bit| sum ^ PAST_BLOCK[bit]);
            self.0 = moved ^ crc;
        } else {
            // A shorter block is the last one of its buffer: going over it again costs at most 3 µs.
            let mut digest = Digest::new_with_init_state(Crc64Nvme, !self.0);
            digest.update(bytes);
            self.0 = digest.finalize();
        }
    }

    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_add_up_to_the_whole() {
        let bytes: Vec<u8> = (0..BLOCK * 5 + 777).map(|i| ((i * 31) >> 3) as u8).collect();
        for length in [0, 1, 777, BLOCK - 1, BLOCK, BLOCK + 1, BLOCK * 3, BLOCK * 5 + 777] {
            let mut running = Running::default();
            bytes[..length].chunks(BLOCK).for_each(|block| running.push(block, crc64(block)));
            assert_eq!(running.value(), crc64(&bytes[..length]), "{length} bytes");
        }
        assert_eq!(crc64(b"123456789"), 0xae8b14860a799888, "the check value of CRC-64/NVME");
    }
}
