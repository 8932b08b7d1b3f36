//! A blob's bytes, by range, from wherever they are.
//!
//! Held true: all that a reader gives comes from the one content its record named when it was opened, or it gives a
//! fault. What it needs of that content cannot go away while it lives, because it holds it (`readers`), unless every byte came inline
//! with the record.

use bytes::Bytes;
use lazuli_engine::content::Chunks;
use lazuli_engine::{BoxFuture, Fault};
use lazuli_model::blob::Blob;

use crate::crypt::CustomerKey;
use crate::keys::BlobKeys;
use crate::manifest::{Loaded, Part};
use crate::readers::Hold;
use crate::records::Place;
use crate::sparse::SparseReader;
use crate::upload::{Broken, Source};
use crate::{Failure, Store};

/// A blob opened for reading: its record, and its bytes by range. Holding it keeps the bytes from being given back.
pub struct Reader {
    /// Boxed, as it is in all that hands it on: it is large, and moved often.
    pub blob: Box<Blob>,
    store: Store,
    pub(super) keys: BlobKeys,
    chunk: Option<Loaded>,
    /// The bytes, if they are pages or appended blocks.
    sparse: Option<SparseReader>,
    /// The piece that is being read.
    stream: Option<Box<dyn Chunks>>,
    from: u64,
    to: u64,
    key: Option<CustomerKey>,
    _hold: Option<Hold>,
}

impl Source for Reader {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Broken>> {
        Box::pin(async { Ok(Reader::next(self).await?) })
    }
}

impl Reader {
    pub(super) fn new(
        store: Store,
        keys: BlobKeys,
        blob: Box<Blob>,
        chunk: Option<Loaded>,
        hold: Option<Hold>,
    ) -> Self {
        Self { blob, store, keys, chunk, sparse: None, stream: None, from: 0, to: 0, key: None, _hold: hold }
    }

    pub(super) fn sparse(store: Store, keys: BlobKeys, blob: Box<Blob>, sparse: SparseReader, hold: Hold) -> Self {
        Self { sparse: Some(sparse), ..Self::new(store, keys, blob, None, Some(hold)) }
    }

    /// With the key that the blob is encrypted by; without it, an encrypted blob gives a fault and no bytes.
    pub fn unlock(&mut self, key: Option<CustomerKey>) {
        self.key = key;
    }

    pub(super) fn key(&self) -> Option<&CustomerKey> {
        self.key.as_ref()
    }

    /// Prepares to stream `from..to`; then call `next` until it gives `None`.
    pub fn seek(&mut self, from: u64, to: u64) {
        self.stream = None;
        self.to = to.min(self.blob.content.length);
        self.from = from;
        if let Some(sparse) = &mut self.sparse {
            sparse.seek(from, self.to);
        }
    }

    pub async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        if let Some(sparse) = &mut self.sparse {
            return sparse.next(&self.store, self.key.as_ref()).await;
        }
        loop {
            if let Some(stream) = &mut self.stream {
                match stream.next().await? {
                    Some(bytes) => {
                        self.from += bytes.len() as u64;
                        return Ok(Some(bytes));
                    }
                    None => self.stream = None,
                }
            }
            if self.from >= self.to {
                return Ok(None);
            }
            if let Some(bytes) = self.advance().await? {
                self.from += bytes.len() as u64;
                return Ok(Some(bytes));
            }
        }
    }

    /// Inline bytes, or none and a stream to take them from.
    async fn advance(&mut self) -> Result<Option<Bytes>, Failure> {
        self.load().await?;
        let part = self.chunk.as_ref().and_then(|chunk| chunk.part_at(self.from));
        let part = part.ok_or_else(|| Fault::Corrupt(format!("no chunk has byte {} of a blob", self.from)))?;
        let (from, to) = (self.from - part.start, (self.to - part.start).min(part.entry.length));
        match &part.entry.place {
            Place::Inline => {
                let whole = part.entry.cipher.part(0, part.entry.length);
                Ok(Some(whole.open(self.key.as_ref(), &part.inline, from, to)?))
            }
            Place::Pieces(_) => {
                self.stream = Some(open(&self.store, self.key.as_ref(), part, from, to)?);
                Ok(None)
            }
        }
    }

    /// Makes `chunk` the one that has the byte at `from`.
    async fn load(&mut self) -> Result<(), Failure> {
        let starts = &self.blob.content.starts;
        let after = starts.partition_point(|start| *start <= self.from);
        let start = after.checked_sub(1).map(|at| starts[at]);
        let start = start.ok_or_else(|| Fault::Corrupt("a blob with bytes has no chunks".into()))?;
        if self.chunk.as_ref().is_some_and(|chunk| chunk.start == start) {
            return Ok(());
        }
        let key = self.keys.chunk(self.blob.content.id, start);
        let bytes = self.store.look(&self.keys.partition(), |txn| Ok(txn.get(&key)?)).await?;
        let bytes = bytes.ok_or_else(|| Fault::Corrupt(format!("the chunk at {start} of a blob is missing")))?;
        self.chunk = Some(Loaded::decode(start, &bytes)?);
        Ok(())
    }
}

/// The piece of `part` that has the byte at `from`, as far as `to`; the next piece is opened when it is at its end.
fn open(store: &Store, key: Option<&CustomerKey>, part: &Part, from: u64, to: u64) -> Result<Box<dyn Chunks>, Fault> {
    let mut start = 0;
    for run in part.entry.place.runs() {
        let sealed = part.entry.cipher.part(start, part.entry.length);
        let end = start + sealed.length(run.length);
        if from < end {
            return sealed.read(&*store.content, key, run.piece(), from - start, to.min(end) - start);
        }
        start = end;
    }
    Err(Fault::Corrupt("the pieces of a blob are shorter than it is".into()))
}
