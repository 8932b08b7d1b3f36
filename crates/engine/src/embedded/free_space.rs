//! The free space of the file system, and what a batch may use of it. `lsm-tree` cannot go on after a write that failed for want of
//! space, so writes are refused before: a floor stays free, and enough besides to flush what is still in memory.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::clock::Stopwatch;

const FLOOR_BYTES: u64 = 64 << 20;
const FLOOR_PERCENT: u64 = 5;
/// More than a disk takes in a moment.
const PLENTY_BYTES: u64 = 1 << 30;
const MOMENT_NANOS: u64 = 10_000_000;
/// What a transaction may be that frees something: small, so that many fit into the reserve.
const FREEING_BYTES: u64 = 16 << 10;

/// The size of a file system and what is free of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeSpace {
    pub free: u64,
    pub total: u64,
}

/// Asks the file system how much is free.
pub struct Probe(Box<Ask>);

type Ask = dyn Fn(&Path) -> io::Result<FreeSpace> + Send + Sync;

impl Probe {
    /// While there is plenty, an answer holds for a moment: a lone writer would ask thousands of times a second.
    pub fn file_system() -> Self {
        let last = Mutex::new(None::<(Stopwatch, FreeSpace)>);
        Self::new(move |path| {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((since, space)) = &*last
                && space.free > PLENTY_BYTES
                && since.nanos() < MOMENT_NANOS
            {
                return Ok(*space);
            }
            let stat = rustix::fs::statvfs(path)?;
            let space = FreeSpace { free: stat.f_bavail * stat.f_frsize, total: stat.f_blocks * stat.f_frsize };
            *last = Some((Stopwatch::start(), space));
            Ok(space)
        })
    }

    pub fn new(probe: impl Fn(&Path) -> io::Result<FreeSpace> + Send + Sync + 'static) -> Self {
        Self(Box::new(probe))
    }

    pub(super) fn ask(&self, path: &Path) -> io::Result<FreeSpace> {
        (self.0)(path)
    }
}

/// What one batch may write.
#[derive(Debug)]
pub(super) struct Allowance {
    left: u64,
    /// Kept back for transactions that free something: a full disk must not keep anyone from deleting.
    reserve: u64,
}

impl Allowance {
    /// `buffered` is what is in memory and has yet to be written out as tables.
    pub fn new(space: FreeSpace, buffered: u64) -> Self {
        let floor = FLOOR_BYTES.min(space.total / 100 * FLOOR_PERCENT);
        let usable = space.free.saturating_sub(buffered);
        Self { left: usable.saturating_sub(floor), reserve: usable.min(floor) / 2 }
    }

    pub fn unlimited() -> Self {
        Self { left: u64::MAX, reserve: 0 }
    }

    /// Takes space for `bytes`, once in the log and once in a table; false if there is none.
    pub fn take(&mut self, bytes: u64, frees: bool) -> bool {
        let need = bytes.saturating_mul(2);
        let purse =
            if frees && bytes <= FREEING_BYTES && self.left < need { &mut self.reserve } else { &mut self.left };
        match purse.checked_sub(need) {
            Some(left) => {
                *purse = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn writes_stop_at_the_floor_and_deletes_go_on() {
        //    free        total       buffered   put 1 MiB  delete
        let table = [
            (1000 * MIB, 10_000 * MIB, 0, true, true),
            (65 * MIB, 10_000 * MIB, 0, false, true),
            (1000 * MIB, 10_000 * MIB, 940 * MIB, false, true),
            (8 * MIB, 100 * MIB, 0, true, true),
            (6 * MIB, 100 * MIB, 0, false, true),
            (2 * MIB, 100 * MIB, 0, false, true),
            (MIB, 100 * MIB, 2 * MIB, false, false),
            (0, 100 * MIB, 0, false, false),
        ];
        for (free, total, buffered, put, delete) in table {
            let allowance = || Allowance::new(FreeSpace { free, total }, buffered);
            assert_eq!(allowance().take(MIB, false), put, "put with {free} of {total}");
            assert_eq!(allowance().take(200, true), delete, "delete with {free} of {total}");
        }
    }

    #[test]
    fn a_batch_uses_up_its_allowance() {
        let mut allowance = Allowance::new(FreeSpace { free: 69 * MIB, total: 100_000 * MIB }, 0);
        assert!(allowance.take(2 * MIB, false));
        assert!(!allowance.take(MIB, false));
    }
}
