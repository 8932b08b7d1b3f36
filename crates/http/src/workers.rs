//! Threads for work that a client can make long: queries over the contents of blobs, long documents, pages that take long to write. The
//! threads of the runtime serve every connection, so such work must not run on them.
//!
//! Held true:
//! * there are few such threads, they have a lower priority than the others, and they run one slice of work at a time;
//! * the number of jobs under way and the number of jobs in the queue are bounded; the next request is told that the server is busy;
//! * memory beyond what each job has by itself comes from one pool.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::refusal::Denied;

/// Pieces of work under way. Each holds a record, the names of its columns and some frames of its answer: some 16 MiB at most.
const SLOTS: usize = 16;
/// Those that wait for one of them to end, and for how long.
const LINE: usize = 64;
const PATIENCE: Duration = Duration::from_secs(30);
/// What all of them may hold besides, in units of a KiB.
const MEMORY: usize = 192 << 20;
const UNIT: usize = 1 << 10;

type Job = Box<dyn FnOnce() + Send>;

pub struct Workers {
    threads: OnceLock<Arc<Queue>>,
    slots: Arc<Semaphore>,
    line: AtomicUsize,
    memory: Arc<Semaphore>,
}

#[derive(Default)]
struct Queue {
    jobs: Mutex<Jobs>,
    filled: Condvar,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    closed: bool,
}

/// A place among those whose work is under way.
pub struct Slot(#[expect(dead_code, reason = "it is held")] OwnedSemaphorePermit);

/// Memory that was set aside.
pub struct Memory(#[expect(dead_code, reason = "it is held")] OwnedSemaphorePermit);

/// The work panicked, or the server stops.
#[derive(Debug)]
pub struct Lost;

impl Default for Workers {
    fn default() -> Self {
        Self {
            threads: OnceLock::new(),
            slots: Arc::new(Semaphore::new(SLOTS)),
            line: AtomicUsize::new(0),
            memory: Arc::new(Semaphore::new(MEMORY / UNIT)),
        }
    }
}

impl Workers {
    /// Waits in line for a place, if the line is not too long.
    pub async fn admit(&self) -> Result<Slot, Denied> {
        if let Ok(permit) = self.slots.clone().try_acquire_owned() {
            return Ok(Slot(permit));
        }
        let _waiting = Waiting::enter(&self.line).ok_or(Denied::ServerBusy)?;
        let waited = tokio::time::timeout(PATIENCE, self.slots.clone().acquire_owned()).await;
        waited.ok().and_then(Result::ok).map(Slot).ok_or(Denied::ServerBusy)
    }

    /// Waits until so many bytes can be set aside; never more than there are at all. What the caller had before it has to give back first:
    /// a query that holds some waits for no more.
    pub async fn memory(&self, bytes: usize) -> Result<Memory, Lost> {
        let units = bytes.min(MEMORY).div_ceil(UNIT) as u32;
        self.memory.clone().acquire_many_owned(units).await.map(Memory).map_err(|_| Lost)
    }

    /// Runs a slice of work, after those that were asked for before.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Lost> {
        let (done, result) = oneshot::channel();
        // If it panics, `done` is dropped.
        self.queue().push(Box::new(move || drop(done.send(work()))));
        result.await.map_err(|_| Lost)
    }

    /// Does short work here, and long work as a slice.
    pub async fn run_if<T: Send + 'static>(
        &self,
        is_long: bool,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Denied> {
        if is_long { self.run(work).await.map_err(|Lost| Denied::InternalError) } else { Ok(work()) }
    }

    fn queue(&self) -> &Arc<Queue> {
        self.threads.get_or_init(|| {
            let queue = Arc::new(Queue::default());
            for _ in 0..threads() {
                let queue = queue.clone();
                // Without threads the work waits, and the line is soon full.
                let spawned = std::thread::Builder::new().name("lazuli-worker".into()).spawn(move || queue.work());
                if let Err(error) = spawned {
                    tracing::error!(%error, "no thread for long work");
                }
            }
            queue
        })
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(queue) = self.threads.get() {
            queue.jobs().closed = true;
            queue.filled.notify_all();
        }
    }
}

/// Half of the cores: the other half is for everybody.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1))
}

impl Queue {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, job: Job) {
        self.jobs().waiting.push_back(job);
        self.filled.notify_one();
    }

    fn work(&self) {
        step_back();
        while let Some(job) = self.next() {
            if catch_unwind(AssertUnwindSafe(job)).is_err() {
                tracing::error!("a piece of work panicked; this is a bug of ours");
            }
        }
    }

    /// `None` when there will be no more.
    fn next(&self) -> Option<Job> {
        let mut jobs = self.jobs();
        loop {
            if jobs.closed {
                return None;
            }
            if let Some(job) = jobs.waiting.pop_front() {
                return Some(job);
            }
            jobs = self.filled.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Gives this thread a lower priority. On Linux it is each thread's own.
#[cfg(target_os = "linux")]
fn step_back() {
    let _ = rustix::process::nice(10);
}

#[cfg(not(target_os = "linux"))]
fn step_back() {}

/// One more in the line.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(line: &'a AtomicUsize) -> Option<Self> {
        let entered = line.fetch_update(Relaxed, Relaxed, |waiting| (waiting < LINE).then_some(waiting + 1));
        entered.ok().map(|_| Self(line))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
    }

    /// C3: work is done on another thread than the one that asks, and what panics is lost alone.
    #[test]
    fn work_is_done_elsewhere() {
        block_on(async {
            let workers = Workers::default();
            let name = workers.run(|| std::thread::current().name().map(str::to_owned)).await.unwrap();
            assert_eq!(name.as_deref(), Some("lazuli-worker"));
            for _ in 0..2 * threads() {
                assert!(workers.run::<u8>(|| panic!("as it may")).await.is_err());
            }
            assert_eq!(workers.run(|| 7).await.unwrap(), 7);
        });
    }

    #[test]
    fn the_line_has_an_end() {
        block_on(async {
            let workers = Arc::new(Workers::default());
            let mut slots = Vec::new();
            for _ in 0..SLOTS {
                slots.push(workers.admit().await.unwrap());
            }
            let line: Vec<_> = (0..LINE)
                .map(|_| {
                    let workers = workers.clone();
                    tokio::spawn(async move { workers.admit().await.is_ok() })
                })
                .collect();
            while workers.line.load(Relaxed) < LINE {
                tokio::task::yield_now().await;
            }
            assert_eq!(workers.admit().await.err(), Some(Denied::ServerBusy));
            drop(slots);
            for waiting in line {
                assert!(waiting.await.unwrap());
            }
            assert!(workers.admit().await.is_ok());
        });
    }

    #[test]
    fn memory_is_waited_for() {
        block_on(async {
            let workers = Arc::new(Workers::default());
            let all = workers.memory(usize::MAX).await.unwrap();
            let other = workers.clone();
            let waiting = tokio::spawn(async move { drop(other.memory(1).await.unwrap()) });
            tokio::task::yield_now().await;
            assert!(!waiting.is_finished());
            drop(all);
            waiting.await.unwrap();
        });
    }
}
