//! Blobs: their record, and what each operation makes of it. One file per family of operations.
//!
//! Order of refusals: conditions, absent, lease, the blob's own state. One exception, observed on the service:
//! `If-None-Match: *` looks at the lease first, and the holder of the lease may overwrite in spite of it
//! (`permit_replacement`).

mod append;
mod blocks;
mod change;
mod copy;
mod encryption;
mod expiry;
mod history;
mod immutability;
mod incremental;
mod pages;
mod read;
mod record;
mod requests;
mod tier;
mod write;

pub use append::{AppendBlock, SealBlob};
pub use blocks::{BLOCKS_MAX, Pending, UNCOMMITTED_BLOCKS_MAX};
pub use change::Deletion;
pub use copy::{AbortCopyBlob, CopyBlob, CopySource, CopyTags, Ending, Family};
pub use encryption::{Asked as AskedEncryption, ContainerScope, permit_scope, permit_scope_read};
pub use expiry::{Expiry, SetBlobExpiry};
pub use history::{Fate, Keeping, Superseded};
pub use immutability::{DeleteImmutabilityPolicy, Protection, SetImmutabilityPolicy, SetLegalHold, permit_protection};
pub use incremental::IncrementalCopy;
pub use pages::{
    GetPageRanges, PAGE, PAGE_BLOB_MAX, Pages, PutPage, SEQUENCE_MAX, SequenceAction, SequenceConditions,
    SetPageProperties,
};
pub use record::{
    Blob, ContentHeaders, ContentRef, Copied, CopyStatus, Deleted, Encryption, Follows, Immutability, Kind, Premium,
    Priority, Rehydrating, Tier, Which,
};
pub use requests::*;
pub use tier::{Rehydration, SetBlobTier, TierChange, TierConditions};
pub(crate) use write::inherited_tier;

use crate::conditions::Seen;
use crate::lease::{self, On};
use crate::{Conditions, Lease, LeaseId, Refusal, Timestamp};

/// The conditions of an operation that needs a blob, then that it is there.
fn existing<'a>(current: Option<&'a Blob>, conditions: &Conditions) -> Result<&'a Blob, Refusal> {
    let blob = found(current, conditions)?;
    blob.permit_unfollowing()?;
    Ok(blob)
}

/// The same for what may be done to an incremental copy too.
fn found<'a>(current: Option<&'a Blob>, conditions: &Conditions) -> Result<&'a Blob, Refusal> {
    conditions.permit_write(current.map(seen))?;
    let blob = current.ok_or(Refusal::BlobNotFound)?;
    copy::permit_no_copy(blob)?;
    Ok(blob)
}

/// Whether a blob may be created, or replaced; and the lease that the new one keeps.
///
/// Observed, on Put Blob and Put Blob From URL with `If-None-Match: *` onto a leased blob: without an id 412
/// LeaseIdMissing, with the id of a lost lease 412 LeaseLost, with the right id 201. Without a lease, 409.
fn permit_replacement(
    conditions: &Conditions,
    id: Option<LeaseId>,
    may_overwrite: bool,
    current: Option<&Blob>,
    now: Timestamp,
) -> Result<Lease, Refusal> {
    let held = current.map_or(Lease::Available, |blob| blob.lease);
    let lease = lease::permit_write(held, id, now, On::Blob);
    match (conditions.permit_replace(current.map(seen)), id) {
        (Ok(()), _) | (Err(Refusal::BlobAlreadyExists), Some(_)) => {}
        (Err(Refusal::BlobAlreadyExists), None) => return lease.and(Err(Refusal::BlobAlreadyExists)),
        (Err(unmet), _) => return Err(unmet),
    }
    let lease = lease?;
    current.map_or(Ok(()), copy::permit_no_copy)?;
    current.map_or(Ok(()), Blob::permit_unfollowing)?;
    if current.is_some() && !may_overwrite { Err(Refusal::UnauthorizedBlobOverwrite) } else { Ok(lease) }
}

fn seen(blob: &Blob) -> Seen<'_> {
    Seen { etag: blob.etag, modified: blob.modified, tags: &blob.tags }
}

#[cfg(test)]
mod tests;
