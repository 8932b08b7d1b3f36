//! Whether the server can do its work, check by check, with what to do where it cannot. Held true: an answer comes within a bound, also
//! when the engine does not answer.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lazuli_engine::clock::{TICKS_PER_SECOND, UNIX_EPOCH_TICKS};
use serde::Serialize;
use tokio::time::timeout;

use crate::data::{Data, Probe};

/// How long a read may take before the engine counts as gone.
const PATIENCE: Duration = Duration::from_secs(2);
/// How far the times that are written down may be ahead of the wall clock. Clients' clocks are allowed 15 minutes.
const CLOCK_MAX_SECONDS: f64 = 300.0;
/// Extents that are named; one is reason enough to look.
const NAMED_MAX: usize = 5;

#[derive(Debug, Serialize)]
pub struct Health {
    pub ready: bool,
    pub checks: Vec<Check>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub ok: bool,
    /// What was found.
    pub found: String,
    /// What to do about it.
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    pub advice: Option<&'static str>,
}

impl Check {
    fn good(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, ok: true, found: found.into(), advice: None }
    }

    fn bad(name: &'static str, found: impl Into<String>, advice: &'static str) -> Self {
        Self { name, ok: false, found: found.into(), advice: Some(advice) }
    }
}

/// Looks at everything. `stopping`: a stop has begun.
pub async fn check(data: &Arc<Data>, stopping: bool) -> Health {
    let probe = look(data).await;
    let checks = vec![
        process(stopping),
        engine(data, probe.as_ref()).await,
        disk(probe.as_ref()),
        content(probe.as_ref()),
        clock(clock_ahead_seconds(data)),
    ];
    Health { ready: checks.iter().all(|check| check.ok), checks }
}

/// Asks the file system, on a thread that may wait for it; `None` if that takes too long.
pub async fn look(data: &Arc<Data>) -> Option<Probe> {
    let data = data.clone();
    let looking = tokio::task::spawn_blocking(move || data.probe());
    timeout(PATIENCE, looking).await.ok()?.ok()
}

fn process(stopping: bool) -> Check {
    match stopping {
        false => Check::good("process", "serving"),
        true => Check::bad("process", "stopping: requests in flight are finished", "send new requests elsewhere"),
    }
}

async fn engine(data: &Data, probe: Option<&Probe>) -> Check {
    if probe.is_some_and(|probe| !probe.is_open) {
        let found = "the store is closed, or is being reopened after a failure";
        return Check::bad("engine", found, "wait: it is tried every second; if it lasts, the log says what failed");
    }
    match timeout(PATIENCE, data.healthy()).await {
        Ok(Ok(())) => Check::good("engine", "reads are answered"),
        Ok(Err(why)) => Check::bad("engine", format!("a read failed: {why}"), "look in the log for what failed first"),
        Err(_) => Check::bad("engine", "a read takes too long", LOOK_AT_DISK),
    }
}

const LOOK_AT_DISK: &str = "see whether the disk of --location answers, and what else uses it";

fn disk(probe: Option<&Probe>) -> Check {
    match probe {
        None => Check::bad("disk", "the file system takes too long to answer", LOOK_AT_DISK),
        Some(probe) if probe.has_room => Check::good("disk", "there is room"),
        Some(_) => Check::bad(
            "disk",
            "the disk is full: writes are refused with 503, reads and deletes go on",
            "free space on the file system of --location, or delete blobs; writes then go on by themselves",
        ),
    }
}

fn content(probe: Option<&Probe>) -> Check {
    const RESTORE: &str =
        "restore the files to extents/ in --location from a backup; until then what is in them cannot be read";
    match probe.map(|probe| &probe.missing_extents) {
        None => Check::bad("content", "the file system takes too long to answer", LOOK_AT_DISK),
        Some(Err(why)) => Check::bad("content", format!("the extents cannot be looked at: {why}"), LOOK_AT_DISK),
        Some(Ok(missing)) if missing.is_empty() => Check::good("content", "every extent has its file"),
        Some(Ok(missing)) => {
            let named: Vec<String> = missing.iter().take(NAMED_MAX).map(u64::to_string).collect();
            let found = format!("extents without a file: {}, among them {}", missing.len(), named.join(", "));
            Check::bad("content", found, RESTORE)
        }
    }
}

fn clock(ahead_seconds: f64) -> Check {
    let found = format!("the times that are written down are {ahead_seconds:.0} s ahead of the wall clock");
    match ahead_seconds <= CLOCK_MAX_SECONDS {
        true => Check::good("clock", found),
        false => Check::bad(
            "clock",
            found,
            "set the machine's clock right; if it is right, it was ahead when data was written",
        ),
    }
}

/// How far the engine's time is ahead of the wall clock. It is never behind: what is written down never goes back.
#[expect(
    clippy::disallowed_methods,
    reason = "health compares the wall clock with the engine's; nothing is decided by it"
)]
pub fn clock_ahead_seconds(data: &Data) -> f64 {
    let engine = data.store.now().ticks();
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let engine = engine.saturating_sub(UNIX_EPOCH_TICKS) as f64 / TICKS_PER_SECOND as f64;
    (engine - wall.as_secs_f64()).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Place;

    #[tokio::test]
    async fn a_server_that_stops_is_alive_but_not_ready() {
        let data = Arc::new(Data::open(&Place::Memory, 1).unwrap());
        assert!(check(&data, false).await.ready);
        let stopping = check(&data, true).await;
        let bad: Vec<_> = stopping.checks.iter().filter(|check| !check.ok).map(|check| check.name).collect();
        assert_eq!((stopping.ready, bad), (false, vec!["process"]));
    }

    #[tokio::test]
    async fn what_is_wrong_comes_with_what_to_do() {
        let data = Data::open(&Place::Memory, 1).unwrap();
        let good = Probe { is_open: true, has_room: true, missing_extents: Ok(vec![]) };
        let closed = Probe { is_open: false, ..good.clone() };
        let full = Probe { has_room: false, ..good.clone() };
        let missing = Probe { missing_extents: Ok(vec![3, 4]), ..good.clone() };
        let unread = Probe { missing_extents: Err("broken".into()), ..good.clone() };
        for (check, found) in [
            (engine(&data, Some(&closed)).await, "being reopened"),
            (disk(Some(&full)), "is full"),
            (disk(None), "too long"),
            (content(Some(&missing)), "2, among them 3, 4"),
            (content(Some(&unread)), "broken"),
            (content(None), "too long"),
            (clock(CLOCK_MAX_SECONDS + 1.0), "301 s ahead"),
            (process(true), "stopping"),
        ] {
            assert!(!check.ok && check.advice.is_some() && check.found.contains(found), "{found}: {check:?}");
        }
        for check in
            [engine(&data, Some(&good)).await, disk(Some(&good)), content(Some(&good)), clock(1.0), process(false)]
        {
            assert!(check.ok && check.advice.is_none(), "{check:?}");
        }
    }
}
