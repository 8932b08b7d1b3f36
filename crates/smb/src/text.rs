//! Names on the wire, which are UTF-16, and names within, which are UTF-8.
//!
//! A [`Wide`] keeps what the client sent, code unit by code unit, so that a message is encoded as it was parsed. It becomes text only where
//! it is used, and there an unpaired surrogate is refused: such a name has no UTF-8 form, REST could not say it, and a replacement character
//! would make one file of two.

use bytes::Bytes;

use crate::packet::wire::{Malformed, Parsed, Sink};

/// UTF-16 in little-endian order, perhaps with unpaired surrogates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Wide(Bytes);

/// A surrogate stands without its other half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unpaired;

impl Wide {
    /// Names come in whole code units.
    pub fn from_wire(bytes: Bytes) -> Parsed<Self> {
        if bytes.len().is_multiple_of(2) { Ok(Self(bytes)) } else { Err(Malformed::Length) }
    }

    pub fn from_units(units: &[u16]) -> Self {
        Self(units.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<u8>>().into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// In bytes, as every length field counts it.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn units(&self) -> impl Iterator<Item = u16> + '_ {
        self.0.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]))
    }

    pub fn to_text(&self) -> Result<String, Unpaired> {
        char::decode_utf16(self.units()).collect::<Result<String, _>>().map_err(|_| Unpaired)
    }

    pub fn write(&self, sink: &mut Sink) {
        sink.bytes(&self.0);
    }
}

impl From<&str> for Wide {
    fn from(text: &str) -> Self {
        Self(encode(text).into())
    }
}

/// The bytes of a text's UTF-16 form.
pub fn encode(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_over_and_back() {
        for text in ["", "a", "größe.txt", "日本語", "😀/𝄞", "a\0b"] {
            let wide = Wide::from(text);
            assert_eq!(wide.len(), text.encode_utf16().count() * 2);
            assert_eq!(wide.to_text().as_deref(), Ok(text));
            assert_eq!(Wide::from_wire(Bytes::copy_from_slice(wide.as_bytes())), Ok(wide));
        }
    }

    #[test]
    fn half_a_character_is_kept_and_is_no_text() {
        for units in [&[0xd83d][..], &[0xde00], &[0xde00, 0xd83d], &[0x61, 0xd83d, 0x62], &[0xd83d, 0xd83d, 0xde00]] {
            let wide = Wide::from_units(units);
            assert_eq!(wide.units().collect::<Vec<_>>(), units);
            assert_eq!(wide.to_text(), Err(Unpaired), "{units:x?}");
        }
        assert_eq!(Wide::from_wire(Bytes::from_static(b"abc")), Err(Malformed::Length));
    }
}
