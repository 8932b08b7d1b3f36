//! What the edge counts: per operation, requests by class of status, time and bytes. Plain atomics; the page that prints them
//! reads them. A request that is refused after its operation was found is that operation's.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use http::StatusCode;

use crate::operation::CATALOGUES;

#[derive(Debug, Default)]
pub struct Counts {
    by_class: [AtomicU64; 5],
    /// From the head's arrival to the answer's head, in microseconds.
    micros: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    latency: [AtomicU64; BUCKETS],
}

/// Answers are counted by time: bucket `n` has those that took up to 2^n microseconds, the last one also all that took longer.
pub const BUCKETS: usize = 26;

fn bucket(micros: u64) -> usize {
    (u64::BITS - micros.saturating_sub(1).leading_zeros()).min(BUCKETS as u32 - 1) as usize
}

/// One operation's counts at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    pub operation: &'static str,
    /// Answers of 1xx, 2xx, 3xx, 4xx, 5xx.
    pub by_class: [u64; 5],
    pub micros: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// As [`BUCKETS`] says.
    pub latency: [u64; BUCKETS],
}

#[derive(Debug)]
pub struct Metrics {
    rows: Vec<(&'static str, Counts)>,
}

impl Metrics {
    /// A row per operation, and a last one for what was never routed.
    pub(crate) fn new() -> Self {
        let names =
            CATALOGUES.iter().flat_map(|service| service.served).map(|operation| operation.spec.name).chain(["Other"]);
        Self { rows: names.map(|name| (name, Counts::default())).collect() }
    }

    pub(crate) fn count(&self, row: Option<usize>, status: StatusCode, micros: u64, bytes_in: u64, bytes_out: u64) {
        let row = row.unwrap_or(self.rows.len() - 1);
        let counts = &self.rows[row].1;
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        counts.by_class[class].fetch_add(1, Relaxed);
        counts.micros.fetch_add(micros, Relaxed);
        counts.latency[bucket(micros)].fetch_add(1, Relaxed);
        counts.bytes_in.fetch_add(bytes_in, Relaxed);
        counts.bytes_out.fetch_add(bytes_out, Relaxed);
    }

    pub fn read(&self) -> impl Iterator<Item = Reading> {
        self.rows.iter().map(|(operation, counts)| Reading {
            operation,
            by_class: std::array::from_fn(|class| counts.by_class[class].load(Relaxed)),
            micros: counts.micros.load(Relaxed),
            bytes_in: counts.bytes_in.load(Relaxed),
            bytes_out: counts.bytes_out.load(Relaxed),
            latency: std::array::from_fn(|bucket| counts.latency[bucket].load(Relaxed)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_the_bucket_that_ends_with_them() {
        for (micros, expected) in
            [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (1024, 10), (1025, 11), (u64::MAX, 25)]
        {
            assert_eq!(bucket(micros), expected, "{micros}");
        }
    }
}
