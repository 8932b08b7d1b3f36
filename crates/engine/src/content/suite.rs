//! What every content must do, as one suite that each implementation runs. A new one is done when it passes.
//!
//! Each function takes gateways to one content: one, or several that share it. It panics on the first thing that is not as promised.

use bytes::{Bytes, BytesMut};

use super::checksum::crc64;
use super::{Content, Fate, PIECE_MAX, Piece, Staged};
use crate::Fault;
use crate::memory::Random;

/// Runs all of it. What the first gateway stages, the last one reads and gives back.
pub async fn all(gateways: &[&dyn Content], seed: u64) {
    let (first, last) = match gateways {
        [only] => (*only, *only),
        [first, .., last] => (*first, *last),
        [] => panic!("a suite needs a content"),
    };
    round_trips(first, last, seed).await;
    ranges(first, last, seed).await;
    fates(first, last, seed).await;
    freeing(first, last, seed).await;
    places(gateways, seed).await;
}

/// What was written in parts of any length is read by anyone, with its checksum.
async fn round_trips(first: &dyn Content, last: &dyn Content, seed: u64) {
    let lengths = [0, 1, 4_095, 4_096, 4_097, 70_000, (1 << 20) + 3, (5 << 20) + 1];
    for (n, length) in lengths.into_iter().enumerate() {
        let bytes = noise(length, seed + n as u64);
        for (expected, step) in [(Some(length as u64), 100_000), (None, 1 << 20), (None, 7_777)] {
            let staged = stage(first, &bytes, expected, step).await.expect("there is room");
            assert_eq!((staged.length(), staged.crc64()), (length as u64, crc64(&bytes)), "{length} bytes");
            let pieces = staged.pieces().to_vec();
            assert!(pieces.iter().all(|piece| piece.length > 0 && piece.length <= PIECE_MAX));
            staged.adopted();
            assert_eq!(read_all(last, &pieces).await, Ok(bytes.clone()), "{length} bytes");
            last.free(pieces).await;
        }
    }
}

/// Any part of a piece is read, exactly; what is beyond its end is a fault.
async fn ranges(first: &dyn Content, last: &dyn Content, seed: u64) {
    let bytes = noise(300_000, seed);
    let pieces = keep(first, &bytes).await;
    let [piece] = pieces[..] else { panic!("300 kB are one piece") };
    let mut random = Random(seed);
    let mut places = vec![(0, 0), (0, 1), (299_999, 300_000), (300_000, 300_000), (65_536, 131_072)];
    places.extend((0..40).map(|_| {
        let (one, other) = (random.next() % 300_001, random.next() % 300_001);
        (one.min(other), one.max(other))
    }));
    for (from, to) in places {
        let expected = bytes.slice(from as usize..to as usize);
        assert_eq!(read(last, piece, from, to).await, Ok(expected), "{from}..{to}");
    }
    assert!(read(last, piece, 299_000, 300_001).await.is_err(), "beyond the end");
    last.free(pieces).await;
}

/// What is adopted or left stays; what is dropped, or never finished, goes, and takes nothing with it.
async fn fates(first: &dyn Content, last: &dyn Content, seed: u64) {
    for (fate, stays) in [(Fate::Adopted, true), (Fate::Left, true), (Fate::Dropped, false)] {
        let bytes = noise(50_000, seed);
        let beside = keep(last, &bytes).await;
        let staged = stage(first, &bytes, None, 9_000).await.expect("there is room");
        let pieces = staged.pieces().to_vec();
        match fate {
            Fate::Adopted => staged.adopted(),
            Fate::Left => staged.leave(),
            Fate::Dropped => drop(staged),
        }
        let mut begun = first.stage(None);
        begun.write(bytes.clone()).await.expect("there is room");
        drop(begun);
        if stays {
            assert_eq!(read_all(last, &pieces).await, Ok(bytes.clone()), "{fate:?}");
            last.free(pieces).await;
        }
        assert_eq!(read_all(first, &beside).await, Ok(bytes), "{fate:?}");
        last.free(beside).await;
    }
}

/// A piece that was given back, by anyone, is a fault or what it was: never other bytes. Twice does no harm.
async fn freeing(first: &dyn Content, last: &dyn Content, seed: u64) {
    let mut kept = Vec::new();
    for n in 0..20_u64 {
        let bytes = noise(20_000 + n as usize, seed ^ n);
        let pieces = keep(if n % 2 == 0 { first } else { last }, &bytes).await;
        kept.push((pieces, bytes));
    }
    for (n, (pieces, _)) in kept.iter().enumerate().filter(|(n, _)| n % 3 == 0) {
        let by = if n % 2 == 0 { last } else { first };
        by.free(pieces.clone()).await;
        first.free(pieces.clone()).await;
    }
    let later = keep(first, &noise(40_000, seed + 99)).await;
    for (n, (pieces, bytes)) in kept.iter().enumerate() {
        match read_all(last, pieces).await {
            Ok(found) => assert_eq!(found, *bytes),
            Err(fault) => assert!(n % 3 == 0 && matches!(fault, Fault::Corrupt(_)), "{n}: {fault:?}"),
        }
    }
    for (pieces, _) in kept {
        first.free(pieces).await;
    }
    last.free(later).await;
}

/// No place is used twice, whoever stages, also after what was there was given back.
async fn places(gateways: &[&dyn Content], seed: u64) {
    let mut used: Vec<Piece> = Vec::new();
    for n in 0..40_u64 {
        let content = gateways[n as usize % gateways.len()];
        let pieces = keep(content, &noise(10_000, seed + n)).await;
        let overlap = |one: &Piece, other: &Piece| {
            let (one_end, other_end) = (one.offset + one.length, other.offset + other.length);
            one.extent == other.extent && one.offset < other_end && other.offset < one_end
        };
        assert!(!pieces.iter().any(|piece| used.iter().any(|before| overlap(piece, before))));
        used.extend(&pieces);
        content.free(pieces).await;
    }
}

/// Bytes that differ everywhere, and between seeds.
fn noise(length: usize, seed: u64) -> Bytes {
    let mut random = Random(seed);
    let mut bytes = BytesMut::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend_from_slice(&random.next().to_le_bytes());
    }
    bytes.truncate(length);
    bytes.freeze()
}

async fn stage(content: &dyn Content, bytes: &Bytes, expected: Option<u64>, step: usize) -> Result<Staged, Fault> {
    let mut stage = content.stage(expected);
    for part in bytes.chunks(step) {
        stage.write(bytes.slice_ref(part)).await?;
    }
    stage.finish().await
}

async fn keep(content: &dyn Content, bytes: &Bytes) -> Vec<Piece> {
    let staged = stage(content, bytes, Some(bytes.len() as u64), 64 << 10).await.expect("there is room");
    let pieces = staged.pieces().to_vec();
    staged.adopted();
    pieces
}

async fn read(content: &dyn Content, piece: Piece, from: u64, to: u64) -> Result<Bytes, Fault> {
    let mut chunks = content.read(piece, from, to);
    let mut all = BytesMut::new();
    while let Some(chunk) = chunks.next().await? {
        all.extend_from_slice(&chunk);
    }
    Ok(all.freeze())
}

async fn read_all(content: &dyn Content, pieces: &[Piece]) -> Result<Bytes, Fault> {
    let mut all = BytesMut::new();
    for piece in pieces {
        all.extend_from_slice(&read(content, *piece, 0, piece.length).await?);
    }
    Ok(all.freeze())
}
