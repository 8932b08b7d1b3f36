//! The source of a copy: opened like a blob that is read, but under the rules of copies.

use lazuli_engine::Txn;
use lazuli_model::Refusal;
use lazuli_model::blob::{Blob, CopySource};

use super::get_blob::{absent, stored};
use super::put_page::seen;
use crate::crypt::Lock;
use crate::keys::BlobKeys;
use crate::manifest::Loaded;
use crate::sparse::{Batch, SparseReader};
use crate::transact::{Decided, now};
use crate::upload::{Broken, Digesting, Received, Source};
use crate::{BlobAt, Failure, Reader, Store};

impl Store {
    pub async fn open_source(&self, at: &BlobAt, source: &CopySource) -> Result<Reader, Failure> {
        let opening = self.readers.enter();
        let (keys, (blob, content)) = self.look_blob(at, |txn, keys| open(txn, keys, source)).await?;
        let hold = opening.hold(&keys, blob.content.id);
        Ok(match content {
            Opened::Manifest(chunk) => Reader::new(self.clone(), keys, blob, chunk, Some(hold)),
            Opened::Sparse(batch) => {
                let sparse = SparseReader::new(keys.clone(), seen(&blob), batch, &opening);
                Reader::sparse(self.clone(), keys, blob, sparse, hold)
            }
        })
    }

    /// Takes in the bytes `from..to` of a source, as if a client sent them.
    pub async fn receive_from(
        &self,
        source: &mut Reader,
        from: u64,
        to: u64,
        md5: bool,
        lock: Option<Lock>,
    ) -> Result<Received, Failure> {
        source.seek(from, to);
        let mut bytes = Reading { reader: source, failure: None };
        let received = self.receive_encrypted(&mut bytes, Some(to - from), u64::MAX, md5, lock).await;
        // What went wrong was ours, and not the client's that hung up.
        match bytes.failure {
            Some(failure) => Err(failure),
            None => received,
        }
    }
}

impl Store {
    /// The digests of the bytes `from..to` of a source, which stay where they are.
    pub async fn digest(&self, source: &mut Reader, from: u64, to: u64, md5: bool) -> Result<Digested, Failure> {
        source.seek(from, to);
        let mut crc64 = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc64Nvme);
        let mut digesting = md5.then(|| Digesting::new(&self.digests));
        while let Some(bytes) = source.next().await? {
            crc64.update(&bytes);
            if let Some(digesting) = &mut digesting {
                digesting.update(bytes).await?;
            }
        }
        let md5 = match digesting {
            Some(digesting) => Some(digesting.finish().await?),
            None => None,
        };
        Ok(Digested { crc64: crc64.finalize(), md5 })
    }
}

/// What is known of bytes that were read and not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digested {
    pub crc64: u64,
    pub md5: Option<[u8; 16]>,
}

enum Opened {
    Manifest(Option<Loaded>),
    Sparse(Batch),
}

fn open(txn: &mut Txn<'_>, keys: &BlobKeys, source: &CopySource) -> Decided<(Box<Blob>, Opened)> {
    let found = stored(txn, keys, source.which)?;
    if let Err(refusal) = source.decide(found.as_ref(), now(txn)) {
        return absent(txn, keys, source.which, refusal);
    }
    let blob = Box::new(found.ok_or(Refusal::BlobNotFound)?);
    if blob.content.is_sparse() {
        let batch = Batch::load(txn, keys, seen(&blob), 0, blob.content.length)?;
        return Ok((blob, Opened::Sparse(batch)));
    }
    let chunk = match blob.content.starts[..] {
        [start] => txn.get(&keys.chunk(blob.content.id, start))?,
        [] | [_, _, ..] => None,
    };
    let chunk = chunk.map(|bytes| Loaded::decode(0, &bytes)).transpose()?;
    Ok((blob, Opened::Manifest(chunk)))
}

/// A blob's bytes as a body.
struct Reading<'a> {
    reader: &'a mut Reader,
    failure: Option<Failure>,
}

impl Source for Reading<'_> {
    fn next(&mut self) -> lazuli_engine::BoxFuture<'_, Result<Option<bytes::Bytes>, Broken>> {
        Box::pin(async {
            self.reader.next().await.map_err(|failure| {
                self.failure = Some(failure);
                Broken::HungUp
            })
        })
    }
}
