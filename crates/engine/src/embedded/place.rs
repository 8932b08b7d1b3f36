//! A write that keeps the runtime's place, and who looks after it. As long as it syncs, no thread may be left that watches the
//! sockets: good for a short sync, not for a disk that hangs, which stops writes and must not stop reads. So a thread of its own
//! looks every 20 ms, as long as such writes come, and wakes one of the runtime's if one of them takes longer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{Thread, current, park, park_timeout};
use std::time::Duration;

use tokio::runtime::Handle;

/// Longer than a sync, and short for whoever waits meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(super) struct Place {
    /// Writes that began to keep it, and whether the last of them still does.
    begun: AtomicU64,
    kept: AtomicBool,
    /// Whether somebody looks.
    watched: AtomicBool,
    /// Whose place it is.
    runtime: Mutex<Option<Handle>>,
    watcher: OnceLock<Thread>,
    closed: AtomicBool,
}

impl Place {
    /// Runs `write` where the caller is. One at a time: whoever writes has the turn.
    pub fn keep<R>(&self, write: impl FnOnce() -> R) -> R {
        self.begun.fetch_add(1, SeqCst);
        self.kept.store(true, SeqCst);
        if !self.watched.swap(true, SeqCst) {
            *self.runtime.lock().unwrap_or_else(PoisonError::into_inner) = Handle::try_current().ok();
            self.wake_watcher();
        }
        let _kept = Kept(self);
        write()
    }

    /// The watcher's thread, until `close`.
    pub fn watch(&self) {
        let _ = self.watcher.set(current());
        while !self.closed.load(SeqCst) {
            if self.watched.load(SeqCst) {
                self.watch_a_while();
            } else {
                park();
            }
        }
    }

    /// As long as writes come.
    fn watch_a_while(&self) {
        let mut seen = self.begun.load(SeqCst);
        loop {
            park_timeout(LOOK_EVERY);
            let begun = self.begun.load(SeqCst);
            if begun == seen && self.kept.load(SeqCst) {
                self.wake_runtime();
            } else if begun == seen {
                self.watched.store(false, SeqCst);
                // One that began just now has found it watched.
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

    /// Anything to do wakes a thread of the runtime, which then stays with the sockets.
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

struct Kept<'a>(&'a Place);

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        self.0.kept.store(false, SeqCst);
    }
}
