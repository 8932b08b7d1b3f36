//! The data at the end of a message, which nothing copies that need not. GMAC and the ciphers want a message in one piece: data that were gathered behind
//! room for all that goes ahead of them become one in place.

use std::ops::Deref;

use bytes::{Buf, Bytes, BytesMut};

use super::file::READ_DATA_AT;
use super::transform::TRANSFORM_SIZE;

/// What goes ahead of the data of a READ: the header of an encrypted message, the message's own, and the fields of the answer.
const ROOM: usize = TRANSFORM_SIZE + READ_DATA_AT;

#[derive(Clone, Debug, Default)]
pub struct Payload {
    /// The room and the data.
    whole: Bytes,
    room: usize,
}

impl Payload {
    /// A buffer that begins with the room, for [`Payload::gathered`].
    pub fn begin(length: usize) -> BytesMut {
        let mut whole = BytesMut::with_capacity(ROOM + length);
        whole.resize(ROOM, 0);
        whole
    }

    pub fn gathered(whole: BytesMut) -> Self {
        assert!(whole.len() >= ROOM, "a buffer that was begun");
        Self { whole: whole.freeze(), room: ROOM }
    }

    pub fn into_bytes(mut self) -> Bytes {
        self.whole.advance(self.room);
        self.whole
    }

    /// `zeros` bytes, `head` and the data, in one piece: where the data are, if there is room before them and nobody else has them.
    pub fn behind(self, zeros: usize, head: &[u8]) -> BytesMut {
        let before = zeros + head.len();
        let shared = if self.room < before { Err(self.whole) } else { self.whole.try_into_mut() };
        let mut frame = match shared {
            Ok(mut whole) => {
                whole.advance(self.room - before);
                whole
            }
            Err(mut whole) => {
                whole.advance(self.room);
                let mut frame = BytesMut::with_capacity(before + whole.len());
                frame.resize(before, 0);
                frame.extend_from_slice(&whole);
                frame
            }
        };
        frame[..zeros].fill(0);
        frame[zeros..before].copy_from_slice(head);
        frame
    }
}

impl From<Bytes> for Payload {
    fn from(whole: Bytes) -> Self {
        Self { whole, room: 0 }
    }
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.whole[self.room..]
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Payload {}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(data: &[u8]) -> Payload {
        let mut whole = Payload::begin(data.len());
        whole.extend_from_slice(data);
        Payload::gathered(whole)
    }

    #[test]
    fn data_stay_where_they_are_if_there_is_room_and_they_are_not_shared() {
        let table = [("room", gathered(b"data"), 80, true), ("too little", gathered(b"data"), 81, false)];
        for (name, payload, head, stays) in table {
            let (place, head) = (payload.as_ptr(), vec![7; head]);
            let frame = payload.behind(TRANSFORM_SIZE, &head);
            assert_eq!(frame[TRANSFORM_SIZE + head.len()..].as_ptr() == place, stays, "{name}");
            assert_eq!(frame[..], [&[0; TRANSFORM_SIZE][..], &head, b"data"].concat(), "{name}");
        }
        let shared = gathered(b"data");
        let other = shared.clone();
        assert_eq!(&shared.behind(0, b"head")[..], b"headdata");
        assert_eq!(&other.into_bytes()[..], b"data", "another's data are as they were");
        assert_eq!(&Payload::from(Bytes::from_static(b"data")).behind(2, b"head")[..], b"\0\0headdata");
    }
}
