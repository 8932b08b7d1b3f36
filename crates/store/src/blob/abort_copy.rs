//! Abort Copy Blob: the target stays, empty, and says that it was aborted.

use lazuli_model::Refusal;
use lazuli_model::blob::{AbortCopyBlob, Blob};
use lazuli_model::lake::Right;

use super::base_to_write;
use super::replace::change;
use crate::transact::now;
use crate::{BlobAt, Failure, Store};

impl Store {
    pub async fn abort_copy(&self, at: &BlobAt, abort: AbortCopyBlob) -> Result<Blob, Failure> {
        let address = self.address(at).await?;
        self.transact(address.partition(), move |txn| {
            let keys = address.find(txn, Right::Write)?;
            let old = base_to_write(txn, &keys)?.ok_or(Refusal::BlobNotFound)?;
            let blob = abort.decide(Some(&old), now(txn))?;
            change(txn, &keys, &old, &blob);
            txn.delete(keys.long_copy());
            Ok(blob)
        })
        .await
    }
}
