//! Set Blob Properties and Set Blob Metadata.

use lazuli_model::blob::{Blob, SetBlobMetadata, SetBlobProperties};

use crate::{BlobAt, Failure, Store};

impl Store {
    pub async fn set_blob_properties(&self, at: &BlobAt, set: SetBlobProperties) -> Result<Blob, Failure> {
        let (blob, ()) = self.change_blob(at, move |blob, now| Ok((set.decide(blob, now)?, ()))).await?;
        Ok(blob)
    }

    pub async fn set_blob_metadata(&self, at: &BlobAt, set: SetBlobMetadata) -> Result<Blob, Failure> {
        let (blob, ()) = self.change_blob(at, move |blob, now| Ok((set.decide(blob, now)?, ()))).await?;
        Ok(blob)
    }
}
