//! A process that is measured, with the workers it started, looked at through /proc.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io;
use std::process::Child;

#[derive(Clone, Copy, PartialEq)]
pub struct Process {
    pid: u32,
    /// False of ourselves, whose children are the servers.
    has_workers: bool,
}

impl Process {
    pub fn of(child: &Child) -> Self {
        Self { pid: child.id(), has_workers: true }
    }

    /// The one that runs this, for work that needs no server.
    pub fn own() -> Self {
        Self { pid: std::process::id(), has_workers: false }
    }

    /// Stops it in the middle of whatever it does. Everything measured is idle then; this makes sure of it.
    pub fn hold(self) -> io::Result<()> {
        self.each(|pid| signal(pid, Signal::STOP))
    }

    pub fn release(self) -> io::Result<()> {
        self.each(|pid| signal(pid, Signal::CONT))
    }

    /// To itself, not to its workers.
    pub fn signal(self, which: Signal) -> io::Result<()> {
        signal(self.pid, which)
    }

    /// CPU seconds used so far, with its workers, those that have ended included.
    pub fn cpu_seconds(self) -> io::Result<f64> {
        const TICKS_PER_SECOND: f64 = 100.0;
        let mut ticks = 0.0;
        self.each(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
            // The name in parentheses may hold anything; from the 12th field behind it on: utime, stime, and both of ended children.
            let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
            let count = if self.has_workers { 4 } else { 2 };
            ticks += fields.skip(11).take(count).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>();
            Ok(())
        })?;
        Ok(ticks / TICKS_PER_SECOND)
    }

    /// Resident megabytes. What several processes share, as PostgreSQL's buffers, counts once.
    pub fn resident_megabytes(self) -> io::Result<f64> {
        let is_one = self.workers().is_empty();
        let mut kilobytes = 0.0;
        self.each(|pid| {
            let (file, field) = if is_one { ("status", "VmRSS:") } else { ("smaps_rollup", "Pss:") };
            let text = fs::read_to_string(format!("/proc/{pid}/{file}"))?;
            let value = text.lines().find_map(|line| line.strip_prefix(field));
            kilobytes += value.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0);
            Ok(())
        })?;
        Ok(kilobytes * 1024.0 / 1e6)
    }

    /// A worker may end before we come to it; the process itself may not.
    fn each(self, mut act: impl FnMut(u32) -> io::Result<()>) -> io::Result<()> {
        act(self.pid)?;
        for worker in self.workers() {
            if let Err(error) = act(worker)
                && fs::metadata(format!("/proc/{worker}/exe")).is_ok()
            {
                return Err(error);
            }
        }
        Ok(())
    }

    fn workers(self) -> Vec<u32> {
        let children = format!("/proc/{pid}/task/{pid}/children", pid = self.pid);
        let children = if self.has_workers { fs::read_to_string(children).unwrap_or_default() } else { String::new() };
        children.split_whitespace().filter_map(|worker| worker.parse().ok()).collect()
    }
}

fn signal(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = Pid::from_raw(pid as i32).ok_or_else(|| io::Error::other("no such process"))?;
    Ok(kill_process(pid, signal)?)
}
