//! Values told by how they differ from the ones before ("Encodings": the three delta encodings).
//!
//! Held true: how many there are is what a page claims; nothing is set aside for a claim, and each value is made when it is asked for.

use bytes::Bytes;

use super::Bad;

/// DELTA_BINARY_PACKED: blocks of miniblocks, in which the differences are packed in bits.
pub(super) struct Deltas {
    bytes: Bytes,
    at: usize,
    /// Of a miniblock, how many numbers.
    per: u64,
    miniblocks: usize,
    /// Numbers that are still to come.
    left: u64,
    /// The next one.
    value: i64,
    least: i64,
    /// Of the miniblocks of this block that are still to come, from this byte to that.
    widths: (usize, usize),
    packed: Packed,
}

#[derive(Default)]
struct Packed {
    width: u32,
    bit: u64,
    left: u64,
}

impl Deltas {
    pub(super) fn new(bytes: Bytes) -> Result<Self, Bad> {
        let mut at = 0;
        let mut header = [0; 3];
        for number in &mut header {
            *number = varint(&bytes, &mut at).ok_or(Bad::Corrupt)?;
        }
        let value = zigzag(varint(&bytes, &mut at).ok_or(Bad::Corrupt)?);
        let [block, miniblocks, left] = header;
        let per = block.checked_div(miniblocks).filter(|per| *per > 0 && per % 8 == 0).ok_or(Bad::Corrupt)?;
        let miniblocks = usize::try_from(miniblocks).map_err(|_| Bad::Corrupt)?;
        Ok(Self { bytes, at, per, miniblocks, left, value, least: 0, widths: (0, 0), packed: Packed::default() })
    }

    pub(super) fn next(&mut self) -> Result<i64, Bad> {
        self.left = self.left.checked_sub(1).ok_or(Bad::Corrupt)?;
        let value = self.value;
        if self.left > 0 {
            if self.packed.left == 0 {
                self.turn().ok_or(Bad::Corrupt)?;
            }
            self.packed.left -= 1;
            let delta = self.bits().ok_or(Bad::Corrupt)?;
            self.value = value.wrapping_add(self.least).wrapping_add(delta as i64);
        }
        Ok(value)
    }

    /// What comes after the numbers, of which none was taken yet.
    pub(super) fn rest(&self) -> Result<Bytes, Bad> {
        let mut walk = Self { bytes: self.bytes.clone(), widths: self.widths, packed: Packed::default(), ..*self };
        let mut left = self.left.saturating_sub(1);
        while left > 0 {
            walk.turn().ok_or(Bad::Corrupt)?;
            left = left.saturating_sub(self.per);
        }
        Ok(self.bytes.slice(walk.at..))
    }

    /// The next miniblock. The last one is as long as the others, even if it is not full.
    fn turn(&mut self) -> Option<()> {
        if self.widths.0 == self.widths.1 {
            self.least = zigzag(varint(&self.bytes, &mut self.at)?);
            self.widths = (self.at, self.at.checked_add(self.miniblocks)?);
            self.at = self.widths.1;
        }
        let width = *self.bytes.get(self.widths.0).filter(|width| **width <= 64)?;
        self.widths.0 += 1;
        self.packed = Packed { width: u32::from(width), bit: self.at as u64 * 8, left: self.per };
        let length = usize::try_from(self.per.checked_mul(u64::from(width))? / 8).ok()?;
        self.at = self.at.checked_add(length).filter(|at| *at <= self.bytes.len())?;
        Some(())
    }

    fn bits(&mut self) -> Option<u64> {
        let width = self.packed.width;
        let (first, shift) = (usize::try_from(self.packed.bit / 8).ok()?, (self.packed.bit % 8) as u32);
        let bytes = self.bytes.get(first..first + (shift + width).div_ceil(8) as usize)?;
        self.packed.bit += u64::from(width);
        let joined = bytes.iter().rev().fold(0_u128, |joined, byte| joined << 8 | u128::from(*byte));
        Some(((joined >> shift) & ((1_u128 << width) - 1)) as u64)
    }
}

/// DELTA_LENGTH_BYTE_ARRAY: all lengths, then all bytes.
pub(super) struct Lengths {
    lengths: Deltas,
    bytes: Bytes,
}

impl Lengths {
    pub(super) fn new(bytes: Bytes) -> Result<Self, Bad> {
        let lengths = Deltas::new(bytes)?;
        let bytes = lengths.rest()?;
        Ok(Self { lengths, bytes })
    }

    pub(super) fn next(&mut self) -> Result<Bytes, Bad> {
        let length = usize::try_from(self.lengths.next()?).ok().filter(|length| *length <= self.bytes.len());
        Ok(self.bytes.split_to(length.ok_or(Bad::Corrupt)?))
    }
}

/// DELTA_BYTE_ARRAY: how much of the value before each one begins with, then what else it has.
pub(super) struct Prefixes {
    prefixes: Deltas,
    suffixes: Lengths,
    last: Vec<u8>,
}

impl Prefixes {
    pub(super) fn new(bytes: Bytes) -> Result<Self, Bad> {
        let prefixes = Deltas::new(bytes)?;
        let suffixes = Lengths::new(prefixes.rest()?)?;
        Ok(Self { prefixes, suffixes, last: Vec::new() })
    }

    pub(super) fn next(&mut self) -> Result<&[u8], Bad> {
        let prefix = usize::try_from(self.prefixes.next()?).ok().filter(|prefix| *prefix <= self.last.len());
        self.last.truncate(prefix.ok_or(Bad::Corrupt)?);
        self.last.extend_from_slice(&self.suffixes.next()?);
        Ok(&self.last)
    }
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let (mut number, mut shift) = (0_u64, 0);
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

fn zigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's examples, in blocks of 8 in one miniblock.
    #[test]
    fn numbers_that_differ_by_little() {
        let all = |bytes: &'static [u8], count: usize| {
            let mut deltas = Deltas::new(Bytes::from_static(bytes)).unwrap();
            let rest = deltas.rest().unwrap();
            ((0..count).map(|_| deltas.next()).collect::<Result<Vec<_>, _>>(), rest)
        };
        let same = all(&[8, 1, 5, 2, 2, 0, 9], 5);
        assert_eq!(same, (Ok(vec![1, 2, 3, 4, 5]), Bytes::from_static(&[9])));
        // 7, 5, 3, 1, 2, 3, 4, 5: the least difference is -2, the others are 0 0 0 3 3 3 3 in two bits.
        let bytes = &[8, 1, 8, 14, 3, 2, 0b1100_0000, 0b0011_1111, 7];
        assert_eq!(all(bytes, 8), (Ok(vec![7, 5, 3, 1, 2, 3, 4, 5]), Bytes::from_static(&[7])));
        assert_eq!(all(&[8, 1, 0, 0], 0).0, Ok(vec![]));
        assert_eq!(all(&[8, 1, 1, 3], 2).0, Err(Bad::Corrupt));
    }

    #[test]
    fn claims_cost_nothing_and_nonsense_is_refused() {
        // As many as can be written, all the same, and nothing else to read.
        let many = [&[0x80, 1, 1][..], &[0xff; 9], &[1, 0, 0, 0]].concat();
        let mut deltas = Deltas::new(Bytes::from(many)).unwrap();
        assert_eq!((0..300).filter(|_| deltas.next().is_ok()).count(), 128);
        for bad in [&[][..], &[8], &[8, 0, 1, 0], &[7, 1, 1, 0], &[0x80, 1, 1]] {
            assert!(Deltas::new(Bytes::copy_from_slice(bad)).is_err(), "{bad:?}");
        }
        let wide = Deltas::new(Bytes::from_static(&[8, 1, 3, 0, 0, 65, 0, 0])).unwrap();
        assert_eq!(wide.rest(), Err(Bad::Corrupt));
    }
}
