//! Get Blob, Get Blob Properties, Get Blob Metadata: the container, the blob and, if it is one chunk, its bytes, in one look.

use lazuli_engine::Txn;
use lazuli_model::Refusal;
use lazuli_model::blob::{Blob, ReadBlob, Which};

use super::reader::Held;
use crate::keys::BlobKeys;
use crate::manifest::Loaded;
use crate::transact::{Decided, container_id, get, now};
use crate::{BlobAt, Failure, Reader, Store};

impl Store {
    /// For Get Blob Properties and Metadata.
    pub async fn blob(&self, at: &BlobAt, read: ReadBlob) -> Result<Blob, Failure> {
        self.look(|txn| {
            let (_, found) = find(txn, at, &read)?;
            read.decide(found.as_ref(), now(txn))?;
            Ok(found.ok_or(Refusal::BlobNotFound)?)
        })
        .await
    }

    /// For Get Blob.
    pub async fn open_blob(&self, at: &BlobAt, read: ReadBlob) -> Result<Reader, Failure> {
        let (keys, blob, chunk) = self.look(|txn| open(txn, at, &read)).await?;
        if blob.content.id == 0 || chunk.as_ref().is_some_and(Loaded::is_inline) {
            return Ok(Reader::new(self.clone(), keys, blob, chunk, None));
        }
        // Bytes elsewhere: they have to be held before the record is read that names them, so it is read again.
        let (pin, generation) = (self.content.pin(), self.readers.enter());
        let (keys, blob, chunk) = self.look(|txn| open(txn, at, &read)).await?;
        // With its only chunk at hand, a reader needs no more rows, and the sweeper need not wait for it.
        let generation = chunk.is_none().then_some(generation);
        Ok(Reader::new(self.clone(), keys, blob, chunk, Some(Held { _pin: pin, _generation: generation })))
    }
}

fn find(txn: &mut Txn<'_>, at: &BlobAt, read: &ReadBlob) -> Decided<(BlobKeys, Option<Blob>)> {
    let keys = BlobKeys::new(container_id(txn, at)?, at.blob.as_str());
    let found = stored(txn, &keys, read.which)?;
    Ok((keys, found))
}

/// The blob, or the snapshot or version that was named.
pub(super) fn stored(txn: &mut Txn<'_>, keys: &BlobKeys, which: Which) -> Decided<Option<Blob>> {
    let found: Option<Blob> = match which {
        Which::Current => get(txn, &keys.base())?,
        Which::Snapshot(time) => get(txn, &keys.snapshot(time))?,
        Which::Version(time) => get(txn, &keys.version(time))?,
    };
    Ok(found.and_then(|blob| blob.at(now(txn))))
}

fn open(txn: &mut Txn<'_>, at: &BlobAt, read: &ReadBlob) -> Decided<(BlobKeys, Blob, Option<Loaded>)> {
    let (keys, found) = find(txn, at, read)?;
    read.decide_content(found.as_ref(), now(txn))?;
    let blob = found.ok_or(Refusal::BlobNotFound)?;
    let chunk = match blob.content.starts[..] {
        [start] => txn.get(&keys.chunk(blob.content.id, start))?,
        [] | [_, _, ..] => None,
    };
    let chunk = chunk.map(|bytes| Loaded::decode(0, &bytes)).transpose()?;
    Ok((keys, blob, chunk))
}
