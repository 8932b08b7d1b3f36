//! Zeros ahead of the journal's end, so that a commit overwrites and does not grow.
//!
//! The store gives its journal a length and no blocks. A sync of what fell into new blocks also has to write down where
//! they are, which doubles it. Blocks that were written once, in larger steps, need only their bytes. The store goes on
//! beyond that length, too: it looks whether to begin a new journal only when a memtable is full.
//!
//! Nothing is ever written over: zeros begin behind all that the store can have written, by its own count of bytes at
//! most, or by the file system's word that a hole begins there. A journal that was there when the store was opened is
//! appended to, and left alone.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{SeekFrom, seek};

use super::journal;

/// Zeros of one step. Each is written out with the next sync.
const STEP: usize = 256 << 10;
static ZEROS: [u8; STEP] = [0; STEP];

pub(super) struct Ahead {
    keys: PathBuf,
    /// The last journal whose end is not ours to move.
    appended: Option<u64>,
    journal: Option<Journal>,
    /// Bytes that were committed since a newer journal was last looked for.
    since: u64,
}

struct Journal {
    number: u64,
    file: File,
    /// The store has written up to here at most.
    end: u64,
    /// Up to here there are blocks.
    zeroed: u64,
}

impl Ahead {
    /// `appended` is the newest journal that was there before the store was opened.
    pub fn new(keys: &Path, appended: Option<u64>) -> Self {
        Self { keys: keys.into(), appended, journal: None, since: STEP as u64 }
    }

    /// Makes room for a commit of at most `bytes`. Only the one who commits may call it, between commits.
    pub fn make_room(&mut self, bytes: u64) {
        self.since += bytes;
        if self.since >= STEP as u64 {
            self.since = 0;
            self.journal = self.follow().unwrap_or_default();
        }
        // A failure costs some speed; a full disk, which is the likely one, is found out by the commit itself.
        if let Some(journal) = &mut self.journal
            && journal.make_room(bytes).is_err()
        {
            self.journal = None;
        }
    }

    /// The newest journal, if it is one of those that the store writes into from the start.
    fn follow(&mut self) -> io::Result<Option<Journal>> {
        let Some((number, path)) = journal::journals(&self.keys)?.pop() else { return Ok(None) };
        if self.appended.is_some_and(|appended| number <= appended) {
            return Ok(None);
        }
        if let Some(journal) = self.journal.take_if(|journal| journal.number == number) {
            return Ok(Some(journal));
        }
        let file = File::options().write(true).open(path)?;
        let hole = seek(&file, SeekFrom::Hole(0))?;
        Ok(Some(Journal { number, file, end: hole, zeroed: hole }))
    }
}

impl Journal {
    fn make_room(&mut self, bytes: u64) -> io::Result<()> {
        self.end += bytes;
        // A long commit takes what it needs by itself.
        self.zeroed = self.zeroed.max(self.end.saturating_sub(STEP as u64));
        if self.end > self.zeroed {
            self.file.write_all_at(&ZEROS, self.zeroed)?;
            self.zeroed += STEP as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// What the store wrote stays, wherever its commits end, and the next one finds blocks of zeros.
    #[test]
    fn zeros_are_written_only_behind_the_end() {
        let keys = std::env::temp_dir().join(format!("lazuli-ahead-{}", std::process::id()));
        fs::create_dir_all(&keys).expect("a directory");
        let sizes = [1, 700, 5_000, 200_000, 300_000, 1 << 20, 3, 90_000];
        let store = File::create(keys.join("4.jnl")).expect("a journal");
        store.set_len(4 << 20).expect("a length");
        let mut ahead = Ahead::new(&keys, Some(3));
        let mut end = 0;
        for (at, size) in sizes.into_iter().cycle().take(32).enumerate() {
            // The bound is more than what is written.
            ahead.make_room(size as u64 + 100);
            store.write_all_at(&vec![at as u8 + 1; size], end).expect("writes");
            end += size as u64;
        }
        let bytes = fs::read(keys.join("4.jnl")).expect("reads");
        let mut rest = &bytes[..];
        for (at, size) in sizes.into_iter().cycle().take(32).enumerate() {
            let (commit, behind) = rest.split_at(size);
            assert!(commit.iter().all(|byte| *byte == at as u8 + 1), "commit {at}");
            rest = behind;
        }
        assert!(rest.iter().all(|byte| *byte == 0));
        assert!(
            end > 4 << 20 && rest.len() > 100_000,
            "beyond the store's length there are zeros, too: {}",
            rest.len()
        );

        let appended = keys.join("5.jnl");
        fs::write(&appended, "end").expect("writes");
        let mut ahead = Ahead::new(&keys, Some(5));
        (0..10).for_each(|_| ahead.make_room(1 << 20));
        assert_eq!(fs::read(&appended).expect("reads"), b"end");
        fs::remove_dir_all(&keys).expect("goes");
    }
}
