//! A sparse content's bytes, by range, with zeros where nothing was written.
//!
//! Held true: what one look found is of one moment, and every range of up to 4 MiB is one look. A longer read of an epoch that is
//! being written to goes on with what is there when it comes to it; one of an earlier epoch cannot change at all.

use bytes::Bytes;
use lazuli_engine::content::Chunks;
use lazuli_engine::{Fault, Txn};

use super::edit::small_row;
use super::rows::visible;
use super::window::Place;
use super::{Seen, WINDOW};
use crate::crypt::{CustomerKey, Sealed};
use crate::keys::BlobKeys;
use crate::readers::{Hold, Opening};
use crate::records::Run;
use crate::transact::Decided;
use crate::{Failure, Store};

/// Windows, and small bytes, that one look takes along.
const WINDOWS: usize = 256;
const SMALL_BYTES: usize = 4 << 20;

static ZEROS: [u8; 256 << 10] = [0; 256 << 10];

/// Holds the pieces that its last look found. Its maker holds the content, and with it the rows.
pub(crate) struct SparseReader {
    keys: BlobKeys,
    seen: Seen,
    from: u64,
    to: u64,
    batch: Batch,
    /// The piece that is being read.
    stream: Option<Box<dyn Chunks>>,
    pieces: Hold,
}

/// What a look found.
#[derive(Default)]
pub(crate) struct Batch {
    parts: Vec<Part>,
    /// Where it begins, and up to where it is complete.
    start: u64,
    end: u64,
}

struct Part {
    from: u64,
    to: u64,
    place: Where,
    /// Where in its place it begins.
    skip: u64,
    /// How the bytes of the place are stored.
    sealed: Sealed,
}

enum Where {
    Here(Bytes),
    Piece(Run),
}

impl Batch {
    pub fn load(txn: &mut Txn<'_>, keys: &BlobKeys, seen: Seen, from: u64, to: u64) -> Decided<Self> {
        let mut parts = Vec::new();
        let mut room = SMALL_BYTES;
        let (rows, next) = visible(txn, keys, seen, from / WINDOW, to.div_ceil(WINDOW), WINDOWS)?;
        for row in rows {
            let start = row.number * WINDOW;
            for mut span in row.window()?.spans {
                let cut = from.max(start).saturating_sub(start) as u32;
                if span.to <= cut || start + u64::from(span.from) >= to {
                    continue;
                }
                if span.from < cut {
                    span.skip += cut - span.from;
                    span.from = cut;
                }
                span.to = span.to.min((to - start).min(WINDOW) as u32);
                let (first, end) = (start + u64::from(span.from), start + u64::from(span.to));
                let place = match span.place {
                    Place::Hole => continue,
                    Place::Piece(run) => Where::Piece(run),
                    Place::Small { .. } => {
                        let Some(left) = room.checked_sub((span.to - span.from) as usize) else {
                            return Ok(Self { parts, start: from, end: first });
                        };
                        room = left;
                        Where::Here(small_row(txn, keys, seen.content, &span)?)
                    }
                };
                parts.push(Part { from: first, to: end, place, skip: span.skip.into(), sealed: span.sealed });
            }
        }
        let end = next.map_or(to, |number| number * WINDOW).clamp(from, to);
        Ok(Self { parts, start: from, end })
    }

    fn runs(&self) -> impl Iterator<Item = &Run> {
        self.parts.iter().filter_map(|part| match &part.place {
            Where::Here(_) => None,
            Where::Piece(run) => Some(run),
        })
    }
}

impl SparseReader {
    /// A reader that has a batch from its first look, before which it entered.
    pub fn new(keys: BlobKeys, seen: Seen, batch: Batch, opening: &Opening) -> Self {
        let pieces = opening.hold_pieces(batch.runs());
        Self { keys, seen, from: 0, to: 0, batch, stream: None, pieces }
    }

    pub fn seek(&mut self, from: u64, to: u64) {
        self.stream = None;
        (self.from, self.to) = (from, to);
    }

    pub async fn next(&mut self, store: &Store, key: Option<&CustomerKey>) -> Result<Option<Bytes>, Failure> {
        loop {
            if let Some(stream) = &mut self.stream {
                match stream.next().await? {
                    Some(bytes) => return Ok(Some(self.give(bytes))),
                    None => self.stream = None,
                }
            }
            if self.from >= self.to {
                return Ok(None);
            }
            if self.from < self.batch.start || self.from >= self.batch.end {
                let (keys, seen, from, to) = (&self.keys, self.seen, self.from, self.to);
                let opening = store.readers.enter();
                self.batch = store.look(&keys.partition(), |txn| Batch::load(txn, keys, seen, from, to)).await?;
                self.pieces = opening.hold_pieces(self.batch.runs());
            }
            if let Some(bytes) = self.advance(store, key)? {
                return Ok(Some(self.give(bytes)));
            }
        }
    }

    fn give(&mut self, bytes: Bytes) -> Bytes {
        self.from += bytes.len() as u64;
        bytes
    }

    /// Bytes that are here, or none and a stream to take them from.
    fn advance(&mut self, store: &Store, key: Option<&CustomerKey>) -> Result<Option<Bytes>, Fault> {
        let end = self.to.min(self.batch.end);
        let at = self.batch.parts.partition_point(|part| part.to <= self.from);
        match self.batch.parts.get(at) {
            Some(part) if part.from <= self.from => {
                let before = part.skip + (self.from - part.from);
                let after = part.skip + (part.to.min(end) - part.from);
                match &part.place {
                    Where::Here(row) => part.sealed.open(key, row, before, after).map(Some),
                    Where::Piece(run) => {
                        self.stream = Some(part.sealed.read(&*store.content, key, run.piece(), before, after)?);
                        Ok(None)
                    }
                }
            }
            Some(part) => Ok(Some(zeros(part.from.min(end) - self.from))),
            None => Ok(Some(zeros(end - self.from))),
        }
    }
}

fn zeros(length: u64) -> Bytes {
    Bytes::from_static(&ZEROS[..length.min(ZEROS.len() as u64) as usize])
}
