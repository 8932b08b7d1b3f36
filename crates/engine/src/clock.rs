//! The stamp clock: 100 ns ticks since 0001-01-01 UTC, as Azure's ETags count them (`0x8DA…`).
//!
//! Held true:
//! * stamps strictly increase, whatever the wall clock does;
//! * `now` is never before a stamp that was given out, nor after one that will be;
//! * time goes on at the pace of the steady clock when the wall clock jumps. A jump ahead is followed once it has lasted; a
//!   wall clock that is put back is not followed at all, but waited for;
//! * this is the one place of the crate that reads the system's clocks. Tests hand in false ones.
//!
//! Whether a signature or a token is still good is not for this clock to say: that is judged by the wall clock of the moment.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::Stamp;

/// 1970-01-01 in ticks since 0001-01-01.
pub const UNIX_EPOCH_TICKS: u64 = 621_355_968_000_000_000;
pub const TICKS_PER_SECOND: u64 = 10_000_000;

/// A wall clock that moved by more than this against the steady clock has jumped.
pub const JUMP_SECONDS: u64 = 2 * 60;
/// A jump ahead that has lasted this long is followed.
pub const LASTING_SECONDS: u64 = 10 * 60;
/// A difference that is not looked at: it is the steady clock's as likely as the wall clock's.
const DRIFT_TICKS: i64 = TICKS_PER_SECOND as i64;
const JUMP_TICKS: i64 = (JUMP_SECONDS * TICKS_PER_SECOND) as i64;

type WallClock = Box<dyn Fn() -> Stamp + Send + Sync>;
type SteadyClock = Box<dyn Fn() -> u64 + Send + Sync>;

pub struct Clock {
    wall: WallClock,
    /// Ticks since any moment. Without it the wall clock is believed.
    steady: Option<SteadyClock>,
    high: AtomicU64,
    /// By how much the wall clock is before the steady one, while it is followed; else [`UNFOLLOWED`].
    offset: AtomicI64,
    course: Mutex<Course>,
    jumps: AtomicU64,
}

const UNFOLLOWED: i64 = i64::MIN;

/// Where the time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    Start,
    /// From the wall clock, which is so far ahead of the steady one.
    Wall {
        offset: i64,
    },
    /// From the steady clock, which showed `at` when the time was `told`.
    Steady {
        told: u64,
        at: u64,
        why: Why,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// The wall clock is a little behind: time goes a sixteenth slower until it has caught up.
    CatchingUp,
    /// The wall clock jumped ahead, at this moment of the steady clock.
    JumpedAhead { since: u64 },
    /// The wall clock is far behind what was told before.
    FarBehind,
}

/// How the time that stamps tell differs from the wall clock's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockState {
    /// Seconds by which stamps are ahead of the wall clock. Less than zero: the wall clock jumped ahead and is not followed yet.
    pub ahead_seconds: i64,
    /// How often the wall clock jumped, either way.
    pub jumps: u64,
}

impl ClockState {
    pub fn is_far_off(&self) -> bool {
        self.ahead_seconds.unsigned_abs() > JUMP_SECONDS
    }
}

impl Clock {
    pub fn system() -> Self {
        Self::with_steady(system_time, steady_time())
    }

    /// The machine's clocks, moved ahead by as many ticks as `moved` says. Both move together, so no move is taken for a jump.
    pub fn moved(moved: Arc<AtomicU64>) -> Self {
        let (steady, also) = (steady_time(), moved.clone());
        let wall = move || Stamp(system_time().0.saturating_add(moved.load(Ordering::Acquire)));
        Self::with_steady(wall, move || steady().saturating_add(also.load(Ordering::Acquire)))
    }

    /// A clock that believes `wall`, unless it goes back.
    pub fn new(wall: impl Fn() -> Stamp + Send + Sync + 'static) -> Self {
        Self::build(Box::new(wall), None)
    }

    /// A clock that believes `wall` as far as `steady`, which counts ticks from any moment on, agrees with it.
    pub fn with_steady(
        wall: impl Fn() -> Stamp + Send + Sync + 'static,
        steady: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self::build(Box::new(wall), Some(Box::new(steady)))
    }

    fn build(wall: WallClock, steady: Option<SteadyClock>) -> Self {
        let (high, jumps, offset) = (AtomicU64::new(0), AtomicU64::new(0), AtomicI64::new(UNFOLLOWED));
        Self { wall, steady, high, offset, course: Mutex::new(Course::Start), jumps }
    }

    /// Makes every stamp to come later than `high`, which an earlier process wrote down.
    pub fn resume(&self, high: Stamp) {
        self.high.fetch_max(high.0, Ordering::AcqRel);
        self.offset.store(UNFOLLOWED, Ordering::Release);
    }

    /// A stamp that nobody has, later than all given out so far.
    pub fn stamp(&self) -> Stamp {
        let time = self.time((self.wall)());
        let next = |high: u64| Some(time.max(high + 1));
        let before = self.high.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).expect("next is always some");
        let stamp = time.max(before + 1);
        assert!(before < stamp && stamp <= self.high().0, "stamps grow, and the high mark covers each");
        Stamp(stamp)
    }

    /// The time. Remembered, so that a wall clock set back makes no later stamp precede it.
    pub fn now(&self) -> Stamp {
        let time = self.time((self.wall)());
        Stamp(time.max(self.high.fetch_max(time, Ordering::AcqRel)))
    }

    /// The latest time this clock has told: what to write down for [`Clock::resume`].
    pub fn high(&self) -> Stamp {
        Stamp(self.high.load(Ordering::Acquire))
    }

    pub fn state(&self) -> ClockState {
        let wall = (self.wall)();
        let told = self.time(wall).max(self.high().0);
        let ahead_seconds = (told as i64 - wall.0 as i64) / TICKS_PER_SECOND as i64;
        ClockState { ahead_seconds, jumps: self.jumps.load(Ordering::Relaxed) }
    }

    /// What time it is when the wall clock shows `wall`.
    fn time(&self, Stamp(wall): Stamp) -> u64 {
        let Some(steady) = self.steady.as_ref().map(|steady| steady()) else { return wall };
        let offset = self.offset.load(Ordering::Acquire);
        if offset != UNFOLLOWED && (wall as i64 - steady as i64 - offset).abs() <= DRIFT_TICKS {
            return wall;
        }
        let mut course = self.course.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, time) = course.next(wall, steady, self.high().0);
        if next.is_told_of(*course) {
            self.jumps.fetch_add(u64::from(next.is_a_jump()), Ordering::Relaxed);
            next.tell(wall as i64 - time as i64);
        }
        *course = next;
        let offset = if let Course::Wall { offset } = next { offset } else { UNFOLLOWED };
        self.offset.store(offset, Ordering::Release);
        time
    }
}

impl Course {
    /// The course from now on, and the time. `high` is the latest that was told.
    fn next(self, wall: u64, steady: u64, high: u64) -> (Self, u64) {
        let follow = (Course::Wall { offset: wall as i64 - steady as i64 }, wall);
        let expected = match self {
            Course::Start if wall >= high => return follow,
            Course::Start => high,
            Course::Wall { offset } => high.max((steady as i64 + offset) as u64),
            Course::Steady { told, at, why } => high.max(told + why.paced(steady.saturating_sub(at))),
        };
        let go_on = |why| (Course::Steady { told: expected, at: steady, why }, expected);
        let since = match self {
            Course::Steady { why: Why::JumpedAhead { since }, .. } => since,
            Course::Start | Course::Wall { .. } | Course::Steady { .. } => steady,
        };
        match wall as i64 - expected as i64 {
            ahead if ahead > JUMP_TICKS && steady.saturating_sub(since) < LASTING_SECONDS * TICKS_PER_SECOND => {
                go_on(Why::JumpedAhead { since })
            }
            ahead if ahead >= 0 => follow,
            behind if behind >= -JUMP_TICKS => go_on(Why::CatchingUp),
            _ => go_on(Why::FarBehind),
        }
    }

    /// Why the wall clock is not followed, told apart as far as an operator cares.
    fn trouble(self) -> u8 {
        match self {
            Course::Start | Course::Wall { .. } | Course::Steady { why: Why::CatchingUp, .. } => 0,
            Course::Steady { why: Why::JumpedAhead { .. }, .. } => 1,
            Course::Steady { why: Why::FarBehind, .. } => 2,
        }
    }

    fn is_a_jump(self) -> bool {
        self.trouble() > 0
    }

    fn is_told_of(self, before: Self) -> bool {
        self.trouble() != before.trouble()
    }

    /// Once for each jump, and once for its end.
    fn tell(self, ahead_ticks: i64) {
        let seconds = ahead_ticks.unsigned_abs() / TICKS_PER_SECOND;
        match self {
            Course::Start | Course::Wall { .. } | Course::Steady { why: Why::CatchingUp, .. } => {
                tracing::warn!("the machine's clock is followed again");
            }
            Course::Steady { why: Why::JumpedAhead { .. }, .. } => tracing::warn!(
                seconds,
                "the machine's clock jumped ahead; it is not followed, and nothing expires by it, unless it stays there for {} minutes",
                LASTING_SECONDS / 60
            ),
            Course::Steady { why: Why::FarBehind, .. } => tracing::error!(
                seconds,
                "the machine's clock is far behind the times that were stamped before; stamps go on from there, because they never go back \
                 (docs/reliability.md, Clocks)"
            ),
        }
    }
}

impl Why {
    fn paced(self, ticks: u64) -> u64 {
        match self {
            Why::CatchingUp => ticks - ticks / 16,
            Why::JumpedAhead { .. } | Why::FarBehind => ticks,
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock that a wall clock's jumps are told by")]
fn steady_time() -> impl Fn() -> u64 + Send + Sync {
    let start = Instant::now();
    move || ticks(start.elapsed())
}

fn ticks(duration: Duration) -> u64 {
    duration.as_secs() * TICKS_PER_SECOND + u64::from(duration.subsec_nanos()) / 100
}

#[expect(clippy::disallowed_methods, reason = "the clock that stamps come from")]
pub fn system_time() -> Stamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Stamp(UNIX_EPOCH_TICKS + ticks(since_epoch))
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
    use super::*;

    #[test]
    fn a_clock_that_is_moved_goes_ahead_at_once_and_takes_it_for_no_jump() {
        let moved = Arc::new(AtomicU64::new(0));
        let clock = Clock::moved(moved.clone());
        let before = clock.stamp();
        let hour = 3600 * TICKS_PER_SECOND;
        moved.fetch_add(hour, Ordering::AcqRel);
        let after = clock.stamp();
        assert!(after.0 >= before.0 + hour, "{before:?} {after:?}");
        assert_eq!(clock.state(), ClockState { ahead_seconds: 0, jumps: 0 });
    }

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

    const SECOND: u64 = TICKS_PER_SECOND;
    const START: u64 = 1_000_000 * SECOND;

    /// A wall clock and a steady one, in seconds after the start.
    #[derive(Default)]
    struct Hands {
        wall: AtomicU64,
        steady: AtomicU64,
    }

    impl Hands {
        fn clock() -> (Arc<Self>, Clock) {
            let hands = Arc::new(Self::default());
            let (wall, steady) = (hands.clone(), hands.clone());
            let clock = Clock::with_steady(
                move || Stamp(START + wall.wall.load(Ordering::Relaxed) * SECOND),
                move || 77 + steady.steady.load(Ordering::Relaxed) * SECOND,
            );
            (hands, clock)
        }

        fn show(&self, clock: &Clock, wall: u64, steady: u64) -> u64 {
            self.wall.store(wall, Ordering::Relaxed);
            self.steady.store(steady, Ordering::Relaxed);
            let (stamp, now) = (clock.stamp().0, clock.now().0);
            assert!(now >= stamp);
            (now - START) / SECOND
        }
    }

    /// What the wall clock shows, what the steady one does, and what is told.
    type Step = (u64, u64, u64);

    /// H2: a jump ahead is followed when it has lasted, and a clock that is put back never.
    #[test]
    fn a_wall_clock_is_followed_as_far_as_the_steady_one_agrees() {
        const YEAR: u64 = 31_536_000;
        let table: &[(&str, &[Step])] = &[
            ("an idle hour", &[(0, 0, 0), (3600, 3600, 3600)]),
            ("a small step ahead", &[(10, 10, 10), (110, 20, 110), (120, 30, 120)]),
            ("a jump that does not last", &[(10, 10, 10), (YEAR, 20, 20), (YEAR + 500, 520, 520), (530, 530, 530)]),
            (
                "a jump that lasts",
                &[(10, 10, 10), (YEAR, 20, 20), (YEAR + 599, 619, 619), (YEAR + 600, 620, YEAR + 600)],
            ),
            ("two jumps that do not last", &[(10, 10, 10), (YEAR, 20, 20), (600, 600, 600), (YEAR, 630, 630)]),
            ("put back a little", &[(60, 10, 60), (10, 20, 70), (20, 30, 79), (1990, 2000, 1990)]),
            ("put back far", &[(5000, 10, 5000), (20, 20, 5010), (1020, 1020, 6010), (6100, 1030, 6100)]),
        ];
        for (name, steps) in table {
            let (hands, clock) = Hands::clock();
            for (wall, steady, told) in *steps {
                assert_eq!(hands.show(&clock, *wall, *steady), *told, "{name}: {wall} on the wall, {steady} steady");
            }
        }
    }

    #[test]
    fn jumps_are_counted_once_and_shown() {
        let (hands, clock) = Hands::clock();
        let state = |wall, steady| {
            hands.show(&clock, wall, steady);
            (clock.state().ahead_seconds, clock.state().jumps, clock.state().is_far_off())
        };
        assert_eq!(state(0, 0), (0, 0, false));
        assert_eq!(state(5000, 10), (-4990, 1, true));
        assert_eq!(state(5010, 20), (-4990, 1, true));
        assert_eq!(state(30, 30), (0, 1, false));
        assert_eq!(state(35, 1000), (965, 2, true));
    }

    #[test]
    fn a_mark_ahead_of_the_wall_clock_is_gone_on_from() {
        for (mark, later) in [(60, 60 + 94), (86_400, 86_400 + 100)] {
            let (hands, clock) = Hands::clock();
            clock.resume(Stamp(START + mark * SECOND));
            assert_eq!(hands.show(&clock, 0, 0), mark);
            assert_eq!(clock.state().is_far_off(), mark > JUMP_SECONDS);
            let told = hands.show(&clock, 100, 100);
            assert!(told.abs_diff(later) <= 1, "{told} after a mark of {mark}");
        }
        let (hands, clock) = Hands::clock();
        clock.resume(Stamp(START));
        assert_eq!(hands.show(&clock, 86_400, 0), 86_400, "a long pause between two processes is no jump");
    }

    #[test]
    fn system_stamps_look_like_azures() {
        let text = format!("0x{:X}", Clock::system().stamp().0);
        assert!(text.starts_with("0x8D") || text.starts_with("0x8E"), "{text}");
        assert_eq!(text.len(), 17);
    }
}
