//! The stamp clock: 100 ns ticks since 0001-01-01 UTC, as Azure's ETags count them (`0x8DA…`).
//!
//! Held true:
//! * stamps strictly increase, whatever the wall clock does;
//! * `now` is never before a stamp that was given out, nor after one that will be;
//! * this is the one place of the crate that reads the system's clocks. Tests hand in a false one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::Stamp;

/// 1970-01-01 in ticks since 0001-01-01.
pub const UNIX_EPOCH_TICKS: u64 = 621_355_968_000_000_000;
pub const TICKS_PER_SECOND: u64 = 10_000_000;

pub struct Clock {
    wall: Box<dyn Fn() -> Stamp + Send + Sync>,
    high: AtomicU64,
}

impl Clock {
    pub fn system() -> Self {
        Self::new(system_time)
    }

    pub fn new(wall: impl Fn() -> Stamp + Send + Sync + 'static) -> Self {
        Self { wall: Box::new(wall), high: AtomicU64::new(0) }
    }

    /// Makes every stamp to come later than `high`, which an earlier process wrote down.
    pub fn resume(&self, high: Stamp) {
        self.high.fetch_max(high.0, Ordering::AcqRel);
    }

    /// A stamp that nobody has, later than all given out so far.
    pub fn stamp(&self) -> Stamp {
        let wall = (self.wall)().0;
        let next = |high: u64| Some(wall.max(high + 1));
        let before = self.high.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).expect("next is always some");
        Stamp(wall.max(before + 1))
    }

    /// The time. Remembered, so that a wall clock set back makes no later stamp precede it.
    pub fn now(&self) -> Stamp {
        let wall = (self.wall)().0;
        Stamp(wall.max(self.high.fetch_max(wall, Ordering::AcqRel)))
    }

    /// The latest time this clock has told: what to write down for [`Clock::resume`].
    pub fn high(&self) -> Stamp {
        Stamp(self.high.load(Ordering::Acquire))
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock that stamps come from")]
fn system_time() -> Stamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let ticks = since_epoch.as_secs() * TICKS_PER_SECOND + u64::from(since_epoch.subsec_nanos()) / 100;
    Stamp(UNIX_EPOCH_TICKS + ticks)
}

/// Measures how long something took, for metrics and for how long to wait: what is stored never depends on it.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "metrics and pauses of the writer: no decision sees it")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn nanos(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn handed(ticks: &Arc<AtomicU64>) -> Clock {
        let ticks = ticks.clone();
        Clock::new(move || Stamp(ticks.load(Ordering::Relaxed)))
    }

    #[test]
    fn stamps_increase_though_the_wall_clock_stands_still_or_goes_back() {
        let wall = Arc::new(AtomicU64::new(100));
        let clock = handed(&wall);
        let mut seen = vec![clock.stamp(), clock.stamp()];
        wall.store(50, Ordering::Relaxed);
        seen.push(clock.stamp());
        wall.store(500, Ordering::Relaxed);
        seen.push(clock.stamp());
        assert_eq!(seen, [Stamp(100), Stamp(101), Stamp(102), Stamp(500)]);
    }

    #[test]
    fn now_is_between_the_stamps_before_and_after_it() {
        let wall = Arc::new(AtomicU64::new(100));
        let clock = handed(&wall);
        let before = clock.stamp();
        wall.store(900, Ordering::Relaxed);
        let now = clock.now();
        wall.store(10, Ordering::Relaxed);
        assert!(before <= now && now <= clock.now() && now < clock.stamp());
    }

    #[test]
    fn a_resumed_clock_goes_on_after_the_mark() {
        let clock = handed(&Arc::new(AtomicU64::new(100)));
        clock.resume(Stamp(1_000));
        assert_eq!(clock.stamp(), Stamp(1_001));
        clock.resume(Stamp(5));
        assert_eq!(clock.stamp(), Stamp(1_002));
    }

    #[test]
    fn system_stamps_look_like_azures() {
        let text = format!("0x{:X}", Clock::system().stamp().0);
        assert!(text.starts_with("0x8D") || text.starts_with("0x8E"), "{text}");
        assert_eq!(text.len(), 17);
    }
}
