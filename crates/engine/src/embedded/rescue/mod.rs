//! What to do with a directory that is damaged: list what is wrong with it (`check`), and copy what is whole into a new one (`salvage`).
//!
//! Held true: the directory in question is only read, and by nobody else meanwhile.

mod check;
mod logs;
mod read_around;
mod salvage;
mod tables;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use bytes::Bytes;

pub use check::check;
pub use salvage::salvage;

use super::directory::OpenError;
use super::error::Error;
use crate::Key;
use crate::content::Piece;

/// What was gone over, and what was found.
#[derive(Debug, Default)]
pub struct Report {
    /// What is damaged or lost, in plain words, each with its place.
    pub damage: Vec<String>,
    pub batches: u64,
    pub tables: u64,
    /// Entries in tables and batches. A key that was written several times may have several.
    pub entries: u64,
    pub extents: u64,
    /// Pieces of content that rows claim, and their bytes.
    pub pieces: u64,
    pub piece_bytes: u64,
}

impl Report {
    fn add(&mut self, path: &Path, what: impl std::fmt::Display) {
        self.damage.push(format!("{}: {what}", path.display()));
    }

    fn add_error(&mut self, error: &Error) {
        self.damage.push(error.to_string());
    }
}

/// What a row claims of the extents, which only who wrote it knows.
pub type Claims<'a> = &'a dyn Fn(&Key, &[u8]) -> Option<Piece>;

/// What was written to a key. Later ones come later.
type See<'a> = dyn FnMut(&Bytes, Option<Bytes>) + 'a;

/// Keeps everybody else away, if there is a lock at all.
fn lock(path: &Path) -> Result<Option<File>, OpenError> {
    let io = |error: std::io::Error| OpenError::io(path, &error);
    if !path.is_dir() {
        return Err(io(std::io::ErrorKind::NotFound.into()));
    }
    let Ok(file) = File::open(path.join("lock")) else { return Ok(None) };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path: path.into() }),
        Err(TryLockError::Error(error)) => Err(io(error)),
    }
}

/// Where the keys of a directory are, by what is there.
struct Places {
    keys: PathBuf,
    tree: PathBuf,
    extents: PathBuf,
    /// Format 1.
    is_old: bool,
}

impl Places {
    fn of(directory: &Path) -> Self {
        let keys = directory.join("keys");
        let (old, new) = (keys.join("keyspaces/1"), keys.join(super::keys::TREE));
        let is_old = old.exists() && !new.exists();
        Self { tree: if is_old { old } else { new }, keys, extents: directory.join("extents"), is_old }
    }
}
