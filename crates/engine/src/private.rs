//! Files and directories that only their owner can read: made so, not changed afterwards.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

const FILE: u32 = 0o600;
const DIRECTORY: u32 = 0o700;

/// What a file of ours is made with.
pub(crate) fn file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE);
    options
}

pub(crate) fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIRECTORY).create(path)
}

/// With the directories above it that are missing.
pub(crate) fn create_dir_all(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIRECTORY).recursive(true).create(path)
}

/// Puts a file in the place of the one that has this name, in one step that is durable when this returns. `unfinished` is its name until then.
pub(crate) fn replace(directory: &Path, unfinished: &str, name: &str, content: &[u8]) -> io::Result<()> {
    let unfinished = directory.join(unfinished);
    let mut made = file().write(true).create(true).truncate(true).open(&unfinished)?;
    made.write_all(content)?;
    made.sync_all()?;
    fs::rename(unfinished, directory.join(name))?;
    File::open(directory)?.sync_all()
}
