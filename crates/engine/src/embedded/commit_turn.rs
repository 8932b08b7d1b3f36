//! Which thread commits: the writer's, or that of a caller who is alone.
//!
//! Under load, decisions queue for the writer's thread. While one batch syncs, the next one gathers, so batches grow with the load.
//! A lone caller would wait for two wake-ups, of the writer's thread and of its own, and these cost as much as the sync. So a caller
//! commits on its own thread if nobody waits, nobody commits, and the batch before had one decision only.
//!
//! A caller that commits blocks a thread of the runtime. Usually another thread takes over its tasks and sockets
//! (`block_in_place`). That wakes a thread, which then gets the next request, on another core than the client; it costs a tenth of a
//! lone write. So it is left out if all recent calls came from this caller and the last sync was short. If the sync takes long
//! after all, the watchdog wakes a thread (`watchdog.rs`).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};

use super::Shared;
use super::callers::Callers;
use super::metrics::add;
use super::watchdog::Watchdog;
use super::writer::Writer;
use crate::{Fault, Job};

/// How often to look after the store when nobody asks it anything: whether it has to be reopened, or the log's end can be sealed.
const IDLE_POLL: Duration = Duration::from_secs(1);
/// A commit this short blocks a thread of the runtime without harm.
const SHORT_NANOS: u64 = 1_000_000;

pub(super) enum Message {
    Run(Box<dyn Job>),
    Close,
}

#[derive(Default)]
pub(super) struct CommitTurn {
    turn: Mutex<Turn>,
    /// Whether the last batch had one decision only: a hint that callers come one at a time.
    lonely: AtomicBool,
    pub callers: Callers,
    pub watchdog: Watchdog,
    /// How long the last commit took.
    pub last_nanos: AtomicU64,
}

/// Held by the thread that commits.
#[derive(Default)]
struct Turn {
    /// The store is closed, or about to be, and must not be opened again.
    closed: bool,
}

impl CommitTurn {
    fn wait(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes `job` on the thread of its caller if that is the shortest way; else gives it back.
pub(super) fn take(shared: &Shared, job: Box<dyn Job>) -> Option<Box<dyn Job>> {
    let commit_turn = &shared.commit_turn;
    if !commit_turn.lonely.load(Relaxed) || shared.metrics.queued.load(Relaxed) != 1 || !may_block() {
        return Some(job);
    }
    let Ok(turn) = commit_turn.turn.try_lock() else { return Some(job) };
    if turn.closed {
        return Some(job);
    }
    add(&shared.metrics.written_alone, 1);
    let write = || Writer::new(shared).batch(job, || None);
    if commit_turn.callers.are_one() && commit_turn.last_nanos.load(Relaxed) < SHORT_NANOS {
        add(&shared.metrics.written_in_place, 1);
        commit_turn.watchdog.guard(write);
    } else {
        tokio::task::block_in_place(write);
    }
    None
}

/// Waits for longer than a commit, while another thread takes over the runtime's work.
pub(super) fn wait_long<R>(wait: impl FnOnce() -> R) -> R {
    if may_block() { tokio::task::block_in_place(wait) } else { wait() }
}

/// The runtime has to be able to move the thread's other tasks away while it waits for the disk.
fn may_block() -> bool {
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// The writer's thread.
pub(super) struct Queue {
    shared: Arc<Shared>,
    messages: mpsc::Receiver<Message>,
    closing: bool,
    /// How many commits there were when nobody had come for a while.
    commits: u64,
}

impl Queue {
    pub fn new(shared: Arc<Shared>, messages: mpsc::Receiver<Message>) -> Self {
        Self { shared, messages, closing: false, commits: 0 }
    }

    pub fn run(mut self) {
        let shared = self.shared.clone();
        let writer = Writer::new(&shared);
        while let Some(first) = self.next(&writer) {
            let _turn = shared.commit_turn.wait();
            let count = writer.batch(first, || self.next_now(&writer));
            shared.commit_turn.lonely.store(count == 1, Relaxed);
        }
        let mut turn = shared.commit_turn.wait();
        turn.closed = true;
        while let Ok(Message::Run(job)) = self.messages.try_recv() {
            writer.settle(job, Err(stopped()));
        }
        writer.close();
    }

    /// The next decision, or `None` at the end.
    fn next(&mut self, writer: &Writer<'_>) -> Option<Box<dyn Job>> {
        while !self.closing {
            match self.messages.recv_timeout(IDLE_POLL) {
                Ok(Message::Run(job)) => return Some(job),
                Ok(Message::Close) | Err(mpsc::RecvTimeoutError::Disconnected) => self.closing = true,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let shared = self.shared.clone();
                    let _turn = shared.commit_turn.wait();
                    if writer.is_open() {
                        self.seal_end(writer);
                    } else {
                        drop(writer.reopen());
                    }
                }
            }
        }
        None
    }

    /// Seals the log's end if no batch was committed since the last look.
    fn seal_end(&mut self, writer: &Writer<'_>) {
        let commits = self.shared.metrics.commits.load(Relaxed);
        if std::mem::replace(&mut self.commits, commits) == commits {
            writer.seal_end();
        }
    }

    fn next_now(&mut self, writer: &Writer<'_>) -> Option<Box<dyn Job>> {
        match self.messages.try_recv() {
            Ok(Message::Run(job)) if !self.closing => Some(job),
            Ok(Message::Run(job)) => {
                writer.settle(job, Err(stopped()));
                None
            }
            Ok(Message::Close) => {
                self.closing = true;
                None
            }
            Err(_) => None,
        }
    }
}

fn stopped() -> Fault {
    Fault::Unavailable("the engine has stopped".into())
}
