//! Put Range, to write or to clear, and List Ranges.

use lazuli_model::Refusal;
use lazuli_model::file::arbiter::{Act, Verdict};
use lazuli_model::file::{ClearRange, Entry, FileRange, ListRanges, PutRange};
use lazuli_model::lease::{self, On};

use super::standing::{admitted, not_given_back};
use super::tree::{Found, Tree};
use super::{FileAt, entry};
use crate::sparse::{Difference, Fill, Seen, Stretch, diff, ranges};
use crate::transact::Decided;
use crate::{Failure, Received, Store};

/// Rule F10: what a range is made of, in lists and in differences. A write makes the pages valid that it touches; a clear makes holes of those that
/// it covers, and writes zeros into the others.
const PAGE: u64 = 512;

/// Windows that one look goes over.
const WINDOWS: usize = 1024;

/// The least of them for a page: in one window there may be as many ranges as it has sectors.
const PAGE_WINDOWS: usize = 8;

/// The entry, and its ranges in order; where the next page begins, if there are pages and this is not the last.
#[derive(Clone, Debug)]
pub struct RangeList {
    pub entry: Entry,
    pub ranges: Vec<FileRange>,
    pub next: Option<u64>,
}

impl Store {
    /// Put Range, and Put Range from URL with the bytes received from there.
    pub async fn put_range(&self, at: &FileAt, put: PutRange, body: Received) -> Result<Entry, Failure> {
        let found = self.approach(at, Act::Write).await?;
        let path = at.path.clone();
        let (length, fill) = (body.length, Fill::of(&body));
        self.change_staged(found, body.body.into_staged(), move |tree| {
            let (node, parent) = tree.find_file(&path)?;
            let lease = tree.admit_leased(&node, Act::Write, put.lease)?;
            let mut node = put.decide(&node, length, tree.now())?;
            tree.write_content(&mut node, put.from, &fill)?;
            tree.put_node(&node)?;
            Ok(entry(node, parent, lease))
        })
        .await
    }

    pub async fn clear_range(&self, at: &FileAt, clear: ClearRange) -> Result<Entry, Failure> {
        loop {
            let found = self.approach(at, Act::Write).await?;
            let path = at.path.clone();
            let (entry, done) = self
                .change_found(found, move |tree| {
                    let (node, parent) = tree.find_file(&path)?;
                    let lease = tree.admit_leased(&node, Act::Write, clear.lease)?;
                    let mut node = clear.decide(&node, tree.now())?;
                    let edges = edges(&clear);
                    let done = tree.clear_content(&mut node, clear.from, clear.to, &edges)?;
                    if done {
                        let (from, to) = (clear.from.next_multiple_of(PAGE), clear.to / PAGE * PAGE);
                        tree.mark_cleared(&mut node, from, to)?;
                    }
                    tree.put_node(&node)?;
                    Ok((entry(node, parent, lease), done))
                })
                .await?;
            if done {
                return Ok(entry);
            }
        }
    }

    pub async fn list_ranges(&self, at: &FileAt, list: ListRanges) -> Result<RangeList, Failure> {
        let mut ranges = Vec::new();
        let mut from = list.from;
        let mut waited = false;
        loop {
            let share = self.found_share(&at.share_at()).await?;
            let partition = share.keys.partition();
            match self.look(&partition, |txn| step(txn, &share, at, &list, from, waited)).await? {
                Step::Wait => {
                    self.approach(at, Act::ListRanges).await?;
                    waited = true;
                }
                Step::Looked { entry, found, next } => {
                    found.into_iter().for_each(|range| join(&mut ranges, range));
                    // The last one may go on in the next window, so a page is full when there is one more.
                    let beyond = list.most.and_then(|most| cut(&mut ranges, most as usize));
                    match (beyond, next) {
                        (None, Some(next)) => from = next,
                        (next, None) | (next @ Some(_), Some(_)) => {
                            return Ok(RangeList { entry: *entry, ranges, next });
                        }
                    }
                }
            }
        }
    }
}

/// Leaves the first `most`, and says where the others begin.
fn cut(ranges: &mut Vec<FileRange>, most: usize) -> Option<u64> {
    let next = ranges.get(most).map(|range| range.from);
    ranges.truncate(most);
    next
}

/// What is cleared and does not fill a page counts as written, also at the file's end.
fn edges(clear: &ClearRange) -> Vec<(u64, Fill)> {
    let (from, to) = (clear.from, clear.to);
    let (first, last) = (from.next_multiple_of(PAGE), to / PAGE * PAGE);
    let edges = if first > last { [(from, to), (to, to)] } else { [(from, first), (last, to)] };
    edges.into_iter().filter(|(from, to)| from < to).map(|(from, to)| (from, Fill::zeros(to - from))).collect()
}

enum Step {
    Wait,
    Looked { entry: Box<Entry>, found: Vec<FileRange>, next: Option<u64> },
}

fn step(
    txn: &mut lazuli_engine::Txn<'_>,
    share: &Found,
    at: &FileAt,
    list: &ListRanges,
    from: u64,
    waited: bool,
) -> Decided<Step> {
    let before = match list.since {
        Some(since) => Some(earlier(txn, share, at, list, since)?),
        None => None,
    };
    let mut tree = Tree::at(txn, share, list.snapshot)?;
    let (node, parent) = tree.find_file(&at.path)?;
    let mut lease = lazuli_model::Lease::Available;
    if !tree.is_snapshot() {
        let standing = tree.standing(node.id)?;
        match admitted(Act::ListRanges, &standing)? {
            Verdict::Go(_) => {}
            Verdict::Wait(_) if waited => return Err(not_given_back(Act::ListRanges, &standing).into()),
            Verdict::Wait(_) => return Ok(Step::Wait),
        }
        lease::permit_read(standing.lease, list.lease, tree.now(), On::File)?;
        lease = standing.lease;
    }
    if list.from > 0 && list.from >= node.length {
        return Err(Refusal::InvalidRange.into());
    }
    let most = list.most.map_or(WINDOWS, |most| (most as usize).clamp(PAGE_WINDOWS, WINDOWS));
    let stretch = Stretch { from, to: list.to.min(node.length), most };
    let seen = tree.seen(&node);
    let keys = &tree.keys.content;
    let (found, next) = match before {
        None => {
            let (written, next) = ranges(tree.txn, keys, seen, stretch)?;
            (written.into_iter().map(|range| listed(range, false)).collect(), next)
        }
        Some(before) => compare(&mut tree, before, seen, node.content_since, stretch)?,
    };
    let found = by_pages(&found, next.unwrap_or(stretch.to).min(stretch.to), list.from);
    Ok(Step::Looked { entry: Box::new(entry(node, parent, lease)), found, next })
}

/// Whole pages from `from` to `end`: one of which something is written is written.
fn by_pages(found: &[FileRange], end: u64, from: u64) -> Vec<FileRange> {
    let mut written: Vec<std::ops::Range<u64>> = Vec::new();
    for range in found.iter().filter(|range| !range.cleared) {
        let pages = (range.from / PAGE * PAGE).max(from)..range.to.next_multiple_of(PAGE).min(end);
        match written.last_mut() {
            Some(last) if last.end >= pages.start => last.end = last.end.max(pages.end),
            Some(_) | None => written.push(pages),
        }
    }
    let cleared: Vec<_> = found.iter().filter(|range| range.cleared).map(|range| range.from..range.to).collect();
    replaced(&written, &cleared, end)
}

fn listed(range: std::ops::Range<u64>, cleared: bool) -> FileRange {
    FileRange { from: range.start, to: range.end, cleared }
}

/// What the file's content was when the earlier snapshot was taken; nothing when there was no such file.
fn earlier(
    txn: &mut lazuli_engine::Txn<'_>,
    share: &Found,
    at: &FileAt,
    list: &ListRanges,
    since: lazuli_model::Timestamp,
) -> Decided<Option<Seen>> {
    let newer = list.snapshot.is_none_or(|snapshot| since < snapshot);
    if !newer {
        return Err(Refusal::PreviousSnapshotNotFound.into());
    }
    let id = if list.support_rename {
        let (node, _) = Tree::at(txn, share, list.snapshot)?.find_file(&at.path)?;
        Some(node.id)
    } else {
        None
    };
    // Rule F6: one that is not there is 404 ShareNotFound, as everywhere.
    let mut tree = Tree::at(txn, share, Some(since))?;
    let node = match id {
        Some(id) => tree.node(id)?,
        None => match tree.find_file(&at.path) {
            Ok((node, _)) => Some(node),
            Err(crate::transact::Trouble::Refused(_)) => None,
            Err(trouble) => return Err(trouble),
        },
    };
    Ok(node.map(|node| tree.seen(&node)))
}

/// How what is seen, of a content that began at `since`, differs from what was seen before.
fn compare(
    tree: &mut Tree<'_, '_>,
    before: Option<Seen>,
    seen: Seen,
    since: u64,
    stretch: Stretch,
) -> Decided<(Vec<FileRange>, Option<u64>)> {
    let keys = &tree.keys.content;
    match before {
        // Also of a file that had nothing in it yet: what was written and then cleared is told, as observed.
        Some(before) if before.content == seen.content || (before.content == 0 && since > before.epoch) => {
            let (found, next) = diff(tree.txn, keys, before.epoch, seen, stretch)?;
            let found = found.into_iter().map(|difference| match difference {
                Difference::Written(range) => listed(range, false),
                Difference::Cleared(range) => listed(range, true),
            });
            Ok((found.collect(), next))
        }
        // Another content altogether: all that is written is new, and what was written only before is cleared.
        other => {
            let (written, one) = ranges(tree.txn, keys, seen, stretch)?;
            let (old, two) = match other {
                Some(before) => ranges(tree.txn, keys, before, stretch)?,
                None => (Vec::new(), None),
            };
            let next = match (one, two) {
                (Some(one), Some(two)) => Some(one.min(two)),
                (one, two) => one.or(two),
            };
            let end = next.unwrap_or(stretch.to);
            Ok((replaced(&written, &old, end), next))
        }
    }
}

/// `written` as written, and what is left of `old` as cleared, both as far as `end`.
fn replaced(written: &[std::ops::Range<u64>], old: &[std::ops::Range<u64>], end: u64) -> Vec<FileRange> {
    let mut found: Vec<FileRange> = written.iter().map(|range| listed(range.clone(), false)).collect();
    for range in old {
        let mut from = range.start;
        for new in written.iter().filter(|new| new.end > range.start && new.start < range.end) {
            if from < new.start {
                found.push(listed(from..new.start, true));
            }
            from = from.max(new.end);
        }
        if from < range.end {
            found.push(listed(from..range.end, true));
        }
    }
    found.retain_mut(|range| {
        range.to = range.to.min(end);
        range.from < range.to
    });
    found.sort_by_key(|range| range.from);
    found
}

/// Neighbours of one kind are one range.
fn join(ranges: &mut Vec<FileRange>, range: FileRange) {
    match ranges.last_mut() {
        Some(last) if last.to == range.from && last.cleared == range.cleared => last.to = range.to,
        Some(_) | None => ranges.push(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rule F10.
    #[test]
    fn f10_ranges_are_of_whole_pages() {
        let file = |from, to, cleared| FileRange { from, to, cleared };
        type Row<'a> = (&'a [FileRange], u64, u64, &'a [FileRange]);
        let table: &[Row<'_>] = &[
            (&[file(1023, 1028, false)], 0, 4096, &[file(512, 1536, false)]),
            (&[file(1023, 1028, false)], 0, 1028, &[file(512, 1028, false)]),
            (&[file(1023, 1028, false)], 600, 4096, &[file(600, 1536, false)]),
            (&[file(0, 1, false), file(600, 601, false)], 0, 4096, &[file(0, 1024, false)]),
            (&[file(0, 1024, true), file(1024, 1025, false)], 0, 1025, &[file(0, 1024, true), file(1024, 1025, false)]),
            (&[file(0, 700, true), file(700, 701, false)], 0, 4096, &[file(0, 512, true), file(512, 1024, false)]),
        ];
        for (found, from, end, expected) in table {
            assert_eq!(by_pages(found, *end, *from), *expected, "{found:?}");
        }
        let edges = |from, to| {
            let clear = ClearRange { from, to, written: lazuli_model::file::SetTime::Now, lease: None };
            edges(&clear).into_iter().map(|(from, _)| from).collect::<Vec<_>>()
        };
        assert_eq!(edges(0, 513), [512]);
        assert_eq!(edges(0, 512), [0; 0]);
        assert_eq!(edges(10, 20), [10]);
        assert_eq!(edges(10, 1030), [10, 1024]);
    }

    #[test]
    fn what_took_the_place_of_another_content() {
        let got = replaced(&[10..20, 40..50], &[0..15, 18..45, 60..70], 65);
        let got: Vec<_> = got.iter().map(|range| (range.from, range.to, range.cleared)).collect();
        let want = [(0, 10, true), (10, 20, false), (20, 40, true), (40, 50, false), (60, 65, true)];
        assert_eq!(got, want);
    }
}
