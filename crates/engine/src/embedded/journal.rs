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
    if let [journal] = &journals(keys)?[..] {
        cut(journal, 0)?;
    }
    Ok(())
}

/// Cuts off the last batch if its checksum is wrong: a power cut kept some pages of it and not others, so its sync never
/// returned and nobody was answered. The store refuses to open on it, though it discards batches that end too soon.
/// A wrong checksum with batches after it is another matter, and left alone. True if something was cut.
pub(super) fn cut_torn_tail(keys: &Path) -> io::Result<bool> {
    let Some(newest) = journals(keys)?.pop() else { return Ok(false) };
    let bytes = fs::read(&newest)?;
    let mut begin = 0;
    while let Some(batch) = Batch::read(&bytes[begin..]) {
        let end = begin + batch.length;
        if !batch.intact {
            let last = bytes.get(end) != Some(&START);
            if last {
                cut(&newest, begin)?;
            }
            return Ok(last);
        }
        begin = end;
    }
    Ok(false)
}

fn cut(journal: &Path, length: usize) -> io::Result<()> {
    let file = File::options().write(true).open(journal)?;
    file.set_len(length as u64)?;
    file.sync_all()
}

/// Oldest first.
fn journals(keys: &Path) -> io::Result<Vec<PathBuf>> {
    let mut journals = Vec::new();
    for entry in fs::read_dir(keys)? {
        let path = entry?.path();
        let number = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
        if let Some(number) = number.filter(|_| path.extension().is_some_and(|extension| extension == "jnl")) {
            journals.push((number, path));
        }
    }
    journals.sort();
    Ok(journals.into_iter().map(|(_, path)| path).collect())
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
