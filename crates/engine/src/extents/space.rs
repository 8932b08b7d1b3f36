//! Whether there is room for an upload, asked before it begins: better to refuse it than to fill the disk half-way
//! and take the room that the keys need to record deletions.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::directory::fault;
use super::layout::room;
use crate::Fault;
use crate::content::PIECE_MAX;

pub(crate) struct Space {
    /// What uploads leave free on the file system.
    pub keep_free: AtomicU64,
    /// Claimed by uploads and not yet written.
    claimed: Arc<AtomicU64>,
}

/// Room that an upload will need. Returned as it is used, or when dropped.
pub(crate) struct Claim {
    left: u64,
    claimed: Arc<AtomicU64>,
}

impl Space {
    pub fn new(keep_free: u64) -> Self {
        Self { keep_free: AtomicU64::new(keep_free), claimed: Arc::default() }
    }

    /// Claims room for `length` bytes and their checksums on the file system of `path`, or says it is full.
    pub fn claim(&self, path: &Path, length: u64) -> Result<Claim, Fault> {
        let stat = rustix::fs::statvfs(path).map_err(|error| fault("asking for free space", &error.into()))?;
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        let need = (length / PIECE_MAX).saturating_mul(room(PIECE_MAX)).saturating_add(room(length % PIECE_MAX));
        let claimed = self.claimed.fetch_add(need, Relaxed).saturating_add(need);
        let claim = Claim { left: need, claimed: self.claimed.clone() };
        if claimed.saturating_add(self.keep_free.load(Relaxed)) > free {
            return Err(Fault::Full);
        }
        Ok(claim)
    }
}

impl Claim {
    pub fn left(&self) -> u64 {
        self.left
    }

    pub fn shrink(&mut self, used: u64) {
        let used = used.min(self.left);
        self.left -= used;
        let claimed = self.claimed.fetch_sub(used, Relaxed);
        assert!(claimed >= used, "claims give back what they took");
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.shrink(self.left);
    }
}
