//! What QUERY_INFO, SET_INFO, QUERY_DIRECTORY and CHANGE_NOTIFY carry: [MS-FSCC]'s information classes, and how much of one fits.

use bytes::Bytes;

use crate::packet::wire::Field;
use crate::status::Status;

pub mod directory;
pub mod file;
pub mod file_system;
pub mod notify;

/// An answer cut to the room that the client has. `least` is how much of it means anything: with less room than that nothing is
/// answered; with less than all of it, the beginning, and a status that says so ([MS-SMB2] 3.3.5.20.1).
pub fn fit(information: Bytes, least: usize, room: usize) -> Result<(Status, Bytes), Status> {
    if room < least {
        return Err(Status::InfoLengthMismatch);
    }
    if information.len() <= room {
        return Ok((Status::Success, information));
    }
    Ok((Status::BufferOverflow, information.slice(..room)))
}

/// The same for a structure of a fixed length, of which no part means anything.
pub fn fit_whole(information: &impl Field, room: usize) -> Result<(Status, Bytes), Status> {
    let bytes = information.to_bytes();
    let length = bytes.len();
    fit(bytes, length, room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_or_refused() {
        let bytes = Bytes::from_static(b"0123456789");
        let table = [
            (10, Ok((Status::Success, &b"0123456789"[..]))),
            (20, Ok((Status::Success, b"0123456789"))),
            (9, Ok((Status::BufferOverflow, b"012345678"))),
            (4, Ok((Status::BufferOverflow, b"0123"))),
            (3, Err(Status::InfoLengthMismatch)),
        ];
        for (room, answer) in table {
            let fitted = fit(bytes.clone(), 4, room);
            assert_eq!(fitted.as_ref().map(|(status, bytes)| (*status, &bytes[..])).map_err(|status| *status), answer);
        }
        assert_eq!(fit_whole(&5_u32, 3), Err(Status::InfoLengthMismatch));
        assert_eq!(fit_whole(&5_u32, 4), Ok((Status::Success, Bytes::from_static(&[5, 0, 0, 0]))));
    }
}
