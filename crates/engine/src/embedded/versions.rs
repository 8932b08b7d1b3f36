//! What the store does not check when it opens: that a tree's version is the one whose checksum was written down beside its number
//! (lsm-tree 3.1, `version/persist.rs` writes it, `version/recovery.rs` does not read it). A flipped bit in the number would open an
//! older version, or one that is almost empty, and what was acknowledged since would be gone without a word.
//!
//! ```text
//! current  = number u64, xxh3 of the file "v<number>" u128, 0        little endian
//! ```

use std::io::{self, ErrorKind};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

const CURRENT: &str = "current";

/// Refuses a version that is not what was written down.
pub(super) fn check(keys: &Path) -> io::Result<()> {
    let trees = match std::fs::read_dir(keys.join("keyspaces")) {
        Ok(trees) => trees,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for tree in trees {
        let tree = tree?.path();
        match std::fs::read(tree.join(CURRENT)) {
            Ok(current) => check_one(&tree, &current)?,
            // Not made yet, or being removed: the store knows how to go on.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn check_one(tree: &Path, current: &[u8]) -> io::Result<()> {
    let damaged = || {
        let file = tree.join(CURRENT);
        io::Error::new(ErrorKind::InvalidData, format!("{} does not agree with its checksum", file.display()))
    };
    let (number, rest) = current.split_first_chunk().ok_or_else(damaged)?;
    let (checksum, rest) = rest.split_first_chunk().ok_or_else(damaged)?;
    let version = tree.join(format!("v{}", u64::from_le_bytes(*number)));
    let bytes = match std::fs::read(&version) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(damaged()),
        read => read?,
    };
    if rest == [0] && xxh3_128(&bytes) == u128::from_le_bytes(*checksum) { Ok(()) } else { Err(damaged()) }
}
