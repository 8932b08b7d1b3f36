//! Seeded mutations, for where libFuzzer is not: the same seed gives the same inputs everywhere.

use crate::chance::Chance;

/// Longer inputs find nothing that shorter ones do not, and take longer.
const LENGTH_MAX: usize = 16 << 10;

/// `input`, changed a little, perhaps with a piece of `other`.
pub fn mutate(input: &[u8], other: &[u8], words: &[&str], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..1 + chance.below(5) {
        step(&mut bytes, other, words, chance);
        bytes.truncate(LENGTH_MAX);
    }
    bytes
}

fn step(bytes: &mut Vec<u8>, other: &[u8], words: &[&str], chance: &mut Chance) {
    let at = chance.below(bytes.len() + 1);
    let end = (at + chance.below(16)).min(bytes.len());
    match chance.below(9) {
        0 if at < bytes.len() => bytes[at] ^= 1 << chance.below(8),
        1 if at < bytes.len() => bytes[at] = *chance.pick(&[0, 1, 0x7f, 0x80, 0xff, b'0', b'9', b'\n', b'"', b'\'']),
        2 => drop(bytes.drain(at..end)),
        3 => insert(bytes, at, &[*chance.pick(b"\0\r\n%&=:/'\"<>()[]+-, \x80\xff")]),
        4 => {
            let piece = bytes[at..end].to_vec();
            let times = 1 + chance.below(40);
            insert(bytes, at, &piece.repeat(times));
        }
        5 if !words.is_empty() => insert(bytes, at, chance.pick(words).as_bytes()),
        6 if !other.is_empty() => {
            let from = chance.below(other.len());
            let to = (from + chance.below(64)).min(other.len());
            insert(bytes, at, &other[from..to]);
        }
        7 => bytes.truncate(at),
        _ => insert(
            bytes,
            at,
            chance.pick(&["0", "-1", "4294967296", "18446744073709551615", "9e999", "é", "\u{1F600}"]).as_bytes(),
        ),
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}

/// Bytes from nothing at all.
pub fn noise(chance: &mut Chance) -> Vec<u8> {
    (0..chance.below(200)).map(|_| chance.draw() as u8).collect()
}
