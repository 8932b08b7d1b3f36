//! The keys on disk: one fjall keyspace, one mark.
//!
//! The mark is the latest time the clock had told when a batch was committed. It is written in each batch, so it also
//! says, after a failure, whether that batch was applied. Its key is shorter than any of ours and sorts before them all.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use bytes::Bytes;
use fjall::config::{BlockSizePolicy, PartitioningPolicy, PinningPolicy, RestartIntervalPolicy};
use fjall::{AbstractTree, Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable, Slice, Snapshot};

use super::ahead::Ahead;
use super::{journal, versions};
use crate::{Entry, Fault, Halt, Key, Stamp, View, Walker};

const MARK: [u8; 1] = [0];
/// With 16 MiB, writes stalled for seconds; the journal, too, is replaced every 64 MB.
const MEMTABLE_BYTES: u64 = 64 << 20;
/// What the store is told, so that it never acts on its own: `Keys::rotate_if_due` says why.
const MEMTABLE_NEVER_BYTES: u64 = 1 << 40;
/// The journal stores a key's length in two bytes, and does not check it.
pub(super) const KEY_MAX: usize = u16::MAX as usize;
pub(super) const VALUE_MAX: usize = u32::MAX as usize;

/// What the journal has at most beside keys and values: for a batch with its mark, for an entry.
const BATCH_BYTES: u64 = 128;
const ENTRY_BYTES: u64 = 64;

pub(super) struct Keys {
    database: Database,
    keyspace: Keyspace,
    ahead: Mutex<Ahead>,
    /// The state that looks see: ours to move, so that it moves together with the hot entries.
    published: RwLock<Arc<Snapshot>>,
}

/// How busy the store is with its tables.
pub(super) struct Backlog {
    pub l0_runs: usize,
    pub sealed_memtables: usize,
    pub compactions: usize,
}

impl Backlog {
    /// Nothing is under way.
    pub fn is_over(&self) -> bool {
        self.sealed_memtables == 0 && self.compactions == 0
    }

    /// A commit sleeps inside the store at 30 runs, or 4 sealed memtables, and for ever if the thread that would end
    /// this has died. So we wait outside, a step before.
    pub fn is_too_long(&self) -> bool {
        self.l0_runs >= 28 || self.sealed_memtables >= 3
    }
}

impl Keys {
    pub fn open(path: &Path, cache_bytes: u64) -> fjall::Result<Self> {
        versions::check(path)?;
        match Self::open_as_it_is(path, cache_bytes) {
            Err(fjall::Error::JournalRecovery(error)) if journal::cut_torn_tail(path)? => {
                tracing::warn!(%error, "the last batch of the journal was torn, as by a power cut; it was cut off");
                Self::open_as_it_is(path, cache_bytes)
            }
            opened => opened,
        }
    }

    fn open_as_it_is(path: &Path, cache_bytes: u64) -> fjall::Result<Self> {
        let appended = if path.exists() { journal::journals(path)?.pop().map(|(number, _)| number) } else { None };
        // One worker thread measured best on two cores.
        let database = Database::builder(path).worker_threads(1).cache_size(cache_bytes).open()?;
        let keyspace = database.keyspace("keys", options)?;
        // The store does not: by POSIX, a power cut could take the names of its keyspaces (testkit's `power_cut`).
        std::fs::File::open(path.join("keyspaces"))?.sync_all()?;
        let published = RwLock::new(Arc::new(database.snapshot()));
        Ok(Self { database, keyspace, ahead: Mutex::new(Ahead::new(path, appended)), published })
    }

    pub fn mark(&self) -> fjall::Result<Stamp> {
        let stored = self.keyspace.get(MARK)?;
        let ticks = stored.and_then(|bytes| Some(u64::from_be_bytes(bytes[..].try_into().ok()?)));
        Ok(Stamp(ticks.unwrap_or(0)))
    }

    /// Writes all or nothing; when it returns `Ok`, all is on disk, and `publish` may show it.
    pub fn commit(&self, writes: &BTreeMap<Key, Option<Bytes>>, mark: Stamp) -> fjall::Result<()> {
        let batch = fjall::OwnedWriteBatch::with_capacity(self.database.clone(), writes.len() + 1);
        let mut batch = batch.durability(Some(PersistMode::SyncData));
        let mut bytes = BATCH_BYTES;
        for (key, value) in writes {
            // The journal compresses long values, and compression can make them longer, by less than this.
            let value_bytes = value.as_ref().map_or(0, |value| value.len() + value.len() / 8);
            bytes += (key.as_bytes().len() + value_bytes) as u64 + ENTRY_BYTES;
            // Copied: what stays in memory until it is flushed must not keep a whole request's buffer alive.
            match value {
                Some(value) => batch.insert(&self.keyspace, key.as_bytes(), &value[..]),
                None => batch.remove(&self.keyspace, key.as_bytes()),
            }
        }
        batch.insert(&self.keyspace, MARK, mark.0.to_be_bytes());
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner).make_room(bytes);
        batch.commit()
    }

    pub fn publish(&self) {
        *self.published.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(self.database.snapshot());
    }

    /// Fails once the store has given up, as it does for good when a write or its background work fails.
    pub fn check(&self) -> fjall::Result<()> {
        self.database.persist(PersistMode::Buffer)
    }

    pub fn backlog(&self) -> Backlog {
        let tree = &self.keyspace.tree;
        Backlog {
            l0_runs: tree.l0_run_count(),
            sealed_memtables: tree.sealed_memtable_count(),
            compactions: self.database.active_compactions(),
        }
    }

    /// Bytes in memory that are still to be written out as tables.
    pub fn buffered_bytes(&self) -> u64 {
        self.database.write_buffer_size()
    }

    pub fn journal_bytes(&self) -> u64 {
        self.database.journal_disk_space().unwrap_or(0)
    }

    pub fn journal_count(&self) -> usize {
        self.database.journal_count()
    }

    /// Seals the memtable if it is large enough, for the store's worker to write out.
    ///
    /// Left to itself, the store asks its worker to do so, once per commit beyond the size, over a queue of 1,000; and the
    /// worker, when it gets to it, waits for room in that same queue to say that it has. With one worker that is for
    /// ever: it was seen at 3 GB of memtable, after a compaction that took a thousand commits.
    pub fn rotate_if_due(&self) -> fjall::Result<()> {
        if self.keyspace.tree.active_memtable().size() >= MEMTABLE_BYTES {
            self.begin_flush()?;
        }
        Ok(())
    }

    /// Begins to write what is in memory out as a table. Watch `backlog` and `check` for the end of it.
    pub fn begin_flush(&self) -> fjall::Result<bool> {
        self.keyspace.rotate_memtable()
    }

    /// True if the journal holds nothing that the tables do not.
    pub fn is_all_in_tables(&self) -> bool {
        self.keyspace.tree.sealed_memtable_count() == 0 && self.keyspace.tree.active_memtable().is_empty()
    }

    pub fn snapshot(&self) -> Snapshotted<'_> {
        let snapshot = self.published.read().unwrap_or_else(PoisonError::into_inner).clone();
        Snapshotted { snapshot, keyspace: &self.keyspace }
    }
}

/// Blocks of 8 KiB in which every key is whole make a scan a third faster than blocks of 4 KiB in which a key is what it
/// has not in common with those before it, which the store puts together for each entry that it shows. Point reads cost the
/// same, and 1 M entries of 365 bytes 3 % more disk.
///
/// A table's filter and index are whole in level 0, and stay in memory; below, they are in blocks of their own, of 4 KiB,
/// under a small one that stays in memory. The store's default has them whole, hundreds of KiB, in the levels 1 and 2:
/// with ten million blobs they no longer fit the cache together, and a read of a row read and checked such a block first.
fn options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .max_memtable_size(MEMTABLE_NEVER_BYTES)
        .data_block_size_policy(BlockSizePolicy::all(8 << 10))
        .data_block_restart_interval_policy(RestartIntervalPolicy::all(1))
        .index_block_pinning_policy(PinningPolicy::new([true, false]))
        .index_block_partitioning_policy(PartitioningPolicy::new([false, true]))
        .filter_block_partitioning_policy(PartitioningPolicy::new([false, true]))
}

/// The last durable state, or an earlier one.
pub(super) struct Snapshotted<'a> {
    snapshot: Arc<Snapshot>,
    keyspace: &'a Keyspace,
}

impl Snapshotted<'_> {
    /// Entries with `from <= key < to`, in key order.
    pub fn range(&self, from: &Key, to: &Key) -> impl Iterator<Item = Result<(Key, Bytes), Fault>> {
        let entries = self.snapshot.range(self.keyspace, from.as_bytes()..to.as_bytes());
        entries.map(|entry| {
            let (key, value) = entry.into_inner().map_err(|error| fault(&error))?;
            let key = Key::from_stored(bytes(key)).ok_or_else(|| Fault::Corrupt("a key is too short".into()))?;
            Ok((key, bytes(value)))
        })
    }
}

impl View for Snapshotted<'_> {
    fn get(&mut self, key: &Key) -> Result<Option<Bytes>, Halt> {
        let got = self.snapshot.get(self.keyspace, key.as_bytes());
        got.map(|value| value.map(bytes)).map_err(|error| Halt::Fault(fault(&error)))
    }

    fn scan(&mut self, from: &Key, to: &Key, limit: usize) -> Result<Vec<(Key, Bytes)>, Halt> {
        self.range(from, to).take(limit).collect::<Result<_, _>>().map_err(Halt::Fault)
    }

    fn walk(&mut self, from: &Key, to: &Key, walker: &mut dyn Walker) -> Result<(), Halt> {
        for entry in self.range(from, to) {
            let (key, value) = entry.map_err(Halt::Fault)?;
            if walker.see(&Entry::new(&key, &value)).is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn bytes(slice: Slice) -> Bytes {
    slice.into()
}

/// What an error of the store means to whoever waits for an answer.
pub(super) fn fault(error: &fjall::Error) -> Fault {
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => io_fault(error),
        fjall::Error::Poisoned => Fault::Unavailable("the store gave up after a failed write".into()),
        other => Fault::Corrupt(other.to_string()),
    }
}

fn io_fault(error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Fault::Full,
        _ => Fault::Unavailable(error.to_string()),
    }
}
