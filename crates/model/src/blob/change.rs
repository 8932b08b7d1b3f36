//! Changes to a blob that is there: its properties, metadata, tags, lease, snapshots, and its end.

use crate::blob::{
    Blob, ContentRef, DeleteBlob, DeleteSnapshots, Keeping, Kind, LeaseBlob, SetBlobMetadata, SetBlobProperties,
    SetBlobTags, SnapshotBlob, Which, existing, found,
};
use crate::lease::{self, On, Outcome};
use crate::{ETag, Lease, Refusal, Timestamp};

impl SetBlobProperties {
    /// The headers are replaced together: one that was not sent is cleared.
    pub fn decide(&self, current: Option<&Blob>, now: Timestamp) -> Result<Blob, Refusal> {
        let blob = existing(current, &self.conditions)?;
        let lease = lease::permit_write(blob.lease, self.lease, now, On::Blob)?;
        blob.permit_mutable(now)?;
        blob.permit_unarchived()?;
        // What was copied is the client's own by now ("Get Blob").
        let copy = None;
        Ok(Blob { etag: ETag::of(now), modified: now, headers: self.headers.clone(), lease, copy, ..blob.clone() })
    }
}

impl SetBlobMetadata {
    pub fn decide(&self, current: Option<&Blob>, now: Timestamp) -> Result<Blob, Refusal> {
        let blob = existing(current, &self.conditions)?;
        let lease = lease::permit_write(blob.lease, self.lease, now, On::Blob)?;
        blob.encryption.permit_write(&self.encryption)?;
        blob.permit_mutable(now)?;
        blob.permit_unarchived()?;
        // A new version, of which nothing has come yet.
        let replication = None;
        let metadata = self.metadata.clone();
        Ok(Blob { etag: ETag::of(now), modified: now, metadata, lease, replication, ..blob.clone() })
    }
}

impl SetBlobTags {
    /// Tags are beside the blob: its ETag and date stay, and so does an expired lease, since nothing that the lease
    /// protects was written. A held lease asks for its id all the same (observed). An incremental copy can have tags (rule B3).
    pub fn decide(&self, current: Option<&Blob>, now: Timestamp) -> Result<Blob, Refusal> {
        let blob = found(current, &self.conditions)?;
        lease::permit_write(blob.lease, self.lease, now, On::Blob)?;
        Ok(Blob { tags: self.tags.clone(), ..blob.clone() })
    }
}

/// What a deletion takes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// The one snapshot that was named.
    Snapshot,
    /// The one version that was named.
    Version,
    /// The blob, which has no snapshots.
    Base,
    BaseAndSnapshots,
    SnapshotsOnly,
}

impl DeleteBlob {
    /// `current` is the snapshot when one was named, and `has_snapshots` is about the base blob.
    pub fn decide(&self, current: Option<&Blob>, has_snapshots: bool, now: Timestamp) -> Result<Deletion, Refusal> {
        if let (Which::Snapshot(_) | Which::Version(_), Some(_)) = (self.which, self.snapshots) {
            return Err(Refusal::SnapshotsOfSnapshot { which: self.which });
        }
        let blob = found(current, &self.conditions)?;
        self.tier.permit(blob)?;
        // A snapshot has no lease, and the lease of its base does not guard it.
        lease::permit_write(blob.lease, self.lease, now, On::Blob)?;
        blob.permit_mutable(now)?;
        match (self.which, self.snapshots) {
            (Which::Snapshot(_), _) => Ok(Deletion::Snapshot),
            (Which::Version(_), _) if !blob.previous => Err(Refusal::OperationNotAllowedOnRootBlob),
            (Which::Version(_), _) => Ok(Deletion::Version),
            (Which::Current, Some(DeleteSnapshots::Include)) => Ok(Deletion::BaseAndSnapshots),
            (Which::Current, Some(DeleteSnapshots::Only)) => Ok(Deletion::SnapshotsOnly),
            (Which::Current, None) if has_snapshots => Err(Refusal::SnapshotsPresent),
            (Which::Current, None) => Ok(Deletion::Base),
        }
    }
}

impl DeleteBlob {
    /// Rule B9: whether a name that has only uncommitted blocks, and `lease`, may be given up. It has no snapshots, and no other versions.
    pub fn permit_uncommitted(&self, lease: Lease, now: Timestamp) -> Result<(), Refusal> {
        self.conditions.permit_write(None)?;
        match (self.which, self.snapshots) {
            (Which::Current, None | Some(DeleteSnapshots::Include)) => {
                lease::permit_write(lease, self.lease, now, On::Blob).map(|_| ())
            }
            (Which::Current, Some(DeleteSnapshots::Only)) | (Which::Snapshot(_) | Which::Version(_), _) => {
                Err(Refusal::BlobNotFound)
            }
        }
    }

    /// For good: `deleted` is what was deleted softly of what was named, and `live` what was not.
    pub fn decide_permanent(
        &self,
        keeping: &Keeping,
        live: Option<&Blob>,
        deleted: Option<&Blob>,
    ) -> Result<(), Refusal> {
        match (self.which, live, deleted) {
            (Which::Version(_), Some(blob), _) if !blob.previous => Err(Refusal::OperationNotAllowedOnRootBlob),
            (Which::Current, _, _) | (_, Some(_), _) => keeping.permit_purge(false),
            (Which::Snapshot(_) | Which::Version(_), None, deleted) => {
                found(deleted, &self.conditions)?;
                keeping.permit_purge(true)
            }
        }
    }
}

impl SnapshotBlob {
    /// The snapshot: the blob without its lease. Given metadata of its own, it has an ETag and a date of its own too
    /// ("Snapshot Blob"); otherwise it repeats the base blob's.
    pub fn decide(&self, current: Option<&Blob>, now: Timestamp) -> Result<Blob, Refusal> {
        let blob = existing(current, &self.conditions)?;
        lease::permit_read(blob.lease, self.lease, now, On::Blob)?;
        blob.encryption.permit_write(&self.encryption)?;
        blob.permit_unarchived()?;
        // What protects the blob does not protect its snapshot, and its life does not end with the blob's.
        let copy = Blob {
            lease: Lease::Available,
            version: None,
            immutability: None,
            legal_hold: None,
            expires: None,
            replication: None,
            ..blob.clone()
        };
        Ok(match &self.metadata {
            None => copy,
            Some(metadata) => Blob { etag: ETag::of(now), modified: now, metadata: metadata.clone(), ..copy },
        })
    }
}

impl LeaseBlob {
    /// A lease changes neither the ETag nor the date.
    pub fn decide(&self, current: Option<&Blob>, now: Timestamp) -> Result<(Blob, Outcome), Refusal> {
        let blob = existing(current, &self.conditions)?;
        let outcome = lease::act(blob.lease, self.action, now)?;
        Ok((Blob { lease: outcome.lease, ..blob.clone() }, outcome))
    }

    /// Rule B8: a name that has only uncommitted blocks, and `lease`, can be leased. What is answered of it has the tag and the date of the
    /// beginning of Windows' time.
    pub fn decide_uncommitted(&self, lease: Lease, now: Timestamp) -> Result<(Blob, Outcome), Refusal> {
        self.conditions.permit_write(None)?;
        let outcome = lease::act(lease, self.action, now)?;
        let shell = Blob::new(Kind::Block, ContentRef::EMPTY, Timestamp::WINDOWS_EPOCH);
        Ok((Blob { lease: outcome.lease, ..shell }, outcome))
    }
}
