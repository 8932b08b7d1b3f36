//! A sparse content's bytes, by range, with zeros where nothing was written.
//!
//! Held true: what one look found is of one moment, and every range of up to 4 MiB is one look. A longer read of an epoch that is
//! being written to goes on with what is there when it comes to it; one of an earlier epoch cannot change at all.

use bytes::Bytes;
use lazuli_engine::content::Chunks;
use lazuli_engine::{Fault, Txn};

use super::edit::read_small;
use super::rows::visible;
use super::window::{Place, Sealed};
use super::{Seen, WINDOW};
use crate::crypt::CustomerKey;
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
    /// Of the part that is being read, with where it begins.
    sealed: Option<(Sealed, u64)>,
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
    bytes: Where,
    /// How it is encrypted, and where in its body it begins.
    sealed: Option<Sealed>,
}

enum Where {
    Here(Bytes),
    Piece { run: Run, skip: u64 },
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
                let bytes = match span.place {
                    Place::Hole => continue,
                    Place::Piece(run) => Where::Piece { run, skip: span.skip.into() },
                    Place::Small { .. } => {
                        let Some(left) = room.checked_sub((span.to - span.from) as usize) else {
                            return Ok(Self { parts, start: from, end: first });
                        };
                        room = left;
                        Where::Here(read_small(txn, keys, seen.content, &span)?)
                    }
                };
                let sealed = span.sealed.map(|sealed| Sealed { at: sealed.at + u64::from(span.skip), ..sealed });
                parts.push(Part { from: first, to: end, bytes, sealed });
            }
        }
        let end = next.map_or(to, |number| number * WINDOW).clamp(from, to);
        Ok(Self { parts, start: from, end })
    }
}

impl SparseReader {
    /// A reader that has a batch from its first look.
    pub fn new(keys: BlobKeys, seen: Seen, batch: Batch) -> Self {
        Self { keys, seen, from: 0, to: 0, batch, stream: None, sealed: None }
    }

    /// Whether `from..to` needs no more rows.
    pub fn has(&self, from: u64, to: u64) -> bool {
        from >= to || (self.batch.start <= from && to <= self.batch.end)
    }

    pub fn seek(&mut self, from: u64, to: u64) {
        self.stream = None;
        (self.from, self.to) = (from, to);
    }

    pub async fn next(&mut self, store: &Store, key: Option<&CustomerKey>) -> Result<Option<Bytes>, Failure> {
        loop {
            if let Some(stream) = &mut self.stream {
                match stream.next().await? {
                    Some(bytes) => return Ok(Some(self.give(bytes, key)?)),
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
                return Ok(Some(self.give(bytes, key)?));
            }
        }
    }

    /// Bytes from `from` on, as the client sent them.
    fn give(&mut self, bytes: Bytes, key: Option<&CustomerKey>) -> Result<Bytes, Fault> {
        let bytes = match (self.sealed, key) {
            (None, _) => bytes,
            (Some((sealed, start)), Some(key)) => key.apply(sealed.nonce, sealed.at + (self.from - start), bytes),
            (Some(_), None) => return Err(Fault::Corrupt("encrypted content was opened without its key".into())),
        };
        self.from += bytes.len() as u64;
        Ok(bytes)
    }

    /// Bytes that are here, or none and a stream to take them from.
    fn advance(&mut self, store: &Store) -> Option<Bytes> {
        let end = self.to.min(self.batch.end);
        let at = self.batch.parts.partition_point(|part| part.to <= self.from);
        self.sealed = None;
        match self.batch.parts.get(at) {
            Some(part) if part.from <= self.from => {
                let (from, to) = (self.from - part.from, part.to.min(end) - part.from);
                self.sealed = part.sealed.map(|sealed| (sealed, part.from));
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
