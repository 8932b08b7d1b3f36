//! Get Blob, Get Blob Properties, Get Blob Metadata: the blob and, if it is one chunk, its bytes, in one look.

use lazuli_engine::Txn;
use lazuli_model::Refusal;
use lazuli_model::blob::{Blob, ReadBlob, Which};
use lazuli_model::lake::Right;

use super::cut::cut_of;
use super::deleted::deleted;
use super::put_page::seen;
use crate::keys::BlobKeys;
use crate::manifest::Loaded;
use crate::sparse::{Batch, SparseReader};
use crate::transact::{Decided, get, now};
use crate::witness::{Found, found as found_at, saw};
use crate::{BlobAt, Failure, Reader, Store};

impl Store {
    /// For Get Blob Properties and Metadata.
    pub async fn blob(&self, at: &BlobAt, read: ReadBlob) -> Result<Blob, Failure> {
        let look = self.look_blob_by(at, Right::Traverse, |txn, keys| {
            let found = stored(txn, keys, read.which)?;
            if let Err(refusal) = read.decide(found.as_ref(), now(txn)) {
                return absent(txn, keys, read.which, refusal);
            }
            Ok(found.ok_or(Refusal::BlobNotFound)?)
        });
        Ok(look.await?.1)
    }

    /// For Get Blob.
    pub async fn open_blob(&self, at: &BlobAt, read: ReadBlob) -> Result<Reader, Failure> {
        self.open_blob_range(at, read, 0, u64::MAX).await
    }

    /// The same for a client that reads `from..to` only, as far as the blob goes.
    pub async fn open_blob_range(&self, at: &BlobAt, read: ReadBlob, from: u64, to: u64) -> Result<Reader, Failure> {
        // Between two looks a blob may become one of another kind; then it is looked at afresh.
        loop {
            let (keys, (blob, chunk)) = self.look_blob(at, |txn, keys| open(txn, keys, &read)).await?;
            let reader = if blob.content.is_sparse() {
                self.open_sparse(at, &read, from, to).await?
            } else if blob.content.id == 0 || chunk.as_ref().is_some_and(Loaded::is_inline) {
                Some(Reader::new(self.clone(), keys, blob, chunk, None))
            } else {
                self.open_manifest(at, &read).await?
            };
            if let Some(reader) = reader {
                return Ok(reader);
            }
        }
    }

    /// What hangs on an id, whatever it is called now. `None` when it has gone.
    pub(crate) async fn open_node(&self, keys: &BlobKeys) -> Result<Option<Reader>, Failure> {
        let read = ReadBlob::default();
        let opening = self.readers.enter();
        let looked = self
            .look(&keys.partition(), |txn| {
                let Some(blob) = stored(txn, keys, Which::Current)? else { return Ok(None) };
                let batch = match blob.content.is_sparse() {
                    true => Some(Batch::load(txn, keys, seen(&blob), 0, blob.content.length)?),
                    false => None,
                };
                Ok(Some((open(txn, keys, &read)?, batch)))
            })
            .await?;
        let Some(((blob, chunk), batch)) = looked else { return Ok(None) };
        let hold = opening.hold(keys, blob.content.id);
        Ok(Some(match batch {
            Some(batch) => {
                let reader = SparseReader::new(keys.clone(), seen(&blob), batch, &opening);
                Reader::sparse(self.clone(), keys.clone(), blob, reader, hold)
            }
            None => Reader::new(self.clone(), keys.clone(), blob, chunk, Some(hold)),
        }))
    }

    /// Bytes elsewhere: they have to be held before the record is read that names them, so it is read again.
    async fn open_manifest(&self, at: &BlobAt, read: &ReadBlob) -> Result<Option<Reader>, Failure> {
        let opening = self.readers.enter();
        let (keys, (blob, chunk)) = self.look_blob(at, |txn, keys| open(txn, keys, read)).await?;
        if blob.content.is_sparse() {
            return Ok(None);
        }
        let hold = opening.hold(&keys, blob.content.id);
        Ok(Some(Reader::new(self.clone(), keys, blob, chunk, Some(hold))))
    }

    /// The record and the first of its bytes in one look, since they may change: who sees an ETag sees its bytes, as far as
    /// one look goes.
    async fn open_sparse(&self, at: &BlobAt, read: &ReadBlob, from: u64, to: u64) -> Result<Option<Reader>, Failure> {
        let opening = self.readers.enter();
        let look = |txn: &mut Txn<'_>, keys: &BlobKeys| {
            let (blob, _) = open(txn, keys, read)?;
            if !blob.content.is_sparse() {
                return Ok(None);
            }
            let to = to.min(blob.content.length);
            let batch = Batch::load(txn, keys, seen(&blob), from.min(to), to)?;
            Ok(Some((blob, batch)))
        };
        let (keys, Some((blob, batch))) = self.look_blob(at, look).await? else { return Ok(None) };
        let hold = opening.hold(&keys, blob.content.id);
        let reader = SparseReader::new(keys.clone(), seen(&blob), batch, &opening);
        Ok(Some(Reader::sparse(self.clone(), keys, blob, reader, hold)))
    }
}

/// The blob, or the snapshot or version that was named.
pub(super) fn stored(txn: &mut Txn<'_>, keys: &BlobKeys, which: Which) -> Decided<Option<Blob>> {
    let found: Option<Blob> = match which {
        Which::Current => get(txn, &keys.base())?,
        Which::Snapshot(time) => match get(txn, &keys.snapshot(time))? {
            Some(snapshot) if cut_of(txn, keys, time)?.is_none() => Some(snapshot),
            Some(_) | None => None,
        },
        Which::Version(id) => match get(txn, &keys.version(id))? {
            Some(version) => Some(version),
            None => get::<Blob>(txn, &keys.base())?.filter(|blob| blob.version == Some(id)),
        },
    };
    let now = now(txn);
    let seen = found.and_then(|blob| blob.at(now));
    if which == Which::Current {
        saw(seen.as_ref().map_or(Found::Nothing, |blob| found_at(blob.etag.made(), blob.lease, now)));
    }
    Ok(seen)
}

/// A refusal, said more exactly if what is not there was deleted softly.
pub(super) fn absent<T>(txn: &mut Txn<'_>, keys: &BlobKeys, which: Which, refusal: Refusal) -> Decided<T> {
    if refusal == Refusal::BlobNotFound && deleted(txn, keys, which)?.is_some() {
        return Err(Refusal::BlobSoftDeleted.into());
    }
    Err(refusal.into())
}

fn open(txn: &mut Txn<'_>, keys: &BlobKeys, read: &ReadBlob) -> Decided<(Box<Blob>, Option<Loaded>)> {
    let found = stored(txn, keys, read.which)?;
    if let Err(refusal) = read.decide_content(found.as_ref(), now(txn)) {
        return absent(txn, keys, read.which, refusal);
    }
    let blob = Box::new(found.ok_or(Refusal::BlobNotFound)?);
    let chunk = match blob.content.starts[..] {
        [start] => txn.get(&keys.chunk(blob.content.id, start))?,
        [] | [_, _, ..] => None,
    };
    let chunk = chunk.map(|bytes| Loaded::decode(0, &bytes)).transpose()?;
    Ok((blob, chunk))
}
