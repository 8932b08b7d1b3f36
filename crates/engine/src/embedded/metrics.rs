//! What the engine is doing, as numbers: written by the writer, read by anyone at any time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! meters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A reading of the engine's meters.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Metrics {
            $($(#[$doc])* pub $name: u64,)*
            /// The length of the log's files when it was asked for.
            pub journal_bytes: u64,
            /// Columns that are known to have nothing in them.
            pub empty_columns: u64,
            /// Rows that are in memory only, and go with the process.
            pub volatile_rows: u64,
        }

        #[derive(Default)]
        pub(super) struct Meters { $(pub $name: AtomicU64,)* }

        impl Meters {
            pub fn read(&self, journal_bytes: u64, empty_columns: u64, volatile_rows: u64) -> Metrics {
                Metrics { $($name: self.$name.load(Relaxed),)* journal_bytes, empty_columns, volatile_rows }
            }
        }
    };
}

meters! {
    /// Decisions that were settled, whatever their fate.
    settled,
    /// Decisions submitted and not yet settled.
    queued,
    /// Batches that were synced.
    commits,
    /// Transactions in those batches, and their bytes.
    committed_transactions,
    committed_bytes,
    /// Decisions that a caller wrote on its own thread, being alone.
    written_alone,
    /// Those of them that kept the runtime's place meanwhile, since nobody else had come for a while.
    written_in_place,
    /// The largest batch so far, in transactions.
    batch_max,
    /// Nanoseconds in commits (log, sync, publishing): in all, and the longest.
    commit_nanos,
    commit_nanos_max,
    /// Transactions that were turned away for want of room.
    turned_away,
    /// Commits that failed, and times the store was reopened.
    failures,
    reopenings,
    /// Waits for the store to catch up with its tables, and nanoseconds spent in them.
    stalls,
    stall_nanos,
    /// The store's state after the last batch. Writes stall at 28 runs in level 0, or 3 sealed memtables.
    l0_runs,
    sealed_memtables,
    buffered_bytes,
}

pub(super) fn add(meter: &AtomicU64, by: u64) {
    meter.fetch_add(by, Relaxed);
}

pub(super) fn set(meter: &AtomicU64, to: u64) {
    meter.store(to, Relaxed);
}

pub(super) fn raise(meter: &AtomicU64, to: u64) {
    meter.fetch_max(to, Relaxed);
}
