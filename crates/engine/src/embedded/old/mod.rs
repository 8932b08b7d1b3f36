//! Keys of format 1, which fjall 3.1 kept, are brought into the format of today, once.
//!
//! ```text
//! keys/version, keys/lock       fjall's own
//! keys/N.jnl                    its journals
//! keys/keyspaces/0              a tree: what keyspaces there are
//! keys/keyspaces/1              a tree: the keys
//! ```
//!
//! The tables of the new tree are links to those of the old one, and what is in the journals becomes a file of the log. It may be in tables, too:
//! all batches since the first of them are there, so writing them again changes nothing.
//!
//! Held true: what is damaged is refused before anything is changed; and until the marker of the data directory says otherwise, which is one
//! rename, the old keys are as they were.

mod journal;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::directory::{DataDirectory, OpenError};
use super::error::{At, Error, Result};
use super::inventory::{self, Inventory, Listed, Sized};
use super::keys::{LOG, MARK, TREE, Writes};
use super::log::{Log, Position};
use super::tree::{self, Named};
use crate::{Key, Stamp, private};

const TREES: &str = "keyspaces";
/// The tree of the keys, and the number that entries of the journal have for it.
const KEYS: u64 = 1;
const VERSION: &str = "version";
const LOCK: &str = "lock";
/// What is written with one sync.
const BATCH_BYTES: usize = 1 << 20;

/// Brings the keys of `directory` into the format of today, and says so in its marker.
pub(super) fn migrate(directory: &DataDirectory) -> std::result::Result<(), OpenError> {
    let keys = directory.keys();
    let refused = |error| OpenError::from_keys(directory.path(), &error);
    judge(&keys).map_err(refused)?;
    tracing::info!("the keys have format 1, and are brought into format 2");
    take_over(&keys).map_err(refused)?;
    directory.list_extents()?;
    directory.ready()
}

/// Removes what is left of the old keys, if anything is. The new ones have been opened.
pub(super) fn sweep(keys: &Path) -> Result<()> {
    if !keys.join(VERSION).exists() && !keys.join(TREES).exists() {
        return Ok(());
    }
    remove(&keys.join(TREES))?;
    for (_, path) in journal::journals(keys).at(keys)? {
        remove(&path)?;
    }
    remove(&keys.join(LOCK))?;
    remove(&keys.join(VERSION))
}

/// Refuses keys of which something is missing or damaged.
pub(super) fn judge(keys: &Path) -> Result<()> {
    let missing = |path: PathBuf| Err(Error::damaged(&path, "it is missing"));
    if !keys.join(VERSION).is_file() {
        return missing(keys.join(VERSION));
    }
    for path in [0, KEYS].map(|tree| keys.join(TREES).join(tree.to_string())) {
        if !path.is_dir() {
            return missing(path);
        }
        for Named { table, .. } in tree::version(&path)?.tables {
            let path = tree::table_path(&path, table);
            if !path.is_file() {
                return missing(path);
            }
        }
    }
    journal::read(keys, |batch| decode(keys, batch).map(drop))
}

/// Shows what is in the journals, up to damage. Gives the latest mark.
pub(super) fn read(keys: &Path, see: &mut dyn FnMut(&Bytes, Option<Bytes>)) -> Result<Stamp> {
    let mut latest = Stamp(0);
    journal::read(keys, |batch| {
        let (writes, mark) = decode(keys, batch)?;
        latest = latest.max(mark);
        writes.into_iter().for_each(|(key, value)| see(key.buffer(), value));
        Ok(())
    })?;
    Ok(latest)
}

/// Makes the keys of today beside the old ones.
fn take_over(keys: &Path) -> Result<()> {
    // What an earlier attempt left.
    for name in [TREE, LOG, inventory::NAME] {
        remove(&keys.join(name))?;
    }
    let (version, tables) = link_tables(&keys.join(TREES).join(KEYS.to_string()), &keys.join(TREE))?;
    let mut inventory = Inventory { closed: true, version, tables, ..Inventory::default() };
    write_log(keys, &mut inventory)?;
    inventory.write(keys).at(keys)
}

fn link_tables(old: &Path, new: &Path) -> Result<(u64, Vec<Sized>)> {
    for path in [new, &new.join("tables")] {
        private::create_dir(path).at(path)?;
    }
    let version = tree::version(old)?;
    let mut tables = Vec::new();
    for Named { table, .. } in version.tables {
        let (from, to) = (tree::table_path(old, table), tree::table_path(new, table));
        // Not every file system has links.
        fs::hard_link(&from, &to).or_else(|_| copy(&from, &to)).at(&to)?;
        tables.push(Sized { table, bytes: fs::metadata(&to).at(&to)?.len() });
    }
    for name in [format!("v{}", version.number), "current".into()] {
        copy(&old.join(&name), &new.join(&name)).at(new)?;
    }
    for path in [&new.join("tables"), new] {
        File::open(path).and_then(|directory| directory.sync_all()).at(path)?;
    }
    Ok((version.number, tables))
}

/// Writes what is in the journals as one file of the log, in fewer batches, since each is synced.
fn write_log(keys: &Path, inventory: &mut Inventory) -> Result<()> {
    let directory = keys.join(LOG);
    private::create_dir(&directory).at(&directory)?;
    let number = 1;
    let mut log = Log::create(&directory, number, Position::default()).at(&directory)?;
    let (mut pending, mut bytes) = (Writes::new(), 0);
    journal::read(keys, |batch| {
        let (writes, mark) = decode(keys, batch)?;
        inventory.mark = inventory.mark.max(mark);
        bytes += writes.values().flatten().map(Bytes::len).sum::<usize>() + writes.len();
        pending.extend(writes);
        if bytes >= BATCH_BYTES {
            bytes = 0;
            log.append(&std::mem::take(&mut pending), inventory.mark).at(&directory)?;
        }
        Ok(())
    })?;
    log.append(&pending, inventory.mark).at(&directory)?;
    (inventory.number, inventory.position) = (number, log.position());
    inventory.logs.push(Listed { number, first: 0 });
    log.finish().at(&directory)
}

/// What a batch of the journal wrote, and its mark.
fn decode(keys: &Path, batch: &journal::Batch<'_>) -> Result<(Writes, Stamp)> {
    let (mut writes, mut mark) = (BTreeMap::new(), Stamp(0));
    for entry in batch.entries().filter(|entry| entry.keyspace == KEYS) {
        let unknown = || Error::damaged(keys, "its journal has an entry that nobody wrote");
        let value = entry.value().ok_or_else(unknown)?;
        if entry.key == MARK {
            let ticks = value.and_then(|value| Some(u64::from_be_bytes(value.try_into().ok()?)));
            mark = Stamp(ticks.ok_or_else(unknown)?);
        } else {
            let key = Key::from_stored(Bytes::copy_from_slice(entry.key)).ok_or_else(unknown)?;
            writes.insert(key, value.map(Bytes::from));
        }
    }
    Ok((writes, mark))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    File::open(to)?.sync_all()
}

fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).at(path),
        _ => Ok(()),
    }
}
