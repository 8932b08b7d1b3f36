//! Little-endian fields, read from bytes that are never trusted and written to a buffer that grows.
//!
//! A [`Source`] never reads beyond its end and never allocates by a number that it has read. Offsets are counted from its first
//! byte, as SMB2 counts them from a message's header.

use bytes::{BufMut, Bytes, BytesMut};

/// Why bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes end before the value does.
    Short,
    /// Not the protocol's four letters, or not at their place.
    Signature,
    /// A structure's first field is not the size that the structure has.
    StructureSize,
    /// An offset or a length points outside, or into what comes before.
    Range,
    /// More of something than one message may have.
    Count,
    /// A length that the value cannot have.
    Length,
    /// A field with a value that has no meaning.
    Value,
}

pub type Parsed<T> = Result<T, Malformed>;

/// Bytes that are read from front to back, with looks at other places.
#[derive(Clone, Debug)]
pub struct Source {
    bytes: Bytes,
    at: usize,
}

impl Source {
    pub fn new(bytes: Bytes) -> Self {
        Self { bytes, at: 0 }
    }

    /// Begins at `at`; offsets still count from the first byte.
    pub fn starting(bytes: Bytes, at: usize) -> Self {
        Self { bytes, at }
    }

    pub fn position(&self) -> usize {
        self.at
    }

    pub fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    pub fn array<const N: usize>(&mut self) -> Parsed<[u8; N]> {
        let end = self.at.checked_add(N).ok_or(Malformed::Short)?;
        let bytes = self.bytes.get(self.at..end).ok_or(Malformed::Short)?;
        self.at = end;
        bytes.try_into().map_err(|_| Malformed::Short)
    }

    pub fn skip(&mut self, count: usize) -> Parsed<()> {
        self.take(count).map(drop)
    }

    /// The next `count` bytes, not copied.
    pub fn take(&mut self, count: usize) -> Parsed<Bytes> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len()).ok_or(Malformed::Short)?;
        let bytes = self.bytes.slice(self.at..end);
        self.at = end;
        Ok(bytes)
    }

    /// All that is left, not copied.
    pub fn rest(&mut self) -> Bytes {
        let at = self.at.min(self.bytes.len());
        self.at = self.bytes.len();
        self.bytes.slice(at..)
    }

    /// Bytes elsewhere, not copied. An empty range may point anywhere: clients leave such offsets as they please.
    pub fn range(&self, offset: usize, length: usize) -> Parsed<Bytes> {
        if length == 0 {
            return Ok(Bytes::new());
        }
        let end = offset.checked_add(length).filter(|end| *end <= self.bytes.len()).ok_or(Malformed::Range)?;
        Ok(self.bytes.slice(offset..end))
    }

    /// As `range`, but nothing that has been read already can be meant: a buffer lies behind the fields that point to it.
    pub fn buffer(&self, offset: usize, length: usize) -> Parsed<Bytes> {
        if length > 0 && offset < self.at {
            return Err(Malformed::Range);
        }
        self.range(offset, length)
    }

    pub fn read<T: Field>(&mut self) -> Parsed<T> {
        T::read(self)
    }

    pub fn u8(&mut self) -> Parsed<u8> {
        self.read()
    }

    pub fn u16(&mut self) -> Parsed<u16> {
        self.read()
    }

    pub fn u32(&mut self) -> Parsed<u32> {
        self.read()
    }

    pub fn u64(&mut self) -> Parsed<u64> {
        self.read()
    }

    /// A length or an offset of two bytes.
    pub fn size16(&mut self) -> Parsed<usize> {
        self.u16().map(usize::from)
    }

    /// A length or an offset of four bytes.
    pub fn size32(&mut self) -> Parsed<usize> {
        self.u32().map(|size| size as usize)
    }

    /// The first field of nearly every structure.
    pub fn structure(&mut self, size: u16) -> Parsed<()> {
        if self.u16()? == size { Ok(()) } else { Err(Malformed::StructureSize) }
    }

    /// `count` values, of which no more are made room for than there are bytes.
    pub fn list<T: Field>(&mut self, count: usize) -> Parsed<Vec<T>> {
        if count > self.left() {
            return Err(Malformed::Short);
        }
        (0..count).map(|_| self.read()).collect()
    }

    /// Goes on at the next multiple of `to`, if there is anything left there.
    pub fn align(&mut self, to: usize) {
        self.at = self.at.next_multiple_of(to).min(self.bytes.len());
    }
}

/// A buffer that a message is written to. Offsets count from where the message begins.
#[derive(Debug, Default)]
pub struct Sink {
    out: BytesMut,
    base: usize,
}

impl Sink {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with_capacity(capacity: usize) -> Self {
        Self { out: BytesMut::with_capacity(capacity), base: 0 }
    }

    /// Goes on behind `out`; offsets count from here.
    pub fn behind(out: BytesMut) -> Self {
        let base = out.len();
        Self { out, base }
    }

    pub fn offset(&self) -> usize {
        self.out.len() - self.base
    }

    pub fn write<T: Field>(&mut self, value: &T) {
        value.write(self);
    }

    pub fn u8(&mut self, value: u8) {
        self.out.put_u8(value);
    }

    pub fn u16(&mut self, value: u16) {
        self.out.put_u16_le(value);
    }

    pub fn u32(&mut self, value: u32) {
        self.out.put_u32_le(value);
    }

    pub fn u64(&mut self, value: u64) {
        self.out.put_u64_le(value);
    }

    /// A length or an offset; what is too long for its field is our mistake.
    pub fn size16(&mut self, size: usize) {
        self.u16(u16::try_from(size).expect("a length that fits its field"));
    }

    pub fn size32(&mut self, size: usize) {
        self.u32(u32::try_from(size).expect("a length that fits its field"));
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.out.put_slice(bytes);
    }

    pub fn zeros(&mut self, count: usize) {
        self.out.put_bytes(0, count);
    }

    pub fn align(&mut self, to: usize) {
        let at = self.offset();
        self.zeros(at.next_multiple_of(to) - at);
    }

    pub fn list<T: Field>(&mut self, values: &[T]) {
        values.iter().for_each(|value| value.write(self));
    }

    pub fn patch_u16(&mut self, at: usize, value: usize) {
        let value = u16::try_from(value).expect("a length that fits its field");
        let at = self.base + at;
        self.out[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }

    pub fn patch_u32(&mut self, at: usize, value: usize) {
        let value = u32::try_from(value).expect("a length that fits its field");
        let at = self.base + at;
        self.out[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    pub fn finish(self) -> BytesMut {
        self.out
    }
}

/// What has one form of a fixed length, or tells its own length.
pub trait Field: Sized {
    fn read(source: &mut Source) -> Parsed<Self>;
    fn write(&self, sink: &mut Sink);

    fn from_bytes(bytes: Bytes) -> Parsed<Self> {
        Self::read(&mut Source::new(bytes))
    }

    fn to_bytes(&self) -> Bytes {
        let mut sink = Sink::new();
        self.write(&mut sink);
        sink.finish().freeze()
    }
}

macro_rules! integers {
    ($($type:ty)*) => {
        $(impl Field for $type {
            fn read(source: &mut Source) -> Parsed<Self> {
                Ok(<$type>::from_le_bytes(source.array()?))
            }

            fn write(&self, sink: &mut Sink) {
                sink.bytes(&self.to_le_bytes());
            }
        })*
    };
}

integers! { u8 u16 u32 u64 i32 i64 u128 }

impl<const N: usize> Field for [u8; N] {
    fn read(source: &mut Source) -> Parsed<Self> {
        source.array()
    }

    fn write(&self, sink: &mut Sink) {
        sink.bytes(self);
    }
}

/// One byte that is zero or not.
impl Field for bool {
    fn read(source: &mut Source) -> Parsed<Self> {
        Ok(source.u8()? != 0)
    }

    fn write(&self, sink: &mut Sink) {
        sink.u8(u8::from(*self));
    }
}

/// A structure whose fields follow each other. `=> N` behind a field stands for N bytes that mean nothing: zero when written, any when
/// read. A number in front of the fields is the structure's `StructureSize`.
macro_rules! record {
    ($(#[$about:meta])* $name:ident $(, size $size:literal)? $(, skip $skip:literal)? { $($(#[$note:meta])* $field:ident: $type:ty $(=> $pad:literal)?),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$note])* pub $field: $type,)*
        }

        impl $crate::packet::wire::Field for $name {
            #[allow(unused_variables)]
            fn read(source: &mut $crate::packet::wire::Source) -> $crate::packet::wire::Parsed<Self> {
                $(source.structure($size)?;)?
                $(source.skip($skip)?;)?
                $(let $field = source.read()?; $(source.skip($pad)?;)?)*
                Ok(Self { $($field),* })
            }

            #[allow(unused_variables)]
            fn write(&self, sink: &mut $crate::packet::wire::Sink) {
                $(sink.u16($size);)?
                $(sink.zeros($skip);)?
                $(sink.write(&self.$field); $(sink.zeros($pad);)?)*
            }
        }
    };
}

/// Numbers that a field of a fixed width can have, by name; any other is refused.
macro_rules! numbers {
    ($(#[$about:meta])* $name:ident: $width:ty { $($(#[$note:meta])* $variant:ident = $value:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$note])* $variant,)*
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub const fn code(self) -> $width {
                match self {
                    $(Self::$variant => $value,)*
                }
            }

            pub const fn from_code(code: $width) -> Option<Self> {
                match code {
                    $($value => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl $crate::packet::wire::Field for $name {
            fn read(source: &mut $crate::packet::wire::Source) -> $crate::packet::wire::Parsed<Self> {
                Self::from_code(source.read()?).ok_or($crate::packet::wire::Malformed::Value)
            }

            fn write(&self, sink: &mut $crate::packet::wire::Sink) {
                sink.write(&self.code());
            }
        }
    };
}

/// Bits of a field, by name. Those that have none are kept as they came.
macro_rules! bits {
    ($(#[$about:meta])* $name:ident: $width:ty { $($(#[$note:meta])* $bit:ident = $value:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name(pub $width);

        impl $name {
            $($(#[$note])* pub const $bit: Self = Self($value);)*

            pub const fn has(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            pub const fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }
        }

        impl $crate::packet::wire::Field for $name {
            fn read(source: &mut $crate::packet::wire::Source) -> $crate::packet::wire::Parsed<Self> {
                Ok(Self(source.read()?))
            }

            fn write(&self, sink: &mut $crate::packet::wire::Sink) {
                sink.write(&self.0);
            }
        }
    };
}

pub(crate) use {bits, numbers, record};

#[cfg(test)]
mod tests {
    use super::*;

    record! { Sample, size 9 { one: u16 => 2, two: [u8; 3] } }

    #[test]
    fn records_read_what_they_write_and_pass_over_what_means_nothing() {
        let bytes = Bytes::from_static(&[9, 0, 1, 2, 0xaa, 0xbb, 3, 4, 5]);
        let sample = Sample::from_bytes(bytes).expect("a record");
        assert_eq!(sample, Sample { one: 0x201, two: [3, 4, 5] });
        assert_eq!(sample.to_bytes()[..], [9, 0, 1, 2, 0, 0, 3, 4, 5]);
        assert_eq!(Sample::from_bytes(Bytes::from_static(&[8, 0, 0, 0])), Err(Malformed::StructureSize));
        assert_eq!(Sample::from_bytes(Bytes::from_static(&[9, 0, 0, 0, 0, 0, 1, 2])), Err(Malformed::Short));
    }

    #[test]
    fn nothing_outside_is_read() {
        let mut source = Source::new(Bytes::from_static(&[1, 2, 3, 4]));
        assert_eq!(source.u16(), Ok(0x201));
        assert_eq!(source.u32(), Err(Malformed::Short));
        assert_eq!(source.take(usize::MAX), Err(Malformed::Short));
        assert_eq!(source.range(usize::MAX, 1), Err(Malformed::Range));
        assert_eq!(source.range(usize::MAX, 0), Ok(Bytes::new()));
        assert_eq!(source.range(1, 3), Ok(Bytes::from_static(&[2, 3, 4])));
        assert_eq!(source.buffer(1, 3), Err(Malformed::Range), "what has been read is no buffer");
        assert_eq!(source.list::<u64>(1 << 30), Err(Malformed::Short), "no room is made for it");
        assert_eq!(source.take(2), Ok(Bytes::from_static(&[3, 4])));
        source.align(8);
        assert_eq!(source.rest(), Bytes::new());
    }
}
