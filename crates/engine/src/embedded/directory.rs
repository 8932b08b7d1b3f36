//! The data directory, and the reasons not to open it.
//!
//! ```text
//! DIR/lazuli.format   "lazuli data directory, format 1, new|ready"
//! DIR/lock            held while a process uses the directory
//! DIR/keys/           the key-value store
//! DIR/extents/        content
//! ```
//!
//! Held true: one process at a time; never a directory that is somebody else's, newer than we know, or missing the
//! keys it once had. `new` is written before the keys exist and `ready` after, so that a crash between is told from a loss.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const FORMAT: u32 = 1;
const MARKER: &str = "lazuli.format";
const LOCK: &str = "lock";
const KEYS: &str = "keys";
const EXTENTS: &str = "extents";
/// Found in directories that nobody has used yet.
const NOT_OURS_BUT_HARMLESS: [&str; 1] = ["lost+found"];

#[derive(Debug)]
pub struct DataDirectory {
    path: PathBuf,
    /// Unlocked by the system when the process ends, however it ends.
    _lock: File,
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
                "{} is damaged ({why}): restore it from a backup, or move it away to start empty; nothing was changed",
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

    pub(super) fn from_keys(path: &Path, error: &fjall::Error) -> Self {
        match error {
            fjall::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
                Self::Damaged { path: path.into(), why: error.to_string() }
            }
            fjall::Error::Io(error) => Self::io(path, error),
            fjall::Error::Storage(fjall::LsmError::Io(error)) => Self::io(path, error),
            fjall::Error::Locked => Self::InUse { path: path.into() },
            other => Self::Damaged { path: path.into(), why: other.to_string() },
        }
    }
}

impl DataDirectory {
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let io = |error: io::Error| OpenError::io(path, &error);
        create_for_good(path).map_err(io)?;
        let marker = Marker::read(path)?;
        if marker.is_none() {
            refuse_foreign(path)?;
        }
        let lock = File::options().create(true).truncate(false).write(true).open(path.join(LOCK)).map_err(io)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => OpenError::InUse { path: path.into() },
            TryLockError::Error(error) => io(error),
        })?;
        let directory = Self { path: path.into(), _lock: lock };
        // Read again: before the lock, the process that held it may have been at work.
        match Marker::read(path)? {
            Some(Marker::Ready) => directory.require_keys()?,
            Some(Marker::New) => remove_dir(&directory.keys()).map_err(io)?,
            None => Marker::New.write(path).map_err(io)?,
        }
        fs::create_dir_all(directory.extents()).map_err(io)?;
        Ok(directory)
    }

    /// Says that the keys exist: from now on, their absence is a loss.
    pub(super) fn ready(&self) -> Result<(), OpenError> {
        if Marker::read(&self.path)? == Some(Marker::Ready) {
            return Ok(());
        }
        Marker::Ready.write(&self.path).map_err(|error| OpenError::io(&self.path, &error))
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

    fn require_keys(&self) -> Result<(), OpenError> {
        // Without its version file the store below would take the directory for a new one, and begin empty.
        if self.keys().join("version").is_file() {
            return Ok(());
        }
        Err(OpenError::Damaged { path: self.path.clone(), why: "its keys are missing".into() })
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
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
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
enum Marker {
    New,
    Ready,
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
        let (format, state) = rest.trim_end().split_once(", ").ok_or_else(damaged)?;
        let format: u32 = format.parse().map_err(|_| damaged())?;
        match (format, state) {
            (newer, _) if newer > FORMAT => Err(OpenError::Newer { path: path.into(), format: newer }),
            (FORMAT, "new") => Ok(Some(Self::New)),
            (FORMAT, "ready") => Ok(Some(Self::Ready)),
            _ => Err(damaged()),
        }
    }

    fn write(self, path: &Path) -> io::Result<()> {
        let state = match self {
            Self::New => "new",
            Self::Ready => "ready",
        };
        let mut file = File::create(path.join(Self::UNFINISHED))?;
        writeln!(file, "lazuli data directory, format {FORMAT}, {state}")?;
        file.sync_all()?;
        fs::rename(path.join(Self::UNFINISHED), path.join(MARKER))?;
        File::open(path)?.sync_all()
    }
}
