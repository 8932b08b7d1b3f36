//! What was written in one window: spans in order, none over another. Pure; offsets are within the window.

use serde::{Deserialize, Serialize};

use crate::crypt::Sealed;
use crate::records::{Run, Start};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Window {
    pub spans: Vec<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Span {
    pub from: u32,
    pub to: u32,
    /// The epoch of the write, which may be older than the row's.
    pub written: u64,
    pub place: Place,
    /// Where in its place the span's bytes begin, counted in bytes as they were sent.
    pub skip: u32,
    /// How the bytes of the place are stored.
    pub sealed: Sealed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    Piece(Run),
    /// A row of its own, by the transaction that wrote it and a number in that. Named by this window alone.
    Small {
        stamp: u64,
        part: u32,
    },
    /// Nothing: cleared after a snapshot was taken, which a comparison with it has to tell (observed, also if the snapshot
    /// had nothing there).
    Hole,
}

impl Place {
    fn is(&self, other: &Place) -> bool {
        self.key() == other.key()
    }

    /// What tells it from any other.
    pub fn key(&self) -> (bool, Start) {
        match self {
            Place::Piece(run) => (true, run.start()),
            Place::Small { stamp, part } => (false, (*stamp, u64::from(*part))),
            Place::Hole => (false, (0, 0)),
        }
    }
}

impl Window {
    pub fn names(&self, place: &Place) -> bool {
        self.spans.iter().any(|span| span.place.is(place))
    }

    /// Takes `from..to` out; gives the places that lost something by it, perhaps not everything.
    pub fn cut(&mut self, from: u32, to: u32) -> Vec<Place> {
        let first = self.spans.partition_point(|span| span.to <= from);
        let end = first + self.spans[first..].partition_point(|span| span.from < to);
        let mut hit: Vec<Place> = Vec::new();
        let mut rest: Vec<Span> = Vec::new();
        for span in &self.spans[first..end] {
            if span.place != Place::Hole && !hit.iter().any(|place| place.is(&span.place)) {
                hit.push(span.place);
            }
            if span.from < from {
                rest.push(Span { to: from, ..*span });
            }
            if span.to > to {
                rest.push(Span { from: to, skip: span.skip + (to - span.from), ..*span });
            }
        }
        self.spans.splice(first..end, rest);
        hit
    }

    /// Makes a hole of `from..to`. Where something was, the hole is remembered if `epoch` is not the first: before that,
    /// there is no snapshot to compare with.
    pub fn clear(&mut self, from: u32, to: u32, epoch: u64) -> Vec<Place> {
        let end = self.spans.partition_point(|span| span.from < to);
        let first = self.spans[..end].partition_point(|span| span.to <= from);
        let hole = |span: &Span| {
            let written = if span.place == Place::Hole { span.written } else { epoch };
            Span {
                from: span.from.max(from),
                to: span.to.min(to),
                written,
                place: Place::Hole,
                skip: 0,
                sealed: Sealed::None,
            }
        };
        let holes: Vec<Span> = self.spans[first..end].iter().map(hole).filter(|hole| hole.written > 1).collect();
        let hit = self.cut(from, to);
        for hole in holes {
            let at = self.spans.partition_point(|other| other.from < hole.from);
            match at.checked_sub(1).map(|before| &mut self.spans[before]) {
                Some(before)
                    if before.place == Place::Hole && before.to == hole.from && before.written == hole.written =>
                {
                    before.to = hole.to;
                }
                Some(_) | None => self.spans.insert(at, hole),
            }
        }
        hit
    }

    /// Puts a span where nothing is.
    pub fn insert(&mut self, span: Span) {
        let at = self.spans.partition_point(|other| other.from < span.from);
        assert!(at == 0 || self.spans[at - 1].to <= span.from, "a span over another");
        assert!(self.spans.get(at).is_none_or(|next| span.to <= next.from), "a span over another");
        self.spans.insert(at, span);
    }

    /// What is written, with neighbours joined.
    pub fn covered(&self) -> Vec<(u32, u32)> {
        let written = self.spans.iter().filter(|span| span.place != Place::Hole);
        joined(written.map(|span| (span.from, span.to)))
    }

    /// What was written after `epoch` (true), and what was cleared (false), in order, with neighbours joined.
    pub fn changed_after(&self, epoch: u64) -> Vec<(bool, (u32, u32))> {
        let mut all: Vec<(bool, (u32, u32))> = Vec::new();
        for span in self.spans.iter().filter(|span| span.written > epoch) {
            let is_written = span.place != Place::Hole;
            match all.last_mut() {
                Some((written, last)) if *written == is_written && last.1 == span.from => last.1 = span.to,
                Some(_) | None => all.push((is_written, (span.from, span.to))),
            }
        }
        all
    }

    /// Groups of neighbouring small spans that had better be one, if there are too many spans. As long as that helps, only those
    /// that touch and are of one epoch, so that nobody can tell; beyond `SPANS_MAX`, also those that are nearer to
    /// each other than a page, and the gap between becomes zeros that were written.
    pub fn groups(&self) -> Vec<(usize, usize)> {
        if self.spans.len() <= SPANS_MANY {
            return Vec::new();
        }
        let strict = self.groups_by(|a, b| a.to == b.from && a.written == b.written);
        let saved: usize = strict.iter().map(|(first, end)| end - first - 1).sum();
        if self.spans.len() - saved <= SPANS_MAX { strict } else { self.groups_by(|a, b| b.from - a.to < PAGE) }
    }

    fn groups_by(&self, joins: impl Fn(&Span, &Span) -> bool) -> Vec<(usize, usize)> {
        let mut groups = Vec::new();
        let mut first = 0;
        for at in 1..=self.spans.len() {
            let goes_on = self.spans.get(at).is_some_and(|span| {
                let before = &self.spans[at - 1];
                let small = |span: &Span| matches!(span.place, Place::Small { .. }) && span.sealed == Sealed::None;
                small(before) && small(span) && joins(before, span) && span.to - self.spans[first].from <= SMALL_MAX
            });
            if !goes_on {
                if at - first > 1 {
                    groups.push((first, at));
                }
                first = at;
            }
        }
        groups
    }
}

const PAGE: u32 = 512;
/// From so many spans on, small ones are joined.
const SPANS_MANY: usize = 256;
/// As many as a window has pages.
const SPANS_MAX: usize = 2048;
/// Small bytes are joined up to this many.
const SMALL_MAX: u32 = 64 << 10;

fn joined(ranges: impl Iterator<Item = (u32, u32)>) -> Vec<(u32, u32)> {
    let mut all: Vec<(u32, u32)> = Vec::new();
    for (from, to) in ranges {
        match all.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            Some(_) | None => all.push((from, to)),
        }
    }
    all
}
