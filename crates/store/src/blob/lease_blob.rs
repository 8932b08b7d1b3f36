//! Lease Blob: acquire, renew, change, release, break. The record changes; its ETag and date do not. A name that has only uncommitted blocks
//! keeps its lease beside them.

use lazuli_model::blob::{Blob, LeaseBlob};
use lazuli_model::lake::Right;
use lazuli_model::{Lease, LeaseId, Refusal, Timestamp, lease};

use super::{base_to_write, replace};
use crate::records::{Pending, encode};
use crate::transact::{get, now};
use crate::witness::{Found, holder, saw};
use crate::{BlobAt, Failure, Store};

impl Store {
    /// Lets the lease of a blob expire now, as if its time were over, and says which it was and when. For rehearsals: nobody can ask for this.
    pub async fn expire_blob_lease(&self, at: &BlobAt) -> Result<Option<(LeaseId, Timestamp)>, Failure> {
        let address = self.address(at).await?;
        self.transact(address.partition(), move |txn| {
            let keys = address.find(txn, Right::Write)?;
            let Some(current) = base_to_write(txn, &keys)? else { return Err(Refusal::BlobNotFound.into()) };
            let Lease::Leased { id, length, .. } = current.lease.at(now(txn)) else { return Ok(None) };
            let expired = Blob { lease: Lease::Expired { id, length }, ..current.clone() };
            replace::change(txn, &keys, &current, &expired);
            Ok(Some((id, now(txn))))
        })
        .await
    }

    pub async fn lease_blob(&self, at: &BlobAt, lease: LeaseBlob) -> Result<(Blob, lease::Outcome), Failure> {
        let address = self.address(at).await?;
        self.transact(address.partition(), move |txn| {
            let keys = address.find(txn, Right::Write)?;
            let current = base_to_write(txn, &keys)?;
            let pending = if current.is_none() { get::<Pending>(txn, &keys.pending())? } else { None };
            if let Some(pending) = pending {
                saw(Found::Entry(holder(pending.lease, now(txn))));
                let (blob, outcome) = lease.decide_uncommitted(pending.lease, now(txn))?;
                txn.put(keys.pending(), encode(&Pending { lease: outcome.lease, ..pending }));
                return Ok((blob, outcome));
            }
            let (blob, outcome) = lease.decide(current.as_ref(), now(txn))?;
            replace::change(txn, &keys, &current.ok_or(Refusal::BlobNotFound)?, &blob);
            Ok((blob, outcome))
        })
        .await
    }
}
