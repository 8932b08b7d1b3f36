//! The log of faults, rate-limited. A full or failing disk fails every request, and a line for each would fill what is left of the
//! disk. So each kind of fault gets one line in ten seconds, with the number of those left out. Damage is logged each time, because
//! each line names another place.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lazuli_model::Timestamp;
use lazuli_store::Fault;

const QUIET_TICKS: u64 = 10 * 10_000_000;

#[derive(Default)]
pub(crate) struct FaultLog {
    full: FaultKind,
    unavailable: FaultKind,
}

#[derive(Default)]
struct FaultKind {
    /// When the last line was written, in ticks.
    logged: AtomicU64,
    left_out: AtomicU64,
}

impl FaultLog {
    pub fn write(&self, fault: &Fault, request: &str, now: Timestamp) {
        let left_out = match fault {
            Fault::Full => self.full.due(now),
            Fault::Unavailable(_) | Fault::Busy => self.unavailable.due(now),
            Fault::Corrupt(_) => Some(0),
        };
        match left_out {
            Some(left_out) => tracing::error!(?fault, request, left_out, "a request failed"),
            None => tracing::debug!(?fault, request, "a request failed"),
        }
    }
}

impl FaultKind {
    /// If a line is due: how many faults were left out since the last line.
    fn due(&self, now: Timestamp) -> Option<u64> {
        let logged = self.logged.load(Relaxed);
        let is_due = now.ticks() >= logged + QUIET_TICKS
            && self.logged.compare_exchange(logged, now.ticks(), Relaxed, Relaxed).is_ok();
        if is_due {
            return Some(self.left_out.swap(0, Relaxed));
        }
        self.left_out.fetch_add(1, Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_ten_seconds() {
        let kind = FaultKind::default();
        let at = |tenths: u64| Timestamp::from_ticks(639_000_000_000_000_000 + tenths * 1_000_000);
        let told = [0, 1, 50, 99, 100, 101, 500].map(|tenths| kind.due(at(tenths)));
        assert_eq!(told, [Some(0), None, None, None, Some(3), None, Some(1)]);
    }
}
