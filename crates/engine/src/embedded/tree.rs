//! The tree of tables: how it is set up, and what can be known of its files before it is opened.
//!
//! When it opens, `lsm-tree` takes a directory without `current` for a new one, does not check `current` nor the file that it names, and removes
//! what that version does not name. So all of this is checked before.
//!
//! ```text
//! current      = number u64, xxh3 of the file "v<number>" u128, 0        little endian (lsm-tree 3.1, version/persist.rs)
//! v<number>    = an archive; its section "tables" has for each level, and each run in it, the tables with their checksums
//! tables/<id>  = blocks, each with its own checksum
//! ```

use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsm_tree::compaction::Leveled;
use lsm_tree::config::{
    BlockSizePolicy, BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry, PartitioningPolicy,
    PinningPolicy, RestartIntervalPolicy,
};
use lsm_tree::{AbstractTree, AnyTree, Cache, CompressionType, Config, DescriptorTable, SequenceNumberCounter, Tree};
use xxhash_rust::xxh3::xxh3_128;

use super::error::{At, Error, Result};
use super::inventory::{Inventory, Sized};

const CURRENT: &str = "current";
const TABLES: &str = "tables";
/// Tables that are kept open.
const FILES: usize = 900;

/// Opens the tree, or makes it if there is none. Sequence numbers go on behind those of its tables.
pub(super) fn open(path: &Path, cache: Arc<Cache>) -> Result<(Tree, SequenceNumberCounter)> {
    let sequence = SequenceNumberCounter::default();
    let tree = match config(path, cache, sequence.clone()).open()? {
        AnyTree::Standard(tree) => tree,
        AnyTree::Blob(_) => return Err(Error::damaged(path, "its values are kept apart, which they never were")),
    };
    sequence.fetch_max(tree.get_highest_persisted_seqno().map_or(0, |highest| highest + 1));
    Ok((tree, sequence))
}

/// Blocks of 8 KiB in which every key is whole make a scan a third faster than blocks of 4 KiB in which a key is what it
/// has not in common with those before it, which the tree puts together for each entry that it shows. Point reads cost the
/// same, and 1 M entries of 365 bytes 3 % more disk.
///
/// A table's filter and index are whole in level 0, and stay in memory; below, they are in blocks of their own, of 4 KiB,
/// under a small one that stays in memory. The default has them whole, hundreds of KiB, in the levels 1 and 2:
/// with ten million blobs they no longer fit the cache together, and a read of a row read and checked such a block first.
fn config(path: &Path, cache: Arc<Cache>, sequence: SequenceNumberCounter) -> Config {
    use CompressionType::{Lz4, None};
    let bloom = FilterPolicyEntry::Bloom;
    Config::new(path, sequence, SequenceNumberCounter::default())
        .use_cache(cache)
        .use_descriptor_table(Some(Arc::new(DescriptorTable::new(FILES))))
        .data_block_size_policy(BlockSizePolicy::all(8 << 10))
        .data_block_restart_interval_policy(RestartIntervalPolicy::all(1))
        .data_block_compression_policy(CompressionPolicy::new([None, None, Lz4]))
        .index_block_pinning_policy(PinningPolicy::new([true, false]))
        .index_block_partitioning_policy(PartitioningPolicy::new([false, true]))
        .filter_block_partitioning_policy(PartitioningPolicy::new([false, true]))
        .filter_policy(FilterPolicy::new([
            bloom(BloomConstructionPolicy::FalsePositiveRate(0.0001)),
            bloom(BloomConstructionPolicy::BitsPerKey(10.0)),
        ]))
}

/// Tables below level 0 are as large as a memtable.
pub(super) fn strategy(memtable_bytes: u64) -> Arc<Leveled> {
    Arc::new(Leveled::default().with_table_target_size(memtable_bytes))
}

/// The tables of an open tree, with their lengths.
pub(super) fn sized(tree: &Tree) -> io::Result<(u64, Vec<Sized>)> {
    let version = tree.current_version();
    let tables = version.iter_tables().map(|table| {
        let bytes = std::fs::metadata(&*table.path)?.len();
        Ok(Sized { table: table.id(), bytes })
    });
    Ok((version.id(), tables.collect::<io::Result<_>>()?))
}

/// A version of the tree as its files say.
#[derive(Debug)]
pub(super) struct Version {
    pub number: u64,
    pub tables: Vec<Named>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    pub table: u64,
    pub level: u8,
    /// Of the whole file.
    pub checksum: u128,
    pub global_sequence: u64,
}

/// The version that would be opened. Refuses one that is not what was written down.
pub(super) fn version(tree: &Path) -> Result<Version> {
    let path = tree.join(CURRENT);
    let current = read(&path)?;
    let damaged = || Error::damaged(&path, "it does not agree with its checksum");
    let (number, rest) = current.split_first_chunk().ok_or_else(damaged)?;
    let (checksum, rest) = rest.split_first_chunk().ok_or_else(damaged)?;
    let number = u64::from_le_bytes(*number);
    let path = tree.join(format!("v{number}"));
    let bytes = read(&path)?;
    if rest != [0] || xxh3_128(&bytes) != u128::from_le_bytes(*checksum) {
        return Err(damaged());
    }
    let tables = parse(&bytes).ok_or_else(|| Error::damaged(&path, "its list of tables cannot be read"))?;
    Ok(Version { number, tables })
}

/// Levels of runs of tables, each with a count before them.
fn parse(bytes: &[u8]) -> Option<Vec<Named>> {
    let reader = sfa::Reader::from_reader(&mut io::Cursor::new(bytes)).ok()?;
    let section = reader.toc().section(b"tables")?;
    let mut rest = bytes.get(usize::try_from(section.pos()).ok()?..)?.take(section.len());
    let mut tables = Vec::new();
    let [levels] = take(&mut rest)?;
    for level in 0..levels {
        let [runs] = take(&mut rest)?;
        for _ in 0..runs {
            for _ in 0..u32::from_le_bytes(take(&mut rest)?) {
                let table = u64::from_le_bytes(take(&mut rest)?);
                let [_kind_of_checksum] = take(&mut rest)?;
                let checksum = u128::from_le_bytes(take(&mut rest)?);
                let global_sequence = u64::from_le_bytes(take(&mut rest)?);
                tables.push(Named { table, level, checksum, global_sequence });
            }
        }
    }
    Some(tables)
}

fn take<const N: usize>(from: &mut impl Read) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

pub(super) fn table_path(tree: &Path, table: u64) -> PathBuf {
    tree.join(TABLES).join(table.to_string())
}

/// Refuses a tree that has less than `inventory` lists.
pub(super) fn compare(tree: &Path, inventory: &Inventory) -> Result<()> {
    let version = version(tree)?;
    if version.number < inventory.version {
        let why = format!("it names version {}, though there was a version {}", version.number, inventory.version);
        return Err(Error::damaged(&tree.join(CURRENT), why));
    }
    if version.number == inventory.version && version.tables.len() != inventory.tables.len() {
        return Err(Error::damaged(&tree.join(CURRENT), "it names other tables than the inventory"));
    }
    for Named { table, .. } in version.tables {
        let path = table_path(tree, table);
        let bytes = match std::fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(Error::damaged(&path, "it is missing")),
            found => found.at(&path)?.len(),
        };
        let listed = inventory.tables.iter().find(|listed| listed.table == table);
        if let Some(listed) = listed.filter(|listed| listed.bytes != bytes) {
            let why = format!("it has {bytes} bytes, and must have {}", listed.bytes);
            return Err(Error::damaged(&path, why));
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    match std::fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::damaged(path, "it is missing")),
        read => read.at(path),
    }
}
