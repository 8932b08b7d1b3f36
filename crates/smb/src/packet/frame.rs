//! Messages on a TCP connection: four bytes of length, the first of them zero ([MS-SMB2] 2.1), then the message.

use bytes::{Bytes, BytesMut};

use super::wire::{Malformed, Parsed};

pub const FRAME_HEAD: usize = 4;
/// The longest message that three bytes can announce.
pub const FRAME_MAX: usize = 0xff_ffff;

/// What an announced message is, told by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One message of SMB 2 or 3, or a compound of them.
    Plain,
    /// The same, encrypted.
    Sealed,
    /// Only as a connection's first message, to ask for SMB 2.
    Legacy,
    /// Compression is never negotiated, so these are refused.
    Compressed,
}

impl Kind {
    pub fn of(message: &[u8]) -> Parsed<Self> {
        match message.get(..4).ok_or(Malformed::Short)? {
            b"\xfeSMB" => Ok(Self::Plain),
            b"\xfdSMB" => Ok(Self::Sealed),
            b"\xffSMB" => Ok(Self::Legacy),
            b"\xfcSMB" => Ok(Self::Compressed),
            _ => Err(Malformed::Signature),
        }
    }
}

/// The length that a frame's head announces. Keep-alives of NetBIOS and lengths beyond `max` are refused before a byte is made room for.
pub fn length(head: [u8; FRAME_HEAD], max: usize) -> Parsed<usize> {
    let [kind, lengths @ ..] = head;
    if kind != 0 {
        return Err(Malformed::Signature);
    }
    let length = lengths.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    if length > max { Err(Malformed::Length) } else { Ok(length) }
}

/// The head for a message of that length.
pub fn head(length: usize) -> [u8; FRAME_HEAD] {
    assert!(length <= FRAME_MAX, "no answer is that long");
    (length as u32).to_be_bytes()
}

/// The first whole message of what has arrived, taken out; `None` until it is all there.
pub fn next(arrived: &mut BytesMut, max: usize) -> Parsed<Option<BytesMut>> {
    let Some(head) = arrived.first_chunk::<FRAME_HEAD>() else { return Ok(None) };
    let length = length(*head, max)?;
    if arrived.len() < FRAME_HEAD + length {
        return Ok(None);
    }
    let mut frame = arrived.split_to(FRAME_HEAD + length);
    Ok(Some(frame.split_off(FRAME_HEAD)))
}

/// A message with its frame's head in front, for those who have nothing better to do than to copy.
pub fn framed(message: &[u8]) -> Bytes {
    [&head(message.len())[..], message].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_arrive() {
        let mut arrived = BytesMut::new();
        let sent = [framed(b"one"), framed(b""), framed(&[7; 300])].concat();
        let mut got = Vec::new();
        for byte in sent {
            arrived.extend_from_slice(&[byte]);
            while let Some(message) = next(&mut arrived, 1000).expect("frames") {
                got.push(message.to_vec());
            }
        }
        assert_eq!(got, [b"one".to_vec(), vec![], vec![7; 300]]);
        assert!(arrived.is_empty());
    }

    #[test]
    fn what_is_too_long_is_refused_by_its_head() {
        assert_eq!(length([0, 1, 2, 3], FRAME_MAX), Ok(0x10203));
        assert_eq!(length([0, 0, 4, 1], 1024), Err(Malformed::Length));
        assert_eq!(length([0x85, 0, 0, 0], 1024), Err(Malformed::Signature), "a keep-alive of NetBIOS");
        assert_eq!(head(0x10203), [0, 1, 2, 3]);
    }

    #[test]
    fn the_first_letters_tell_what_it_is() {
        let table =
            [(&b"\xfeSMB"[..], Ok(Kind::Plain)), (b"\xfdSMB", Ok(Kind::Sealed)), (b"\xffSMBr", Ok(Kind::Legacy))];
        for (message, kind) in table {
            assert_eq!(Kind::of(message), kind);
        }
        assert_eq!(Kind::of(b"\xfcSMB"), Ok(Kind::Compressed));
        assert_eq!(Kind::of(b"GET / HTTP/1.1"), Err(Malformed::Signature));
        assert_eq!(Kind::of(b"\xfeSM"), Err(Malformed::Short));
    }
}
