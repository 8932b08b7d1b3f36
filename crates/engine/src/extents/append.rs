//! The extents that are being appended to, and their syncs.
//!
//! * Space is handed out once and never again; one upload owns it and writes into it alone.
//! * A sync covers every write that ended before the sync began, of any upload: those who wait while one runs
//!   share the next.
//! * After a sync failed, nobody knows which pages the kernel gave up, so all that is unsynced there is lost and
//!   the extent takes no more.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::directory::{Created, Directory, fault};
use super::layout::{HEADER, PAGE, room};
use super::reclaim::Reclaim;
use crate::Fault;
use crate::content::PIECE_MAX;

/// From this length on, writing past the page cache is faster (docs/decisions/0003-extents.md).
const DIRECT_MIN: usize = 256 << 10;

pub(crate) struct Open {
    pub id: u64,
    file: File,
    /// The same file, past the page cache.
    direct: Option<File>,
    tail: AtomicU64,
    /// Uploads and staged pieces whose fate is open. When it is none and `retired`, the extent can be sealed.
    users: AtomicUsize,
    retired: AtomicBool,
    /// Something in it must be settled by the next start, so this process does not seal it.
    left: AtomicBool,
    syncs: Mutex<Syncs>,
}

#[derive(Default)]
struct Syncs {
    running: bool,
    waiting: Vec<oneshot::Sender<Result<(), Fault>>>,
    broken: Option<Fault>,
}

/// Keeps an extent from being sealed.
pub(crate) struct Use {
    pub extent: Arc<Open>,
    reclaim: Reclaim,
}

impl Use {
    pub fn leave(&self) {
        self.extent.left.store(true, SeqCst);
    }
}

impl Clone for Use {
    fn clone(&self) -> Self {
        self.extent.users.fetch_add(1, SeqCst);
        Self { extent: self.extent.clone(), reclaim: self.reclaim.clone() }
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let users = self.extent.users.fetch_sub(1, SeqCst);
        assert!(users > 0, "each use ends once");
        if users == 1 {
            self.extent.seal_when_done(&self.reclaim);
        }
    }
}

impl Open {
    fn seal_when_done(&self, reclaim: &Reclaim) {
        let done = self.retired.load(SeqCst) && self.users.load(SeqCst) == 0 && !self.left.load(SeqCst);
        if done {
            reclaim.seal(self.id);
        }
    }

    fn is_broken(&self) -> bool {
        self.syncs.lock().unwrap_or_else(PoisonError::into_inner).broken.is_some()
    }

    /// Writes whole pages from page-aligned `bytes`. Long writes go past the page cache, which is faster and leaves
    /// the cache to what is read; short ones go through it, where syncs gather more of them.
    pub fn write(&self, bytes: &[u8], at: u64) -> Result<(), Fault> {
        assert!(bytes.len().is_multiple_of(PAGE as usize) && at.is_multiple_of(PAGE), "whole pages are written");
        assert!(at >= HEADER, "nobody writes over the header");
        assert!(at + bytes.len() as u64 <= self.tail.load(SeqCst), "only what was reserved is written");
        let file = self.direct.as_ref().filter(|_| bytes.len() >= DIRECT_MIN).unwrap_or(&self.file);
        file.write_all_at(bytes, at).map_err(|error| fault(&format!("writing extent {}", self.id), &error))
    }

    /// Waits until all that was written before this call is on disk.
    pub async fn sync(self: &Arc<Self>, count: &Arc<AtomicU64>) -> Result<(), Fault> {
        let (sender, receiver) = oneshot::channel();
        let lead = {
            let mut syncs = self.syncs.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(broken) = &syncs.broken {
                return Err(broken.clone());
            }
            syncs.waiting.push(sender);
            !std::mem::replace(&mut syncs.running, true)
        };
        if lead {
            let (extent, count) = (self.clone(), count.clone());
            tokio::task::spawn_blocking(move || extent.lead(&count));
        }
        receiver.await.unwrap_or_else(|_| Err(Fault::Unavailable("stopped before the sync ended".into())))
    }

    fn lead(&self, count: &AtomicU64) {
        loop {
            let waiting = {
                let mut syncs = self.syncs.lock().unwrap_or_else(PoisonError::into_inner);
                if syncs.waiting.is_empty() {
                    syncs.running = false;
                    return;
                }
                std::mem::take(&mut syncs.waiting)
            };
            count.fetch_add(1, Relaxed);
            let result = self.file.sync_data().map_err(|error| fault(&format!("syncing extent {}", self.id), &error));
            if let Err(fault) = &result {
                tracing::error!(extent = self.id, ?fault, "a sync failed; the extent takes no more writes");
                let mut syncs = self.syncs.lock().unwrap_or_else(PoisonError::into_inner);
                syncs.broken.get_or_insert_with(|| fault.clone());
            }
            waiting.into_iter().for_each(|waiter| drop(waiter.send(result.clone())));
        }
    }
}

/// Hands out room, from several extents at once so that syncs of one do not hold up writes to another.
pub(crate) struct Lanes {
    lanes: Mutex<Vec<Option<Arc<Open>>>>,
    capacity: u64,
}

impl Lanes {
    pub fn new(count: usize, capacity: u64) -> Self {
        Self { lanes: Mutex::new(vec![None; count.max(1)]), capacity }
    }

    /// Room for a piece of up to `length` bytes, of which `near` is preferred to hold it. Blocks on the disk.
    pub fn reserve(
        &self,
        directory: &Directory,
        reclaim: &Reclaim,
        length: u64,
        near: Option<u64>,
    ) -> Result<(Use, u64), Fault> {
        assert!(length > 0 && length <= PIECE_MAX, "a piece has bytes, and no more than fit");
        let room = room(length);
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = Self::choose(&lanes, near);
        if let Some(extent) = &lanes[lane] {
            let used = extent.tail.load(SeqCst);
            let fits = used + room <= self.capacity || used == HEADER;
            if !fits || extent.is_broken() {
                extent.retired.store(true, SeqCst);
                extent.seal_when_done(reclaim);
                lanes[lane] = None;
            }
        }
        let extent = match &lanes[lane] {
            Some(extent) => extent.clone(),
            None => {
                let Created { id, file, direct } =
                    directory.create().map_err(|error| fault("making a new extent", &error))?;
                let extent = Arc::new(Open {
                    id,
                    file,
                    direct,
                    tail: AtomicU64::new(HEADER),
                    users: AtomicUsize::new(0),
                    retired: AtomicBool::new(false),
                    left: AtomicBool::new(false),
                    syncs: Mutex::default(),
                });
                lanes[lane] = Some(extent.clone());
                extent
            }
        };
        // Under the lock of the lanes, so that nobody retires the extent in between.
        let offset = extent.tail.fetch_add(room, SeqCst);
        assert!(offset >= HEADER && offset.is_multiple_of(PAGE), "a room begins on a page behind the header");
        extent.users.fetch_add(1, SeqCst);
        directory.occupy(extent.id, offset);
        Ok((Use { extent, reclaim: reclaim.clone() }, offset))
    }

    /// The lane of the same upload, else one that nobody uses, else one not begun, else the least used.
    fn choose(lanes: &[Option<Arc<Open>>], near: Option<u64>) -> usize {
        let rank = |lane: &Option<Arc<Open>>| match lane {
            Some(extent) if Some(extent.id) == near => (0, 0),
            Some(extent) => match extent.users.load(SeqCst) {
                0 => (1, 0),
                users => (3, users),
            },
            None => (2, 0),
        };
        let best = lanes.iter().enumerate().min_by_key(|(_, lane)| rank(lane));
        best.map_or(0, |(index, _)| index)
    }

    /// At the end: every extent that nothing is open in is sealed, so that the next start has nothing to settle.
    pub fn retire_all(&self, reclaim: &Reclaim) {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        for extent in lanes.iter_mut().filter_map(Option::take) {
            extent.retired.store(true, SeqCst);
            extent.seal_when_done(reclaim);
        }
    }
}

#[cfg(test)]
mod seams {
    use super::*;

    /// A sync that has begun and does not end by itself.
    pub(crate) struct Held;

    impl Open {
        /// `None` while a real one is under way.
        pub(crate) fn hold_sync(&self) -> Option<Held> {
            let mut syncs = self.syncs.lock().expect("syncs");
            (!std::mem::replace(&mut syncs.running, true)).then_some(Held)
        }

        pub(crate) fn waiting_for_sync(&self) -> usize {
            self.syncs.lock().expect("syncs").waiting.len()
        }

        pub(crate) fn break_syncs(&self, fault: Fault) {
            self.syncs.lock().expect("syncs").broken = Some(fault);
        }
    }

    impl Held {
        pub(crate) fn end(self, extent: &Open, count: &AtomicU64) {
            extent.lead(count);
        }
    }

    impl Lanes {
        pub(crate) fn first(&self) -> Option<Arc<Open>> {
            self.lanes.lock().expect("lanes").iter().flatten().next().cloned()
        }
    }
}
