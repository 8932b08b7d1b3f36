//! Content in append-only files ("extents"), the default home of content bytes.
//!
//! Held true, besides what [`crate::content`] promises:
//! * offsets and extent ids are never used twice, so a late or repeated wish to free hits nothing else;
//! * what starts up depends on the number of files, not on the bytes in them;
//! * an extent is sealed only when the fate of all in it is known; whatever a crash leaves open is settled from
//!   the durable records, by [`Recovery::settle`].

mod append;
mod buffers;
mod directory;
pub(crate) mod inventory;
mod layout;
mod read;
mod recent;
mod reclaim;
mod space;
mod stage;
#[cfg(test)]
mod tests;
mod verify;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use append::Lanes;
use buffers::{Buffers, Pool};
use directory::{Directory, fault};
use read::{Files, Footers, Reading};
use reclaim::{Range, Reclaim};
use space::Space;
use stage::Upload;
pub(crate) use verify::{Verifier, header_of};

use crate::content::{Chunks, Content, Piece, Recovery, Stage};
use crate::{BoxFuture, Fault};

#[derive(Clone, Debug)]
pub struct Options {
    /// When a file has grown this long, the next one is begun.
    pub capacity: u64,
    /// How many files are appended to at the same time.
    pub lanes: usize,
    /// What uploads leave free on the file system, so that there is always room to delete.
    pub keep_free: u64,
    /// Write what is long past the page cache, where the file system can (docs/decisions/0003-extents.md has the numbers).
    pub direct: bool,
    /// What all uploads together may hold of bytes that are yet to be written.
    pub upload_memory: usize,
    /// Punch holes, where the file system can; else space returns only with whole files.
    pub punch: bool,
}

impl Default for Options {
    fn default() -> Self {
        let (capacity, keep_free, upload_memory) = (1 << 30, 64 << 20, 128 << 20);
        Self { capacity, lanes: 4, keep_free, direct: true, upload_memory, punch: true }
    }
}

/// Why a directory of extents cannot be used.
#[derive(Debug)]
pub enum OpenError {
    InUse(PathBuf),
    Foreign(PathBuf),
    /// The header does not agree with its checksum (`true`), or is that of another extent (`false`).
    Damaged(PathBuf, bool),
    Newer(PathBuf, u32),
    /// It is gone, or shorter than it was.
    Lost(PathBuf),
    /// What lists the extents does not agree with its checksum.
    Inventory(PathBuf),
    Io(PathBuf, io::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse(path) => {
                write!(f, "{} is in use by another process: stop it, or choose another data directory", path.display())
            }
            Self::Foreign(path) => {
                write!(f, "{} was not put there by Lazuli: move it elsewhere and start again", path.display())
            }
            Self::Damaged(path, true) => {
                write!(f, "the header of {} is damaged: restore the file from a backup and start again", path.display())
            }
            Self::Damaged(path, false) => {
                let path = path.display();
                write!(
                    f,
                    "{path} holds another extent than its name says: undo the renaming or copying and start again"
                )
            }
            Self::Newer(path, version) => {
                write!(f, "{} has format version {version}: use the newer Lazuli that wrote it", path.display())
            }
            Self::Inventory(path) => write!(
                f,
                "{} is damaged; nothing was changed: restore it from a backup, or see `lazuli check` and `lazuli salvage`",
                path.display()
            ),
            Self::Lost(path) => write!(
                f,
                "{} is missing, or shorter than it was; nothing was changed: restore it from a backup, or see \
                 `lazuli check` and `lazuli salvage`",
                path.display()
            ),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, error) => Some(error),
            Self::InUse(_)
            | Self::Foreign(_)
            | Self::Damaged(..)
            | Self::Newer(..)
            | Self::Lost(_)
            | Self::Inventory(_) => None,
        }
    }
}

/// Lists what is in a directory that has no inventory yet.
pub(crate) fn take_inventory(path: &Path) -> Result<(), OpenError> {
    Directory::open(path, false, false).map(drop)
}

pub struct Extents {
    core: Arc<Core>,
}

/// What uploads and reads need; they may outlive [`Extents`].
pub(crate) struct Core {
    directory: Arc<Directory>,
    lanes: Lanes,
    space: Space,
    reclaim: Reclaim,
    files: Arc<Files>,
    footers: Footers,
    read_buffers: Arc<Buffers>,
    write_buffers: Arc<Buffers>,
    upload_memory: Pool,
    unsettled: Mutex<BTreeSet<u64>>,
    syncs: Arc<AtomicU64>,
    turned_away: AtomicU64,
}

impl Extents {
    /// Opens or makes the directory of extents at `path`, for this process alone.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        let (directory, unsettled) = Directory::open(path, options.punch, options.direct)?;
        let (directory, files) = (Arc::new(directory), Arc::new(Files::new()));
        let reclaim =
            Reclaim::start(directory.clone(), files.clone()).map_err(|error| OpenError::Io(path.to_owned(), error))?;
        let write_buffers = Buffers::new(stage::BUFFER);
        let core = Core {
            directory,
            lanes: Lanes::new(options.lanes, options.capacity),
            space: Space::new(options.keep_free),
            reclaim,
            files,
            footers: Footers::new(),
            read_buffers: Buffers::new(read::CHUNK),
            upload_memory: Pool::new(write_buffers.clone(), options.upload_memory.max(stage::MEMORY_MIN)),
            write_buffers,
            unsettled: Mutex::new(unsettled),
            syncs: Arc::default(),
            turned_away: AtomicU64::new(0),
        };
        Ok(Self { core: Arc::new(core) })
    }

    /// How many times a file was synced for uploads. Fewer than the uploads, when they come together.
    pub fn syncs(&self) -> u64 {
        self.core.syncs.load(Relaxed)
    }

    /// Extents whose file is gone: content that cannot be read. Asks the file system for each.
    pub fn missing(&self) -> io::Result<Vec<u64>> {
        self.core.directory.missing()
    }

    /// Whether uploads are taken.
    pub fn has_room(&self) -> bool {
        // Not knowing is no reason to say no.
        !matches!(self.core.space.claim(self.core.directory.path(), 1), Err(Fault::Full))
    }

    /// How many pieces of uploads were refused for want of room.
    pub fn turned_away(&self) -> u64 {
        self.core.turned_away.load(Relaxed)
    }

    /// Whether space returns piece by piece, or only with whole files.
    pub fn punches(&self) -> bool {
        self.core.directory.punches
    }
}

impl Extents {
    /// Waits until all that was freed or dropped before this call has been given back, or never will be by this process.
    pub fn freed(&self) -> BoxFuture<'static, ()> {
        let (done, told) = tokio::sync::oneshot::channel();
        self.core.reclaim.tell(done);
        Box::pin(async move { drop(told.await) })
    }
}

impl Core {
    fn unsettled(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Extents {
    fn drop(&mut self) {
        self.core.lanes.retire_all(&self.core.reclaim);
        self.core.reclaim.stop();
    }
}

impl Content for Extents {
    fn stage(&self, expected: Option<u64>) -> Box<dyn Stage> {
        Box::new(Upload::new(self.core.clone(), expected))
    }

    fn read(&self, piece: Piece, from: u64, to: u64) -> Box<dyn Chunks> {
        Box::new(Reading::new(self.core.clone(), piece, from, to))
    }

    fn free(&self, pieces: Vec<Piece>) -> BoxFuture<'static, ()> {
        self.core.reclaim.give_back(pieces.iter().map(Range::from).collect(), Vec::new());
        self.freed()
    }

    fn recovery(&self) -> Option<&dyn Recovery> {
        Some(self)
    }
}

impl Recovery for Extents {
    fn unsettled(&self) -> Vec<u64> {
        self.core.unsettled().iter().copied().collect()
    }

    fn settle(&self, extent: u64, live: Vec<(u64, u64)>) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(async move {
            if !self.core.unsettled().contains(&extent) {
                return Err(Fault::Unavailable(format!("extent {extent} is not one to settle")));
            }
            let settled = self.core.reclaim.settle(extent, live).await;
            settled.map_err(|error| fault(&format!("settling extent {extent}"), &error))?;
            self.core.unsettled().remove(&extent);
            Ok(())
        })
    }
}
