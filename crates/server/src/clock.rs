//! The machine's clock, and `lazuli clock`: what to do about a data directory whose times are ahead of it (docs/reliability.md, Clocks).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_engine::clock::{JUMP_SECONDS, system_time};
use lazuli_engine::{ClockState, Embedded, Stamp};
use lazuli_http::WallClock;
use lazuli_model::Timestamp;
use serde::{Deserialize, Serialize};

use crate::cli::{ClockCommand, Flags};

/// What credentials are judged by.
pub fn wall_clock(moved: &Moved) -> WallClock {
    let moved = moved.ticks.clone();
    Arc::new(move || time(Stamp(system_time().0.saturating_add(moved.load(Ordering::Acquire)))))
}

/// What the machine's own clock shows.
pub fn machine() -> Timestamp {
    time(system_time())
}

const FILE: &str = "clock.json";
/// A clock that is further ahead than this cannot be what somebody wanted.
const YEARS_MAX: f64 = 100.0 * 365.0 * 86400.0;

/// By how much the clocks of this server are ahead of the machine's, because the lab moved them. Held true: it never gets less while a data directory
/// lives, and it is on disk before it counts, so that a later start goes on from there.
#[derive(Clone, Debug)]
pub struct Moved {
    pub ticks: Arc<AtomicU64>,
    file: Option<PathBuf>,
    /// Other servers share what is stored, and would not move with this one.
    is_fixed: bool,
}

#[derive(Serialize, Deserialize)]
struct Written {
    moved_ticks: u64,
}

impl Moved {
    /// As `directory` remembers it.
    pub fn of(directory: Option<&Path>) -> Result<Self, String> {
        let file = directory.map(|directory| directory.join(FILE));
        let ticks = match file.as_ref().map(std::fs::read) {
            None => 0,
            Some(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => 0,
            Some(Err(error)) => return Err(format!("cannot read {FILE}: {error}")),
            Some(Ok(text)) => {
                let written: Result<Written, _> = serde_json::from_slice(&text);
                written.map_err(|error| format!("{FILE} in the data directory is damaged: {error}"))?.moved_ticks
            }
        };
        Ok(Self { ticks: Arc::new(AtomicU64::new(ticks)), file, is_fixed: false })
    }

    /// Of a cluster, whose clocks are not this server's to move.
    pub fn fixed() -> Self {
        Self { ticks: Arc::default(), file: None, is_fixed: true }
    }

    pub fn seconds(&self) -> f64 {
        self.ticks.load(Ordering::Acquire) as f64 / 1e7
    }

    pub fn advance(&self, seconds: f64) -> Result<(), String> {
        if self.is_fixed {
            return Err("the servers of a cluster share its time: it cannot be moved".into());
        }
        let now = self.seconds();
        if !(seconds > 0.0 && now + seconds <= YEARS_MAX) {
            return Err("a clock goes forward only, and by no more than a hundred years".into());
        }
        let ticks = self.ticks.load(Ordering::Acquire) + (seconds * 1e7).ceil() as u64;
        if let Some(file) = &self.file {
            let text = serde_json::to_vec(&Written { moved_ticks: ticks }).map_err(|error| error.to_string())?;
            crate::admin::write_private(file, &text)
                .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        }
        self.ticks.fetch_max(ticks, Ordering::AcqRel);
        Ok(())
    }

    /// For the banner and the log.
    pub fn warning(&self) -> Option<String> {
        let seconds = self.seconds();
        (seconds > 0.0).then(|| {
            format!(
                "The clocks of this data directory were moved {seconds:.0} seconds ahead of the machine's, in a lab. Stamps, leases, messages and SAS are judged by the moved time."
            )
        })
    }
}

fn time(stamp: Stamp) -> Timestamp {
    Timestamp::from_ticks(stamp.0)
}

/// What an operator should know at the start, if anything.
pub fn warning(state: ClockState) -> Option<String> {
    let seconds = state.ahead_seconds;
    (seconds > JUMP_SECONDS as i64).then(|| {
        format!(
            "The data directory was written by a clock {seconds} seconds ahead of this machine's. Times of what is stored go on from there. \
             Is this machine's clock right? If it is, stop the server and see `lazuli clock --location DIR`."
        )
    })
}

pub fn run(flags: &Flags, command: Option<&ClockCommand>) -> Result<String, String> {
    if let Some(ClockCommand::Advance { by }) = command {
        return crate::operator::advance(flags, by);
    }
    if flags.in_memory || !flags.location.is_dir() {
        return Err(format!("{} is not a data directory: name it with --location", flags.location.display()));
    }
    match command {
        None => show(&flags.location, system_time()),
        Some(ClockCommand::SetBack) => set_back(&flags.location, system_time()),
        Some(ClockCommand::Advance { .. }) => Err("it is carried out by the running server".into()),
    }
}

fn show(directory: &Path, now: Stamp) -> Result<String, String> {
    let mark = Embedded::mark(directory, None).map_err(|error| error.to_string())?;
    let verdict = if is_far_ahead(mark, now) {
        "The directory is ahead. If the machine's clock is right, `lazuli clock set-back` lets new times begin at it. What was written \
         meanwhile keeps its times: it counts as newest until they have passed, and leases and hidden messages last until then."
    } else {
        "There is nothing to do."
    };
    Ok(format!(
        "Latest time stamped:  {}\nThis machine's clock: {}\n{verdict}\n",
        time(mark).to_iso(),
        time(now).to_iso()
    ))
}

fn set_back(directory: &Path, now: Stamp) -> Result<String, String> {
    let mark = Embedded::mark(directory, None).map_err(|error| error.to_string())?;
    if !is_far_ahead(mark, now) {
        return Err("the directory is not ahead of this machine's clock: there is nothing to set back".into());
    }
    Embedded::mark(directory, Some(now)).map_err(|error| error.to_string())?;
    // What the lab moved is part of what is set back.
    match std::fs::remove_file(directory.join(FILE)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(format!("{FILE}: {error}")),
        Ok(()) | Err(_) => {}
    }
    Ok(format!("New times begin at {} instead of {}.\n", time(now).to_iso(), time(mark).to_iso()))
}

fn is_far_ahead(mark: Stamp, now: Stamp) -> bool {
    time(now).seconds_until(time(mark)) > JUMP_SECONDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_remembers_that_its_clock_was_moved() {
        let directory = std::env::temp_dir().join(format!("lazuli-clock-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let moved = Moved::of(Some(&directory)).unwrap();
        assert_eq!((moved.seconds(), moved.warning()), (0.0, None));
        moved.advance(61.0).unwrap();
        for bad in [0.0, -5.0, f64::NAN, f64::INFINITY, 1e12] {
            assert!(moved.advance(bad).is_err(), "{bad}");
        }
        moved.advance(0.5).unwrap();
        let again = Moved::of(Some(&directory)).unwrap();
        assert_eq!(again.seconds(), 61.5);
        assert!(again.warning().unwrap().contains("62 seconds ahead"));
        let shown = wall_clock(&again)();
        assert!(shown.ticks() >= machine().ticks() + 610_000_000);
        std::fs::write(directory.join(FILE), "{").unwrap();
        assert!(Moved::of(Some(&directory)).is_err(), "a damaged file is not taken for no move");
        std::fs::remove_dir_all(directory).unwrap();
    }
}
