//! Incremental Copy Blob: a page blob that follows another, snapshot by snapshot ("Incremental Copy Blob").
//!
//! * The copy belongs to its source for good, and takes its snapshots in the order of their times.
//! * It is not read, nor written to in any other way; each copy leaves a snapshot of it, which is as any other.
//! * The restrictions of Get Page Ranges with a previous snapshot hold: the source must be the same content as before.

use crate::blob::copy::permit_no_copy;
use crate::blob::{Blob, ContentRef, Copied, CopyStatus, Encryption, Follows, Kind, seen};
use crate::{Conditions, Lease, Metadata, Refusal, Timestamp};

#[derive(Clone, Debug)]
pub struct IncrementalCopy {
    pub id: u128,
    /// The source's address, without its signature.
    pub source: String,
    /// In place of the source's, when there is any.
    pub metadata: Option<Metadata>,
    pub encryption: Encryption,
    pub conditions: Conditions,
    pub may_overwrite: bool,
}

impl IncrementalCopy {
    /// Whether `current` may follow to where `to` is, of which `source` is the snapshot. Gives how far it has come: the epoch of the
    /// source that it has already, if any.
    pub fn permit(&self, current: Option<&Blob>, source: &Blob, to: &Follows) -> Result<Option<u64>, Refusal> {
        let permitted = self.conditions.permit_replace(current.map(seen));
        permitted.map_err(|refusal| self.conditions.of_target(refusal))?;
        match source.kind {
            Kind::Page { .. } => {}
            Kind::Block | Kind::Append { .. } => return Err(Refusal::InvalidBlobType),
        }
        let Some(current) = current else { return Ok(None) };
        permit_no_copy(current)?;
        let before = current.follows().ok_or(Refusal::IncrementalCopyBlobMismatch)?;
        if (before.container, &before.blob) != (to.container, &to.blob) {
            return Err(Refusal::IncrementalCopyBlobMismatch);
        }
        if to.snapshot <= before.snapshot {
            return Err(Refusal::IncrementalCopyOfEarlierSnapshotNotAllowed);
        }
        if to.content != before.content {
            return Err(Refusal::BlobOverwritten);
        }
        if !self.may_overwrite {
            return Err(Refusal::UnauthorizedBlobOverwrite);
        }
        Ok(Some(before.epoch))
    }

    /// The copy when it has all of `source`, with `content` its bytes. A snapshot is taken of it at the same time.
    pub fn decide(
        &self,
        current: Option<&Blob>,
        source: &Blob,
        to: &Follows,
        content: ContentRef,
        now: Timestamp,
    ) -> Result<Blob, Refusal> {
        self.permit(current, source, to)?;
        let length = content.length;
        let copied = Copied {
            id: self.id,
            source: self.source.clone(),
            status: CopyStatus::Success,
            done: length,
            total: length,
            completed: Some(now),
            description: None,
            incremental: true,
            snapshot: Some(now),
            follows: Some(to.clone()),
        };
        Ok(Blob {
            created: current.map_or(now, |old| old.created),
            headers: source.headers.clone(),
            metadata: self.metadata.clone().unwrap_or_else(|| source.metadata.clone()),
            encryption: current.map_or_else(|| self.encryption.clone(), |old| old.encryption.clone()),
            copy: Some(copied),
            ..Blob::new(source.kind, content, now)
        })
    }
}

impl Blob {
    /// What it follows, if it is an incremental copy.
    pub fn follows(&self) -> Option<&Follows> {
        self.copy.as_ref().and_then(|copy| copy.follows.as_ref())
    }

    /// The snapshot that an incremental copy leaves: a page blob as any other.
    pub fn as_copied_snapshot(&self) -> Blob {
        let copy = self.copy.clone().map(|copy| Copied { follows: None, ..copy });
        Blob { lease: Lease::Available, version: None, copy, ..self.clone() }
    }

    /// An incremental copy can be asked for its properties, be deleted, and follow its source; nothing else.
    pub fn permit_unfollowing(&self) -> Result<(), Refusal> {
        match self.follows() {
            Some(_) => Err(Refusal::OperationNotAllowedOnIncrementalCopyBlob),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::{PutPage, ReadBlob, SnapshotBlob, Which, pages::Pages};

    fn at(ticks: u64) -> Timestamp {
        Timestamp::from_ticks(ticks)
    }

    fn copy() -> IncrementalCopy {
        IncrementalCopy {
            id: 1,
            source: "http://host/a/c/b?snapshot=5".into(),
            metadata: None,
            encryption: Encryption::Service,
            conditions: Conditions::default(),
            may_overwrite: true,
        }
    }

    fn to(blob: &str, content: u64, snapshot: u64) -> Follows {
        Follows { container: 1, blob: blob.into(), content, snapshot: at(snapshot), epoch: snapshot }
    }

    fn pages(content: u64) -> Blob {
        Blob::new(Kind::Page { sequence: 3 }, ContentRef::sparse(content, 1024), at(1))
    }

    #[test]
    fn who_may_follow_whom() {
        let source = pages(7);
        let mine = copy().decide(None, &source, &to("b", 7, 5), ContentRef::sparse(9, 1024), at(50)).unwrap();
        let other = pages(8);
        let block = Blob::new(Kind::Block, ContentRef::EMPTY, at(1));
        let mismatch = Err(Refusal::IncrementalCopyBlobMismatch);
        let earlier = Err(Refusal::IncrementalCopyOfEarlierSnapshotNotAllowed);
        let table = [
            (None, &source, to("b", 7, 5), Ok(None)),
            (None, &block, to("b", 7, 5), Err(Refusal::InvalidBlobType)),
            (Some(&mine), &source, to("b", 7, 6), Ok(Some(5))),
            (Some(&mine), &source, to("b", 7, 5), earlier.clone()),
            (Some(&mine), &source, to("b", 7, 4), earlier),
            (Some(&mine), &source, to("other", 7, 6), mismatch.clone()),
            (Some(&mine), &source, to("b", 8, 6), Err(Refusal::BlobOverwritten)),
            (Some(&other), &source, to("b", 7, 6), mismatch),
        ];
        for (current, source, to, expected) in table {
            assert_eq!(copy().permit(current, source, &to), expected, "{to:?}");
        }
        let created = IncrementalCopy { may_overwrite: false, ..copy() };
        assert_eq!(created.permit(None, &source, &to("b", 7, 5)), Ok(None));
        let refused = created.permit(Some(&mine), &source, &to("b", 7, 6));
        assert_eq!(refused, Err(Refusal::UnauthorizedBlobOverwrite));
    }

    /// Rule B3, and B1.
    #[test]
    fn b3_the_target_is_not_blamed_by_name() {
        use crate::conditions::Match;
        let source = pages(7);
        let mine = copy().decide(None, &source, &to("b", 7, 5), ContentRef::sparse(9, 1024), at(50)).unwrap();
        let own = Match::parse(&mine.etag.to_string());
        let none = Conditions::default;
        let table = [
            (Conditions { if_match: Some(own.clone()), ..none() }, None),
            (Conditions { if_none_match: Some(own), ..none() }, Some(Refusal::ConditionNotMet)),
            (Conditions { if_modified_since: Some(at(10_000_000_000)), ..none() }, Some(Refusal::ConditionNotMet)),
            (Conditions { if_match: Some(Match::parse("0x1")), ..none() }, Some(Refusal::ConditionNotMet)),
            (Conditions { if_match: Some(Match::parse("garbage")), ..none() }, Some(Refusal::TargetConditionNotMet)),
        ];
        for (conditions, refusal) in table {
            let copy = IncrementalCopy { conditions: conditions.clone(), ..copy() };
            assert_eq!(copy.permit(Some(&mine), &source, &to("b", 7, 6)).err(), refusal, "{conditions:?}");
        }
    }

    #[test]
    fn an_incremental_copy_is_not_read_nor_written_and_its_snapshots_are() {
        let blob = copy().decide(None, &pages(7), &to("b", 7, 5), ContentRef::sparse(9, 1024), at(50)).unwrap();
        let refused = Some(Refusal::OperationNotAllowedOnIncrementalCopyBlob);
        let read = ReadBlob::default();
        assert!(read.decide(Some(&blob), at(60)).is_ok(), "its properties are to be had");
        assert_eq!(read.decide_content(Some(&blob), at(60)).err(), refused);
        let put = PutPage {
            pages: Pages { from: 0, to: 512 },
            sequence: Default::default(),
            encryption: Encryption::Service,
            conditions: Conditions::default(),
            lease: None,
        };
        assert_eq!(put.decide(Some(&blob), at(60)).err(), refused);
        let snapshot = SnapshotBlob {
            metadata: None,
            encryption: Encryption::Service,
            conditions: Conditions::default(),
            lease: None,
        };
        assert_eq!(snapshot.decide(Some(&blob), at(60)).err(), refused);
        let copied = blob.as_copied_snapshot();
        let read = ReadBlob { which: Which::Snapshot(at(50)), ..ReadBlob::default() };
        assert!(read.decide_content(Some(&copied), at(60)).is_ok());
        let shown = copied.copy.unwrap();
        assert_eq!((shown.incremental, shown.snapshot, shown.follows), (true, Some(at(50)), None));
    }
}
