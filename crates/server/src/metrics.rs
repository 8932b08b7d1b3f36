//! `/metrics`, in Prometheus' text form. Names follow its conventions: base units, `_total` for counters.

use std::fmt::Write;

use std::sync::atomic::Ordering::Relaxed;

use lazuli_http::metrics::Reading;
use lazuli_smb::serve::Gateway;

use crate::data::{Data, Probe};
use crate::health::clock_ahead_seconds;

pub struct Report<'a> {
    pub requests: &'a [Reading],
    pub smb: Option<&'a Gateway>,
    pub data: &'a Data,
    /// `None` if the file system does not answer.
    pub probe: Option<Probe>,
    pub uptime_seconds: f64,
    pub connections: usize,
}

pub fn render(report: &Report<'_>) -> String {
    let mut page = Page::default();
    page.family("lazuli_build_info", "gauge", "The version that runs.");
    page.sample("lazuli_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    requests(&mut page, report.requests);
    report.smb.into_iter().for_each(|gateway| smb(&mut page, gateway));
    page.one("lazuli_connections", "gauge", "Connections that are open.", report.connections);
    let clock = report.data.clock();
    page.one(
        "lazuli_clock_ahead_seconds",
        "gauge",
        "How far stamps are ahead of the machine's clock; less than zero while a jump of that clock is not followed.",
        clock.ahead_seconds,
    );
    page.one("lazuli_clock_jumps_total", "counter", "Times the machine's clock jumped.", clock.jumps);
    if let Some(metrics) = report.data.engine_metrics() {
        engine(&mut page, &metrics);
    }
    if let Some(metrics) = report.data.cluster_metrics() {
        cluster(&mut page, &metrics);
    }
    content(&mut page, report.data);
    health(&mut page, report);
    process(&mut page, report.uptime_seconds);
    page.text
}

fn requests(page: &mut Page, rows: &[Reading]) {
    const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
    page.family(
        "lazuli_requests_total",
        "counter",
        "Requests and parts of batches, by operation and class of status; Other is what names no operation.",
    );
    for row in rows {
        for (class, count) in CLASSES.iter().zip(row.by_class).filter(|(_, count)| *count > 0) {
            page.sample("lazuli_requests_total", &[("operation", row.operation), ("status", class)], count);
        }
    }
    let seen = || rows.iter().filter(|row| row.by_class.iter().any(|count| *count > 0));
    page.family(
        "lazuli_request_duration_seconds",
        "summary",
        "From a request's head to its answer's head; also of each part of a batch, beside the batch.",
    );
    for row in seen() {
        let operation = [("operation", row.operation)];
        page.sample("lazuli_request_duration_seconds_sum", &operation, row.micros as f64 / 1e6);
        page.sample("lazuli_request_duration_seconds_count", &operation, row.by_class.iter().sum::<u64>());
    }
    page.family(
        "lazuli_request_bytes_total",
        "counter",
        "Body bytes that operations have read; of the parts of a batch, under the batch.",
    );
    seen().for_each(|row| page.sample("lazuli_request_bytes_total", &[("operation", row.operation)], row.bytes_in));
    page.family(
        "lazuli_response_bytes_total",
        "counter",
        "Body bytes of answers of a known length, whether or not the client took them all.",
    );
    seen().for_each(|row| page.sample("lazuli_response_bytes_total", &[("operation", row.operation)], row.bytes_out));
}

fn smb(page: &mut Page, gateway: &Gateway) {
    page.family("lazuli_smb_requests_total", "counter", "SMB requests, by command and whether they were done.");
    for (command, done, refused) in gateway.counts.read() {
        let command = format!("{command:?}");
        for (outcome, count) in [("done", done), ("refused", refused)].into_iter().filter(|(_, count)| *count > 0) {
            page.sample("lazuli_smb_requests_total", &[("command", &command), ("outcome", outcome)], count);
        }
    }
    let counts = &gateway.counts;
    page.one(
        "lazuli_smb_open_handles",
        "gauge",
        "Files and directories that SMB clients hold.",
        gateway.open_handles(),
    );
    page.one("lazuli_smb_connections", "gauge", "SMB connections.", counts.connections.load(Relaxed));
    page.one("lazuli_smb_breaks_total", "counter", "Breaks that clients were told of.", counts.breaks.load(Relaxed));
    page.one("lazuli_smb_request_bytes_total", "counter", "Bytes of frames received.", counts.bytes_in.load(Relaxed));
    page.one("lazuli_smb_response_bytes_total", "counter", "Bytes of frames sent.", counts.bytes_out.load(Relaxed));
}

fn cluster(page: &mut Page, metrics: &lazuli_engine::rados::Metrics) {
    let rows: [(&str, &str, u64); 6] = [
        ("transactions", "Transactions that were committed.", metrics.transactions),
        ("operators", "Operators that were sent to commit them.", metrics.operators),
        ("reads", "Operators that read.", metrics.reads),
        (
            "conflicts",
            "Operators that came too late, because another server changed what they rest on.",
            metrics.conflicts,
        ),
        ("lost", "Operators whose answer did not come in time.", metrics.lost),
        ("splits", "Shards that this server split.", metrics.splits),
    ];
    for (name, help, value) in rows {
        page.one(&format!("lazuli_cluster_{name}_total"), "counter", help, value);
    }
}

fn engine(page: &mut Page, metrics: &lazuli_engine::embedded::Metrics) {
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    page.one("lazuli_engine_commits_total", "counter", "Batches that were synced.", metrics.commits);
    page.one(
        "lazuli_engine_transactions_total",
        "counter",
        "Transactions in those batches.",
        metrics.committed_transactions,
    );
    page.one("lazuli_engine_committed_bytes_total", "counter", "Bytes of those transactions.", metrics.committed_bytes);
    page.one("lazuli_engine_commit_seconds_total", "counter", "Time spent committing.", seconds(metrics.commit_nanos));
    page.one(
        "lazuli_engine_commit_seconds_max",
        "gauge",
        "The longest commit so far.",
        seconds(metrics.commit_nanos_max),
    );
    page.one(
        "lazuli_engine_written_alone_total",
        "counter",
        "Decisions that a lone caller ran on its own thread.",
        metrics.written_alone,
    );
    page.one(
        "lazuli_engine_written_in_place_total",
        "counter",
        "Those of them that no other thread was woken for.",
        metrics.written_in_place,
    );
    page.one(
        "lazuli_engine_batch_transactions_max",
        "gauge",
        "The largest batch so far, in transactions.",
        metrics.batch_max,
    );
    page.one(
        "lazuli_engine_empty_columns",
        "gauge",
        "Kinds of rows of which a container is known to have none.",
        metrics.empty_columns,
    );
    page.one(
        "lazuli_engine_volatile_rows",
        "gauge",
        "Rows in memory that end with this process: open handles, locks and the like.",
        metrics.volatile_rows,
    );
    page.one("lazuli_engine_queued", "gauge", "Decisions that wait or run.", metrics.queued);
    page.one(
        "lazuli_engine_turned_away_total",
        "counter",
        "Transactions refused for want of room.",
        metrics.turned_away,
    );
    page.one("lazuli_engine_failures_total", "counter", "Commits that failed.", metrics.failures);
    page.one("lazuli_engine_reopenings_total", "counter", "Times the store was reopened.", metrics.reopenings);
    page.one("lazuli_engine_stalls_total", "counter", "Waits for compaction.", metrics.stalls);
    page.one("lazuli_engine_stall_seconds_total", "counter", "Time spent in them.", seconds(metrics.stall_nanos));
    page.one("lazuli_engine_l0_runs", "gauge", "Runs in level 0; writes stall at 28.", metrics.l0_runs);
    page.one(
        "lazuli_engine_sealed_memtables",
        "gauge",
        "Memtables that wait to be written; writes stall at 3.",
        metrics.sealed_memtables,
    );
    page.one("lazuli_engine_journal_bytes", "gauge", "Length of the files of the log.", metrics.journal_bytes);
    page.one("lazuli_engine_buffered_bytes", "gauge", "Bytes in memtables.", metrics.buffered_bytes);
}

fn content(page: &mut Page, data: &Data) {
    if let Some(syncs) = data.content_syncs() {
        page.one("lazuli_content_syncs_total", "counter", "Syncs of content files.", syncs);
    }
    if let Some(turned_away) = data.content_turned_away() {
        page.one("lazuli_content_turned_away_total", "counter", "Uploads refused for want of room.", turned_away);
    }
}

fn health(page: &mut Page, report: &Report<'_>) {
    if let Some(Probe { is_open, has_room, missing_extents }) = &report.probe {
        page.one("lazuli_engine_open", "gauge", "1 unless the store is closed or being reopened.", u8::from(*is_open));
        page.one("lazuli_disk_has_room", "gauge", "1 unless writes are refused for want of room.", u8::from(*has_room));
        if let Ok(missing) = missing_extents {
            page.one("lazuli_content_extents_missing", "gauge", "Content files that are gone.", missing.len());
        }
    }
    page.one(
        "lazuli_clock_ahead_seconds",
        "gauge",
        "How far the times that are written down are ahead of the wall clock.",
        format!("{:.3}", clock_ahead_seconds(report.data)),
    );
}

fn process(page: &mut Page, uptime_seconds: f64) {
    page.one("lazuli_uptime_seconds", "gauge", "Time since the start.", uptime_seconds);
    if let Some(bytes) = resident_bytes() {
        page.one("process_resident_memory_bytes", "gauge", "Resident memory.", bytes);
    }
    if let Ok(handles) = std::fs::read_dir("/proc/self/fd") {
        // The one that lists them is among them.
        page.one("process_open_fds", "gauge", "Open file handles.", handles.count().saturating_sub(1));
    }
}

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Label values are our own constants: they need no escaping.
    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Place;

    #[test]
    fn what_was_counted_is_shown_by_operation_and_status() {
        let row = |operation, by_class| Reading { operation, by_class, micros: 1_500_000, bytes_in: 7, bytes_out: 9 };
        let rows = [row("PutBlob", [0, 3, 0, 1, 0]), row("GetBlob", [0; 5])];
        let data = Data::open(&Place::Memory, 1).unwrap();
        let text = render(&Report {
            requests: &rows,
            smb: None,
            data: &data,
            probe: Some(data.probe()),
            uptime_seconds: 2.5,
            connections: 4,
        });
        for line in [
            "lazuli_requests_total{operation=\"PutBlob\",status=\"2xx\"} 3",
            "lazuli_requests_total{operation=\"PutBlob\",status=\"4xx\"} 1",
            "lazuli_request_duration_seconds_sum{operation=\"PutBlob\"} 1.5",
            "lazuli_request_duration_seconds_count{operation=\"PutBlob\"} 4",
            "lazuli_request_bytes_total{operation=\"PutBlob\"} 7",
            "lazuli_connections 4",
            "lazuli_clock_ahead_seconds 0",
            "lazuli_clock_jumps_total 0",
            "lazuli_uptime_seconds 2.5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing from:\n{text}");
        }
        assert!(!text.contains("GetBlob"), "operations that nobody used are left out");
    }
}
