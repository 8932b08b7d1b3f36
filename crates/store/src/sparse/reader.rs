//! A sparse content's bytes, by range, with zeros where nothing was written.
//!
//! Held true: what one look found is of one moment, and every range of up to 4 MiB is one look. A longer read of an epoch that is
//! being written to goes on with what is there when it comes to it; one of an earlier epoch cannot change at all.

use std::collections::VecDeque;

use bytes::Bytes;
use lazuli_engine::Txn;
use lazuli_engine::content::Chunks;

use super::edit::read_small;
use super::rows::visible;
use super::window::Place;
use super::{Seen, WINDOW};
use crate::keys::BlobKeys;
use crate::records::Run;
use crate::transact::Decided;
use crate::{Failure, Store};

/// Windows, and small bytes, that one look takes along.
const WINDOWS: usize = 256;
const SMALL_BYTES: usize = 4 << 20;

static ZEROS: [u8; 256 << 10] = [0; 256 << 10];

/// Whoever makes one holds a pin from before its first look, and keeps the content's rows from being collected until it has ended.
pub(crate) struct SparseReader {
    keys: BlobKeys,
    seen: Seen,
    from: u64,
    to: u64,
    batch: Batch,
    /// The piece that is being read.
    stream: Option<Box<dyn Chunks>>,
}

/// What a look found.
#[derive(Default)]
pub(crate) struct Batch {
    parts: VecDeque<Part>,
    /// Where it begins, and up to where it is complete.
    start: u64,
    end: u64,
}

struct Part {
    from: u64,
    to: u64,
    bytes: Where,
}

enum Where {
    Here(Bytes),
    Piece { run: Run, skip: u64 },
}

impl Batch {
    pub fn load(txn: &mut Txn<'_>, keys: &BlobKeys, seen: Seen, from: u64, to: u64) -> Decided<Self> {
        let mut parts = VecDeque::new();
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
                let bytes = match span.place {
                    Place::Piece(run) => Where::Piece { run, skip: span.skip.into() },
                    Place::Small { .. } => {
                        let Some(left) = room.checked_sub((span.to - span.from) as usize) else {
                            return Ok(Self { parts, start: from, end: first });
                        };
                        room = left;
                        Where::Here(read_small(txn, keys, seen.content, &span)?)
                    }
                };
                parts.push_back(Part { from: first, to: end, bytes });
            }
        }
        let end = next.map_or(to, |number| number * WINDOW).clamp(from, to);
        Ok(Self { parts, start: from, end })
    }
}

impl SparseReader {
    /// A reader that has a batch from its first look.
    pub fn new(keys: BlobKeys, seen: Seen, batch: Batch) -> Self {
        let (from, to) = (batch.start, batch.end);
        Self { keys, seen, from, to, batch, stream: None }
    }

    /// Whether `from..to` needs no more rows.
    pub fn has(&self, from: u64, to: u64) -> bool {
        from >= to || (self.batch.start <= from && to <= self.batch.end)
    }

    pub fn seek(&mut self, from: u64, to: u64) {
        self.stream = None;
        if from < self.from {
            // What lies before has been let go of.
            self.batch = Batch { start: from, end: from, ..Batch::default() };
        }
        (self.from, self.to) = (from, to);
    }

    pub async fn next(&mut self, store: &Store) -> Result<Option<Bytes>, Failure> {
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
                self.batch = store.look(|txn| Batch::load(txn, keys, seen, from, to)).await?;
            }
            if let Some(bytes) = self.advance(store) {
                return Ok(Some(self.give(bytes)));
            }
        }
    }

    fn give(&mut self, bytes: Bytes) -> Bytes {
        self.from += bytes.len() as u64;
        bytes
    }

    /// Bytes that are here, or none and a stream to take them from.
    fn advance(&mut self, store: &Store) -> Option<Bytes> {
        while self.batch.parts.front().is_some_and(|part| part.to <= self.from) {
            self.batch.parts.pop_front();
        }
        let end = self.to.min(self.batch.end);
        match self.batch.parts.front() {
            Some(part) if part.from <= self.from => {
                let (from, to) = (self.from - part.from, part.to.min(end) - part.from);
                match &part.bytes {
                    Where::Here(bytes) => Some(bytes.slice(from as usize..to as usize)),
                    Where::Piece { run, skip } => {
                        self.stream = Some(store.content.read(run.piece(), skip + from, skip + to));
                        None
                    }
                }
            }
            Some(part) => Some(zeros(part.from.min(end) - self.from)),
            None => Some(zeros(end - self.from)),
        }
    }
}

fn zeros(length: u64) -> Bytes {
    Bytes::from_static(&ZEROS[..length.min(ZEROS.len() as u64) as usize])
}
