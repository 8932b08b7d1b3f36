//! Get Blob Tags and Set Blob Tags. Tags change neither the ETag nor the date.

use lazuli_model::blob::{GetBlobTags, SetBlobTags};
use lazuli_model::lake::Right;
use lazuli_model::{Refusal, Tags};

use super::get_blob::{absent, stored};
use super::replace::change_at;
use crate::transact::now;
use crate::{BlobAt, Failure, Store};

impl Store {
    pub async fn blob_tags(&self, at: &BlobAt, get: GetBlobTags) -> Result<Tags, Failure> {
        let look = self.look_blob(at, |txn, keys| {
            let blob = stored(txn, keys, get.which)?;
            match get.decide(blob.as_ref(), now(txn)) {
                Ok(tags) => Ok(tags.clone()),
                Err(refusal) => absent(txn, keys, get.which, refusal),
            }
        });
        Ok(look.await?.1)
    }

    pub async fn set_blob_tags(&self, at: &BlobAt, set: SetBlobTags) -> Result<(), Failure> {
        self.announce_tags(&at.container_at(), &set.tags).await?;
        let address = self.address(at).await?;
        self.transact(address.written(), move |txn| {
            let keys = address.find(txn, Right::Write)?;
            let current = stored(txn, &keys, set.which)?;
            let new = set.decide(current.as_ref(), now(txn))?;
            change_at(txn, &keys, set.which, &current.ok_or(Refusal::BlobNotFound)?, &new);
            Ok(())
        })
        .await
    }
}
