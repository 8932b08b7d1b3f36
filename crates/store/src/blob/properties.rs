//! Set Blob Properties and Set Blob Metadata.

use lazuli_model::blob::{Blob, SetBlobMetadata, SetBlobProperties};
use lazuli_model::lake::Right;
use lazuli_model::{Refusal, Tags};

use super::base_to_write;
use super::replace::revise;
use crate::transact::now;
use crate::{BlobAt, Failure, Store};

impl Store {
    pub async fn set_blob_properties(&self, at: &BlobAt, set: SetBlobProperties) -> Result<Blob, Failure> {
        let (blob, ()) = self.change_blob(at, move |blob, now| Ok((set.decide(blob, now)?, ()))).await?;
        Ok(blob)
    }

    /// Metadata belong to a version, unlike properties.
    pub async fn set_blob_metadata(&self, at: &BlobAt, set: SetBlobMetadata) -> Result<Blob, Failure> {
        let (address, keeping) = (self.address(at).await?, self.keeping(at, &Tags::NONE).await?);
        self.transact(address.written(), move |txn| {
            let keys = address.find(txn, Right::Write)?;
            let current = base_to_write(txn, &keys)?;
            let mut new = set.decide(current.as_ref(), now(txn))?;
            revise(txn, &keys, &keeping, &current.ok_or(Refusal::BlobNotFound)?, &mut new)?;
            Ok(new)
        })
        .await
    }
}
