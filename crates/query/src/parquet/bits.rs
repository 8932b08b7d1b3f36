//! Small numbers in runs or packed in bits, as levels and indices are ("Encodings": RLE / bit-packing hybrid).

use bytes::Bytes;

pub(super) struct Hybrid {
    bytes: Bytes,
    at: usize,
    width: u8,
    run: Run,
}

enum Run {
    Same {
        left: u64,
        value: u32,
    },
    /// From this bit on.
    Packed {
        left: u64,
        bit: u64,
    },
}

impl Hybrid {
    pub(super) fn new(bytes: Bytes, width: u8) -> Self {
        Self { bytes, at: 0, width, run: Run::Same { left: 0, value: 0 } }
    }

    /// Packed to the end, without runs.
    pub(super) fn packed(bytes: Bytes, width: u8) -> Self {
        Self { bytes, at: 0, width, run: Run::Packed { left: u64::MAX, bit: 0 } }
    }

    /// `None` where there are none left.
    pub(super) fn next(&mut self) -> Option<u32> {
        loop {
            match &mut self.run {
                Run::Same { left, value } if *left > 0 => {
                    *left -= 1;
                    return Some(*value);
                }
                Run::Packed { left, bit } if *left > 0 => {
                    let from = *bit;
                    *left -= 1;
                    *bit += u64::from(self.width);
                    return self.bits(from);
                }
                // Without any width there is one value, and nothing need be written.
                Run::Same { .. } | Run::Packed { .. } if self.width == 0 => return Some(0),
                Run::Same { .. } | Run::Packed { .. } => self.turn()?,
            }
        }
    }

    fn turn(&mut self) -> Option<()> {
        let header = self.varint()?;
        let count = header >> 1;
        if header & 1 == 1 {
            self.run = Run::Packed { left: count.checked_mul(8)?, bit: self.at as u64 * 8 };
            let length = usize::try_from(count.checked_mul(u64::from(self.width))?).ok()?;
            self.at = self.at.saturating_add(length).min(self.bytes.len());
        } else {
            let length = usize::from(self.width).div_ceil(8);
            let bytes = self.bytes.get(self.at..self.at + length)?;
            let value = bytes.iter().rev().fold(0_u32, |value, byte| value << 8 | u32::from(*byte));
            self.at += length;
            self.run = Run::Same { left: count, value };
        }
        (count > 0).then_some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0_u64, 0);
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
        }
    }

    fn bits(&self, from: u64) -> Option<u32> {
        let (first, shift) = (usize::try_from(from / 8).ok()?, from % 8);
        let needed = (shift + u64::from(self.width)).div_ceil(8) as usize;
        let bytes = self.bytes.get(first..first + needed)?;
        let joined = bytes.iter().rev().fold(0_u64, |joined, byte| joined << 8 | u64::from(*byte));
        Some(((joined >> shift) & ((1_u64 << self.width) - 1)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_packed_numbers() {
        // The specification's example: 0 to 7 in three bits.
        let mut packed = Hybrid::new(Bytes::from_static(&[3, 0x88, 0xc6, 0xfa]), 3);
        assert_eq!((0..8).map(|_| packed.next()).collect::<Vec<_>>(), (0..8).map(Some).collect::<Vec<_>>());
        assert_eq!(packed.next(), None);
        let mut run = Hybrid::new(Bytes::from_static(&[6, 0x34, 0x12, 2, 1, 0]), 12);
        assert_eq!(
            [run.next(), run.next(), run.next(), run.next()],
            [Some(0x1234), Some(0x1234), Some(0x1234), Some(1)]
        );
        assert_eq!(run.next(), None);
        assert_eq!(Hybrid::new(Bytes::new(), 0).next(), Some(0));
        for bad in [&[][..], &[0], &[0xff; 12], &[3]] {
            assert_eq!(Hybrid::new(Bytes::copy_from_slice(bad), 3).next(), None, "{bad:?}");
        }
    }
}
