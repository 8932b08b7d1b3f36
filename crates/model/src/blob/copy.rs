//! Copies: which source may be read, what the copy keeps of it, and what becomes of a copy that takes its time.
//!
//! Two families, which refuse in their own words (observed; "Copy Blob", "Put Blob From URL"):
//! * Copy Blob speaks of a source and a target: 412 SourceConditionNotMet, 412 TargetConditionNotMet; but tags that do not
//!   match are ConditionNotMet on either side;
//! * the others read their source as any client would, and pass its answer on (304, 404, 412…), while the target refuses as it
//!   does for Put Blob. What cannot be a tag of the service is the exception (rules B1 and B2): 412 TargetConditionNotMet, and
//!   SourceConditionNotMet except of what is written in place.

use crate::blob::{
    Blob, ContentHeaders, ContentRef, Copied, CopyStatus, Encryption, Kind, Protection, Tier, Which,
    permit_replacement, read::permit_read, seen,
};
use crate::conditions::Seen;
use crate::{Conditions, ETag, Lease, LeaseId, Metadata, Refusal, Tags, Timestamp};

/// Who reads a source, and so in which words it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Copy,
    /// Incremental Copy Blob.
    Incremental,
    /// Copy Blob From URL, Put Blob From URL and Put Block From URL.
    FromUrl,
    /// Append Block From URL and Put Page From URL.
    InPlace,
}

/// The source of a copy, as the store looks for it.
#[derive(Clone, Debug)]
pub struct CopySource {
    pub which: Which,
    pub conditions: Conditions,
    pub family: Family,
    /// The copy goes to an online tier, so that an archived source is brought back by it.
    pub rehydrates: bool,
    /// The SHA-256 of the key that the source is encrypted by, if it is the customer's own.
    pub key: Option<[u8; 32]>,
}

impl CopySource {
    pub fn decide<'a>(&self, current: Option<&'a Blob>, now: Timestamp) -> Result<&'a Blob, Refusal> {
        let blob = match self.family {
            Family::FromUrl if self.conditions.wants_foreign_tag() => return Err(Refusal::SourceConditionNotMet),
            Family::FromUrl | Family::InPlace => permit_read(current, &self.conditions, None, now)?,
            Family::Copy | Family::Incremental => {
                let blob = current.ok_or(Refusal::BlobNotFound)?;
                by_side(&self.conditions, Some(seen(blob)), Conditions::permit_source, Refusal::SourceConditionNotMet)?;
                blob
            }
        };
        blob.encryption.permit_read(self.key)?;
        blob.permit_unfollowing()?;
        if !self.rehydrates {
            blob.permit_unarchived()?;
        }
        Ok(blob)
    }
}

/// ETags and dates first, which have a refusal of their own; then all together.
fn by_side<'a>(
    conditions: &Conditions,
    seen: Option<Seen<'a>>,
    permit: impl Fn(&Conditions, Option<Seen<'a>>) -> Result<(), Refusal>,
    unmet: Refusal,
) -> Result<(), Refusal> {
    let without_tags = Conditions { if_tags: None, ..conditions.clone() };
    match permit(&without_tags, seen) {
        Err(Refusal::ConditionNotMet) => Err(unmet),
        Err(other) => Err(other),
        Ok(()) => permit(conditions, seen),
    }
}

/// The tags of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyTags {
    /// Those of the request; by default none.
    These(Tags),
    /// `x-ms-copy-source-tag-option: COPY`
    OfSource,
}

impl CopyTags {
    pub fn of(&self, source: &Blob) -> Tags {
        match self {
            CopyTags::These(tags) => tags.clone(),
            CopyTags::OfSource => source.tags.clone(),
        }
    }
}

/// Copy Blob and Copy Blob From URL.
#[derive(Clone, Debug)]
pub struct CopyBlob {
    pub id: u128,
    /// The source's address, without its signature.
    pub source: String,
    pub family: Family,
    /// In place of the source's, when there is any.
    pub metadata: Option<Metadata>,
    pub tags: CopyTags,
    pub tier: Option<Tier>,
    /// Whether an append blob is sealed; as the source is, when nobody says.
    pub seal: Option<bool>,
    pub protection: Protection,
    pub encryption: Encryption,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
    pub may_overwrite: bool,
}

impl CopyBlob {
    /// Whether a copy of a blob of this kind may take the place of `current`; and the lease that it keeps.
    pub fn permit(&self, current: Option<&Blob>, kind: Kind, now: Timestamp) -> Result<Lease, Refusal> {
        let lease = match self.family {
            Family::FromUrl | Family::InPlace => {
                permit_replacement(&self.conditions, self.lease, self.may_overwrite, current, now)
                    .map_err(|refusal| self.conditions.of_target(refusal))
            }
            Family::Copy | Family::Incremental => self.permit_target(current, now),
        }?;
        match current {
            Some(old) if !same_kind(old.kind, kind) => Err(Refusal::InvalidBlobType),
            Some(_) | None => Ok(lease),
        }
    }

    fn permit_target(&self, current: Option<&Blob>, now: Timestamp) -> Result<Lease, Refusal> {
        let held = current.map_or(Lease::Available, |blob| blob.lease).at(now);
        by_side(&self.conditions, current.map(seen), Conditions::permit_replace, Refusal::TargetConditionNotMet)
            .or_else(|unmet| match (unmet, self.lease) {
                // As for every replacement: the holder of the lease may overwrite in spite of `If-None-Match: *`.
                (Refusal::BlobAlreadyExists, Some(_)) => Ok(()),
                (unmet, _) => Err(unmet),
            })?;
        let free = Conditions::default();
        let lease = permit_replacement(&free, self.lease, self.may_overwrite, current, now)?;
        // The copy may outlast a lease that ends ("Copy Blob").
        match held {
            Lease::Leased { until: Some(_), .. } => Err(Refusal::InfiniteLeaseDurationRequired),
            Lease::Leased { until: None, .. }
            | Lease::Available
            | Lease::Breaking { .. }
            | Lease::Broken { .. }
            | Lease::Expired { .. } => Ok(lease),
        }
    }

    /// The copy of `source`, whole at once, with `content` its bytes.
    pub fn decide(
        &self,
        current: Option<&Blob>,
        source: &Blob,
        content: ContentRef,
        now: Timestamp,
    ) -> Result<Blob, Refusal> {
        let lease = self.permit(current, source.kind, now)?;
        let length = content.length;
        let copied = Copied {
            status: CopyStatus::Success,
            done: length,
            total: length,
            completed: Some(now),
            ..self.begun(length)
        };
        Ok(Blob {
            created: current.map_or(now, |old| old.created),
            headers: source.headers.clone(),
            metadata: self.metadata.clone().unwrap_or_else(|| source.metadata.clone()),
            tags: self.tags.of(source),
            tier: self.tier,
            tier_changed: self.tier.map(|_| now),
            lease,
            immutability: self.protection.policy,
            legal_hold: self.protection.legal_hold,
            encryption: self.encryption.clone(),
            copy: Some(copied),
            ..Blob::new(self.kind(source.kind), content, now)
        })
    }

    fn kind(&self, source: Kind) -> Kind {
        match source {
            Kind::Append { sealed } => Kind::Append { sealed: self.seal.unwrap_or(sealed) },
            Kind::Block | Kind::Page { .. } => source,
        }
    }

    fn begun(&self, total: u64) -> Copied {
        Copied {
            id: self.id,
            source: self.source.clone(),
            status: CopyStatus::Pending,
            done: 0,
            total,
            completed: None,
            description: None,
            incremental: false,
            snapshot: None,
            follows: None,
        }
    }

    /// The target while a copy from elsewhere is under way: without bytes, with the headers that its source sent.
    pub fn begin(
        &self,
        current: Option<&Blob>,
        headers: &ContentHeaders,
        metadata: &Metadata,
        total: u64,
        now: Timestamp,
    ) -> Result<Blob, Refusal> {
        let lease = self.permit(current, Kind::Block, now)?;
        Ok(Blob {
            created: current.map_or(now, |old| old.created),
            headers: headers.clone(),
            metadata: self.metadata.clone().unwrap_or_else(|| metadata.clone()),
            tags: match &self.tags {
                CopyTags::These(tags) => tags.clone(),
                CopyTags::OfSource => Tags::default(),
            },
            tier: self.tier,
            tier_changed: self.tier.map(|_| now),
            lease,
            immutability: self.protection.policy,
            legal_hold: self.protection.legal_hold,
            encryption: self.encryption.clone(),
            copy: Some(self.begun(total)),
            ..Blob::new(Kind::Block, ContentRef::EMPTY, now)
        })
    }
}

fn same_kind(one: Kind, other: Kind) -> bool {
    match (one, other) {
        (Kind::Block, Kind::Block)
        | (Kind::Page { .. }, Kind::Page { .. })
        | (Kind::Append { .. }, Kind::Append { .. }) => true,
        (Kind::Block | Kind::Page { .. } | Kind::Append { .. }, _) => false,
    }
}

/// How a copy that was under way ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Success(ContentRef),
    Failed(String),
}

impl Ending {
    /// The target, if the copy `id` is still the one under way.
    pub fn decide(&self, current: Option<&Blob>, id: u128, now: Timestamp) -> Option<Blob> {
        let blob = current?;
        let copy = blob.copy.as_ref().filter(|copy| copy.id == id && copy.status == CopyStatus::Pending)?;
        let ended =
            |status, done, description| Copied { status, done, description, completed: Some(now), ..copy.clone() };
        let (content, copy) = match self {
            Ending::Success(content) => {
                (content.clone(), Copied { total: content.length, ..ended(CopyStatus::Success, content.length, None) })
            }
            Ending::Failed(reason) => (blob.content.clone(), ended(CopyStatus::Failed, 0, Some(reason.clone()))),
        };
        Some(Blob { etag: ETag::of(now), modified: now, content, copy: Some(copy), ..blob.clone() })
    }
}

/// Abort Copy Blob.
#[derive(Clone, Copy, Debug)]
pub struct AbortCopyBlob {
    pub id: u128,
    pub lease: Option<LeaseId>,
}

impl AbortCopyBlob {
    /// The target, empty, with all else that it was given.
    pub fn decide(&self, current: Option<&Blob>, now: Timestamp) -> Result<Blob, Refusal> {
        let blob = current.ok_or(Refusal::BlobNotFound)?;
        let lease = crate::lease::permit_write(blob.lease, self.lease, now, crate::lease::On::Blob)?;
        let pending = blob.copy.as_ref().filter(|copy| copy.status == CopyStatus::Pending);
        let copy = pending.ok_or(Refusal::NoPendingCopyOperation)?;
        if copy.id != self.id {
            return Err(Refusal::CopyIdMismatch);
        }
        let copy = Copied { status: CopyStatus::Aborted, completed: Some(now), ..copy.clone() };
        Ok(Blob { etag: ETag::of(now), modified: now, lease, copy: Some(copy), ..blob.clone() })
    }
}

/// While a copy is under way, its target is not to be changed ("Copy Blob").
pub(super) fn permit_no_copy(blob: &Blob) -> Result<(), Refusal> {
    match &blob.copy {
        Some(copy) if copy.status == CopyStatus::Pending => Err(Refusal::PendingCopyOperation),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
