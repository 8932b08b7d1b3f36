//! What a start does with the log: judges it whole, then brings it into memory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lsm_tree::{AbstractTree, SequenceNumberCounter};

use super::error::{At, Error, Result};
use super::inventory::{Inventory, Listed};
use super::keys::{LOG, insert, seal};
use super::log::{self, Batch, Damage, Header, Judged, Position};
use super::tables::Tables;
use crate::Stamp;

/// Goes over the log whole, and refuses one that does not hold all that was acknowledged. Says where it ends.
pub(super) fn judge(keys: &Path, inventory: &Inventory) -> Result<Position> {
    let directory = keys.join(LOG);
    let mut position = None;
    for (at, listed) in inventory.logs.iter().enumerate() {
        let path = directory.join(log::name(listed.number));
        let may_be_torn = at + 1 == inventory.logs.len() && !inventory.closed;
        let mut is_other = false;
        let judged = judge_file(&path, &read(&path)?, may_be_torn, |batch| {
            let is_known = batch.head.sequence + 1 == inventory.position.next;
            is_other |= is_known && batch.checksum != inventory.position.checksum;
        })?;
        let Header { number, first, previous, salt: _ } = judged.header;
        let continues = position.is_none_or(|before| before == Position { next: first, checksum: previous });
        if (number, first) != (listed.number, listed.first) || !continues || is_other {
            return Err(Error::damaged(
                &path,
                "it does not continue the file before it, as the inventory says it must",
            ));
        }
        position = Some(Position { next: judged.next, checksum: judged.checksum });
    }
    refuse_unlisted(&directory, inventory)?;
    let (position, known) = (position.unwrap_or(inventory.position), inventory.position);
    if position.next < known.next || (inventory.closed || position.next == known.next) && position != known {
        let why = format!("the log ends at batch {}, and must reach batch {}", position.next, known.next);
        return Err(Error::damaged(&directory, why));
    }
    Ok(position)
}

/// A file beyond the list may be there: it was being made. It holds nothing yet.
fn refuse_unlisted(directory: &Path, inventory: &Inventory) -> Result<()> {
    let files = match log::list(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Error::damaged(directory, "it is missing"));
        }
        listed => listed.at(directory)?,
    };
    for (_, path) in files.into_iter().filter(|(number, _)| *number > inventory.number) {
        let bytes = read(&path)?;
        let is_empty = log::judge(&bytes, true, |_| {}).map_or(true, |judged| judged.next == judged.header.first);
        if !is_empty {
            return Err(Error::damaged(&path, "it holds batches, and the inventory does not know it"));
        }
    }
    Ok(())
}

fn judge_file(path: &Path, bytes: &[u8], may_be_torn: bool, see: impl FnMut(&Batch<'_>)) -> Result<Judged> {
    log::judge(bytes, may_be_torn, see)
        .map_err(|Damage { at, what }| Error::damaged(path, format!("at byte {at}, {what}")))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::damaged(path, "it is missing")),
        read => read.at(path),
    }
}

/// Brings what is in the log, and was judged, into memtables.
pub(super) fn replay(
    tables: &Tables,
    listed: &[Listed],
    sequence: &SequenceNumberCounter,
    mark: &mut Stamp,
) -> Result<()> {
    let is_closed = tables.inventory().closed;
    for (at, Listed { number, .. }) in listed.iter().enumerate() {
        let path: PathBuf = tables.log_directory().join(log::name(*number));
        let bytes = read(&path)?;
        let is_open_ended = at + 1 == listed.len() && !is_closed;
        let judged = judge_file(&path, &bytes, is_open_ended, |batch| {
            *mark = (*mark).max(batch.head.mark);
            insert(tables, sequence, batch.entries());
        })?;
        if is_open_ended {
            log::mend_end(&path, bytes, &judged).at(&path)?;
            if judged.torn {
                tracing::warn!(log = %path.display(), "the last batch was torn, as by a power cut; it was cut off");
            }
        }
        if tables.tree.active_memtable().size() >= tables.memtable_bytes {
            seal(tables, sequence, *mark, *number);
        }
    }
    Ok(())
}
