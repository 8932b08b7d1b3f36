//! The bytes of an extent file:
//!
//! ```text
//! | header, padded to 4 KiB | room | room | …
//! room: | data | footer: CRC64 of each 64 KiB block of the data, 8 bytes each | zeros up to 4 KiB |
//! ```
//!
//! Rooms begin and end on 4 KiB, so that one can be punched out without touching its neighbours, and written past
//! the page cache.

use crate::Fault;
use crate::content::{PIECE_MAX, Piece, checksum};

pub(crate) use checksum::{BLOCK, crc64};

/// What rooms are aligned to: the page of every file system and memory we run on, or a multiple of its sector.
pub(crate) const PAGE: u64 = 4096;
/// Where the first room begins.
pub(crate) const HEADER: u64 = PAGE;

const MAGIC: &[u8; 8] = b"LZLEXTNT";
const VERSION: u32 = 1;
const _: () = assert!(PIECE_MAX.is_multiple_of(BLOCK as u64) && (BLOCK as u64).is_multiple_of(PAGE));

/// How many bytes the footer of a piece of `length` bytes has.
pub(crate) const fn footer_length(length: u64) -> u64 {
    length.div_ceil(BLOCK as u64) * 8
}

/// How much of a file a piece of `length` bytes takes.
pub(crate) const fn room(length: u64) -> u64 {
    (length + footer_length(length)).next_multiple_of(PAGE)
}

/// The seal covers the place as well as the footer, so that a read that was led astray cannot pass.
pub(crate) fn seal(extent: u64, offset: u64, length: u64, footer: &[u8]) -> u64 {
    let mut bytes = Vec::with_capacity(24 + footer.len());
    [extent, offset, length].iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    bytes.extend_from_slice(footer);
    crc64(&bytes)
}

/// The checksums in `footer`, if they are those that `piece` was sealed with.
pub(crate) fn open_footer(piece: &Piece, footer: &[u8]) -> Result<Vec<u64>, Fault> {
    if seal(piece.extent, piece.offset, piece.length, footer) != piece.seal {
        return Err(Fault::Corrupt(format!(
            "the checksums of {} bytes at {} in extent {} do not agree with the record that names them",
            piece.length, piece.offset, piece.extent
        )));
    }
    Ok(footer.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))).collect())
}

/// `magic (8) | version (4) | 0 (4) | extent (8) | CRC64 of these (8) | zeros`, integers little endian.
pub(crate) fn header(extent: u64) -> [u8; HEADER as usize] {
    let mut bytes = [0; HEADER as usize];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[16..24].copy_from_slice(&extent.to_le_bytes());
    let crc = crc64(&bytes[..24]);
    bytes[24..32].copy_from_slice(&crc.to_le_bytes());
    bytes
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadHeader {
    Damaged,
    /// Sound, but written by a later version of the format.
    Version(u32),
    /// Sound, but of another extent: a file was renamed or copied.
    Extent(u64),
}

pub(crate) fn check_header(extent: u64, bytes: &[u8]) -> Result<(), BadHeader> {
    let head = bytes.get(..32).ok_or(BadHeader::Damaged)?;
    let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("8 bytes"));
    if &head[..8] != MAGIC || word(24) != crc64(&head[..24]) {
        return Err(BadHeader::Damaged);
    }
    match (word(8) as u32, word(16)) {
        (VERSION, id) if id == extent => Ok(()),
        (VERSION, other) => Err(BadHeader::Extent(other)),
        (version, _) => Err(BadHeader::Version(version)),
    }
}
