//! What of a content is written, and how it differs between two epochs. Costs the windows that are looked at; holes are skipped.

use lazuli_engine::Txn;

use super::rows::visible;
use super::{Seen, WINDOW};
use crate::keys::BlobKeys;
use crate::transact::Decided;

/// `from..to`, in bytes.
pub type Range = std::ops::Range<u64>;

/// How a range differs from what was there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    Written(Range),
    Cleared(Range),
}

impl Difference {
    pub fn range(&self) -> &Range {
        match self {
            Difference::Written(range) | Difference::Cleared(range) => range,
        }
    }
}

/// What to look at: bytes `from..to`, in at most `most` windows at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub from: u64,
    pub to: u64,
    pub most: usize,
}

/// What is written, in order, with neighbours joined; and where to go on, if that was not all.
pub(crate) fn ranges(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    seen: Seen,
    stretch: Stretch,
) -> Decided<(Vec<Range>, Option<u64>)> {
    let Stretch { from, to, most } = stretch;
    let (rows, next) = visible(txn, keys, seen, from / WINDOW, to.div_ceil(WINDOW), most)?;
    let mut found: Vec<Range> = Vec::new();
    for row in rows {
        for covered in row.window()?.covered() {
            if let Some(range) = within(row.number, covered, stretch) {
                join(&mut found, range);
            }
        }
    }
    Ok((found, next.map(|number| number * WINDOW)))
}

/// What was written or cleared in `newer` since `older`, an earlier epoch of the same content; and where to go on.
pub(crate) fn diff(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    older: u64,
    newer: Seen,
    stretch: Stretch,
) -> Decided<(Vec<Difference>, Option<u64>)> {
    let Stretch { from, to, most } = stretch;
    let (rows, next) = visible(txn, keys, newer, from / WINDOW, to.div_ceil(WINDOW), most)?;
    let mut found: Vec<Difference> = Vec::new();
    for row in rows.into_iter().filter(|row| row.epoch > older) {
        let window = row.window()?;
        for (is_written, range) in window.changed_after(older) {
            let Some(range) = within(row.number, range, stretch) else { continue };
            match (found.last_mut(), is_written) {
                (Some(Difference::Written(last)), true) if last.end == range.start => last.end = range.end,
                (Some(Difference::Cleared(last)), false) if last.end == range.start => last.end = range.end,
                (_, true) => found.push(Difference::Written(range)),
                (_, false) => found.push(Difference::Cleared(range)),
            }
        }
    }
    Ok((found, next.map(|number| number * WINDOW)))
}

/// In the content, cut to the stretch.
fn within(number: u64, (from, to): (u32, u32), stretch: Stretch) -> Option<Range> {
    let start = number * WINDOW;
    let range = (start + u64::from(from)).max(stretch.from)..(start + u64::from(to)).min(stretch.to);
    (!range.is_empty()).then_some(range)
}

/// Puts `range` at the end, or makes the last one longer.
pub(crate) fn join(ranges: &mut Vec<Range>, range: Range) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        Some(_) | None => ranges.push(range),
    }
}
