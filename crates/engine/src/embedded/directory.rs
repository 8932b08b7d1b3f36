//! The data directory, and the reasons not to open it.
//!
//! ```text
//! DIR/lazuli.format   "lazuli data directory, format 2, new|ready"
//! DIR/lock            held while a process uses the directory
//! DIR/keys/           the key-value store
//! DIR/extents/        content
//! ```
//!
//! Held true: one process at a time; never a directory that is somebody else's, newer than we know, or missing the
//! keys it once had. `new` is written before the keys exist and `ready` after, so that a crash between is told from a loss.
//! Format 1 had other keys (`old/`); what moves them writes `format 2, ready` when all is in place.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::Error;
use crate::{extents, private};

const FORMAT: u32 = 2;
const OLD_FORMAT: u32 = 1;
const MARKER: &str = "lazuli.format";
const LOCK: &str = "lock";
const KEYS: &str = "keys";
const EXTENTS: &str = "extents";
/// Found in directories that nobody has used yet: by the file system, or by an operator who brings the key file.
const NOT_OURS_BUT_HARMLESS: [&str; 2] = ["lost+found", "secrets.key"];

#[derive(Debug)]
pub struct DataDirectory {
    path: PathBuf,
    /// Unlocked by the system when the process ends, however it ends.
    lock: Arc<File>,
    keys: Found,
}

/// What keys a directory has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// None yet.
    New,
    /// Those of format 1.
    Old,
    Ready,
}

/// Why a data directory was not opened, and what to do about it.
#[derive(Debug)]
pub enum OpenError {
    InUse { path: PathBuf },
    Foreign { path: PathBuf, found: String },
    Newer { path: PathBuf, format: u32 },
    Damaged { path: PathBuf, why: String },
    Io { path: PathBuf, why: String },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { path } => {
                write!(f, "{} is in use by another process: stop it, or choose another data directory", path.display())
            }
            Self::Foreign { path, found } => write!(
                f,
                "{} is not empty and is not a Lazuli data directory (it contains {found:?}): choose an empty or a new one",
                path.display()
            ),
            Self::Newer { path, format } => write!(
                f,
                "{} has format {format}, written by a newer Lazuli; this one knows formats up to {FORMAT}: \
                 run the newer version, or choose another data directory",
                path.display()
            ),
            Self::Damaged { path, why } => write!(
                f,
                "{0} is damaged ({why}); nothing was changed. `lazuli check --location {0}` lists all that is damaged, \
                 `lazuli salvage --location {0} --to NEW` copies what is whole; or restore it from a backup",
                path.display()
            ),
            Self::Io { path, why } => write!(
                f,
                "{} cannot be opened ({why}): check that it is mounted, readable and writable for this user, and has room",
                path.display()
            ),
        }
    }
}

impl std::error::Error for OpenError {}

impl OpenError {
    pub(super) fn io(path: &Path, error: &io::Error) -> Self {
        Self::Io { path: path.into(), why: error.to_string() }
    }

    /// `path` is the data directory.
    pub(super) fn from_keys(path: &Path, error: &Error) -> Self {
        match error {
            Error::Io(at, error) => Self::io(at, error),
            Error::Tree(lsm_tree::Error::Io(error)) => Self::io(path, error),
            Error::Damaged(..) | Error::Tree(_) | Error::Stopped(_) => {
                Self::Damaged { path: path.into(), why: error.to_string() }
            }
        }
    }
}

impl DataDirectory {
    /// Whether there is one at `path`.
    pub fn is_at(path: &Path) -> bool {
        path.join(MARKER).exists()
    }

    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let io = |error: io::Error| OpenError::io(path, &error);
        create_for_good(path).map_err(io)?;
        let marker = Marker::read(path)?;
        if marker.is_none() {
            refuse_foreign(path)?;
        }
        let lock = private::file().create(true).truncate(false).write(true).open(path.join(LOCK)).map_err(io)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => OpenError::InUse { path: path.into() },
            TryLockError::Error(error) => io(error),
        })?;
        let mut directory = Self { path: path.into(), lock: Arc::new(lock), keys: Found::New };
        // Read again: before the lock, the process that held it may have been at work.
        match Marker::read(path)? {
            Some(Marker { format: FORMAT, ready: true }) => directory.keys = Found::Ready,
            Some(Marker { ready: true, .. }) => directory.keys = Found::Old,
            Some(Marker { ready: false, .. }) => remove_dir(&directory.keys()).map_err(io)?,
            None => Marker { format: FORMAT, ready: false }.write(path).map_err(io)?,
        }
        match directory.keys {
            Found::New => {
                create_dir(&directory.extents()).map_err(io)?;
                directory.list_extents()?;
            }
            Found::Old => directory.require(&[&directory.keys(), &directory.extents()])?,
            Found::Ready => {
                let inventory = directory.extents().join(extents::inventory::NAME);
                directory.require(&[&directory.keys(), &directory.extents(), &inventory])?;
            }
        }
        Ok(directory)
    }

    pub(super) fn found(&self) -> Found {
        self.keys
    }

    pub(super) fn lock(&self) -> Arc<File> {
        self.lock.clone()
    }

    /// Writes down what extents there are, if nobody has.
    pub(super) fn list_extents(&self) -> Result<(), OpenError> {
        use extents::OpenError::{Damaged, Foreign, InUse, Inventory, Io, Lost, Newer};
        extents::take_inventory(&self.extents()).map_err(|error| match error {
            Io(path, error) => OpenError::io(&path, &error),
            other @ (InUse(_) | Foreign(_) | Damaged(..) | Newer(..) | Lost(_) | Inventory(_)) => {
                OpenError::Damaged { path: self.path.clone(), why: other.to_string() }
            }
        })
    }

    /// Says that the keys exist, in the format of today: from now on, their absence is a loss.
    pub(super) fn ready(&self) -> Result<(), OpenError> {
        let io = |error| OpenError::io(&self.path, &error);
        Marker { format: FORMAT, ready: true }.write(&self.path).map_err(io)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn keys(&self) -> PathBuf {
        self.path.join(KEYS)
    }

    /// Where content lives. Exists.
    pub fn extents(&self) -> PathBuf {
        self.path.join(EXTENTS)
    }

    fn require(&self, paths: &[&Path]) -> Result<(), OpenError> {
        match paths.iter().find(|path| !path.exists()) {
            Some(path) => {
                let why = format!("{} is missing", path.display());
                Err(OpenError::Damaged { path: self.path.clone(), why })
            }
            None => Ok(()),
        }
    }
}

fn create_dir(path: &Path) -> io::Result<()> {
    match private::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Creates a directory with a name that survives a power cut: making it is not enough, its parent must be synced
/// (found by testkit's `power_cut`).
fn create_for_good(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    create_for_good(parent)?;
    create_dir(path)?;
    File::open(parent)?.sync_all()
}

fn refuse_foreign(path: &Path) -> Result<(), OpenError> {
    for entry in fs::read_dir(path).map_err(|error| OpenError::io(path, &error))? {
        let name = entry.map_err(|error| OpenError::io(path, &error))?.file_name();
        // Our own lock and an unfinished marker: a crash at the very first start.
        let ours = name == LOCK || name == Marker::UNFINISHED;
        if !ours && !NOT_OURS_BUT_HARMLESS.iter().any(|harmless| name == *harmless) {
            return Err(OpenError::Foreign { path: path.into(), found: name.to_string_lossy().into_owned() });
        }
    }
    Ok(())
}

fn remove_dir(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Marker {
    format: u32,
    ready: bool,
}

impl Marker {
    const UNFINISHED: &str = "lazuli.format.new";

    fn read(path: &Path) -> Result<Option<Self>, OpenError> {
        let text = match fs::read(path.join(MARKER)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(OpenError::io(path, &error)),
        };
        let damaged = || OpenError::Damaged { path: path.into(), why: format!("{MARKER} is not readable") };
        let text = String::from_utf8(text).map_err(|_| damaged())?;
        let rest = text.strip_prefix("lazuli data directory, format ").ok_or_else(damaged)?;
        let (format, state) = rest.strip_suffix('\n').and_then(|rest| rest.split_once(", ")).ok_or_else(damaged)?;
        let format: u32 = format.parse().map_err(|_| damaged())?;
        match (format, state) {
            (newer, _) if newer > FORMAT => Err(OpenError::Newer { path: path.into(), format: newer }),
            (OLD_FORMAT | FORMAT, "new") => Ok(Some(Self { format, ready: false })),
            (OLD_FORMAT | FORMAT, "ready") => Ok(Some(Self { format, ready: true })),
            _ => Err(damaged()),
        }
    }

    fn write(self, path: &Path) -> io::Result<()> {
        let state = if self.ready { "ready" } else { "new" };
        let line = format!("lazuli data directory, format {}, {state}\n", self.format);
        private::replace(path, Self::UNFINISHED, MARKER, line.as_bytes())
    }
}
