//! Reads: of properties, content and tags. `current` is the blob, or the snapshot that was asked for.

use crate::blob::{Blob, GetBlobTags, ReadBlob, seen};
use crate::lease::{self, On};
use crate::{Conditions, LeaseId, Refusal, Tags, Timestamp};

impl ReadBlob {
    /// For properties and metadata.
    pub fn decide<'a>(&self, current: Option<&'a Blob>, now: Timestamp) -> Result<&'a Blob, Refusal> {
        let blob = permit_read(current, &self.conditions, self.lease, now)?;
        blob.encryption.permit_read(self.key)?;
        Ok(blob)
    }

    /// For content: an archived blob has none to give until it is brought back.
    pub fn decide_content<'a>(&self, current: Option<&'a Blob>, now: Timestamp) -> Result<&'a Blob, Refusal> {
        let blob = self.decide(current, now)?;
        blob.permit_unfollowing()?;
        blob.permit_unarchived()?;
        Ok(blob)
    }
}

impl GetBlobTags {
    pub fn decide<'a>(&self, current: Option<&'a Blob>, now: Timestamp) -> Result<&'a Tags, Refusal> {
        permit_read(current, &self.conditions, self.lease, now).map(|blob| &blob.tags)
    }
}

pub(super) fn permit_read<'a>(
    current: Option<&'a Blob>,
    conditions: &Conditions,
    id: Option<LeaseId>,
    now: Timestamp,
) -> Result<&'a Blob, Refusal> {
    conditions.permit_read(current.map(seen))?;
    let blob = current.ok_or(Refusal::BlobNotFound)?;
    lease::permit_read(blob.lease, id, now, On::Blob)?;
    Ok(blob)
}
