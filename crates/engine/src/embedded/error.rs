//! What can go wrong with the keys on disk.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::Fault;

#[derive(Debug)]
pub(super) enum Error {
    Io(PathBuf, io::Error),
    /// Something is not as it was written.
    Damaged(PathBuf, String),
    Tree(lsm_tree::Error),
    /// A thread of ours gave up: what it said.
    Stopped(String),
}

pub(super) type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn damaged(path: &Path, why: impl Into<String>) -> Self {
        Self::Damaged(path.into(), why.into())
    }

    /// What it means to a caller that waits for an answer.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Io(_, error) | Self::Tree(lsm_tree::Error::Io(error)) => {
                let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
                if is_full { Fault::Full } else { Fault::Unavailable(error.to_string()) }
            }
            Self::Stopped(_) => Fault::Unavailable("the store gave up after a failed write".into()),
            Self::Damaged(..) | Self::Tree(_) => Fault::Corrupt(self.to_string()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Damaged(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Tree(error) => write!(f, "the tables: {error:?}"),
            Self::Stopped(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

impl From<lsm_tree::Error> for Error {
    fn from(error: lsm_tree::Error) -> Self {
        Self::Tree(error)
    }
}

/// Says at which file it happened.
pub(super) trait At<T> {
    fn at(self, path: &Path) -> Result<T>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T> {
        self.map_err(|error| Error::Io(path.into(), error))
    }
}
