//! How spaces, partitions and rows are written in a pool (docs/keys.md draws it).
//!
//! ```text
//!  object  k.SPACE.SHARD     the rows of a range of partitions     SPACE: 32 hex digits; SHARD: 16
//!  object  m.SPACE           which shards a space has, once it has been split
//!
//!  row     d column row      a row of the space, without the space            } NUL and 01 escaped
//!          v partition       the stamp of the partition's last transaction    }
//!          g gateway         the last operator of a gateway that was applied
//!          s                 what state the shard is in
//! ```
//!
//! Held true: escaping keeps the order of keys, and an escaped key has no NUL, at which librados would cut it.

use bytes::Bytes;

use crate::{Key, Space};

/// A shard of a space. The first one is 0, and needs no making; the others have random numbers, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ShardId(pub u64);

pub(super) const FIRST: ShardId = ShardId(0);

pub(super) const STATE: &[u8] = b"s";
pub(super) const ROWS: u8 = b'd';
pub(super) const VERSIONS: u8 = b'v';
pub(super) const GATEWAYS: u8 = b'g';

pub(super) fn shard(space: Space, shard: ShardId) -> String {
    format!("k.{:032x}.{:016x}", space.0, shard.0)
}

pub(super) fn directory(space: Space) -> String {
    format!("m.{:032x}", space.0)
}

pub(super) fn row(key: &Key) -> Bytes {
    escaped(ROWS, &key.as_bytes()[16..])
}

/// The key that a row of `space` was written under.
pub(super) fn key_of(space: Space, row: &[u8]) -> Option<Key> {
    let rest = unescaped(ROWS, row)?;
    let mut bytes = Vec::with_capacity(16 + rest.len());
    bytes.extend_from_slice(&space.0.to_be_bytes());
    bytes.extend_from_slice(&rest);
    Key::from_stored(bytes.into())
}

pub(super) fn version(partition: &[u8]) -> Bytes {
    escaped(VERSIONS, partition)
}

pub(super) fn partition_of(version: &[u8]) -> Option<Bytes> {
    unescaped(VERSIONS, version).map(Bytes::from)
}

pub(super) fn gateway(gateway: u128) -> Bytes {
    format!("{}{gateway:032x}", char::from(GATEWAYS)).into()
}

/// `00` becomes `01 01`, and `01` becomes `01 02`.
pub(super) fn escaped(kind: u8, bytes: &[u8]) -> Bytes {
    let mut escaped = Vec::with_capacity(1 + bytes.len() + 8);
    escaped.push(kind);
    for byte in bytes {
        if *byte <= 1 {
            escaped.push(1);
        }
        escaped.push(if *byte <= 1 { byte + 1 } else { *byte });
    }
    escaped.into()
}

pub(super) fn unescaped(kind: u8, escaped: &[u8]) -> Option<Vec<u8>> {
    let mut escaped = escaped.strip_prefix(&[kind])?.iter();
    let mut bytes = Vec::with_capacity(escaped.len());
    while let Some(byte) = escaped.next() {
        bytes.push(match byte {
            0 => return None,
            1 => escaped.next().copied().filter(|byte| (1..=2).contains(byte))? - 1,
            2.. => *byte,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    #[test]
    fn escaping_keeps_order_and_has_no_nul() {
        let mut all: Vec<Vec<u8>> = vec![vec![]];
        for length in 1..=4_u32 {
            for n in 0..4_u32.pow(length) {
                all.push((0..length).map(|at| [0, 1, 2, 255][(n / 4_u32.pow(at) % 4) as usize]).collect());
            }
        }
        all.sort();
        let escapes: Vec<_> = all.iter().map(|bytes| escaped(ROWS, bytes)).collect();
        assert!(escapes.is_sorted() && escapes.iter().all(|escaped| !escaped.contains(&0)));
        for (bytes, escaped) in all.iter().zip(&escapes) {
            assert_eq!(unescaped(ROWS, escaped).as_ref(), Some(bytes));
        }
    }

    #[test]
    fn a_row_tells_its_key() {
        let key = Key::new(Space(7), Column(0), &[b"a\0b\x01"]);
        assert_eq!(key_of(Space(7), &row(&key)), Some(key));
        for damaged in [&b"d\0"[..], b"d\x01", b"d\x01\x03", b"v", b"", b"d"] {
            assert_eq!(key_of(Space(7), damaged), None);
        }
    }
}
