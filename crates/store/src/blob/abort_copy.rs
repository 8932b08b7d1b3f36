//! Abort Copy Blob: the target stays, empty, and says that it was aborted.

use lazuli_model::Refusal;
use lazuli_model::blob::{AbortCopyBlob, Blob};

use super::base;
use super::replace::change;
use crate::transact::now;
use crate::{BlobAt, Failure, Store};

impl Store {
    pub async fn abort_copy(&self, at: &BlobAt, abort: AbortCopyBlob) -> Result<Blob, Failure> {
        let keys = self.blob_keys(at).await?;
        self.transact(keys.partition(), move |txn| {
            let old = base(txn, &keys)?.ok_or(Refusal::BlobNotFound)?;
            let blob = abort.decide(Some(&old), now(txn))?;
            change(txn, &keys, &old, &blob);
            txn.delete(keys.long_copy());
            Ok(blob)
        })
        .await
    }
}
