//! The spans of a plan as ranges of keys, in order and apart. A row's key is `partition 00 row`, and no key contains a character
//! below U+0020; so `partition 00` is before, and `partition 01` behind, all of a partition.

use std::ops::Bound;

use lazuli_engine::Key;
use lazuli_model::table::{Plan, Span};

use crate::keys::TableKeys;

/// `from <= key < to`, in order, none touching another.
pub fn ranges(plan: &Plan, keys: &TableKeys) -> Vec<(Key, Key)> {
    let mut ranges: Vec<_> = plan.spans().iter().filter_map(|span| range(span, keys)).collect();
    ranges.sort();
    let mut apart: Vec<(Key, Key)> = Vec::with_capacity(ranges.len());
    for (from, to) in ranges {
        match apart.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(end.clone()),
            Some(_) | None => apart.push((from, to)),
        }
    }
    apart
}

fn range(span: &Span, keys: &TableKeys) -> Option<(Key, Key)> {
    let (from, to) = match span {
        Span::Rows { partition, .. } if below(partition).is_some() => return None,
        Span::Rows { partition, from, to } => {
            let row = |text: &str, behind: &[u8]| keys.raw(&[partition.as_bytes(), &[0], text.as_bytes(), behind]);
            let from = match from {
                Bound::Unbounded => row("", &[]),
                Bound::Included(text) => row(text, &[]),
                Bound::Excluded(text) => row(text, &[0]),
            };
            let to = match to {
                Bound::Unbounded => keys.raw(&[partition.as_bytes(), &[1]]),
                Bound::Included(text) => row(text, &[0]),
                Bound::Excluded(text) => row(text, &[]),
            };
            (from, to)
        }
        Span::Partitions { from, to } => {
            let edge = |text: &str, behind: u8| keys.raw(&[text.as_bytes(), &[behind]]);
            let from = match from {
                Bound::Unbounded => keys.all(),
                // What cannot be in a key lies between a partition and the next one.
                Bound::Included(text) | Bound::Excluded(text) if below(text).is_some() => {
                    edge(below(text).unwrap_or_default(), 1)
                }
                Bound::Included(text) => edge(text, 0),
                Bound::Excluded(text) => edge(text, 1),
            };
            let to = match to {
                Bound::Unbounded => keys.all().after_prefix(),
                Bound::Included(text) | Bound::Excluded(text) if below(text).is_some() => {
                    edge(below(text).unwrap_or_default(), 1)
                }
                Bound::Included(text) => edge(text, 1),
                Bound::Excluded(text) => edge(text, 0),
            };
            (from, to)
        }
    };
    (from < to).then_some((from, to))
}

/// What stands before a character that no key has and that sorts before all that keys have.
fn below(text: &str) -> Option<&str> {
    text.find(|c: char| c < ' ').map(|at| &text[..at])
}
