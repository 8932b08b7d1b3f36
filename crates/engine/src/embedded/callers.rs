//! Whether all recent calls came from one task: then nobody else waits for its thread.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use foldhash::fast::RandomState;
use tokio::task;

/// Calls in a row that make a caller the only one. A request is one to three of them.
const ALONE: u64 = 32;

/// Hints, each of which may be late: calls are not ordered for them.
#[derive(Default)]
pub(super) struct Callers {
    /// The task that called last, by a hash of its name; 0 if it was none.
    last: AtomicU64,
    in_a_row: AtomicU64,
    names: RandomState,
}

impl Callers {
    /// The task of the caller does something: looks or decides.
    pub fn came(&self) {
        let caller = task::try_id().map_or(0, |id| self.names.hash_one(id));
        if self.last.load(Relaxed) != caller {
            self.last.store(caller, Relaxed);
            self.in_a_row.store(0, Relaxed);
            return;
        }
        // What many read is written only while it says something new.
        let in_a_row = self.in_a_row.load(Relaxed);
        if in_a_row < ALONE && caller != 0 {
            self.in_a_row.store(in_a_row + 1, Relaxed);
        }
    }

    pub fn are_one(&self) -> bool {
        self.in_a_row.load(Relaxed) == ALONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_is_one_until_another_comes() {
        let callers = std::sync::Arc::new(Callers::default());
        let come = |times: u64| {
            let callers = callers.clone();
            async move {
                let coming = tokio::spawn(async move {
                    (0..times).for_each(|_| callers.came());
                    callers.are_one()
                });
                coming.await.expect("no panic")
            }
        };
        assert!(!come(ALONE).await, "the first call only says who it is");
        assert!(come(ALONE + 1).await);
        assert!(!come(1).await, "another one came");
        assert!(come(ALONE + 1).await);
        (0..=ALONE).for_each(|_| callers.came());
        assert!(!callers.are_one(), "without a task nobody knows who it is");
    }
}
