//! Get Blob Tags and Set Blob Tags. Tags change neither the ETag nor the date.

use lazuli_model::Tags;
use lazuli_model::blob::{GetBlobTags, SetBlobTags};

use super::get_blob::stored;
use crate::keys::BlobKeys;
use crate::transact::{container_id, now};
use crate::{BlobAt, Failure, Store};

impl Store {
    pub async fn blob_tags(&self, at: &BlobAt, get: GetBlobTags) -> Result<Tags, Failure> {
        self.look(|txn| {
            let keys = BlobKeys::new(container_id(txn, at)?, at.blob.as_str());
            let blob = stored(txn, &keys, get.which)?;
            Ok(get.decide(blob.as_ref(), now(txn))?.clone())
        })
        .await
    }

    pub async fn set_blob_tags(&self, at: &BlobAt, set: SetBlobTags) -> Result<(), Failure> {
        self.change_blob(at, move |blob, now| Ok((set.decide(blob, now)?, ()))).await?;
        Ok(())
    }
}
