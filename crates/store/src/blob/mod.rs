//! Operations on blobs: one file each.

use bytes::Bytes;
use lazuli_model::blob::*;
use lazuli_model::{BlockId, Tags, Timestamp, lease};

use crate::{BlobAt, Failure, Received, Store};

/// A blob opened for reading: its record, and its bytes by range. Holding it keeps the bytes from being given back.
pub struct Reader {
    pub blob: Blob,
}

impl Reader {
    /// Prepares to stream `from..to`; then call `next` until it gives `None`.
    pub fn seek(&mut self, _from: u64, _to: u64) {
        todo!()
    }

    pub async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        todo!()
    }
}

/// What Get Block List answers.
#[derive(Clone, Debug)]
pub struct BlockLists {
    /// `None` when only uncommitted blocks exist under the name.
    pub blob: Option<Blob>,
    pub committed: Vec<(BlockId, u64)>,
    pub uncommitted: Vec<(BlockId, u64)>,
}

impl Store {
    pub async fn put_blob(&self, _at: &BlobAt, _put: PutBlob, _content: Received) -> Result<Blob, Failure> {
        todo!()
    }

    pub async fn put_block(&self, _at: &BlobAt, _put: PutBlock, _content: Received) -> Result<(), Failure> {
        todo!()
    }

    pub async fn put_block_list(&self, _at: &BlobAt, _put: PutBlockList) -> Result<Blob, Failure> {
        todo!()
    }

    pub async fn block_list(&self, _at: &BlobAt, _get: GetBlockList) -> Result<BlockLists, Failure> {
        todo!()
    }

    /// For Get Blob Properties and Metadata.
    pub async fn blob(&self, _at: &BlobAt, _read: ReadBlob) -> Result<Blob, Failure> {
        todo!()
    }

    /// For Get Blob.
    pub async fn open_blob(&self, _at: &BlobAt, _read: ReadBlob) -> Result<Reader, Failure> {
        todo!()
    }

    pub async fn set_blob_properties(&self, _at: &BlobAt, _set: SetBlobProperties) -> Result<Blob, Failure> {
        todo!()
    }

    pub async fn set_blob_metadata(&self, _at: &BlobAt, _set: SetBlobMetadata) -> Result<Blob, Failure> {
        todo!()
    }

    pub async fn delete_blob(&self, _at: &BlobAt, _delete: DeleteBlob) -> Result<(), Failure> {
        todo!()
    }

    /// The snapshot's time, and the base blob it was taken of.
    pub async fn snapshot_blob(&self, _at: &BlobAt, _snapshot: SnapshotBlob) -> Result<(Timestamp, Blob), Failure> {
        todo!()
    }

    pub async fn lease_blob(&self, _at: &BlobAt, _lease: LeaseBlob) -> Result<(Blob, lease::Outcome), Failure> {
        todo!()
    }

    pub async fn blob_tags(&self, _at: &BlobAt, _get: GetBlobTags) -> Result<Tags, Failure> {
        todo!()
    }

    pub async fn set_blob_tags(&self, _at: &BlobAt, _set: SetBlobTags) -> Result<(), Failure> {
        todo!()
    }
}
