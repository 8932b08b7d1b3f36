//! Put Blob: a whole blob in one piece.

use crate::blob::{Blob, ContentHeaders, ContentRef, Kind, PutBlob, Tier, permit_replacement, tier};
use crate::{Refusal, Timestamp};

impl PutBlob {
    /// The blob that replaces `current`, or why none may. What the old one had besides its lease and the time of its
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
        Ok(Blob {
            created: current.map_or(now, |old| old.created),
            headers: ContentHeaders { md5: self.headers.md5.clone().or(md5.map(Vec::from)), ..self.headers.clone() },
            metadata: self.metadata.clone(),
            tags: self.tags.clone(),
            tier: self.tier,
            tier_changed: self.tier.map(|_| now),
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

/// The tier that a block blob is put into.
pub(super) fn permit_tier(tier: Option<Tier>, length: u64) -> Result<(), Refusal> {
    tier.map_or(Ok(()), |tier| tier::permit(Kind::Block, tier, length))
}
