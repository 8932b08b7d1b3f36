//! Watches writes that block a thread of the runtime. While such a write syncs, there may be no thread left that polls the sockets.
//! That is fine for a short sync, but a disk that hangs stops writes and must not stop reads. So a thread of its own checks every
//! 20 ms, as long as such writes come, and wakes another thread of the runtime if one write takes longer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{Thread, current, park, park_timeout};
use std::time::Duration;

use tokio::runtime::Handle;

/// Longer than a usual sync, and short for the readers that wait.
const CHECK_EVERY: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(super) struct Watchdog {
    /// How many guarded writes have begun, and whether the last of them still runs.
    begun: AtomicU64,
    busy: AtomicBool,
    /// Whether the watcher checks, or is parked.
    watched: AtomicBool,
    /// The runtime whose thread is blocked.
    runtime: Mutex<Option<Handle>>,
    watcher: OnceLock<Thread>,
    closed: AtomicBool,
}

impl Watchdog {
    /// Runs `write` on the caller's thread. Only the holder of the commit turn writes, so there is one at a time.
    pub fn guard<R>(&self, write: impl FnOnce() -> R) -> R {
        self.begun.fetch_add(1, SeqCst);
        assert!(!self.busy.swap(true, SeqCst), "two writers have the commit turn");
        if !self.watched.swap(true, SeqCst) {
            *self.runtime.lock().unwrap_or_else(PoisonError::into_inner) = Handle::try_current().ok();
            self.wake_watcher();
        }
        let _guarded = Guarded(self);
        write()
    }

    /// Runs on the watcher's thread until `close`.
    pub fn watch(&self) {
        let _ = self.watcher.set(current());
        while !self.closed.load(SeqCst) {
            if self.watched.load(SeqCst) {
                self.watch_while_busy();
            } else {
                park();
            }
        }
    }

    /// Checks as long as guarded writes come.
    fn watch_while_busy(&self) {
        let mut seen = self.begun.load(SeqCst);
        loop {
            park_timeout(CHECK_EVERY);
            let begun = self.begun.load(SeqCst);
            if begun == seen && self.busy.load(SeqCst) {
                self.wake_runtime();
            } else if begun == seen {
                self.watched.store(false, SeqCst);
                // A write that began just now has found the watcher awake, and did not wake it.
                if self.begun.load(SeqCst) == seen || self.watched.swap(true, SeqCst) {
                    return;
                }
            }
            if self.closed.load(SeqCst) {
                return;
            }
            seen = begun;
        }
    }

    /// Any task wakes a thread of the runtime, which then polls the sockets.
    fn wake_runtime(&self) {
        if let Some(runtime) = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            drop(runtime.spawn(async {}));
        }
    }

    fn wake_watcher(&self) {
        if let Some(watcher) = self.watcher.get() {
            watcher.unpark();
        }
    }

    pub fn close(&self) {
        self.closed.store(true, SeqCst);
        self.wake_watcher();
    }
}

struct Guarded<'a>(&'a Watchdog);

impl Drop for Guarded<'_> {
    fn drop(&mut self) {
        self.0.busy.store(false, SeqCst);
    }
}
