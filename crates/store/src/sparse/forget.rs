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

/// Rows that one step looks at.
const ROWS: usize = 256;

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
        // The last window may have more rows than were seen; one that fills a whole step is read by itself.
        if next == forget.from {
            let rows = txn.scan(
                &keys.windows_from(forget.content, next),
                &keys.windows_from(forget.content, next + 1),
                usize::MAX,
            )?;
            group = rows
                .into_iter()
                .map(|(key, bytes)| Ok((key.clone(), Row::read(&key, bytes)?)))
                .collect::<Decided<_>>()?;
            forget_window(txn, keys, forget, group, loose)?;
            next += 1;
        }
        return Ok(Some(Forgetting { from: next, ..forget.clone() }));
    }
    forget_window(txn, keys, forget, group, loose)?;
    Ok(None)
}

/// `rows` are all of one window, newest first.
fn forget_window(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    forget: &Forgetting,
    rows: Vec<(Key, Row)>,
    loose: &mut Vec<Run>,
) -> Decided<()> {
    let (mut kept, mut gone) = (Vec::<(Key, Window)>::new(), Vec::<(Key, Window)>::new());
    let mut next = u64::MAX;
    for (key, row) in rows {
        let window = row.window()?;
        if forget.keeps(row.epoch, next) {
            kept.push((key, window))
        } else {
            gone.push((key, window))
        }
        next = row.epoch;
    }
    if gone.is_empty() {
        return Ok(());
    }
    // An empty row says that something older is no more; with nothing older, it says nothing.
    while kept.last().is_some_and(|(_, window)| window.spans.is_empty()) {
        gone.extend(kept.pop());
    }
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
    Ok(())
}
