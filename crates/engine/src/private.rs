//! Files and directories that only their owner can read: made so, not changed afterwards.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
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
