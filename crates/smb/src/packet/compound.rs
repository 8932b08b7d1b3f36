//! Several messages in one frame: each but the last says where the next begins, on a multiple of eight bytes ([MS-SMB2] 3.3.5.2.7).

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::header::{HEADER_SIZE, NEXT_AT};
use super::payload::Payload;
use super::wire::{Malformed, Parsed};

/// Longer compounds are refused. Clients send three or four; smbtorture five.
pub const COMPOUND_MAX: usize = 128;

/// The messages of a frame, none of them copied. Each one has its padding with it, because its signature covers it.
pub fn split(frame: &Bytes) -> Parsed<Vec<Bytes>> {
    Ok(bounds(frame)?.into_iter().map(|place| frame.slice(place)).collect())
}

/// Where the messages of a frame lie.
pub fn bounds(frame: &[u8]) -> Parsed<Vec<Range<usize>>> {
    let mut places = Vec::new();
    let mut at = 0;
    loop {
        let rest = &frame[at..];
        if rest.len() < HEADER_SIZE {
            return Err(Malformed::Short);
        }
        if places.len() == COMPOUND_MAX {
            return Err(Malformed::Count);
        }
        let next =
            u32::from_le_bytes([rest[NEXT_AT], rest[NEXT_AT + 1], rest[NEXT_AT + 2], rest[NEXT_AT + 3]]) as usize;
        if next == 0 {
            places.push(at..frame.len());
            return Ok(places);
        }
        if next < HEADER_SIZE || !next.is_multiple_of(8) || next >= rest.len() {
            return Err(Malformed::Range);
        }
        places.push(at..at + next);
        at += next;
    }
}

/// An encoded message. What is read from a file stays where it is until it has to be copied.
#[derive(Clone, Debug, Default)]
pub struct Encoded {
    pub head: BytesMut,
    pub payload: Payload,
}

impl Encoded {
    pub fn len(&self) -> usize {
        self.head.len() + self.payload.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// In one piece.
    pub fn flatten(mut self) -> BytesMut {
        self.head.extend_from_slice(&self.payload);
        self.head
    }
}

/// Answers that go out in one frame: all but the last one's payload in one buffer.
#[derive(Debug, Default)]
pub struct Chain {
    pub bytes: BytesMut,
    /// Where each message begins.
    starts: Vec<usize>,
    /// The end of the last message.
    pub payload: Payload,
}

impl Chain {
    pub fn join(messages: impl IntoIterator<Item = Encoded>) -> Self {
        let mut chain = Self::default();
        for message in messages {
            chain.push(message);
        }
        chain
    }

    fn push(&mut self, message: Encoded) {
        if self.starts.is_empty() {
            self.bytes = message.head;
            self.starts.push(0);
        } else {
            self.close_last();
            self.starts.push(self.bytes.len());
            self.bytes.extend_from_slice(&message.head);
        }
        self.payload = message.payload;
    }

    /// The message that was last so far is padded and points to its successor.
    fn close_last(&mut self) {
        let payload = std::mem::take(&mut self.payload);
        self.bytes.extend_from_slice(&payload);
        let start = self.starts.last().copied().unwrap_or(0);
        let length = (self.bytes.len() - start).next_multiple_of(8);
        self.bytes.resize(start + length, 0);
        let next = u32::try_from(length).expect("a compound shorter than a frame");
        self.bytes[start + NEXT_AT..start + NEXT_AT + 4].copy_from_slice(&next.to_le_bytes());
    }

    pub fn len(&self) -> usize {
        self.bytes.len() + self.payload.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Hands a message to be signed, in one or two pieces: all but the last are in one.
    pub fn sign(&mut self, at: usize, sign: impl FnOnce(&mut [u8], &[u8])) {
        let start = self.starts[at];
        let (end, payload) = match self.starts.get(at + 1) {
            Some(next) => (*next, &[][..]),
            None => (self.bytes.len(), &self.payload[..]),
        };
        sign(&mut self.bytes[start..end], payload);
    }

    /// For what wants it in one piece.
    pub fn gather(&mut self) {
        if !self.payload.is_empty() {
            self.bytes = std::mem::take(&mut self.payload).behind(0, &self.bytes);
        }
    }

    /// In one piece, behind so many zeros.
    pub fn behind(self, zeros: usize) -> BytesMut {
        self.payload.behind(zeros, &self.bytes)
    }

    /// Ready to go out: head and payload, one behind the other.
    pub fn finish(self) -> Encoded {
        Encoded { head: self.bytes, payload: self.payload }
    }

    /// In one piece.
    pub fn flatten(self) -> BytesMut {
        self.finish().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::{Command, Header, SIGNATURE_AT};
    use super::super::wire::Field;
    use super::*;

    fn message(id: u64, body: &[u8], payload: &'static [u8]) -> Encoded {
        let mut head = BytesMut::from(&Header::request(Command::Echo, id).to_bytes()[..]);
        head.extend_from_slice(body);
        Encoded { head, payload: Bytes::from_static(payload).into() }
    }

    #[test]
    fn joined_messages_split_into_themselves() {
        let chain = Chain::join([message(1, b"one", b""), message(2, b"", b"pay"), message(3, b"x", b"load")]);
        assert_eq!(chain.count(), 3);
        let messages = split(&chain.flatten().freeze()).expect("a compound");
        let ends: Vec<&[u8]> = messages.iter().map(|message| &message[HEADER_SIZE..]).collect();
        assert_eq!(ends, [&b"one\0\0\0\0\0"[..], b"pay\0\0\0\0\0", b"xload"]);
        let next: Vec<u32> = messages.iter().map(|message| Header::parse(message).expect("a header").next).collect();
        assert_eq!(next, [72, 72, 0]);
    }

    #[test]
    fn each_message_is_signed_with_its_padding_and_without_the_others() {
        let mut chain = Chain::join([message(1, b"one", b""), message(2, b"", b"payload")]);
        let mut seen = Vec::new();
        for at in 0..2 {
            chain.sign(at, |head, payload| {
                seen.push((head.len(), payload.len()));
                head[SIGNATURE_AT..HEADER_SIZE].fill(at as u8 + 1);
            });
        }
        assert_eq!(seen, [(72, 0), (64, 7)]);
        let messages = split(&chain.flatten().freeze()).expect("a compound");
        let signatures: Vec<u8> = messages.iter().map(|m| Header::parse(m).expect("a header").signature[0]).collect();
        assert_eq!(signatures, [1, 2]);
    }

    #[test]
    fn compounds_that_lead_nowhere_are_refused() {
        let with_next = |next: u32, length: usize| {
            let mut bytes = Header { next, ..Header::request(Command::Echo, 1) }.to_bytes().to_vec();
            bytes.resize(length, 0);
            split(&bytes.into())
        };
        assert_eq!(with_next(72, 200).map(|m| m.len()), Ok(2), "headers are looked at later");
        assert_eq!(with_next(8, 200), Err(Malformed::Range), "into itself");
        assert_eq!(with_next(68, 200), Err(Malformed::Range), "not aligned");
        assert_eq!(with_next(200, 200), Err(Malformed::Range), "to the end");
        assert_eq!(with_next(0xffff_fff8, 200), Err(Malformed::Range), "beyond it");
        assert_eq!(with_next(144, 200), Err(Malformed::Short), "too near to it");
        let many = Chain::join((0..=COMPOUND_MAX as u64).map(|id| message(id, b"", b"")));
        assert_eq!(split(&many.flatten().freeze()), Err(Malformed::Count));
    }
}
