//! A sparse content copied into another partition: the same windows, at the first epoch, over the same pieces. Small bytes, which
//! belong to one window each, are written anew.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bytes::Bytes;
use lazuli_engine::Txn;

use super::edit::read_small;
use super::rows::visible;
use super::window::{Place, Sealed, Span};
use super::{Seen, WINDOW, Window};
use crate::keys::BlobKeys;
use crate::records::{Claim, Run, Start, encode};
use crate::transact::{Decided, get};
use crate::upload::{Body, Received};

/// Windows, and small bytes, that fit into one transaction.
const WINDOWS_MAX: usize = 1 << 16;
const SMALL_MAX: usize = 16 << 20;

/// What a copy is to be made of. A span that is small says which of `smalls` it is by its part.
#[derive(Debug, Default)]
pub(crate) struct Copy {
    windows: Vec<(u64, Window)>,
    smalls: Vec<Bytes>,
    /// Each piece, with how many windows name it.
    runs: Vec<(Run, u32)>,
    /// Where in `runs` a piece is.
    known: HashMap<Start, usize>,
}

/// What can be said of a content in one look.
pub(crate) enum Described {
    /// It can be shared.
    Whole(Copy),
    /// Only its bytes can be copied: these ranges.
    Ranges(Vec<(u64, u64)>),
    /// More windows than one transaction takes.
    TooLong,
}

pub(crate) fn describe(txn: &mut Txn<'_>, keys: &BlobKeys, seen: Seen, length: u64) -> Decided<Described> {
    let (rows, next) = visible(txn, keys, seen, 0, length.div_ceil(WINDOW), WINDOWS_MAX)?;
    if next.is_some() {
        return Ok(Described::TooLong);
    }
    let (mut copy, mut room, mut ranges, mut shared) = (Copy::default(), SMALL_MAX, Vec::new(), true);
    for row in rows {
        let window = row.window()?;
        let start = row.number * WINDOW;
        ranges.extend(window.covered().iter().map(|(from, to)| (start + u64::from(*from), start + u64::from(*to))));
        let mut spans = Vec::with_capacity(window.spans.len());
        for span in window.spans {
            shared &= span.sealed.is_none();
            let place = match span.place {
                Place::Hole => continue,
                Place::Piece(run) => Place::Piece(run),
                Place::Small { .. } if room == 0 || !shared => continue,
                Place::Small { .. } => {
                    let bytes = read_small(txn, keys, seen.content, &span)?;
                    room = room.saturating_sub(bytes.len());
                    shared &= room > 0;
                    copy.smalls.push(bytes);
                    Place::Small { stamp: 0, part: copy.smalls.len() as u32 - 1 }
                }
            };
            let skip = if matches!(place, Place::Small { .. }) { 0 } else { span.skip };
            spans.push(Span { written: 1, place, skip, ..span });
        }
        copy.add(row.number, Window { spans });
    }
    Ok(if shared { Described::Whole(copy) } else { Described::Ranges(ranges) })
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
        let mut places = Places::of(&content.body);
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
                    sealed: content.nonce.map(|nonce| Sealed { nonce, at: done }),
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

    /// What is written.
    pub fn ranges(&self) -> Vec<(u64, u64)> {
        let of = |(number, window): &(u64, Window)| {
            let start = number * WINDOW;
            window.covered().into_iter().map(move |(from, to)| (start + u64::from(from), start + u64::from(to)))
        };
        self.windows.iter().flat_map(of).collect()
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
    runs: std::vec::IntoIter<Run>,
    run: Option<(Run, u64)>,
}

impl Places {
    fn of(body: &Body) -> Self {
        let (place, small) = body.place();
        let mut runs = place.runs().to_vec().into_iter();
        let run = runs.next().map(|run| (run, 0));
        Self { small, runs, run }
    }

    /// At most `most` bytes: how many, where they are, and where in there.
    fn take(&mut self, most: u64, smalls: &mut Vec<Bytes>) -> (u64, Place, u32) {
        match &mut self.run {
            None => {
                smalls.push(self.small.split_to((most as usize).min(self.small.len())));
                (most, Place::Small { stamp: 0, part: smalls.len() as u32 - 1 }, 0)
            }
            Some((run, at)) => {
                let length = most.min(run.length - *at);
                let taken = (length, Place::Piece(*run), *at as u32);
                *at += length;
                if *at == run.length {
                    self.run = self.runs.next().map(|run| (run, 0));
                }
                taken
            }
        }
    }
}
