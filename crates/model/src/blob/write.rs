//! Put Blob: a whole blob in one piece.

use crate::blob::{Blob, ContentHeaders, ContentRef, Kind, PutBlob, permit_replacement};
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
        let lease = permit_replacement(&self.conditions, self.lease, self.may_overwrite, current, now)?;
        Ok(Blob {
            created: current.map_or(now, |old| old.created),
            headers: ContentHeaders { md5: self.headers.md5.clone().or(md5.map(Vec::from)), ..self.headers.clone() },
            metadata: self.metadata.clone(),
            tags: self.tags.clone(),
            tier: self.tier,
            tier_changed: self.tier.map(|_| now),
            lease,
            ..Blob::new(Kind::Block, content, now)
        })
    }

    /// All that can be said before the content has arrived, so that a refused upload need not be stored.
    pub fn permit(&self, current: Option<&Blob>, now: Timestamp) -> Result<(), Refusal> {
        permit_replacement(&self.conditions, self.lease, self.may_overwrite, current, now).map(|_| ())
    }
}
