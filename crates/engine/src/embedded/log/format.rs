//! The bytes of a log file (drawn in docs/format.md), without any I/O.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::super::keys::{KEY_MAX, VALUE_MAX, Writes};
use crate::{Key, Stamp};

/// Where the first batch begins.
pub(crate) const HEADER: usize = 64;
/// What a batch has before its entries, and behind them.
pub(crate) const HEAD: usize = 56;
pub(crate) const TRAILER: usize = 8;
/// Batches begin and end on a multiple of this, so that the shortest part of a batch in a sector has a whole word of it.
pub(crate) const WORD: usize = 8;
/// What a disk writes whole or not at all.
pub(crate) const SECTOR: usize = 512;

const FILE_MAGIC: &[u8; 8] = b"LZLILOG\n";
const BATCH_MAGIC: &[u8; 4] = b"LZB1";
const VERSION: u32 = 1;
const PUT: u8 = 1;
const REMOVE: u8 = 2;
/// Kind, length of the key, length of the value.
const ENTRY: usize = 1 + 2 + 4;

const _: () = assert!(HEADER.is_multiple_of(WORD) && HEAD.is_multiple_of(WORD) && TRAILER == WORD);
const _: () = assert!(SECTOR.is_multiple_of(WORD) && HEADER <= SECTOR);
const _: () = assert!(KEY_MAX <= u16::MAX as usize && VALUE_MAX <= u32::MAX as usize);

/// How a file begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub number: u64,
    /// The sequence of the first batch, whether or not there is one yet.
    pub first: u64,
    /// The checksum of the batch before that, in an earlier file. 0 if there is none.
    pub previous: u64,
    /// Makes the checksums of this file its own. Drawn when the file is made, so that nobody can store a value that looks like a batch.
    pub salt: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadHeader {
    Damaged,
    Newer(u32),
}

impl Header {
    pub fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(FILE_MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        for (at, word) in [(16, self.number), (24, self.first), (32, self.previous), (40, self.salt)] {
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        let sum = xxh3_64_with_seed(&bytes[..56], 0);
        bytes[56..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, BadHeader> {
        let bytes = bytes.get(..HEADER).ok_or(BadHeader::Damaged)?;
        if &bytes[..8] != FILE_MAGIC || word(bytes, 56) != xxh3_64_with_seed(&bytes[..56], 0) {
            return Err(BadHeader::Damaged);
        }
        match word(bytes, 8) as u32 {
            VERSION => {}
            other => return Err(BadHeader::Newer(other)),
        }
        Ok(Self { number: word(bytes, 16), first: word(bytes, 24), previous: word(bytes, 32), salt: word(bytes, 40) })
    }
}

/// How a batch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub count: u32,
    /// Bytes of the entries.
    pub length: u64,
    pub sequence: u64,
    /// The checksum of the batch before it.
    pub previous: u64,
    pub mark: Stamp,
    /// How long the file is at least, from this batch on: blocks lie ahead of it. Less is a loss, for as long as the file is appended to.
    pub reach: u64,
}

impl Head {
    /// The head at the start of `bytes`, if it is one.
    pub fn decode(bytes: &[u8], salt: u64) -> Option<Self> {
        let bytes = bytes.get(..HEAD)?;
        if &bytes[..4] != BATCH_MAGIC || word(bytes, 48) != xxh3_64_with_seed(&bytes[..48], salt) {
            return None;
        }
        Some(Self {
            count: word(bytes, 0).wrapping_shr(32) as u32,
            length: word(bytes, 8),
            sequence: word(bytes, 16),
            previous: word(bytes, 24),
            mark: Stamp(word(bytes, 32)),
            reach: word(bytes, 40),
        })
    }

    /// Bytes of the whole batch, if there can be so many.
    pub fn total(&self) -> Option<usize> {
        let entries = usize::try_from(self.length).ok()?.checked_next_multiple_of(WORD)?;
        entries.checked_add(HEAD + TRAILER)
    }
}

/// A batch that is whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch<'a> {
    pub head: Head,
    pub checksum: u64,
    entries: &'a [u8],
}

/// What an entry does to its key.
pub(crate) type Entry<'a> = (&'a [u8], Option<&'a [u8]>);

impl<'a> Batch<'a> {
    /// The batch at the start of `bytes`, if a whole one is there.
    pub fn decode(bytes: &'a [u8], salt: u64) -> Option<Self> {
        let head = Head::decode(bytes, salt)?;
        let (rest, checksum) = bytes.get(..head.total()?)?.split_last_chunk::<TRAILER>()?;
        let checksum = u64::from_le_bytes(*checksum);
        let entries = rest.get(HEAD..HEAD + head.length as usize)?;
        let batch = Self { head, checksum, entries };
        (xxh3_64_with_seed(rest, salt) == checksum && batch.entries().count() == head.count as usize).then_some(batch)
    }

    /// In the order in which they were written. Stops before what is no entry, of which a whole batch has none.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'a>> + use<'a> {
        let mut rest = self.entries;
        std::iter::from_fn(move || {
            let (kind, key) = (*rest.first()?, u16::from_le_bytes(*rest.get(1..)?.first_chunk()?));
            let value = u32::from_le_bytes(*rest.get(3..)?.first_chunk()?);
            let (entry, behind) = rest.get(ENTRY..)?.split_at_checked(usize::from(key) + value as usize)?;
            rest = behind;
            let (key, value) = entry.split_at(usize::from(key));
            match kind {
                PUT => Some((key, Some(value))),
                REMOVE => Some((key, None)),
                _ => None,
            }
        })
    }
}

/// Writes a batch into `bytes`, in place of what is there, and gives its checksum. Of `head`, count and length are not looked at.
pub(crate) fn encode(bytes: &mut Vec<u8>, writes: &Writes, head: &Head, salt: u64) -> u64 {
    bytes.clear();
    bytes.resize(HEAD, 0);
    for (key, value) in writes {
        put_entry(bytes, key, value.as_deref());
    }
    let length = (bytes.len() - HEAD) as u64;
    bytes.resize(bytes.len().next_multiple_of(WORD), 0);
    let count = u32::try_from(writes.len()).expect("a batch has fewer than 2^32 entries");
    seal(bytes, &Head { count, length, ..*head }, salt)
}

/// Puts the head and the checksums around entries.
fn seal(bytes: &mut Vec<u8>, head: &Head, salt: u64) -> u64 {
    assert!(bytes.len().is_multiple_of(WORD), "entries are padded to a word");
    assert_eq!(head.total(), Some(bytes.len() + TRAILER), "a batch is as long as its head says");
    bytes[..4].copy_from_slice(BATCH_MAGIC);
    bytes[4..8].copy_from_slice(&head.count.to_le_bytes());
    let Head { length, sequence, previous, mark, reach, count: _ } = *head;
    for (at, word) in [(8, length), (16, sequence), (24, previous), (32, mark.0), (40, reach)] {
        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
    let sum = xxh3_64_with_seed(&bytes[..48], salt);
    bytes[48..HEAD].copy_from_slice(&sum.to_le_bytes());
    let checksum = xxh3_64_with_seed(bytes, salt);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    checksum
}

/// How long the batch of `writes` is.
pub(crate) fn length(writes: &Writes) -> usize {
    let entry = |(key, value): (&Key, &Option<bytes::Bytes>)| {
        ENTRY + key.as_bytes().len() + value.as_ref().map_or(0, bytes::Bytes::len)
    };
    HEAD + writes.iter().map(entry).sum::<usize>().next_multiple_of(WORD) + TRAILER
}

fn put_entry(bytes: &mut Vec<u8>, key: &Key, value: Option<&[u8]>) {
    let key = key.as_bytes();
    let key_length = u16::try_from(key.len()).expect("the writer has checked the length of keys");
    let value_length =
        u32::try_from(value.map_or(0, <[u8]>::len)).expect("the writer has checked the length of values");
    bytes.push(if value.is_some() { PUT } else { REMOVE });
    bytes.extend_from_slice(&key_length.to_le_bytes());
    bytes.extend_from_slice(&value_length.to_le_bytes());
    bytes.extend_from_slice(key);
    bytes.extend_from_slice(value.unwrap_or_default());
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}
