//! Forgetting what nobody can see any more, in bounded steps: a whole content, or the rows that only a snapshot saw.

use std::collections::{BTreeMap, BTreeSet};

use lazuli_engine::{Key, Txn};
use serde::{Deserialize, Serialize};

use super::Window;
use super::rows::Row;
use super::window::Place;
use crate::claims::lower;
use crate::keys::BlobKeys;
use crate::records::Run;
use crate::transact::Decided;

/// Rows that one step looks at. Few in tests, so that a window takes several steps there.
const ROWS: usize = if cfg!(test) { 3 } else { 256 };

/// What to forget. A row is seen from its own epoch up to that of the next newer one of its window; one that no `visible` epoch
/// sees goes. Epochs after `until` did not exist when this was written down: their rows are not touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Forgetting {
    pub content: u64,
    pub until: u64,
    /// Epochs that somebody still reads, in any order.
    pub visible: Vec<u64>,
    /// Windows before this are done.
    pub from: u64,
}

impl Forgetting {
    /// Everything of a content.
    pub fn all(content: u64) -> Self {
        Self { content, until: u64::MAX, visible: Vec::new(), from: 0 }
    }

    fn keeps(&self, epoch: u64, next: u64) -> bool {
        epoch > self.until || self.visible.iter().any(|seen| epoch <= *seen && *seen < next)
    }
}

/// One step. Gives what is left to do, if anything; pieces that nobody holds any more are added to `loose`.
pub(crate) fn forget_some(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    forget: &Forgetting,
    loose: &mut Vec<Run>,
) -> Decided<Option<Forgetting>> {
    let end = keys.windows(forget.content).after_prefix();
    let rows = txn.scan(&keys.windows_from(forget.content, forget.from), &end, ROWS)?;
    let full = rows.len() == ROWS;
    let mut group: Vec<(Key, Row)> = Vec::new();
    let mut next = forget.from;
    for (key, bytes) in rows {
        let row = Row::read(&key, bytes)?;
        if group.first().is_some_and(|(_, first)| first.number != row.number) {
            forget_window(txn, keys, forget, std::mem::take(&mut group), loose)?;
        }
        next = row.number;
        group.push((key, row));
    }
    if full {
        // The last window may have more rows than were seen; one that fills a whole step is taken by itself.
        if next == forget.from && forget_long_window(txn, keys, forget, next, loose)? {
            next += 1;
        }
        return Ok(Some(Forgetting { from: next, ..forget.clone() }));
    }
    forget_window(txn, keys, forget, group, loose)?;
    Ok(None)
}

/// A window of more rows than a step takes: its newest rows that may go. True when there are no more of them.
///
/// At most one row is kept for each visible epoch, so a scan that is longer than these by a step finds a step's worth to delete. Newer rows
/// than `until` are passed over, but for the neighbour; the rows that name a piece stand next to each other, so neighbours say
/// whether it is named elsewhere.
fn forget_long_window(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    forget: &Forgetting,
    number: u64,
    loose: &mut Vec<Run>,
) -> Decided<bool> {
    let first = keys.window(forget.content, number, forget.until);
    let end = keys.windows_from(forget.content, number + 1);
    let most = forget.visible.len() + ROWS;
    let newer = txn.last(&keys.windows_from(forget.content, number), &first)?;
    let rows = txn.scan(&first, &end, most + 1)?;
    let is_last = rows.len() <= most;
    let mut rows = newer
        .into_iter()
        .chain(rows)
        .map(|(key, bytes)| Ok((key.clone(), Row::read(&key, bytes)?)))
        .collect::<Decided<Vec<_>>>()?;
    let older = if is_last { None } else { rows.pop() };
    let gone = forget_rows(txn, keys, forget, rows, older, loose)?;
    assert!(is_last || gone > 0, "a step over a window that is not done deletes something");
    Ok(is_last)
}

/// `rows` are all of one window, newest first.
fn forget_window(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    forget: &Forgetting,
    rows: Vec<(Key, Row)>,
    loose: &mut Vec<Run>,
) -> Decided<()> {
    forget_rows(txn, keys, forget, rows, None, loose).map(drop)
}

/// `rows` are some of one window, newest first. `older` is the one after them, which stays for now. Gives how many went.
fn forget_rows(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    forget: &Forgetting,
    rows: Vec<(Key, Row)>,
    older: Option<(Key, Row)>,
    loose: &mut Vec<Run>,
) -> Decided<usize> {
    let (mut kept, mut gone) = (Vec::<(Key, Window)>::new(), Vec::<(Key, Window)>::new());
    let mut next = u64::MAX;
    for (key, row) in rows {
        assert!(row.epoch < next || next == u64::MAX, "rows of a window are ordered by epoch, newest first");
        let window = row.window()?;
        if forget.keeps(row.epoch, next) {
            kept.push((key, window))
        } else {
            gone.push((key, window))
        }
        next = row.epoch;
    }
    if gone.is_empty() {
        return Ok(0);
    }
    match older {
        Some((key, row)) => kept.push((key, row.window()?)),
        // An empty row says that something older is no more; with nothing older, it says nothing.
        None => {
            while kept.last().is_some_and(|(_, window)| window.spans.is_empty()) {
                gone.extend(kept.pop());
            }
        }
    }
    let count = gone.len();
    let named: BTreeSet<_> = kept.iter().flat_map(|(_, window)| &window.spans).map(|span| span.place.key()).collect();
    let mut places: BTreeMap<_, Place> = BTreeMap::new();
    for (key, window) in gone {
        txn.delete(key);
        let fresh = window.spans.iter().filter(|span| !named.contains(&span.place.key()));
        places.extend(fresh.map(|span| (span.place.key(), span.place)));
    }
    for place in places.into_values() {
        match place {
            Place::Small { stamp, part } => txn.delete(keys.small(forget.content, stamp, part)),
            Place::Piece(run) => {
                if lower(txn, keys, &run)? {
                    loose.push(run);
                }
            }
            Place::Hole => {}
        }
    }
    Ok(count)
}
