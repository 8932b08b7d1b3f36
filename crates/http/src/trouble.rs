//! What the log says while the machine is in trouble: a full or failing disk fails every request, and a line for each would fill what is
//! left of it. So of each kind of fault one line is written in ten seconds, with how many were not. Damage is another matter: each
//! place is named.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lazuli_model::Timestamp;
use lazuli_store::Fault;

const QUIET_TICKS: u64 = 10 * 10_000_000;

#[derive(Default)]
pub(crate) struct Trouble {
    full: Kind,
    unavailable: Kind,
}

#[derive(Default)]
struct Kind {
    /// In ticks.
    said: AtomicU64,
    untold: AtomicU64,
}

impl Trouble {
    pub fn tell(&self, fault: &Fault, request: &str, now: Timestamp) {
        let untold = match fault {
            Fault::Full => self.full.due(now),
            Fault::Unavailable(_) | Fault::Busy => self.unavailable.due(now),
            Fault::Corrupt(_) => Some(0),
        };
        match untold {
            Some(untold) => tracing::error!(?fault, request, untold, "a request failed"),
            None => tracing::debug!(?fault, request, "a request failed"),
        }
    }
}

impl Kind {
    /// How many were not told of since the last that was, if it is time for the next.
    fn due(&self, now: Timestamp) -> Option<u64> {
        let said = self.said.load(Relaxed);
        let is_due = now.ticks() >= said + QUIET_TICKS
            && self.said.compare_exchange(said, now.ticks(), Relaxed, Relaxed).is_ok();
        if is_due {
            return Some(self.untold.swap(0, Relaxed));
        }
        self.untold.fetch_add(1, Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_ten_seconds() {
        let kind = Kind::default();
        let at = |tenths: u64| Timestamp::from_ticks(639_000_000_000_000_000 + tenths * 1_000_000);
        let told = [0, 1, 50, 99, 100, 101, 500].map(|tenths| kind.due(at(tenths)));
        assert_eq!(told, [Some(0), None, None, None, Some(3), None, Some(1)]);
    }
}
