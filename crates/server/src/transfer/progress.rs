//! How far a copy has come, on standard error, if somebody looks at it.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::time::Instant;

pub struct Progress {
    bytes: AtomicU64,
    bytes_all: u64,
    items: AtomicU64,
    items_all: u64,
    since: Instant,
    shown: AtomicU64,
    is_seen: bool,
}

impl Progress {
    pub fn new(items_all: u64, bytes_all: u64) -> Self {
        let (bytes, items, shown) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let is_seen = std::io::stderr().is_terminal();
        Self { bytes, bytes_all, items, items_all, since: Instant::now(), shown, is_seen }
    }

    pub fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
        self.show(false);
    }

    pub fn done(&self) {
        self.items.fetch_add(1, Relaxed);
        self.show(false);
    }

    /// At most ten times a second, and at the end.
    pub fn show(&self, last: bool) {
        let tenths = u64::try_from(self.since.elapsed().as_millis() / 100).unwrap_or(u64::MAX);
        if !self.is_seen || (!last && self.shown.fetch_max(tenths, Relaxed) >= tenths) {
            return;
        }
        let (bytes, items) = (self.bytes.load(Relaxed), self.items.load(Relaxed));
        let part = if self.bytes_all == 0 { 1.0 } else { bytes as f64 / self.bytes_all as f64 };
        let filled = ((part * 30.0) as usize).min(30);
        let rate = bytes as f64 / 1048576.0 / self.since.elapsed().as_secs_f64().max(0.001);
        let end = if last { "\n" } else { "" };
        let _ = write!(
            std::io::stderr(),
            "\r[{}{}] {:3.0} %  {items}/{} objects  {rate:.1} MiB/s {end}",
            "#".repeat(filled),
            ".".repeat(30 - filled),
            part * 100.0,
            self.items_all
        );
    }

    /// For the summary.
    pub fn summary(&self) -> String {
        let (bytes, items) = (self.bytes.load(Relaxed), self.items.load(Relaxed));
        let seconds = self.since.elapsed().as_secs_f64();
        format!(
            "{items} objects, {bytes} bytes in {seconds:.1} s ({:.1} MiB/s)\n",
            bytes as f64 / 1048576.0 / seconds.max(0.001)
        )
    }
}
