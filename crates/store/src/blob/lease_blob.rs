//! Lease Blob: acquire, renew, change, release, break. The record changes; its ETag and date do not.

use lazuli_model::blob::{Blob, LeaseBlob};
use lazuli_model::lease;

use crate::{BlobAt, Failure, Store};

impl Store {
    pub async fn lease_blob(&self, at: &BlobAt, lease: LeaseBlob) -> Result<(Blob, lease::Outcome), Failure> {
        self.change_blob(at, move |blob, now| lease.decide(blob, now)).await
    }
}
