//! Pages, unpacked. A page says how long it is; none becomes longer, whatever its bytes say, and one that becomes shorter is damaged.

use std::io::Read;

use bytes::Bytes;
use ruzstd::decoding::StreamingDecoder;

use super::{Bad, PAGE_MOST};

/// What the decoder reads at once.
const BROTLI_BUFFER: usize = 16 << 10;

pub(super) fn unpack(codec: i64, bytes: Bytes, length: usize) -> Result<Bytes, Bad> {
    if length == 0 {
        return Ok(Bytes::new());
    }
    let unpacked: Bytes = match codec {
        0 => bytes,
        1 => {
            if snap::raw::decompress_len(&bytes).map_err(|_| Bad::Corrupt)? != length {
                return Err(Bad::Corrupt);
            }
            snap::raw::Decoder::new().decompress_vec(&bytes).map_err(|_| Bad::Corrupt)?.into()
        }
        2 => gunzip(&bytes, length)?,
        4 => brotli(&bytes, length)?,
        // What LZ4 means was never written down: Hadoop's framing in most files, a bare block in others ("Compression").
        5 => hadoop(&bytes, length).or_else(|| lz4(&bytes, length)).ok_or(Bad::Corrupt)?.into(),
        6 => zstd(&bytes, length)?,
        7 => lz4(&bytes, length).ok_or(Bad::Corrupt)?.into(),
        other => return Err(Bad::Unsupported(format!("the codec {}", name(other)))),
    };
    if unpacked.len() == length { Ok(unpacked) } else { Err(Bad::Corrupt) }
}

fn name(codec: i64) -> String {
    match codec {
        3 => "LZO".into(),
        other => other.to_string(),
    }
}

/// RFC 1952: ten bytes, what the flags announce, deflated data, and a trailer.
fn gunzip(bytes: &Bytes, length: usize) -> Result<Bytes, Bad> {
    let head = bytes.get(..10).filter(|head| head[..3] == [0x1f, 0x8b, 8]).ok_or(Bad::Corrupt)?;
    let (flags, mut at) = (head[3], 10);
    if flags & 4 != 0 {
        let extra = bytes.get(at..at + 2).ok_or(Bad::Corrupt)?;
        at += 2 + usize::from(u16::from_le_bytes([extra[0], extra[1]]));
    }
    for flag in [8, 16] {
        if flags & flag != 0 {
            let rest = bytes.get(at..).ok_or(Bad::Corrupt)?;
            at += rest.iter().position(|byte| *byte == 0).ok_or(Bad::Corrupt)? + 1;
        }
    }
    at += if flags & 2 != 0 { 2 } else { 0 };
    let data = bytes.get(at..).ok_or(Bad::Corrupt)?;
    let unpacked = miniz_oxide::inflate::decompress_to_vec_with_limit(data, length);
    Ok(unpacked.map_err(|_| Bad::Corrupt)?.into())
}

/// One frame. Its window, which is held beside what is unpacked, has the bound of a page.
fn zstd(bytes: &[u8], length: usize) -> Result<Bytes, Bad> {
    let decoder = StreamingDecoder::new_with_max_window_size(bytes, PAGE_MOST as u64).map_err(|_| Bad::Corrupt)?;
    let mut unpacked = Vec::new();
    decoder.take(length as u64 + 1).read_to_end(&mut unpacked).map_err(|_| Bad::Corrupt)?;
    Ok(unpacked.into())
}

/// A stream, whose window is at most 16 MiB (RFC 7932): larger ones are of another format.
fn brotli(bytes: &[u8], length: usize) -> Result<Bytes, Bad> {
    let decoder = brotli_decompressor::Decompressor::new(bytes, BROTLI_BUFFER);
    let mut unpacked = Vec::new();
    decoder.take(length as u64 + 1).read_to_end(&mut unpacked).map_err(|_| Bad::Corrupt)?;
    Ok(unpacked.into())
}

/// Blocks, each after its two lengths, big end first.
fn hadoop(mut bytes: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut unpacked = Vec::new();
    while !bytes.is_empty() {
        let (whole, rest) = bytes.split_first_chunk()?;
        let (packed, rest) = rest.split_first_chunk()?;
        let (block, rest) = rest.split_at_checked(u32::from_be_bytes(*packed) as usize)?;
        let whole = u32::from_be_bytes(*whole) as usize;
        if whole > length - unpacked.len() {
            return None;
        }
        let block = lz4(block, whole).filter(|block| block.len() == whole)?;
        unpacked.extend_from_slice(&block);
        bytes = rest;
    }
    Some(unpacked)
}

/// A block of LZ4 ("LZ4 Block Format"): literals, then a match in what came before, over and over; the last has no match.
fn lz4(mut bytes: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut unpacked = Vec::new();
    loop {
        let (token, rest) = bytes.split_first()?;
        bytes = rest;
        let literals = extended(&mut bytes, usize::from(token >> 4))?;
        let (copied, rest) = bytes.split_at_checked(literals)?;
        if copied.len() > length - unpacked.len() {
            return None;
        }
        unpacked.extend_from_slice(copied);
        if rest.is_empty() {
            return Some(unpacked);
        }
        let (offset, rest) = rest.split_first_chunk()?;
        bytes = rest;
        let again = extended(&mut bytes, usize::from(token & 15))?.checked_add(4)?;
        let from = unpacked.len().checked_sub(usize::from(u16::from_le_bytes(*offset)))?;
        if from == unpacked.len() || again > length - unpacked.len() {
            return None;
        }
        repeat(&mut unpacked, from, again);
    }
}

/// A match may reach into itself: what is there is copied, which doubles what is there.
fn repeat(unpacked: &mut Vec<u8>, from: usize, mut left: usize) {
    while left > 0 {
        let part = left.min(unpacked.len() - from);
        unpacked.extend_from_within(from..from + part);
        left -= part;
    }
}

/// Fifteen goes on: bytes are added up to the first that is not 255.
fn extended(bytes: &mut &[u8], nibble: usize) -> Option<usize> {
    let (mut number, mut goes_on) = (nibble, nibble == 15);
    while goes_on {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number = number.checked_add(usize::from(*byte))?;
        goes_on = *byte == 255;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_lz4() {
        let long = [&[0xf0, 255, 4][..], &[b'x'; 274]].concat();
        type Row<'a> = (&'a [u8], usize, Option<Vec<u8>>);
        let table: &[Row<'_>] = &[
            (&[0x30, b'a', b'b', b'c'], 3, Some(b"abc".to_vec())),
            (&[0x1f, b'a', 1, 0, 3, 0x10, b'!'], 24, Some([&[b'a'; 23][..], b"!"].concat())),
            (&[0x22, b'a', b'b', 2, 0, 0x10, b'c'], 9, Some(b"ababababc".to_vec())),
            (&long, 274, Some(vec![b'x'; 274])),
            // Too long, cut off, before the beginning, in place, empty.
            (&[0x30, b'a', b'b', b'c'], 2, None),
            (&[0x1f, b'a', 1, 0, 200, 0x10, b'!'], 24, None),
            (&[0x30, b'a', b'b'], 3, None),
            (&[0x10, b'a', 2, 0, 0x10, b'!'], 9, None),
            (&[0x10, b'a', 0, 0, 0x10, b'!'], 9, None),
            (&[0xf0, 255], 999, None),
            (&[], 1, None),
        ];
        for (bytes, length, expected) in table {
            assert_eq!(lz4(bytes, *length), *expected, "{bytes:?}");
        }
    }

    #[test]
    fn lz4_with_and_without_the_framing_of_hadoop() {
        let framed = [0, 0, 0, 1, 0, 0, 0, 2, 0x10, b'a', 0, 0, 0, 2, 0, 0, 0, 3, 0x20, b'b', b'c'];
        for (codec, bytes, whole) in [(5, &framed[..], true), (5, &[0x30, b'a', b'b', b'c'], true), (7, &framed, false)]
        {
            let unpacked = unpack(codec, Bytes::copy_from_slice(bytes), 3);
            assert_eq!(unpacked, if whole { Ok(Bytes::from_static(b"abc")) } else { Err(Bad::Corrupt) });
        }
        assert_eq!(unpack(5, Bytes::copy_from_slice(&framed), 2), Err(Bad::Corrupt));
    }

    #[test]
    fn streams_of_brotli_that_are_longer_or_none() {
        // "hello", as it is: a window of 16 bits, one stored block, the end.
        let hello = Bytes::from_static(&[0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03]);
        assert_eq!(unpack(4, hello.clone(), 5), Ok(Bytes::from_static(b"hello")));
        assert_eq!(unpack(4, hello.clone(), 4), Err(Bad::Corrupt));
        assert_eq!(unpack(4, hello.slice(..6), 5), Err(Bad::Corrupt));
        assert_eq!(unpack(3, hello, 5), Err(Bad::Unsupported("the codec LZO".into())));
    }

    #[test]
    fn frames_of_zstd_that_are_longer_or_want_too_large_a_window() {
        // One block of 65,536 times the same byte: magic, descriptor, window, header, byte.
        let repeated = |window: u8| Bytes::from(vec![0x28, 0xb5, 0x2f, 0xfd, 0, window, 0x03, 0, 0x08, b'x']);
        assert_eq!(unpack(6, repeated(0x58), 65536), Ok(Bytes::from(vec![b'x'; 65536])));
        assert_eq!(unpack(6, repeated(0x58), 65535), Err(Bad::Corrupt));
        assert_eq!(unpack(6, repeated(0xa0), 65536), Err(Bad::Corrupt));
    }
}
