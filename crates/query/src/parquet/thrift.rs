//! Thrift's compact protocol, as far as Parquet's metadata are written in it, read field by field: what nobody asks for is passed over,
//! and nothing is kept of it. Whatever the bytes are, reading ends; depth is bounded for structs, lists, sets and maps alike.

use lazuli_model::depth::Depth;

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// How a field is written: the low half of its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind(u8);

const TRUE: Kind = Kind(1);
const FALSE: Kind = Kind(2);
const STRUCT: Kind = Kind(12);

/// A struct that is being read.
pub(super) struct Fields {
    last: i16,
    /// For what is inside.
    pub depth: Depth,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How much has been read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Begins a struct; then call `next` until it gives no field.
    pub(super) fn fields(&self, depth: Depth) -> Option<Fields> {
        Some(Fields { last: 0, depth: depth.deeper()? })
    }

    /// Begins a struct that is a field.
    pub(super) fn structure(&self, kind: Kind, depth: Depth) -> Option<Fields> {
        if kind == STRUCT { self.fields(depth) } else { None }
    }

    /// The next field: its number and how it is written. It has to be read, or skipped. `Some(None)` at the end of the struct.
    pub(super) fn next(&mut self, fields: &mut Fields) -> Option<Option<(i16, Kind)>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        fields.last = match head >> 4 {
            0 => i16::try_from(self.zigzag()?).ok()?,
            delta => fields.last.checked_add(i16::from(delta))?,
        };
        Some(Some((fields.last, Kind(head & 15))))
    }

    pub(super) fn int(&mut self, kind: Kind) -> Option<i64> {
        match kind.0 {
            3 => Some(i64::from(self.byte()? as i8)),
            4..=6 => self.zigzag(),
            _ => None,
        }
    }

    /// Of a field, whose header is its value.
    pub(super) fn flag(&self, kind: Kind) -> Option<bool> {
        match kind {
            TRUE => Some(true),
            FALSE => Some(false),
            _ => None,
        }
    }

    pub(super) fn text(&mut self, kind: Kind) -> Option<&'a str> {
        std::str::from_utf8(if kind == Kind(8) { self.binary()? } else { return None }).ok()
    }

    /// How many structs a list has; they follow.
    pub(super) fn structs(&mut self, kind: Kind) -> Option<u64> {
        let (count, inner) = if matches!(kind.0, 9 | 10) { self.list()? } else { return None };
        (count == 0 || inner == STRUCT).then_some(count)
    }

    /// Passes over a field.
    pub(super) fn skip(&mut self, kind: Kind, depth: Depth) -> Option<()> {
        if kind == TRUE || kind == FALSE { Some(()) } else { self.skip_value(kind, depth) }
    }

    /// Passes over an element, which unlike a field has its booleans in bytes.
    fn skip_value(&mut self, kind: Kind, depth: Depth) -> Option<()> {
        match kind.0 {
            1..=3 => self.byte().map(drop),
            4..=6 => self.varint().map(drop),
            7 => self.take(8).map(drop),
            8 => self.binary().map(drop),
            9 | 10 => {
                let depth = depth.deeper()?;
                let (count, inner) = self.list()?;
                (0..count).try_for_each(|_| self.skip_value(inner, depth))
            }
            11 => {
                let depth = depth.deeper()?;
                let count = self.varint()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                (0..count).try_for_each(|_| {
                    self.skip_value(Kind(kinds >> 4), depth)?;
                    self.skip_value(Kind(kinds & 15), depth)
                })
            }
            12 => {
                let mut fields = self.fields(depth)?;
                while let Some((_, kind)) = self.next(&mut fields)? {
                    self.skip(kind, fields.depth)?;
                }
                Some(())
            }
            13 => self.take(16).map(drop),
            _ => None,
        }
    }

    fn list(&mut self) -> Option<(u64, Kind)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        Some((count, Kind(head & 15)))
    }

    fn binary(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        self.take(length)
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let bytes = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(bytes)
    }

    fn varint(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0_u64, 0);
        loop {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
        }
    }

    fn zigzag(&mut self) -> Option<i64> {
        let number = self.varint()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lazuli_model::depth;

    fn skip(bytes: &[u8]) -> Option<usize> {
        let mut reader = Reader::new(bytes);
        reader.skip_value(STRUCT, depth::THRIFT).map(|()| reader.at())
    }

    /// C2: a list in a list in a list, 100,000 times, ended the process. So would sets and maps.
    #[test]
    fn nothing_is_deeper_than_it_may_be() {
        for (name, level) in [("lists", &[0x19_u8][..]), ("sets", &[0x1a]), ("maps", &[1, 0xbb]), ("structs", &[0x1c])]
        {
            let nested = |levels: usize| [&[0x10 | (level[level.len() - 1] & 15)][..], &level.repeat(levels)].concat();
            assert_eq!(skip(&nested(100_000)), None, "{name}");
        }
        // A struct with a list of one list of one empty list, and so on, as far as it goes.
        let lists = |levels: usize| [&[0x19][..], &[0x19].repeat(levels), &[0x09, 0]].concat();
        assert_eq!(skip(&lists(10)), Some(13));
        assert_eq!(skip(&lists(30)), None);
    }

    #[test]
    fn every_kind_is_passed_over() {
        let bytes = [
            &[0x11, 0x12, 0x13, 7, 0x14, 2, 0x15, 2, 0x16, 0x80, 1][..],
            &[0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0x18, 2, b'a', b'b', 0x19, 0x21, 1, 0, 0x1a, 0x03],
            &[0x1b, 0, 0x1b, 1, 0x35, 1, 2, 0x1c, 0, 0x1d],
            &[0; 16],
            &[0],
        ];
        let bytes = bytes.concat();
        assert_eq!(skip(&bytes), Some(bytes.len()));
        for end in 0..bytes.len() {
            assert_eq!(skip(&bytes[..end]), None, "{end}");
        }
    }
}
