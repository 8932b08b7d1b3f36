//! What turns memtables into tables, and tables into fewer: two threads of ours, so that a long compaction keeps no memtable waiting.
//!
//! Held true: a file of the log goes when all of its batches are in tables that are synced, and the inventory no longer lists it.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;

use lsm_tree::{AbstractTree, Tree};

use super::error::{At, Error, Result};
use super::inventory::Inventory;
use super::snapshots::Snapshots;
use super::{log, tree};

/// A version of the tree counts them in a byte.
const RUNS_MAX: usize = 200;

/// What the writer and the two threads share.
pub(super) struct Tables {
    /// Where all of it is: the inventory, the log and the tree.
    pub path: PathBuf,
    pub tree: Tree,
    pub snapshots: Arc<Snapshots>,
    pub memtable_bytes: u64,
    /// As it was last written.
    pub inventory: Mutex<Inventory>,
    /// All batches of the log's files up to this number are in sealed memtables, or in tables.
    pub sealed_through: AtomicU64,
    /// Bytes in memory that are still to be written out.
    pub buffered_bytes: AtomicU64,
    compacting: AtomicBool,
    /// Compaction met damage. Tables become more, until there is no room for them in a version of the tree.
    compaction_ended: AtomicBool,
    /// No compaction begins any more.
    closing: AtomicBool,
    /// Nor anything else.
    stopping: AtomicBool,
    failed: Mutex<Option<String>>,
    /// Held by the thread that removes files of the log.
    dropping_logs: Mutex<()>,
    /// Nobody else may use the directory before the last of these is gone.
    _lock: Arc<File>,
}

pub(super) struct Threads {
    wake: Option<mpsc::Sender<()>>,
    handles: Vec<JoinHandle<()>>,
}

impl Tables {
    pub fn new(path: PathBuf, tree: Tree, inventory: Inventory, memtable_bytes: u64, lock: Arc<File>) -> Self {
        Self {
            path,
            tree,
            snapshots: Arc::default(),
            memtable_bytes,
            inventory: Mutex::new(inventory),
            sealed_through: AtomicU64::new(0),
            buffered_bytes: AtomicU64::new(0),
            compacting: AtomicBool::new(false),
            compaction_ended: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            failed: Mutex::default(),
            dropping_logs: Mutex::default(),
            _lock: lock,
        }
    }

    /// Fails once one of the threads has given up.
    pub fn check(&self) -> Result<()> {
        if let Some(why) = &*self.failed() {
            return Err(Error::Stopped(why.clone()));
        }
        if self.has_compaction_ended() && self.tree.l0_run_count() >= RUNS_MAX {
            return Err(Error::Stopped("tables are damaged and cannot be compacted: see `lazuli check`".into()));
        }
        Ok(())
    }

    pub fn has_compaction_ended(&self) -> bool {
        self.compaction_ended.load(SeqCst)
    }

    /// Leaves compactions to the next start.
    pub fn stop_compacting(&self) {
        self.closing.store(true, SeqCst);
    }

    pub fn is_compacting(&self) -> bool {
        self.compacting.load(SeqCst)
    }

    pub fn log_directory(&self) -> PathBuf {
        self.path.join(super::keys::LOG)
    }

    /// Changes the inventory, on disk and then here.
    pub fn note(&self, change: impl FnOnce(&mut Inventory)) -> Result<()> {
        let mut inventory = self.inventory();
        let mut next = inventory.clone();
        change(&mut next);
        (next.version, next.tables) = tree::sized(&self.tree).at(&self.path)?;
        if next != *inventory {
            next.write(&self.path).at(&self.path)?;
            *inventory = next;
        }
        Ok(())
    }

    /// Takes files of the log off the list, then removes what is not listed. A flush that has just ended and the end of the store may
    /// come here together: one after the other, or the second would miss what the first has removed.
    pub fn drop_logs(&self, through: u64) -> Result<()> {
        let _turn = self.dropping_logs.lock().unwrap_or_else(PoisonError::into_inner);
        self.note(|inventory| inventory.logs.retain(|log| log.number > through))?;
        let (listed, greatest) = {
            let inventory = self.inventory();
            (inventory.logs.iter().map(|log| log.number).collect::<Vec<_>>(), inventory.number)
        };
        let directory = self.log_directory();
        for (number, path) in log::list(&directory).at(&directory)? {
            // One that is beyond the list is just being made.
            if number <= greatest && !listed.contains(&number) {
                fs::remove_file(&path).at(&path)?;
            }
        }
        Ok(())
    }

    pub fn inventory(&self) -> MutexGuard<'_, Inventory> {
        self.inventory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self) -> MutexGuard<'_, Option<String>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flush(&self) -> Result<()> {
        // Asked for first: whatever was sealed by then is flushed below, or was before.
        let through = self.sealed_through.load(SeqCst);
        let flushed = self.tree.flush(&self.tree.get_flush_lock(), self.snapshots.watermark())?;
        self.buffered_bytes.fetch_sub(flushed.unwrap_or(0), Relaxed);
        self.drop_logs(through)
    }

    /// One step after another, as long as there is something to do.
    fn compact(&self) -> Result<()> {
        let strategy = tree::strategy(self.memtable_bytes);
        while !self.closing.load(SeqCst) {
            let before = self.tree.current_version().id();
            self.tree.compact(strategy.clone(), self.snapshots.watermark())?;
            if self.tree.current_version().id() == before {
                break;
            }
            self.note(|_| {})?;
        }
        Ok(())
    }

    fn give_up(&self, what: &str, error: &Error) {
        tracing::error!(%error, "{what} failed");
        *self.failed() = Some(format!("{what} failed: {error}"));
    }
}

impl Threads {
    /// Begins with what a start has left to do.
    pub fn start(tables: &Arc<Tables>) -> std::io::Result<Self> {
        let (wake, flushes) = mpsc::channel();
        let (wake_compaction, compactions) = mpsc::channel();
        let flusher = tables.clone();
        let flusher = std::thread::Builder::new().name("lazuli:flush".into()).spawn(move || {
            while flushes.recv().is_ok() && !flusher.stopping.load(SeqCst) && flusher.check().is_ok() {
                flushes.try_iter().for_each(drop);
                match flusher.flush() {
                    // Who does not listen any more is about to stop.
                    Ok(()) => drop(wake_compaction.send(())),
                    Err(error) => flusher.give_up("writing a table", &error),
                }
            }
        })?;
        let compactor = tables.clone();
        let compactor = std::thread::Builder::new().name("lazuli:compact".into()).spawn(move || {
            while compactions.recv().is_ok() && !compactor.stopping.load(SeqCst) && compactor.check().is_ok() {
                compactions.try_iter().for_each(drop);
                compactor.compacting.store(true, SeqCst);
                let compacted = compactor.compact();
                compactor.compacting.store(false, SeqCst);
                match compacted {
                    Ok(()) => {}
                    Err(error @ (Error::Io(..) | Error::Tree(lsm_tree::Error::Io(_)))) => {
                        compactor.give_up("compaction", &error);
                    }
                    // A damaged block. What is not in it can be read and written as before.
                    Err(error) => {
                        tracing::error!(%error, "compaction met damage, and ends until the next start: see `lazuli check`");
                        compactor.compaction_ended.store(true, SeqCst);
                        return;
                    }
                }
            }
        })?;
        let threads = Self { wake: Some(wake), handles: vec![flusher, compactor] };
        threads.wake();
        Ok(threads)
    }

    pub fn wake(&self) {
        if let Some(wake) = &self.wake {
            let _ = wake.send(());
        }
    }

    /// Waits for what is under way, and begins nothing more.
    pub fn stop(&mut self, tables: &Tables) {
        tables.stop_compacting();
        tables.stopping.store(true, SeqCst);
        self.wake = None;
        for handle in self.handles.drain(..) {
            let _ = handle.join();
        }
    }
}
