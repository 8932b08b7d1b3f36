//! Put Blob: a whole blob in one piece.

use crate::blob::{Blob, ContentHeaders, ContentRef, Kind, PutBlob, Tier, permit_replacement, tier};
use crate::{Refusal, Timestamp};

impl PutBlob {
    /// The blob that replaces `current`, or why none may. What the old one had besides its lease, its tier and the time of its
    /// creation (observed) is gone. `md5` is the content's own; the client's, if it sent one, is kept instead.
    pub fn decide(
        &self,
        current: Option<&Blob>,
        content: ContentRef,
        md5: Option<[u8; 16]>,
        now: Timestamp,
    ) -> Result<Blob, Refusal> {
        self.decide_as(Kind::Block, current, content, md5, now)
    }

    /// The same for any kind.
    pub(super) fn decide_as(
        &self,
        kind: Kind,
        current: Option<&Blob>,
        content: ContentRef,
        md5: Option<[u8; 16]>,
        now: Timestamp,
    ) -> Result<Blob, Refusal> {
        self.tier.map_or(Ok(()), |tier| tier::permit(kind, tier, content.length))?;
        let lease = permit_replacement(&self.conditions, self.lease, self.may_overwrite, current, now)?;
        let tier = self.tier.or(inherited_tier(kind, current));
        Ok(Blob {
            created: current.map_or(now, |old| old.created),
            headers: ContentHeaders { md5: self.headers.md5.clone().or(md5.map(Vec::from)), ..self.headers.clone() },
            metadata: self.metadata.clone(),
            tags: self.tags.clone(),
            tier,
            tier_changed: tier.map(|_| now),
            lease,
            immutability: self.protection.policy,
            legal_hold: self.protection.legal_hold,
            encryption: self.encryption.clone(),
            ..Blob::new(kind, content, now)
        })
    }

    /// All that can be said before the content has arrived, so that a refused upload need not be stored.
    pub fn permit(&self, current: Option<&Blob>, now: Timestamp) -> Result<(), Refusal> {
        permit_replacement(&self.conditions, self.lease, self.may_overwrite, current, now).map(|_| ())
    }
}

/// Rule B31: a block blob that is put over another one, with no word of a tier, goes where that one was put ("Access tiers for blob data":
/// the newly created blob inherits the tier of the blob that was overwritten; and observed). What was in the archive, or on its way out,
/// hands nothing on: the new content is there to be read.
pub(crate) fn inherited_tier(kind: Kind, current: Option<&Blob>) -> Option<Tier> {
    let old = current.filter(|old| kind == Kind::Block && old.kind == Kind::Block && old.rehydrating.is_none())?;
    old.tier.filter(|tier| match tier {
        Tier::Hot | Tier::Cool | Tier::Cold | Tier::Smart => true,
        Tier::Archive | Tier::Premium(_) => false,
    })
}

/// The tier that a block blob is put into.
pub(super) fn permit_tier(tier: Option<Tier>, length: u64) -> Result<(), Refusal> {
    tier.map_or(Ok(()), |tier| tier::permit(Kind::Block, tier, length))
}
