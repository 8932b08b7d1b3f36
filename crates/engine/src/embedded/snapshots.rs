//! The open snapshots. A version of a row that only older states show may be dropped when tables are written.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The sequence numbers of open snapshots, each with how many there are.
#[derive(Default)]
pub(super) struct Snapshots(Mutex<BTreeMap<u64, usize>>);

/// A state of the tree: all that has a lower sequence number.
pub(super) struct Snapshot {
    sequence: u64,
    among: Arc<Snapshots>,
}

impl Snapshots {
    pub fn open(self: &Arc<Self>, sequence: u64) -> Snapshot {
        *self.open_ones().entry(sequence).or_default() += 1;
        Snapshot { sequence, among: self.clone() }
    }

    /// The oldest state that somebody looks at.
    pub fn oldest(&self) -> u64 {
        self.open_ones().first_key_value().map_or(0, |(sequence, _)| *sequence)
    }

    /// Nobody looks at a state before this one.
    pub fn watermark(&self) -> u64 {
        self.open_ones().first_key_value().map_or(0, |(sequence, _)| sequence.saturating_sub(1))
    }

    fn open_ones(&self) -> MutexGuard<'_, BTreeMap<u64, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Snapshot {
    pub fn sequence(&self) -> u64 {
        self.sequence
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let mut open = self.among.open_ones();
        if let Some(count) = open.get_mut(&self.sequence) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.sequence);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watermark_is_below_the_oldest_open_snapshot() {
        let snapshots = Arc::new(Snapshots::default());
        assert_eq!(snapshots.watermark(), 0);
        let old = snapshots.open(10);
        let same = snapshots.open(10);
        let new = snapshots.open(20);
        drop(old);
        assert_eq!(snapshots.watermark(), 9);
        drop(same);
        assert_eq!(snapshots.watermark(), 19);
        drop(new);
        assert_eq!(snapshots.watermark(), 0);
    }
}
