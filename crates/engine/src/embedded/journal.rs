//! Two things that the store does not do with its journal, done while it is closed.
//!
//! ```text
//! journal  = batch*
//! batch    = 1, count u32, sequence u64 | entry* | 3, xxh3 of the entries u64, "FJL" 3
//! entry    = 2, type u8, compression u8, keyspace u64, key length u16, value length u32, stored length u32, key, stored
//!          | 4, keyspace u64
//! ```
//!
//! Numbers are little endian (fjall 3.1, `journal/entry.rs`).

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const CLEAR: u8 = 4;

/// Empties the journal of a store whose entries are all in tables. The store itself never does so before the journal has
/// grown to 64 MB, and reads all of it at each start. The file stays: without one, the store would begin to count its
/// sequence numbers anew, below those of its tables.
pub(super) fn empty(keys: &Path) -> io::Result<()> {
    // With more than one, the store had not finished with the older ones.
    if let [(_, journal)] = &journals(keys)?[..] {
        cut(journal, 0)?;
    }
    Ok(())
}

/// Cuts off the last batch if it is torn: a power cut kept some sectors of it and not others, so its sync never returned
/// and nobody was answered. The store refuses to open on some such batches (their checksum is wrong, or a lost length makes
/// their values look like entries), though it discards others. A torn batch with whole ones after it is another matter,
/// and left alone. True if something was cut.
pub(super) fn cut_torn_tail(keys: &Path) -> io::Result<bool> {
    let Some((_, newest)) = journals(keys)?.pop() else { return Ok(false) };
    let bytes = fs::read(&newest)?;
    let mut begin = 0;
    while let Some(batch) = Batch::read(&bytes[begin..]).filter(|batch| batch.intact) {
        begin += batch.length;
    }
    let rest = &bytes[begin..];
    if is_blank(rest) || (1..rest.len()).any(|at| is_whole_to_the_end(&rest[at..])) {
        return Ok(false);
    }
    cut(&newest, begin)?;
    Ok(true)
}

/// Whether `bytes` are batches and nothing else. The values of a torn batch might look like one, but not up to the end.
fn is_whole_to_the_end(mut bytes: &[u8]) -> bool {
    let mut any = false;
    while let Some(batch) = Batch::read(bytes).filter(|batch| batch.intact) {
        bytes = &bytes[batch.length..];
        any = true;
    }
    any && is_blank(bytes)
}

/// The store sets its journal's length ahead of what it writes.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

fn cut(journal: &Path, length: usize) -> io::Result<()> {
    let file = File::options().write(true).open(journal)?;
    file.set_len(length as u64)?;
    file.sync_all()
}

/// With their numbers, oldest first.
pub(super) fn journals(keys: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut journals = Vec::new();
    for entry in fs::read_dir(keys)? {
        let path = entry?.path();
        let number = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
        if let Some(number) = number.filter(|_| path.extension().is_some_and(|extension| extension == "jnl")) {
            journals.push((number, path));
        }
    }
    journals.sort();
    Ok(journals)
}

struct Batch {
    length: usize,
    intact: bool,
}

impl Batch {
    /// The batch at the start of `bytes`, if there is a whole one.
    fn read(bytes: &[u8]) -> Option<Self> {
        const HEAD: usize = 1 + 4 + 8;
        if *bytes.first()? != START {
            return None;
        }
        let mut at = HEAD;
        loop {
            let rest = bytes.get(at..)?;
            at += match *rest.first()? {
                ITEM => {
                    let key = u16::from_le_bytes(rest.get(11..13)?.try_into().ok()?);
                    let stored = u32::from_le_bytes(rest.get(17..21)?.try_into().ok()?);
                    21 + usize::from(key) + stored as usize
                }
                CLEAR => 1 + 8,
                END => {
                    let expected = u64::from_le_bytes(rest.get(1..9)?.try_into().ok()?);
                    rest.get(9..13).filter(|magic| *magic == b"FJL\x03")?;
                    return Some(Self { length: at + 13, intact: xxh3_64(bytes.get(HEAD..at)?) == expected });
                }
                _ => return None,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A batch with one entry, whose value is `value`.
    fn batch(value: &[u8]) -> Vec<u8> {
        let length = (value.len() as u32).to_le_bytes();
        let entry = [&[ITEM, 0, 0][..], &[0; 8], &1u16.to_le_bytes(), &length, &length, b"k", value].concat();
        let end = [&[END][..], &xxh3_64(&entry).to_le_bytes(), b"FJL\x03"].concat();
        [&[START][..], &1u32.to_le_bytes(), &[0; 8], &entry, &end].concat()
    }

    #[test]
    fn only_a_torn_last_batch_is_cut() {
        let whole = batch(&[7; 900]);
        let mut other_bytes = batch(&[7; 900]);
        other_bytes[600] = 0;
        // A lost length makes the value look like entries: here, a hundred keyspaces cleared.
        let mut other_length = batch(&[CLEAR; 900]);
        other_length[13 + 13..13 + 21].fill(0);
        // Somebody stored what looks like a batch.
        let mut with_likeness = batch(&batch(&[7; 900]));
        with_likeness[14] = 9;
        let blank = vec![0; 5_000];
        type Case<'a> = (&'a str, Vec<&'a [u8]>, Option<usize>);
        let cases: [Case<'_>; 9] = [
            ("nothing", vec![], None),
            ("whole", vec![&whole, &whole], None),
            ("whole and blank", vec![&whole, &blank], None),
            ("other bytes", vec![&whole, &other_bytes, &blank], Some(whole.len())),
            ("other length", vec![&whole, &other_length], Some(whole.len())),
            ("no start", vec![&whole, &whole[20..], &blank], Some(whole.len())),
            ("a likeness", vec![&whole, &with_likeness, &blank], Some(whole.len())),
            ("other bytes, then whole", vec![&other_bytes, &whole, &blank], None),
            ("other length, then whole", vec![&whole, &other_length, &whole, &whole], None),
        ];
        let keys = std::env::temp_dir().join(format!("lazuli-journal-{}", std::process::id()));
        fs::create_dir_all(&keys).expect("a directory");
        for (name, parts, cut_to) in cases {
            let bytes = parts.concat();
            fs::write(keys.join("3.jnl"), &bytes).expect("writes");
            assert_eq!(cut_torn_tail(&keys).ok(), Some(cut_to.is_some()), "{name}");
            let left = fs::read(keys.join("3.jnl")).expect("reads");
            assert_eq!(left, bytes[..cut_to.unwrap_or(bytes.len())], "{name}");
        }
        fs::remove_dir_all(&keys).expect("goes");
    }
}
