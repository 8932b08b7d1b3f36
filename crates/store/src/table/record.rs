//! An entity read where it is stored, with nothing copied. A scan looks at far more entities than it answers, and of each at one or two
//! properties; so a property is found by passing over those before it.
//!
//! Held true: what is read is what [`crate::records::decode`] reads of the same bytes, or nothing (`tests`).
//!
//! ```text
//! record   = 1, modified varint, count varint, property*
//! property = length varint, name, type, value          postcard's encoding of model's Entity
//! ```

use std::ops::{BitOrAssign, Shl};

use lazuli_model::Timestamp;
use lazuli_model::table::Seen;

const VERSION: u8 = 1;

/// What follows in a record. A reader gets `None` when there is no such thing.
#[derive(Clone, Copy)]
pub struct EntityRecord<'a> {
    /// From here on, so that a query that does not ask for it need not read it.
    modified: Rest<'a>,
    count: u64,
    properties: Rest<'a>,
}

impl<'a> EntityRecord<'a> {
    #[inline]
    pub fn open(record: &'a [u8]) -> Option<Self> {
        let mut rest = Rest(record);
        if rest.byte()? != VERSION {
            return None;
        }
        let modified = rest;
        rest.skip_number()?;
        Some(Self { modified, count: rest.number()?, properties: rest })
    }

    pub fn modified(mut self) -> Option<Timestamp> {
        self.modified.number().map(Timestamp::from_ticks)
    }

    /// The value of a property, if the entity has it.
    #[inline]
    pub fn find(&self, name: &str) -> Option<Option<Seen<'a>>> {
        let mut rest = self.properties;
        for _ in 0..self.count {
            if rest.bytes()? == name.as_bytes() {
                return rest.value().map(Some);
            }
            rest.skip_value()?;
        }
        Some(None)
    }

    /// All of them, into `properties`, and nothing behind them.
    pub fn read(&self, properties: &mut Vec<(&'a str, Seen<'a>)>) -> Option<()> {
        let mut rest = self.properties;
        properties.clear();
        for _ in 0..self.count {
            properties.push((rest.text()?, rest.value()?));
        }
        rest.0.is_empty().then_some(())
    }
}

/// Bytes that are not read yet.
#[derive(Clone, Copy)]
pub(super) struct Rest<'a>(pub &'a [u8]);

impl<'a> Rest<'a> {
    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    #[inline]
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    #[inline]
    fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(first.into());
        }
        self.long(first, u64::BITS)
    }

    /// Nothing but the last byte of a number is below 80 hex.
    #[inline]
    fn skip_number(&mut self) -> Option<()> {
        let length = self.0.iter().position(|byte| *byte < 0x80)?;
        self.0 = &self.0[length + 1..];
        Some(())
    }

    /// Seven bits to a byte, the least first, and the highest bit in all but the last.
    fn long<N>(&mut self, first: u8, bits: u32) -> Option<N>
    where
        N: From<u8> + Shl<u32, Output = N> + BitOrAssign,
    {
        let (mut number, mut byte, mut shift) = (N::from(first & 0x7f), first, 0);
        while byte >= 0x80 {
            shift += 7;
            byte = self.byte()?;
            if shift >= bits || (shift + 7 > bits && byte >> (bits - shift) != 0) {
                return None;
            }
            number |= N::from(byte & 0x7f) << shift;
        }
        Some(number)
    }

    #[inline]
    fn narrow(&mut self) -> Option<u32> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(first.into());
        }
        self.long(first, u32::BITS)
    }

    #[inline]
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(usize::try_from(length).ok()?)
    }

    #[inline]
    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    #[inline]
    pub fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    #[inline]
    pub fn value(&mut self) -> Option<Seen<'a>> {
        // Zigzag: the sign is the lowest bit.
        Some(match self.narrow()? {
            0 => Seen::String(self.text()?),
            1 => Seen::Binary(self.bytes()?),
            2 => Seen::Boolean(self.flag()?),
            3 => {
                let number = self.narrow()?;
                Seen::Int32((number >> 1) as i32 ^ -((number & 1) as i32))
            }
            4 => {
                let number = self.number()?;
                Seen::Int64((number >> 1) as i64 ^ -((number & 1) as i64))
            }
            5 => Seen::Double(f64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            6 => Seen::DateTime(Timestamp::from_ticks(self.number()?)),
            7 => {
                let first = self.byte()?;
                Seen::Guid(self.long::<u128>(first, u128::BITS)?.into())
            }
            _ => return None,
        })
    }

    #[inline]
    fn skip_value(&mut self) -> Option<()> {
        match self.narrow()? {
            0 | 1 => self.bytes().map(drop),
            2 => self.byte().map(drop),
            5 => self.take(8).map(drop),
            3 | 4 | 6 | 7 => self.skip_number(),
            _ => None,
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
