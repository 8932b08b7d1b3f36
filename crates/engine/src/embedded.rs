//! The default engine: one writer, group commit, over an embedded key-value store (docs/decisions/0002).
//!
//! Held true:
//! * decisions run one after another, in the order of their stamps, on the state that all before them left;
//! * one sync covers a batch of them; none is answered, not even refused, before what it saw is on disk;
//! * a look runs over the last synced state, on the caller's thread, and never waits for the writer;
//! * volatile rows are in memory, of the same states as the rows on disk, and cost no sync;
//! * a full or failing disk stops writes, not reads, and needs no restart to be over.

mod callers;
mod columns;
mod commit_turn;
mod directory;
mod error;
mod free_space;
mod health;
mod inventory;
mod keys;
mod log;
mod look;
mod metrics;
mod old;
mod point_cache;
mod range_cache;
mod range_fill;
mod recovery;
mod rescue;
mod snapshots;
mod tables;
mod tree;
mod volatile;
mod watchdog;
mod writer;

use std::future::ready;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, mpsc};
use std::thread::JoinHandle;

use crate::{BoxFuture, Clock, ClockState, Engine, Fault, Job, Partition, Space, Stamp, Txn, Verdict};

pub use directory::{DataDirectory, OpenError};
pub use free_space::{FreeSpace, Probe};
pub use health::Health;
pub use metrics::Metrics;
pub use rescue::{Claims, Report, check, salvage};

use columns::Columns;
use commit_turn::{CommitTurn, Message, Queue};
use directory::Found;
use keys::{Keys, Settings};
use point_cache::PointCache;
use volatile::Volatile;

pub struct Options {
    pub clock: Clock,
    /// A ceiling, filled as blocks are read: an idle engine holds almost nothing.
    pub cache_bytes: u64,
    /// The ceiling of the point cache, which holds values; `cache_bytes` is for blocks.
    pub point_cache_bytes: u64,
    /// The ceiling of the range cache, which holds rows that walks read.
    pub range_cache_bytes: u64,
    /// What is in memory before it is written out as a table. With 16 MiB, writes stalled for seconds; tests take little, to have many tables.
    pub memtable_bytes: u64,
    /// How much space the file system has. Tests hand in a false one.
    pub probe: Probe,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Clock::system(),
            cache_bytes: 128 << 20,
            point_cache_bytes: 64 << 20,
            range_cache_bytes: 256 << 20,
            memtable_bytes: 64 << 20,
            probe: Probe::file_system(),
        }
    }
}

pub struct Embedded {
    shared: Arc<Shared>,
    queue: mpsc::Sender<Message>,
    threads: Mutex<Option<Threads>>,
}

struct Threads {
    writer: JoinHandle<()>,
    /// Who answers about columns.
    answerer: JoinHandle<()>,
    /// Watches writes that block a thread of the runtime.
    watcher: JoinHandle<()>,
}

pub(crate) struct Shared {
    directory: DataDirectory,
    clock: Clock,
    settings: Settings,
    probe: Probe,
    /// `None` between a failure and the reopening that ends it.
    keys: RwLock<Option<Keys>>,
    /// The rows that go with this process.
    volatile: Arc<Volatile>,
    /// The last attempt to reopen it, if that failed.
    rest: Mutex<Option<writer::Rest>>,
    cache: PointCache,
    columns: Columns,
    commit_turn: CommitTurn,
    metrics: metrics::Meters,
}

impl Embedded {
    /// Opens the data directory at `path`, creating it if it does not exist.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        let directory = DataDirectory::open(path.as_ref())?;
        let settings = Settings { cache_bytes: options.cache_bytes, memtable_bytes: options.memtable_bytes };
        let volatile = Arc::new(Volatile::default());
        let keys = open_keys(&directory, settings, volatile.clone())?;
        options.clock.resume(keys.mark());
        let (asker, questions) = mpsc::channel();
        let shared = Arc::new(Shared {
            directory,
            clock: options.clock,
            settings,
            probe: options.probe,
            keys: RwLock::new(Some(keys)),
            volatile,
            rest: Mutex::default(),
            cache: PointCache::new(options.point_cache_bytes, options.range_cache_bytes),
            columns: Columns::new(asker),
            commit_turn: CommitTurn::default(),
            metrics: metrics::Meters::default(),
        });
        let (queue, jobs) = mpsc::channel();
        let queue_of_jobs = Queue::new(shared.clone(), jobs);
        let writer = spawn(&shared, "lazuli:writer", move || queue_of_jobs.run())?;
        let answering = shared.clone();
        let answerer = spawn(&shared, "lazuli:columns", move || columns::answer(&answering, &questions))?;
        let watched = shared.clone();
        let watcher = spawn(&shared, "lazuli:watchdog", move || watched.commit_turn.watchdog.watch())?;
        Ok(Self { shared, queue, threads: Mutex::new(Some(Threads { writer, answerer, watcher })) })
    }

    /// The latest time that is written down in the data directory at `path`, which no engine may be using. With `to`, that is written
    /// there instead: what was stamped later keeps its stamps.
    pub fn mark(path: impl AsRef<Path>, to: Option<Stamp>) -> Result<Stamp, OpenError> {
        let directory = DataDirectory::open(path.as_ref())?;
        let failed = |error| OpenError::from_keys(directory.path(), &error);
        let Options { cache_bytes, memtable_bytes, .. } = Options::default();
        let keys = open_keys(&directory, Settings { cache_bytes, memtable_bytes }, Arc::default())?;
        let mark = keys.mark();
        if let Some(to) = to {
            keys.set_back(to).map_err(failed)?;
        }
        Ok(mark)
    }

    /// How the time that stamps tell differs from the machine's.
    pub fn clock(&self) -> ClockState {
        self.shared.clock.state()
    }

    /// Where this engine lives, for what lives beside it.
    pub fn directory(&self) -> &DataDirectory {
        &self.shared.directory
    }

    pub fn metrics(&self) -> Metrics {
        // Asked for here and not after each commit: a file system may stamp a file that was asked about with a finer time when it
        // changes next (Linux, since 6.13), and the sync of that change then writes the inode too. It took half as long again.
        let keys = self.shared.keys.try_read();
        let journal_bytes = keys.ok().and_then(|keys| keys.as_ref().map(Keys::log_bytes)).unwrap_or_default();
        let volatile_rows = self.shared.volatile.count() as u64;
        self.shared.metrics.read(journal_bytes, self.shared.columns.count_empty(), volatile_rows)
    }

    /// Finishes what was submitted, then stops. What is submitted later is answered with a fault.
    pub fn close(&self) {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Threads { writer, answerer, watcher }) = threads {
            // A writer that is gone already has nothing left to finish.
            let _ = self.queue.send(Message::Close);
            let _ = writer.join();
            self.shared.columns.close();
            let _ = answerer.join();
            self.shared.commit_turn.watchdog.close();
            let _ = watcher.join();
        }
    }
}

fn open_keys(directory: &DataDirectory, settings: Settings, volatile: Arc<Volatile>) -> Result<Keys, OpenError> {
    let refused = |error| OpenError::from_keys(directory.path(), &error);
    match directory.found() {
        Found::Ready => {}
        Found::New => {
            Keys::create(&directory.keys()).map_err(refused)?;
            directory.ready()?;
        }
        Found::Old => old::migrate(directory)?,
    }
    let keys = Keys::open(&directory.keys(), settings, directory.lock(), volatile).map_err(refused)?;
    old::sweep(&directory.keys()).map_err(refused)?;
    Ok(keys)
}

fn spawn(shared: &Shared, name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    let thread = std::thread::Builder::new().name(name.into()).spawn(run);
    thread.map_err(|error| OpenError::io(shared.directory.path(), &error))
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.close();
    }
}

impl Engine for Embedded {
    fn submit(&self, _at: Partition, job: Box<dyn Job>) {
        self.shared.metrics.queued.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.shared.commit_turn.callers.came();
        let Some(job) = commit_turn::take(&self.shared, job) else { return };
        if let Err(mpsc::SendError(Message::Run(job))) = self.queue.send(Message::Run(job)) {
            job.settle(Err(Fault::Unavailable("the engine has stopped".into())));
        }
    }

    fn look<'a>(
        &'a self,
        _at: &'a Partition,
        look: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>> {
        self.see(look)
    }

    /// One moment of everything, which is more than was asked for.
    fn scan<'a>(
        &'a self,
        _space: Space,
        scan: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>> {
        self.see(scan)
    }

    fn now(&self) -> Stamp {
        self.shared.clock.now()
    }
}

impl Embedded {
    fn see<'a>(
        &'a self,
        look: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>> {
        self.shared.commit_turn.callers.came();
        let keys = self.shared.keys.read().unwrap_or_else(PoisonError::into_inner);
        let seen = match keys.as_ref() {
            Some(keys) => look::look(keys, &self.shared.cache, self.shared.clock.now(), look),
            None => Err(Fault::Unavailable("the engine is being reopened after a failure".into())),
        };
        Box::pin(ready(seen))
    }
}
