//! Fjall's journals, read as strictly as our own log. It takes what it cannot read for a torn end, wherever it is, and has its sequence
//! numbers under no checksum, by which it also decides what is in tables already.
//!
//! ```text
//! journal  = batch*
//! batch    = 1, count u32, sequence u64 | entry* | 3, xxh3 of the entries u64, "FJL" 3
//! entry    = 2, type u8, compression u8, keyspace u64, key length u16, value length u32, stored length u32, key, stored
//!          | 4, keyspace u64
//! ```
//!
//! Numbers are little endian (fjall 3.1, `journal/entry.rs`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::super::error::{At, Error, Result};

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const MAGIC: &[u8] = b"FJL\x03";
const HEAD: usize = 1 + 4 + 8;
const ENTRY: usize = 21;
const TAIL: usize = 1 + 8 + MAGIC.len();

const PUT: u8 = 0;
const REMOVE: u8 = 1;
const PLAIN: u8 = 0;
const LZ4: u8 = 1;

/// Between two batches, each new version of a tree takes a sequence number, too.
const GAP: u64 = 1024;
const SECTOR: usize = 512;

/// Shows all batches, in order. Refuses journals that do not hold all that was acknowledged: batches that are not whole, or not in order. The
/// newest may have one torn batch at its end, which is not shown.
pub(super) fn read(keys: &Path, mut see: impl FnMut(&Batch<'_>) -> Result<()>) -> Result<()> {
    let journals = journals(keys).at(keys)?;
    let newest = match journals.last() {
        Some((newest, _)) => *newest,
        None => return Err(Error::damaged(keys, "its journal is missing")),
    };
    let mut before = None;
    for (number, path) in journals {
        let bytes = fs::read(&path).at(&path)?;
        let damaged = |at: usize, what: &str| Err(Error::damaged(&path, format!("at byte {at}, {what}")));
        let mut at = 0;
        while let Some(batch) = Batch::read(&bytes[at..]) {
            let follows = before.is_none_or(|before| (before + 1..before + GAP).contains(&batch.sequence));
            if !follows {
                return damaged(at, "a batch has a number that does not follow the one before it");
            }
            see(&batch)?;
            before = Some(batch.sequence);
            at += batch.length;
        }
        let ends_well = is_blank(&bytes[at..]) || number == newest && is_torn(&bytes, at);
        if !ends_well {
            return damaged(at, "a batch does not agree with its checksum");
        }
    }
    Ok(())
}

/// Whether what begins at `begin` is one batch of which a part never reached the disk, so that its sync never returned and nobody was
/// answered. What was written whole ends as a batch does, and has no blank sector.
fn is_torn(bytes: &[u8], begin: usize) -> bool {
    let rest = &bytes[begin..];
    let length = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let (first, behind) = rest[..length].split_at(length.min(SECTOR - begin % SECTOR));
    let lacks_sector = is_blank(first) || behind.chunks(SECTOR).any(is_blank);
    let is_whole = rest[..length].ends_with(MAGIC) && !lacks_sector;
    !is_whole && !(1..length).any(|at| is_whole_to_the_end(&rest[at..]))
}

/// Whether `bytes` are batches and nothing else. The values of a torn batch might look like one, but not up to the end.
fn is_whole_to_the_end(mut bytes: &[u8]) -> bool {
    let mut any = false;
    while let Some(batch) = Batch::read(bytes) {
        bytes = &bytes[batch.length..];
        any = true;
    }
    any && is_blank(bytes)
}

/// Fjall sets its journal's length ahead of what it writes.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// With their numbers, oldest first.
pub(super) fn journals(keys: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut journals = Vec::new();
    for entry in fs::read_dir(keys)? {
        let path = entry?.path();
        let number = path.file_name().and_then(|file| file.to_str()?.strip_suffix(".jnl")?.parse::<u64>().ok());
        journals.extend(number.map(|number| (number, path)));
    }
    journals.sort();
    Ok(journals)
}

/// A batch that is whole.
pub(super) struct Batch<'a> {
    length: usize,
    sequence: u64,
    entries: &'a [u8],
}

/// An entry as it is stored.
pub(super) struct Stored<'a> {
    kind: u8,
    compression: u8,
    pub keyspace: u64,
    value_length: u32,
    pub key: &'a [u8],
    value: &'a [u8],
}

impl<'a> Batch<'a> {
    /// The batch at the start of `bytes`, if there is a whole one.
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let head = bytes.get(..HEAD).filter(|head| head[0] == START)?;
        let count = u32::from_le_bytes(head[1..5].try_into().ok()?);
        let sequence = u64::from_le_bytes(head[5..].try_into().ok()?);
        let mut rest = &bytes[HEAD..];
        for _ in 0..count {
            (_, rest) = Stored::read(rest)?;
        }
        let tail = rest.get(..TAIL).filter(|tail| tail[0] == END && tail.ends_with(MAGIC))?;
        let entries = &bytes[HEAD..bytes.len() - rest.len()];
        let is_whole = xxh3_64(entries).to_le_bytes() == tail[1..9];
        is_whole.then_some(Self { length: HEAD + entries.len() + TAIL, sequence, entries })
    }

    pub fn entries(&self) -> impl Iterator<Item = Stored<'a>> + use<'a> {
        let mut rest = self.entries;
        std::iter::from_fn(move || {
            let (stored, behind) = Stored::read(rest)?;
            rest = behind;
            Some(stored)
        })
    }
}

impl<'a> Stored<'a> {
    /// The entry at the start of `bytes`, and what is behind it. Keyspaces were never cleared, so that entry is none of ours.
    fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let head = bytes.get(..ENTRY).filter(|head| head[0] == ITEM)?;
        let key = usize::from(u16::from_le_bytes(head[11..13].try_into().ok()?));
        let stored = u32::from_le_bytes(head[17..21].try_into().ok()?) as usize;
        let (key, rest) = bytes[ENTRY..].split_at_checked(key)?;
        let (value, rest) = rest.split_at_checked(stored)?;
        let keyspace = u64::from_le_bytes(head[3..11].try_into().ok()?);
        let value_length = u32::from_le_bytes(head[13..17].try_into().ok()?);
        Some((Self { kind: head[1], compression: head[2], keyspace, value_length, key, value }, rest))
    }

    /// What it does to its key: `None` if it is nothing that was ever written.
    pub fn value(&self) -> Option<Option<Vec<u8>>> {
        match (self.kind, self.compression) {
            (REMOVE, _) => Some(None),
            (PUT, PLAIN) => Some(Some(self.value.to_vec())),
            (PUT, LZ4) => lz4_flex::decompress(self.value, self.value_length as usize).ok().map(Some),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A batch with one entry, whose value is `value`.
    fn batch(sequence: u64, value: &[u8]) -> Vec<u8> {
        let length = (value.len() as u32).to_le_bytes();
        let entry = [&[ITEM, 0, 0][..], &[0; 8], &1u16.to_le_bytes(), &length, &length, b"k", value].concat();
        let end = [&[END][..], &xxh3_64(&entry).to_le_bytes(), MAGIC].concat();
        [&[START][..], &1u32.to_le_bytes(), &sequence.to_le_bytes(), &entry, &end].concat()
    }

    #[test]
    fn only_a_torn_last_batch_is_left_out() {
        let (one, two, three) = (batch(1, &[7; 900]), batch(2, &[7; 900]), batch(3, &[7; 900]));
        let changed = |change: fn(&mut Vec<u8>)| {
            let mut bytes = batch(2, &[7; 2_000]);
            change(&mut bytes);
            bytes
        };
        let sector_lost = changed(|bytes| bytes[400..1_600].fill(0));
        let flipped = changed(|bytes| bytes[100] ^= 1);
        let start_lost = changed(|bytes| bytes[..700].fill(0));
        // Somebody stored what looks like a batch.
        let mut likeness = batch(2, &batch(3, &[7; 900]));
        likeness.truncate(970);
        let (blank, late) = (vec![0; 5_000], batch(1 << 40, b"late"));
        type Case<'a> = (&'a str, Vec<&'a [u8]>, Option<usize>);
        let cases: [Case<'_>; 11] = [
            ("nothing", vec![], Some(0)),
            ("whole", vec![&one, &two], Some(2)),
            ("whole and blank", vec![&one, &two, &blank], Some(2)),
            ("a sector lost", vec![&one, &sector_lost, &blank], Some(1)),
            ("the start lost", vec![&one, &start_lost], Some(1)),
            ("broken off", vec![&one, &two[..700]], Some(1)),
            ("a likeness", vec![&one, &likeness, &blank], Some(1)),
            ("a flipped bit", vec![&one, &flipped, &blank], None),
            ("a sector lost, then whole", vec![&sector_lost, &three, &blank], None),
            ("a batch before its time", vec![&two, &one], None),
            ("a batch long after its time", vec![&one, &late], None),
        ];
        let keys = std::env::temp_dir().join(format!("lazuli-journal-{}", std::process::id()));
        fs::create_dir_all(&keys).expect("a directory");
        for (name, parts, expected) in cases {
            fs::write(keys.join("3.jnl"), parts.concat()).expect("writes");
            let mut seen = 0;
            let judged = read(&keys, |_| {
                seen += 1;
                Ok(())
            });
            assert_eq!(judged.ok().map(|()| seen), expected, "{name}");
        }
        fs::remove_dir_all(&keys).expect("goes");
    }
}
