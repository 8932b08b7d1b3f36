//! The end of the log, for the console: the last lines, kept in memory. They are what is on standard error, so there is no secret in them.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use tracing_subscriber::fmt::MakeWriter;

const LINES_MAX: usize = 1000;
/// Longer lines are cut.
const LINE_MAX: usize = 4096;

#[derive(Clone, Default)]
pub struct Tail(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    kept: VecDeque<Line>,
    next: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    pub seq: u64,
    pub level: &'static str,
    pub text: String,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Page {
    pub lines: Vec<Line>,
    pub next: u64,
}

impl Tail {
    /// The lines behind `seq`; all of them without one. `next` is what to ask with the next time.
    pub fn after(&self, seq: Option<u64>) -> Page {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = lines.kept.iter().filter(|line| seq.is_none_or(|seq| line.seq > seq)).cloned().collect();
        Page { lines: kept, next: lines.next.saturating_sub(1) }
    }

    fn push(&self, text: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for line in text.lines() {
            if lines.kept.len() == LINES_MAX {
                lines.kept.pop_front();
            }
            let words = line.split_whitespace().take(3);
            let level = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"];
            let level = words.into_iter().find_map(|word| level.into_iter().find(|level| *level == word));
            let seq = lines.next;
            lines.next += 1;
            let text = line.chars().take(LINE_MAX).collect();
            lines.kept.push_back(Line { seq, level: level.unwrap_or("INFO"), text });
        }
    }
}

impl io::Write for Tail {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Tail {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_numbered() {
        let tail = Tail::default();
        for number in 0..LINES_MAX + 5 {
            tail.push(&format!("2026-11-17T00:00:00Z  WARN lazuli: line {number}\n"));
        }
        let all = tail.after(None);
        assert_eq!((all.lines.len(), all.lines[0].seq, all.lines[0].level), (LINES_MAX, 5, "WARN"));
        assert_eq!(tail.after(Some(all.next)).lines, []);
        tail.push("more\n");
        assert_eq!(tail.after(Some(all.next)).lines[0].text, "more");
    }
}
