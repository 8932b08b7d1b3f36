//! The machine's clock, and `lazuli clock`: what to do about a data directory whose times are ahead of it (docs/reliability.md, Clocks).

use std::path::Path;
use std::sync::Arc;

use lazuli_engine::clock::{JUMP_SECONDS, system_time};
use lazuli_engine::{ClockState, Embedded, Stamp};
use lazuli_http::WallClock;
use lazuli_model::Timestamp;

use crate::cli::{ClockCommand, Flags};

/// What credentials are judged by.
pub fn wall_clock() -> WallClock {
    Arc::new(|| time(system_time()))
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
    if flags.in_memory || !flags.location.is_dir() {
        return Err(format!("{} is not a data directory: name it with --location", flags.location.display()));
    }
    match command {
        None => show(&flags.location, system_time()),
        Some(ClockCommand::SetBack) => set_back(&flags.location, system_time()),
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
    Ok(format!("New times begin at {} instead of {}.\n", time(now).to_iso(), time(mark).to_iso()))
}

fn is_far_ahead(mark: Stamp, now: Stamp) -> bool {
    time(now).seconds_until(time(mark)) > JUMP_SECONDS
}
