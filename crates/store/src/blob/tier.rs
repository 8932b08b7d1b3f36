//! Set Blob Tier, on the blob, a snapshot or a version. Rehydration needs no background work: the record says when it is over, and a
//! later read sees the new tier.

use lazuli_model::blob::{SetBlobTier, TierChange};

use crate::{BlobAt, Failure, Store};

impl Store {
    pub async fn set_blob_tier(&self, at: &BlobAt, set: SetBlobTier) -> Result<TierChange, Failure> {
        let takes = self.rehydration;
        let (_, how) = self.change_which(at, set.which, move |blob, now| set.decide(blob, takes, now)).await?;
        Ok(how)
    }
}
