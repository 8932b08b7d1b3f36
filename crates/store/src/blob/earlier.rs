//! Records of blobs as earlier versions wrote them.

use lazuli_model::blob::{
    Blob, ContentHeaders, ContentRef, Copied, Deleted, Encryption, Immutability, Kind, Rehydrating, Tier,
};
use lazuli_model::{ETag, Lease, Metadata, Tags, Timestamp};
use serde::{Deserialize, Serialize};

/// [`Blob`] in its first version: nothing was replicated.
#[derive(Serialize, Deserialize)]
pub struct FirstBlob {
    kind: Kind,
    etag: ETag,
    modified: Timestamp,
    created: Timestamp,
    content: ContentRef,
    headers: ContentHeaders,
    metadata: Metadata,
    tags: Tags,
    tier: Option<Tier>,
    tier_changed: Option<Timestamp>,
    lease: Lease,
    version: Option<Timestamp>,
    previous: bool,
    deleted: Option<Deleted>,
    rehydrating: Option<Rehydrating>,
    copy: Option<Copied>,
    immutability: Option<Immutability>,
    legal_hold: Option<bool>,
    expires: Option<Timestamp>,
    encryption: Encryption,
    accessed: Option<Timestamp>,
}

impl From<FirstBlob> for Blob {
    fn from(before: FirstBlob) -> Self {
        let FirstBlob {
            kind,
            etag,
            modified,
            created,
            content,
            headers,
            metadata,
            tags,
            tier,
            tier_changed,
            lease,
            version,
            previous,
            deleted,
            rehydrating,
            copy,
            immutability,
            legal_hold,
            expires,
            encryption,
            accessed,
        } = before;
        Self {
            kind,
            etag,
            modified,
            created,
            content,
            headers,
            metadata,
            tags,
            tier,
            tier_changed,
            lease,
            version,
            previous,
            deleted,
            rehydrating,
            copy,
            immutability,
            legal_hold,
            expires,
            encryption,
            accessed,
            replication: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{decode, encode};

    #[test]
    fn blobs_of_the_first_version_are_read() {
        let now = Timestamp::from_ticks(638_000_000_000_000_000);
        let blob =
            Blob { tier: Some(Tier::Cool), version: Some(now), ..Blob::new(Kind::Block, ContentRef::EMPTY, now) };
        let Blob { kind, etag, modified, created, content, headers, metadata, tags, tier, tier_changed, .. } =
            blob.clone();
        let Blob { lease, version, previous, deleted, rehydrating, copy, immutability, legal_hold, .. } = blob.clone();
        let Blob { expires, encryption, accessed, .. } = blob.clone();
        let first = FirstBlob {
            kind,
            etag,
            modified,
            created,
            content,
            headers,
            metadata,
            tags,
            tier,
            tier_changed,
            lease,
            version,
            previous,
            deleted,
            rehydrating,
            copy,
            immutability,
            legal_hold,
            expires,
            encryption,
            accessed,
        };
        let bytes = encode(&first);
        assert_eq!(bytes[0], 1);
        assert_eq!(decode::<Blob>(&bytes), Ok(blob));
    }
}
