//! Get Page Ranges, and the difference from an earlier snapshot. In looks of so many windows each; holes cost nothing.

use lazuli_model::Refusal;
use lazuli_model::blob::{Blob, GetPageRanges, PAGE, Which};

use super::get_blob::stored;
use super::put_page::seen;
use crate::readers::Hold;
use crate::sparse::{Stretch, diff, ranges};
use crate::transact::now;
use crate::{BlobAt, Difference, Failure, Store};

/// Windows per look.
const WINDOWS: usize = 256;

/// What part of the list is wanted.
#[derive(Clone, Copy, Debug)]
pub struct ListPages {
    /// Pages that have bytes of `from..to`. A beginning behind the blob's end is refused.
    pub from: u64,
    pub to: u64,
    /// Where a page of this list ended.
    pub marker: Option<u64>,
    pub most: usize,
}

/// Written ranges, and cleared ones if it was about a difference.
#[derive(Clone, Debug)]
pub struct PageRanges {
    pub blob: Blob,
    pub ranges: Vec<Difference>,
    /// Where the next page of the list begins.
    pub next: Option<u64>,
}

impl Store {
    pub async fn page_ranges(&self, at: &BlobAt, get: GetPageRanges, list: ListPages) -> Result<PageRanges, Failure> {
        let mut _hold: Option<Hold> = None;
        let mut found: Vec<Difference> = Vec::new();
        let mut from = list.marker.unwrap_or(0).max(list.from / PAGE * PAGE);
        loop {
            let opening = self.readers.enter();
            let (keys, (blob, page, next)) = self
                .look_blob(at, |txn, keys| {
                    let current = stored(txn, keys, get.which)?;
                    let before = match get.since {
                        Some(time) => stored(txn, keys, Which::Snapshot(time))?,
                        None => None,
                    };
                    let blob = get.decide(current.as_ref(), before.as_ref(), now(txn))?.clone();
                    if list.from > 0 && list.from >= blob.content.length {
                        return Err(Refusal::InvalidRange.into());
                    }
                    let to = list.to.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX).min(blob.content.length);
                    let stretch = Stretch { from: from.min(to), to, most: WINDOWS };
                    let (page, next) = match &before {
                        Some(before) => diff(txn, keys, before.content.epoch, seen(&blob), stretch)?,
                        None => {
                            let (ranges, next) = ranges(txn, keys, seen(&blob), stretch)?;
                            (ranges.into_iter().map(Difference::Written).collect(), next)
                        }
                    };
                    Ok((blob, page, next))
                })
                .await?;
            _hold = Some(opening.hold(&keys, blob.content.id));
            for difference in page {
                add(&mut found, difference);
            }
            // The last one may go on in the next window, so it is complete only when another has begun.
            if found.len() > list.most {
                let next = found[list.most].range().start;
                found.truncate(list.most);
                return Ok(PageRanges { blob, ranges: found, next: Some(next) });
            }
            match next {
                Some(next) => from = next,
                None => return Ok(PageRanges { blob, ranges: found, next: None }),
            }
        }
    }
}

fn add(found: &mut Vec<Difference>, difference: Difference) {
    match (found.last_mut(), difference) {
        (Some(Difference::Written(last)), Difference::Written(range)) if last.end == range.start => {
            last.end = range.end
        }
        (Some(Difference::Cleared(last)), Difference::Cleared(range)) if last.end == range.start => {
            last.end = range.end
        }
        (_, difference) => found.push(difference),
    }
}
