//! The keys on disk: a log of batches, memtables, and a tree of tables (docs/format.md, docs/decisions/0009).
//!
//! Held true:
//! * a batch is in the log, and synced, before it is in a memtable;
//! * each memtable holds the batches of some files of the log, and those files stay until it is a table;
//! * a start compares the files with the inventory, and judges the whole log, before it changes anything. What it refuses, it leaves as it is.
//!
//! The mark is the latest time the clock had told when a batch was committed. It is in each batch, so it also says, after a failure,
//! whether that batch was applied; and it is in the tables, under a key that is shorter than any of ours and sorts before them all.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::park_timeout;
use std::time::Duration;

use bytes::Bytes;
use lsm_tree::{AbstractTree, Cache, Guard, SequenceNumberCounter, Slice, Tree};

use super::error::{At, Error, Result};
use super::inventory::{Inventory, Listed};
use super::log::{self, Log, Position};
use super::snapshots::Snapshot;
use super::tables::{Tables, Threads};
use super::volatile::Volatile;
use super::{recovery, tree};
use crate::{Entry, Fault, Halt, Key, Stamp, View, Walker, private};

/// How often to look whether a memtable has become a table: nothing tells.
const FLUSH_POLL: Duration = Duration::from_millis(1);
pub(super) const LOG: &str = "log";
pub(super) const TREE: &str = "tree";
pub(super) const MARK: [u8; 1] = [0];
/// A key's length is stored in two bytes, in the log and in tables.
pub(super) const KEY_MAX: usize = u16::MAX as usize;
pub(super) const VALUE_MAX: usize = u32::MAX as usize;

/// What a batch does to its keys.
pub(super) type Writes = BTreeMap<Key, Option<Bytes>>;

/// How keys are kept.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    pub cache_bytes: u64,
    pub memtable_bytes: u64,
}

pub(super) struct Keys {
    tables: Arc<Tables>,
    threads: Threads,
    /// The tree's numbers, of which each batch and each version has its own.
    sequence: SequenceNumberCounter,
    appending: Mutex<Appending>,
    /// Of the same states as what is on disk. It outlives this store, which may be reopened after a failure.
    volatile: Arc<Volatile>,
    /// The state that looks see: ours to move, so that it moves together with the hot entries.
    published: RwLock<Arc<Snapshot>>,
}

/// Where the next batch goes.
struct Appending {
    /// `None` before the first batch, and after a memtable was sealed: each has files of its own.
    log: Option<Log>,
    position: Position,
    mark: Stamp,
    /// No later batch says yet that the last one was synced.
    is_open_ended: bool,
}

/// How busy the store is with its tables.
pub(super) struct Backlog {
    pub l0_runs: usize,
    pub sealed_memtables: usize,
    pub compactions: usize,
    /// Waiting for fewer runs is in vain.
    pub has_compaction_ended: bool,
}

impl Backlog {
    /// Nothing is under way.
    pub fn is_over(&self) -> bool {
        self.sealed_memtables == 0 && self.compactions == 0
    }

    /// Memory is bounded, and so is what a read has to look through.
    pub fn is_too_long(&self) -> bool {
        self.l0_runs >= 28 && !self.has_compaction_ended || self.sealed_memtables >= 3
    }
}

impl Keys {
    /// Makes an empty store at `path`, which does not exist.
    pub fn create(path: &Path) -> Result<()> {
        let directory = |path: &Path| private::create_dir(path).at(path);
        directory(path)?;
        directory(&path.join(LOG))?;
        directory(&path.join(TREE))?;
        let (tree, _) = tree::open(&path.join(TREE), Arc::new(Cache::with_capacity_bytes(0)))?;
        let (version, tables) = tree::sized(&tree).at(path)?;
        Inventory { closed: true, version, tables, ..Inventory::default() }.write(path).at(path)
    }

    /// Opens what is there. `lock` keeps everybody else away, for as long as a thread of this store lives.
    pub fn open(path: &Path, settings: Settings, lock: Arc<File>, volatile: Arc<Volatile>) -> Result<Self> {
        let inventory = Inventory::read(path)?;
        tree::compare(&path.join(TREE), &inventory)?;
        let position = recovery::judge(path, &inventory)?;
        let cache = Arc::new(Cache::with_capacity_bytes(settings.cache_bytes));
        let (tree, sequence) = tree::open(&path.join(TREE), cache)?;
        // Either may be later: files of the log go once a table holds what was in them, before the inventory hears of a later mark.
        let mark = mark(&tree)?.max(inventory.mark);
        let listed = inventory.logs.clone();
        let tables = Arc::new(Tables::new(path.into(), tree, inventory, settings.memtable_bytes, lock));
        let mut appending = Appending { log: None, position, mark, is_open_ended: false };
        recovery::replay(&tables, &listed, &sequence, &mut appending.mark)?;
        note_end(&tables, &appending);
        volatile.resume(appending.mark);
        let published = RwLock::new(Arc::new(tables.snapshots.open(sequence.get())));
        let threads = Threads::start(&tables).at(path)?;
        Ok(Self { tables, threads, sequence, appending: Mutex::new(appending), volatile, published })
    }

    pub fn mark(&self) -> Stamp {
        self.appending().mark
    }

    /// Writes all or nothing; when it returns `Ok`, all is on disk, and `publish` may show it.
    pub fn commit(&self, writes: &Writes, mark: Stamp) -> Result<()> {
        debug_assert!(!writes.keys().any(Key::is_volatile), "volatile rows are not written to disk");
        let mut appending = self.appending();
        appending.append(&self.tables, writes, mark)?;
        appending.is_open_ended = true;
        // Copied: what stays in memory until it is flushed must not keep a whole request's buffer alive.
        let entries = writes.iter().map(|(key, value)| (key.as_bytes(), value.as_deref()));
        insert(&self.tables, &self.sequence, entries);
        Ok(())
    }

    /// Writes that the last batch was synced: from then on, damage to it cannot be taken for the trace of a power cut.
    pub fn seal_end(&self) -> Result<()> {
        let mut appending = self.appending();
        if !appending.is_open_ended || appending.log.is_none() {
            return Ok(());
        }
        let mark = appending.mark;
        appending.append(&self.tables, &Writes::new(), mark)?;
        appending.is_open_ended = false;
        Ok(())
    }

    /// Shows what was committed, together with the volatile rows `volatile`.
    pub fn publish(&self, volatile: &Writes) {
        if !volatile.is_empty() {
            let since = self.sequence.next() + 1;
            self.volatile.apply(volatile, since, self.tables.snapshots.oldest());
        }
        let snapshot = self.tables.snapshots.open(self.sequence.get());
        *self.published.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
    }

    /// Fails once a thread of the store has given up.
    pub fn check(&self) -> Result<()> {
        self.tables.check()
    }

    pub fn backlog(&self) -> Backlog {
        let tree = &self.tables.tree;
        Backlog {
            l0_runs: tree.l0_run_count(),
            sealed_memtables: tree.sealed_memtable_count(),
            compactions: usize::from(self.tables.is_compacting()),
            has_compaction_ended: self.tables.has_compaction_ended(),
        }
    }

    /// Bytes in memory that are still to be written out as tables.
    pub fn buffered_bytes(&self) -> u64 {
        self.tables.buffered_bytes.load(Relaxed)
    }

    pub fn log_bytes(&self) -> u64 {
        let files = log::list(&self.tables.log_directory()).unwrap_or_default();
        files.iter().filter_map(|(_, path)| Some(fs::metadata(path).ok()?.len())).sum()
    }

    /// How many files the next start would read.
    pub fn log_count(&self) -> usize {
        self.tables.inventory().logs.len()
    }

    /// Seals the memtable if it is large enough, or its log is.
    pub fn rotate_if_due(&self) {
        let limit = self.tables.memtable_bytes;
        let log_bytes = self.appending().log.as_ref().map_or(0, Log::bytes);
        if self.tables.tree.active_memtable().size() >= limit || log_bytes >= 2 * limit {
            self.begin_flush();
        }
    }

    /// Begins to write what is in memory out as a table. Watch `backlog` and `check` for the end of it.
    pub fn begin_flush(&self) {
        let mut appending = self.appending();
        if self.tables.tree.active_memtable().is_empty() {
            return;
        }
        seal(&self.tables, &self.sequence, appending.mark, self.tables.inventory().number);
        appending.log = None;
        self.threads.wake();
    }

    /// Leaves compactions to the next start.
    pub fn stop_compacting(&self) {
        self.tables.stop_compacting();
    }

    /// Makes `to` the mark, though it is earlier, and ends. All that has a later one goes: batches become tables, and these get a new
    /// mark. Cut short, it has not happened.
    pub fn set_back(&self, to: Stamp) -> Result<()> {
        let mut appending = self.appending();
        appending.append(&self.tables, &Writes::new(), to)?;
        seal(&self.tables, &self.sequence, to, self.tables.inventory().number);
        appending.log = None;
        drop(appending);
        self.threads.wake();
        while self.backlog().sealed_memtables > 0 {
            self.check()?;
            park_timeout(FLUSH_POLL);
        }
        self.finish()
    }

    /// Writes down that the log ends here. Nothing may be committed after it.
    pub fn finish(&self) -> Result<()> {
        let mut appending = self.appending();
        let Appending { position, mark, .. } = *appending;
        let tree = &self.tables.tree;
        let is_all_in_tables = tree.sealed_memtable_count() == 0 && tree.active_memtable().is_empty();
        self.tables.note(|inventory| {
            inventory.closed = true;
            (inventory.position, inventory.mark) = (position, mark);
        })?;
        if let Some(log) = appending.log.take() {
            log.finish().at(&self.tables.log_directory())?;
        }
        if is_all_in_tables { self.tables.drop_logs(u64::MAX) } else { Ok(()) }
    }

    pub fn snapshot(&self) -> Snapshotted<'_> {
        let snapshot = self.published.read().unwrap_or_else(PoisonError::into_inner).clone();
        Snapshotted { snapshot, tree: &self.tables.tree, volatile: &self.volatile }
    }

    fn appending(&self) -> MutexGuard<'_, Appending> {
        self.appending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.threads.stop(&self.tables);
    }
}

impl Appending {
    fn append(&mut self, tables: &Tables, writes: &Writes, mark: Stamp) -> Result<()> {
        let directory = tables.log_directory();
        let log = match &mut self.log {
            Some(log) => log,
            None => {
                let log = begin(tables, self.position, self.mark)?;
                self.log.insert(log)
            }
        };
        log.append(writes, mark).at(&directory)?;
        (self.position, self.mark) = (log.position(), mark);
        Ok(())
    }
}

/// The next file of the log, ready for its first batch.
fn begin(tables: &Tables, position: Position, mark: Stamp) -> Result<Log> {
    let directory = tables.log_directory();
    let number = tables.inventory().number + 1;
    let log = Log::create(&directory, number, position).at(&directory)?;
    tables.note(|inventory| {
        (inventory.closed, inventory.number) = (false, number);
        (inventory.position, inventory.mark) = (position, mark);
        inventory.logs.push(Listed { number, first: position.next });
    })?;
    Ok(log)
}

pub(super) fn insert<'a>(
    tables: &Tables,
    sequence: &SequenceNumberCounter,
    entries: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>,
) {
    let (sequence, mut bytes) = (sequence.next(), 0);
    for (key, value) in entries {
        let (added, _) = match value {
            Some(value) => tables.tree.insert(key, value, sequence),
            None => tables.tree.remove(key, sequence),
        };
        bytes += added;
    }
    tables.buffered_bytes.fetch_add(bytes, Relaxed);
}

/// Seals the memtable, which holds batches of the log's files up to `through`.
pub(super) fn seal(tables: &Tables, sequence: &SequenceNumberCounter, mark: Stamp, through: u64) {
    insert(tables, sequence, [(&MARK[..], Some(&mark.0.to_be_bytes()[..]))].into_iter());
    tables.tree.rotate_memtable();
    tables.sealed_through.store(through, SeqCst);
}

fn mark(tree: &Tree) -> Result<Stamp> {
    let stored = tree.get(MARK, u64::MAX)?;
    let ticks = stored.and_then(|bytes| Some(u64::from_be_bytes(bytes[..].try_into().ok()?)));
    Ok(Stamp(ticks.unwrap_or(0)))
}

/// Writes down where the log ends, which nothing is added to any more: the next batch begins a file. A disk without room for it keeps nobody
/// from reading.
fn note_end(tables: &Tables, appending: &Appending) {
    let noted = tables.note(|inventory| {
        inventory.closed = true;
        (inventory.position, inventory.mark) = (appending.position, appending.mark);
    });
    if let Err(error) = noted {
        tracing::warn!(%error, "the inventory was not written; the next start takes this one for cut short");
    }
}

/// The last durable state, or an earlier one.
pub(super) struct Snapshotted<'a> {
    snapshot: Arc<Snapshot>,
    tree: &'a Tree,
    volatile: &'a Volatile,
}

impl Snapshotted<'_> {
    /// Durable entries with `from <= key < to`, in key order.
    pub fn range(
        &self,
        from: &Key,
        to: &Key,
    ) -> impl DoubleEndedIterator<Item = std::result::Result<(Key, Bytes), Fault>> + use<> {
        let entries = self.tree.range(from.as_bytes()..to.as_bytes(), self.snapshot.sequence(), None);
        entries.map(|entry| {
            let (key, value) = entry.into_inner().map_err(fault)?;
            let key = Key::from_stored(bytes(key)).ok_or_else(|| Fault::Corrupt("a key is too short".into()))?;
            Ok((key, bytes(value)))
        })
    }
}

impl View for Snapshotted<'_> {
    fn get(&mut self, key: &Key) -> std::result::Result<Option<Bytes>, Halt> {
        if key.is_volatile() {
            return Ok(self.volatile.get(key, self.snapshot.sequence()));
        }
        let got = self.tree.get(key.as_bytes(), self.snapshot.sequence());
        got.map(|value| value.map(bytes)).map_err(|error| Halt::Fault(fault(error)))
    }

    fn scan(&mut self, from: &Key, to: &Key, limit: usize) -> std::result::Result<Vec<(Key, Bytes)>, Halt> {
        if from.is_volatile() {
            return Ok(self.volatile.scan(from, to, limit, self.snapshot.sequence()));
        }
        self.range(from, to).take(limit).collect::<std::result::Result<_, _>>().map_err(Halt::Fault)
    }

    fn last(&mut self, from: &Key, to: &Key) -> std::result::Result<Option<(Key, Bytes)>, Halt> {
        if from.is_volatile() {
            return Ok(self.volatile.last(from, to, self.snapshot.sequence()));
        }
        self.range(from, to).next_back().transpose().map_err(Halt::Fault)
    }

    fn walk(&mut self, from: &Key, to: &Key, walker: &mut dyn Walker) -> std::result::Result<(), Halt> {
        if from.is_volatile() {
            self.volatile.walk(from, to, self.snapshot.sequence(), walker);
            return Ok(());
        }
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

fn fault(error: lsm_tree::Error) -> Fault {
    Error::from(error).fault()
}
