//! The log: every batch is in it, synced, before it is visible or answered (docs/format.md draws the bytes).
//!
//! Held true:
//! * a batch is written after the one before it was synced, into blank space behind it, and says which one that was;
//! * a file is durable, with its header and its name, before the inventory lists it, and is listed before it gets a batch;
//! * what a start finds in the files is judged whole before anything is served (`judge.rs`).

mod format;
mod judge;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use format::Head;
pub(crate) use format::{Batch, Header};
pub(crate) use judge::{Damage, Judged, judge};

use super::keys::Writes;
use crate::{Stamp, private};

/// Zeros of one step. Each is written out with the next sync.
const STEP: usize = 256 << 10;
static ZEROS: [u8; STEP] = [0; STEP];

/// Where the log goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The sequence of the next batch.
    pub next: u64,
    /// The checksum of the last one.
    pub checksum: u64,
}

/// The file that is appended to.
pub(super) struct Log {
    file: File,
    header: Header,
    position: Position,
    /// Where the next batch begins.
    end: u64,
    /// Up to here there are blocks that were written before. A sync of what falls into new blocks also has to write down where they
    /// are, which doubles it.
    blocks: u64,
    /// Up to here the file is on disk, so a batch may say that it is at least that long. A batch cannot say so of blocks that are synced
    /// together with it: a power cut may keep the batch and lose them.
    synced: u64,
    buffer: Vec<u8>,
    /// Something went wrong: what is behind `end` is not known.
    broken: bool,
}

impl Log {
    /// Makes file `number`, in place of one that never got a batch, and makes it durable.
    pub fn create(directory: &Path, number: u64, position: Position) -> io::Result<Self> {
        let salt = RandomState::new().build_hasher().finish();
        let header = Header { number, first: position.next, previous: position.checksum, salt };
        let path = directory.join(name(number));
        let file = private::file().write(true).create(true).truncate(true).open(path)?;
        let bytes = header.encode();
        assert_eq!(Header::decode(&bytes), Ok(header), "a header can be read back");
        file.write_all_at(&bytes, 0)?;
        let end = format::HEADER as u64;
        // Without room for them the first batch finds out by itself.
        let blocks = if file.write_all_at(&ZEROS, end).is_ok() { end + STEP as u64 } else { end };
        file.sync_all()?;
        File::open(directory)?.sync_all()?;
        Ok(Self { file, header, position, end, blocks, synced: blocks, buffer: Vec::new(), broken: false })
    }

    pub fn position(&self) -> Position {
        self.position
    }

    pub fn bytes(&self) -> u64 {
        self.end
    }

    /// Adds a batch; when it returns `Ok`, the batch is on disk. After an error, nothing is added any more.
    pub fn append(&mut self, writes: &Writes, mark: Stamp) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier write to the log failed"));
        }
        assert!(self.end.is_multiple_of(format::WORD as u64), "batches begin on a word");
        assert!(self.end <= self.synced, "what is before this batch is on disk");
        assert!(self.header.first <= self.position.next, "a file begins with its first batch");
        let Position { next, checksum } = self.position;
        let length = format::length(writes) as u64;
        if let Err(error) = self.make_blocks(length) {
            self.broken = true;
            return Err(error);
        }
        let head = Head { count: 0, length: 0, sequence: next, previous: checksum, mark, reach: self.synced };
        let checksum = format::encode(&mut self.buffer, writes, &head, self.header.salt);
        debug_assert!(
            Batch::decode(&self.buffer, self.header.salt).is_some_and(|batch| batch.checksum == checksum),
            "a batch can be read back"
        );
        assert_eq!(self.buffer.len() as u64, length, "the batch is as long as space was made for it");
        let written = self.file.write_all_at(&self.buffer, self.end).and_then(|()| self.file.sync_data());
        self.broken = written.is_err();
        written?;
        self.end += length;
        self.synced = self.blocks.max(self.end);
        assert!(self.end <= self.synced, "the next batch begins behind what is on disk");
        self.position = Position { next: next + 1, checksum };
        // One that was long is not kept for all that follow.
        self.buffer.shrink_to(STEP);
        Ok(())
    }

    /// Writes zeros ahead, before they are needed: the batch that comes syncs them, and those after it may rely on them. A batch that is
    /// longer than what is there has to wait for a sync of its own blocks. A failure to write them costs some speed; a full disk, which is
    /// the likely one, is found out by the batch itself.
    fn make_blocks(&mut self, bytes: u64) -> io::Result<()> {
        let end = self.end + bytes;
        if end + STEP as u64 / 2 <= self.blocks {
            return Ok(());
        }
        // Never over what was written. A long batch takes what it needs by itself.
        let from = self.blocks.max(self.end).max(end.saturating_sub(STEP as u64 / 2));
        assert!(from >= self.end, "zeros never go over a batch");
        if self.file.write_all_at(&ZEROS, from).is_err() {
            return Ok(());
        }
        self.blocks = from + STEP as u64;
        if end > self.synced {
            self.file.sync_data()?;
            self.synced = self.blocks;
        }
        Ok(())
    }

    /// Cuts off the blank end. The inventory must say before that the log ends here.
    pub fn finish(self) -> io::Result<()> {
        self.file.set_len(self.end)?;
        self.file.sync_all()
    }
}

/// Makes what was judged of the newest file durable, and blanks what was never acknowledged. The last batch is written anew: the
/// process before this one may have ended before its sync, or after a sync that failed, and the next one may then claim success over
/// pages that were never written (Rebello et al., "Can Applications Recover from fsync Failures?", 2020).
pub(super) fn mend_end(path: &Path, mut bytes: Vec<u8>, judged: &Judged) -> io::Result<()> {
    let (begin, end) = judged.last;
    assert!(begin <= end && end <= bytes.len(), "the last batch is in its file");
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(end, |last| last + 1).max(end);
    bytes[end..used].fill(0);
    let file = File::options().write(true).open(path)?;
    file.write_all_at(&bytes[begin..used], begin as u64)?;
    file.sync_all()
}

pub(super) fn name(number: u64) -> String {
    format!("{number:08}.log")
}

/// The files there are, with their numbers, oldest first. Others are nobody's.
pub(super) fn list(directory: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let number = path.file_name().and_then(|file| file.to_str()?.strip_suffix(".log")?.parse::<u64>().ok());
        if let Some(number) = number.filter(|number| path.ends_with(name(*number))) {
            files.push((number, path));
        }
    }
    files.sort();
    Ok(files)
}
