//! The header in front of an encrypted message ([MS-SMB2] 2.2.41).

use bytes::Bytes;

use super::wire::{Field, Malformed, Parsed, Sink, Source};

pub const TRANSFORM_SIZE: usize = 52;
/// The tag covers the header from here on, as associated data.
pub const COVERED_FROM: usize = 20;
pub const TAG_AT: usize = 4;
const PROTOCOL: [u8; 4] = *b"\xfdSMB";
/// In 3.1.1 a flag; in 3.0 the number of AES-128-CCM, which is the same.
const ENCRYPTED: u16 = 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transform {
    pub tag: [u8; 16],
    /// Eleven bytes of it are used with CCM, twelve with GCM.
    pub nonce: [u8; 16],
    /// How long the message is, encrypted or not.
    pub size: u32,
    pub session: u64,
}

impl Transform {
    /// The header of a whole frame; what follows it has exactly the length that it says.
    pub fn parse(frame: &[u8]) -> Parsed<Self> {
        let head = frame.get(..TRANSFORM_SIZE).ok_or(Malformed::Short)?;
        let transform = Self::from_bytes(Bytes::copy_from_slice(head))?;
        let size = transform.size as usize;
        if size == 0 || TRANSFORM_SIZE.checked_add(size) != Some(frame.len()) {
            return Err(Malformed::Length);
        }
        Ok(transform)
    }
}

impl Field for Transform {
    fn read(source: &mut Source) -> Parsed<Self> {
        if source.array()? != PROTOCOL {
            return Err(Malformed::Signature);
        }
        let (tag, nonce, size) = (source.array()?, source.array()?, source.u32()?);
        source.skip(2)?;
        if source.u16()? != ENCRYPTED {
            return Err(Malformed::Value);
        }
        Ok(Self { tag, nonce, size, session: source.u64()? })
    }

    fn write(&self, sink: &mut Sink) {
        sink.bytes(&PROTOCOL);
        sink.bytes(&self.tag);
        sink.bytes(&self.nonce);
        sink.u32(self.size);
        sink.zeros(2);
        sink.u16(ENCRYPTED);
        sink.u64(self.session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_reads_what_it_writes_and_knows_its_frame() {
        let transform = Transform { tag: [1; 16], nonce: [2; 16], size: 3, session: 4 };
        let head = transform.to_bytes();
        assert_eq!(head.len(), TRANSFORM_SIZE);
        assert_eq!(head[TAG_AT..COVERED_FROM], [1; 16]);
        let frame = |body: &[u8]| Bytes::from([&head[..], body].concat());
        assert_eq!(Transform::parse(&frame(&[0; 3])), Ok(transform));
        assert_eq!(Transform::parse(&frame(&[0; 2])), Err(Malformed::Length));
        assert_eq!(Transform::parse(&frame(&[0; 4])), Err(Malformed::Length));
        let mut other = frame(&[0; 3]).to_vec();
        other[42] = 2;
        assert_eq!(Transform::parse(&other), Err(Malformed::Value), "only one algorithm has a number");
    }
}
