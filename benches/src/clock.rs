//! The one place of this crate that reads a clock or waits. Everything else is handed an instant.

use std::time::{Duration, Instant};

#[expect(clippy::disallowed_methods, reason = "measuring time is what a benchmark does")]
pub fn now() -> Instant {
    Instant::now()
}

/// Waits between two looks at another process, which has no event to wait for.
#[expect(clippy::disallowed_methods, reason = "another process is polled, it cannot tell us")]
pub fn pause(period: Duration) {
    std::thread::sleep(period);
}
