//! A sparse content copied into another partition: the same windows, at the first epoch, over the same pieces. Small bytes, which
//! belong to one window each, are written anew.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bytes::Bytes;
use lazuli_engine::Txn;

use super::edit::{read_small, small_row};
use super::rows::visible;
use super::window::{Place, Span};
use super::{Seen, WINDOW, Window};
use crate::crypt::Sealed;
use crate::keys::BlobKeys;
use crate::records::{Claim, Run, Start, encode};
use crate::transact::{Decided, get};
use crate::upload::Received;

/// Small bytes that fit into one transaction.
const SMALL_MAX: usize = 16 << 20;

/// What a copy is to be made of. A span that is small says which of `smalls` it is by its part.
#[derive(Debug, Default)]
pub(crate) struct Copy {
    pub(super) windows: Vec<(u64, Window)>,
    pub(super) smalls: Vec<Bytes>,
    /// Each piece, with how many windows name it.
    runs: Vec<(Run, u32)>,
    /// Where in `runs` a piece is.
    known: HashMap<Start, usize>,
}

/// Which part of a content is to be copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// What was written after this epoch of the content; zero is everything.
    pub since: u64,
    /// From this window on, and no more windows than this.
    pub from: u64,
    pub most: usize,
    pub length: u64,
    /// Encrypted bytes can be shared too, since the copy has the same key.
    pub sealed: bool,
}

/// What can be said of that in one look.
pub(crate) struct Described {
    /// If it can be shared.
    pub shared: Option<Copy>,
    /// What is written.
    pub ranges: Vec<(u64, u64)>,
    /// What was cleared since.
    pub cleared: Vec<(u64, u64)>,
    /// The window to go on with.
    pub next: Option<u64>,
}

pub(crate) fn describe(txn: &mut Txn<'_>, keys: &BlobKeys, seen: Seen, wanted: Wanted) -> Decided<Described> {
    let end = wanted.length.div_ceil(WINDOW);
    let (rows, next) = visible(txn, keys, seen, wanted.from, end, wanted.most)?;
    let (mut copy, mut room, mut shared) = (Copy::default(), SMALL_MAX, true);
    let (mut ranges, mut cleared) = (Vec::new(), Vec::new());
    for row in rows.into_iter().filter(|row| row.epoch > wanted.since) {
        let window = row.window()?;
        let start = row.number * WINDOW;
        for (is_written, (from, to)) in window.changed_after(wanted.since) {
            let changed = if is_written { &mut ranges } else { &mut cleared };
            changed.push((start + u64::from(from), start + u64::from(to)));
        }
        let mut spans = Vec::with_capacity(window.spans.len());
        for span in window.spans.into_iter().filter(|span| span.written > wanted.since) {
            shared &= wanted.sealed || span.sealed == Sealed::None;
            let (place, skip, sealed) = match span.place {
                Place::Hole => continue,
                Place::Piece(run) => (Place::Piece(run), span.skip, span.sealed),
                Place::Small { .. } if room == 0 || !shared => continue,
                Place::Small { .. } => {
                    let (bytes, skip, sealed) = small_copy(txn, keys, seen.content, &span)?;
                    room = room.saturating_sub(bytes.len());
                    shared &= room > 0;
                    copy.smalls.push(bytes);
                    (Place::Small { stamp: 0, part: copy.smalls.len() as u32 - 1 }, skip, sealed)
                }
            };
            spans.push(Span { written: 1, place, skip, sealed, ..span });
        }
        copy.add(row.number, Window { spans });
    }
    Ok(Described { shared: shared.then_some(copy), ranges, cleared, next })
}

/// The row of a small span in a copy, and where in it the span begins. Where a part can be opened alone, what is before it in its row is
/// left behind.
pub(super) fn small_copy(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    content: u64,
    span: &Span,
) -> Decided<(Bytes, u32, Sealed)> {
    Ok(match span.sealed {
        Sealed::None => (read_small(txn, keys, content, span)?, 0, Sealed::None),
        Sealed::Counter { nonce, at } => {
            let at = at + u64::from(span.skip);
            (read_small(txn, keys, content, span)?, 0, Sealed::Counter { nonce, at })
        }
        Sealed::Segments { .. } => (small_row(txn, keys, content, span)?, span.skip, span.sealed),
    })
}

impl Copy {
    fn add(&mut self, number: u64, window: Window) {
        for (at, span) in window.spans.iter().enumerate() {
            let Place::Piece(run) = span.place else { continue };
            let named_before = window.spans[..at].iter().any(|other| other.place.key() == span.place.key());
            match self.known.entry(run.start()) {
                Entry::Occupied(at) => self.runs[*at.get()].1 += u32::from(!named_before),
                Entry::Vacant(place) => {
                    place.insert(self.runs.len());
                    self.runs.push((run, 1));
                }
            }
        }
        if !window.spans.is_empty() {
            self.windows.push((number, window));
        }
    }

    /// Of bytes that were received one range after another.
    pub fn of_received(ranges: &[(u64, u64)], content: &Received) -> Self {
        let mut copy = Self::default();
        let mut places = Places::of(content);
        let mut open: Option<(u64, Vec<Span>)> = None;
        let mut done = 0;
        for (mut from, to) in ranges.iter().copied() {
            while from < to {
                let (number, start) = (from / WINDOW, from / WINDOW * WINDOW);
                if open.as_ref().is_some_and(|(at, _)| *at != number)
                    && let Some((at, spans)) = open.take()
                {
                    copy.add(at, Window { spans });
                }
                let (length, place, skip) = places.take((start + WINDOW).min(to) - from, &mut copy.smalls);
                let span = Span {
                    from: (from - start) as u32,
                    to: (from - start + length) as u32,
                    written: 1,
                    place,
                    skip,
                    // Of the place, which began before what is skipped of it.
                    sealed: content.cipher.part(done - u64::from(skip), content.length),
                };
                done += length;
                open.get_or_insert((number, Vec::new())).1.push(span);
                from += length;
            }
        }
        if let Some((at, spans)) = open {
            copy.add(at, Window { spans });
        }
        copy
    }

    pub fn runs(&self) -> Vec<Run> {
        self.runs.iter().map(|(run, _)| *run).collect()
    }

    /// Writes it as the first epoch of `content`, and claims its pieces.
    pub fn write(&self, txn: &mut Txn<'_>, keys: &BlobKeys, content: u64) -> Decided<()> {
        let stamp = txn.stamp().0;
        for (part, bytes) in self.smalls.iter().enumerate() {
            txn.put(keys.small(content, stamp, part as u32), bytes.clone());
        }
        for (number, window) in &self.windows {
            let mut window = window.clone();
            for span in &mut window.spans {
                if let Place::Small { part, .. } = span.place {
                    span.place = Place::Small { stamp, part };
                }
            }
            txn.put(keys.window(content, *number, 1), encode(&window));
        }
        for (run, count) in &self.runs {
            let key = keys.claim(&run.piece());
            let holders = get::<Claim>(txn, &key)?.map_or(0, |claim| claim.holders) + count;
            txn.put(key, encode(&Claim { length: run.length, seal: run.seal, holders }));
        }
        Ok(())
    }
}

/// Received bytes, taken from their beginning on.
struct Places {
    small: Bytes,
    /// How much of `small`, which cannot be cut, was taken.
    taken: u32,
    /// How the bytes are stored.
    sealed: Sealed,
    runs: std::vec::IntoIter<Run>,
    run: Option<(Run, u64)>,
}

impl Places {
    fn of(content: &Received) -> Self {
        let (place, small) = content.body.place();
        let sealed = content.cipher.part(0, content.length);
        let mut runs = place.runs().to_vec().into_iter();
        let run = runs.next().map(|run| (run, 0));
        Self { small, taken: 0, sealed, runs, run }
    }

    /// At most `most` bytes: how many, where they are, and where in there.
    fn take(&mut self, most: u64, smalls: &mut Vec<Bytes>) -> (u64, Place, u32) {
        match &mut self.run {
            None => {
                let (row, skip) = if self.sealed.can_be_cut() {
                    (self.small.split_to((most as usize).min(self.small.len())), 0)
                } else {
                    (self.small.clone(), self.taken)
                };
                self.taken += most as u32;
                smalls.push(row);
                (most, Place::Small { stamp: 0, part: smalls.len() as u32 - 1 }, skip)
            }
            Some((run, at)) => {
                let whole = self.sealed.length(run.length);
                let length = most.min(whole - *at);
                let taken = (length, Place::Piece(*run), *at as u32);
                *at += length;
                if *at == whole {
                    self.run = self.runs.next().map(|run| (run, 0));
                }
                taken
            }
        }
    }
}
