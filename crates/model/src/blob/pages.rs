//! Page blobs: a length set beforehand, written in pages of 512 bytes, with a sequence number that clients make of what they like.
//!
//! Order of refusals: conditions, absent, lease, the kind, the sequence number, then the range.

use crate::blob::copy::permit_no_copy;
use crate::blob::read::permit_read;
use crate::blob::{Blob, ContentHeaders, ContentRef, Encryption, Kind, PutBlob, Which, existing};
use crate::lease::{self, On};
use crate::{Conditions, ETag, LeaseId, Refusal, Timestamp};

pub const PAGE: u64 = 512;
/// 8 TiB ("Put Blob").
pub const PAGE_BLOB_MAX: u64 = 8 << 40;
/// The greatest sequence number.
pub const SEQUENCE_MAX: u64 = i64::MAX as u64;

/// `from..to`, both on the border of a page, and not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pages {
    pub from: u64,
    pub to: u64,
}

impl Pages {
    /// From a range with both ends included, as HTTP says it.
    pub fn new(first: u64, last: u64) -> Result<Self, Refusal> {
        match last.checked_add(1) {
            Some(to) if first < to && first.is_multiple_of(PAGE) && to.is_multiple_of(PAGE) => {
                Ok(Self { from: first, to })
            }
            Some(_) | None => Err(Refusal::InvalidPageRange),
        }
    }

    pub fn length(self) -> u64 {
        self.to - self.from
    }
}

/// `x-ms-if-sequence-number-*`: how the blob's number compares with the one sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceConditions {
    pub at_most: Option<u64>,
    pub less_than: Option<u64>,
    pub equal: Option<u64>,
}

impl SequenceConditions {
    fn permit(&self, sequence: u64) -> Result<(), Refusal> {
        let met = self.at_most.is_none_or(|most| sequence <= most)
            && self.less_than.is_none_or(|end| sequence < end)
            && self.equal.is_none_or(|number| sequence == number);
        if met { Ok(()) } else { Err(Refusal::SequenceNumberConditionNotMet) }
    }
}

/// What becomes of the sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceAction {
    /// The greater of the two.
    Max(u64),
    Update(u64),
    Increment,
}

impl SequenceAction {
    fn apply(self, sequence: u64) -> Result<u64, Refusal> {
        match self {
            SequenceAction::Max(number) => Ok(sequence.max(number)),
            SequenceAction::Update(number) => Ok(number),
            SequenceAction::Increment if sequence >= SEQUENCE_MAX => Err(Refusal::SequenceNumberIncrementTooLarge),
            SequenceAction::Increment => Ok(sequence + 1),
        }
    }
}

/// Put Page, whether it writes, clears, or takes its bytes from elsewhere.
#[derive(Clone, Debug)]
pub struct PutPage {
    pub pages: Pages,
    pub sequence: SequenceConditions,
    pub encryption: Encryption,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

impl PutPage {
    /// The record after the write. Only its ETag, its date and perhaps its lease differ.
    pub fn decide(&self, current: Option<&Blob>, now: Timestamp) -> Result<Blob, Refusal> {
        let blob = existing(current, &self.conditions)?;
        let lease = lease::permit_write(blob.lease, self.lease, now, On::Blob)?;
        let sequence = sequence_of(blob)?;
        blob.encryption.permit_write(&self.encryption)?;
        blob.permit_mutable(now)?;
        permit_no_copy(blob)?;
        self.sequence.permit(sequence)?;
        if self.pages.to > blob.content.length {
            return Err(Refusal::InvalidPageRange);
        }
        Ok(Blob { etag: ETag::of(now), modified: now, lease, ..blob.clone() })
    }
}

/// Set Blob Properties of a page blob: its length, its number, or both; and its headers, if any of them was sent.
#[derive(Clone, Debug)]
pub struct SetPageProperties {
    pub length: Option<u64>,
    pub sequence: Option<SequenceAction>,
    pub headers: Option<ContentHeaders>,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

impl SetPageProperties {
    pub fn decide(&self, current: Option<&Blob>, now: Timestamp) -> Result<Blob, Refusal> {
        let blob = existing(current, &self.conditions)?;
        let lease = lease::permit_write(blob.lease, self.lease, now, On::Blob)?;
        let sequence = sequence_of(blob)?;
        blob.permit_mutable(now)?;
        permit_no_copy(blob)?;
        let sequence = self.sequence.map_or(Ok(sequence), |action| action.apply(sequence))?;
        let length = self.length.unwrap_or(blob.content.length);
        Ok(Blob {
            kind: Kind::Page { sequence },
            etag: ETag::of(now),
            modified: now,
            content: ContentRef { length, ..blob.content.clone() },
            headers: self.headers.clone().unwrap_or_else(|| blob.headers.clone()),
            lease,
            ..blob.clone()
        })
    }
}

/// Get Page Ranges, and how they differ from those of an earlier snapshot.
#[derive(Clone, Debug)]
pub struct GetPageRanges {
    pub which: Which,
    pub since: Option<Timestamp>,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

impl GetPageRanges {
    /// `before` is the earlier snapshot, if one was named.
    pub fn decide<'a>(
        &self,
        current: Option<&'a Blob>,
        before: Option<&Blob>,
        now: Timestamp,
    ) -> Result<&'a Blob, Refusal> {
        let blob = permit_read(current, &self.conditions, self.lease, now)?;
        blob.permit_unfollowing()?;
        sequence_of(blob)?;
        let Some(since) = self.since else { return Ok(blob) };
        match self.which {
            Which::Snapshot(time) | Which::Version(time) if time < since => {
                return Err(Refusal::PreviousSnapshotCannotBeNewer);
            }
            Which::Snapshot(_) | Which::Version(_) | Which::Current => {}
        }
        let before = before.ok_or(Refusal::PreviousSnapshotNotFound)?;
        if before.content.id == blob.content.id { Ok(blob) } else { Err(Refusal::BlobOverwritten) }
    }
}

impl PutBlob {
    /// A page blob of `length` bytes, all of them zero.
    pub fn decide_pages(
        &self,
        current: Option<&Blob>,
        id: u64,
        length: u64,
        sequence: u64,
        now: Timestamp,
    ) -> Result<Blob, Refusal> {
        self.decide_as(Kind::Page { sequence }, current, ContentRef::sparse(id, length), None, now)
    }
}

fn sequence_of(blob: &Blob) -> Result<u64, Refusal> {
    match blob.kind {
        Kind::Page { sequence } => Ok(sequence),
        Kind::Block | Kind::Append { .. } => Err(Refusal::InvalidBlobType),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metadata;

    fn at(ticks: u64) -> Timestamp {
        Timestamp::from_ticks(ticks)
    }

    fn pages(sequence: u64, length: u64) -> Blob {
        Blob::new(Kind::Page { sequence }, ContentRef::sparse(7, length), at(1))
    }

    fn put(first: u64, last: u64) -> Result<PutPage, Refusal> {
        Ok(PutPage {
            pages: Pages::new(first, last)?,
            sequence: SequenceConditions::default(),
            encryption: Encryption::Service,
            conditions: Conditions::default(),
            lease: None,
        })
    }

    #[test]
    fn ranges_are_whole_pages_within_the_blob() {
        let blob = pages(0, 2048);
        let cases = [
            (0, 511, true),
            (512, 2047, true),
            (0, 2047, true),
            (0, 510, false),
            (1, 512, false),
            (512, 511, false),
            (2048, 2559, false),
            (0, u64::MAX, false),
        ];
        for (first, last, is_fine) in cases {
            let got = put(first, last).and_then(|put| put.decide(Some(&blob), at(2)));
            let want = if is_fine { Ok(at(2)) } else { Err(Refusal::InvalidPageRange) };
            assert_eq!(got.map(|blob| blob.modified), want, "{first}-{last}");
        }
    }

    /// "Put Page": each header compares the blob's number with the one sent.
    #[test]
    fn sequence_numbers_are_compared() {
        let blob = pages(5, 512);
        let none = SequenceConditions::default();
        let cases = [
            (none, true),
            (SequenceConditions { at_most: Some(5), ..none }, true),
            (SequenceConditions { at_most: Some(4), ..none }, false),
            (SequenceConditions { less_than: Some(6), ..none }, true),
            (SequenceConditions { less_than: Some(5), ..none }, false),
            (SequenceConditions { equal: Some(5), ..none }, true),
            (SequenceConditions { equal: Some(6), ..none }, false),
            (SequenceConditions { equal: Some(5), at_most: Some(4), ..none }, false),
        ];
        for (sequence, is_met) in cases {
            let put = PutPage { sequence, ..put(0, 511).unwrap() };
            let want = if is_met { Ok(()) } else { Err(Refusal::SequenceNumberConditionNotMet) };
            assert_eq!(put.decide(Some(&blob), at(2)).map(drop), want, "{sequence:?}");
        }
    }

    #[test]
    fn the_number_and_the_length_change_and_all_else_stays() {
        let blob = Blob { metadata: Metadata::new(vec![("k".into(), "v".into())]).unwrap(), ..pages(5, 512) };
        let most = SEQUENCE_MAX;
        let cases = [
            (5, SequenceAction::Max(7), Ok(7)),
            (5, SequenceAction::Max(3), Ok(5)),
            (5, SequenceAction::Update(3), Ok(3)),
            (5, SequenceAction::Increment, Ok(6)),
            (most, SequenceAction::Increment, Err(Refusal::SequenceNumberIncrementTooLarge)),
        ];
        for (before, action, want) in cases {
            let blob = Blob { kind: Kind::Page { sequence: before }, ..blob.clone() };
            let set = SetPageProperties {
                length: Some(1024),
                sequence: Some(action),
                headers: None,
                conditions: Conditions::default(),
                lease: None,
            };
            let got = set.decide(Some(&blob), at(2));
            let want = want.map(|sequence| Blob {
                kind: Kind::Page { sequence },
                content: ContentRef { length: 1024, ..blob.content.clone() },
                etag: ETag::of(at(2)),
                modified: at(2),
                ..blob.clone()
            });
            assert_eq!(got, want, "{action:?}");
        }
    }

    #[test]
    fn other_kinds_have_no_pages() {
        for kind in [Kind::Block, Kind::Append { sealed: false }] {
            let blob = Blob { kind, ..pages(0, 512) };
            let get =
                GetPageRanges { which: Which::Current, since: None, conditions: Conditions::default(), lease: None };
            assert_eq!(put(0, 511).unwrap().decide(Some(&blob), at(2)), Err(Refusal::InvalidBlobType));
            assert_eq!(get.decide(Some(&blob), None, at(2)), Err(Refusal::InvalidBlobType));
        }
    }

    #[test]
    fn a_difference_is_from_an_earlier_snapshot_of_the_same_content() {
        let (blob, other) = (pages(0, 512), Blob::new(Kind::Page { sequence: 0 }, ContentRef::sparse(8, 512), at(1)));
        let cases = [
            (Which::Current, Some(&blob), Ok(())),
            (Which::Snapshot(at(9)), Some(&blob), Ok(())),
            (Which::Snapshot(at(4)), Some(&blob), Err(Refusal::PreviousSnapshotCannotBeNewer)),
            (Which::Current, None, Err(Refusal::PreviousSnapshotNotFound)),
            (Which::Current, Some(&other), Err(Refusal::BlobOverwritten)),
        ];
        for (which, before, want) in cases {
            let get = GetPageRanges { which, since: Some(at(5)), conditions: Conditions::default(), lease: None };
            assert_eq!(get.decide(Some(&blob), before, at(20)).map(drop), want, "{which:?}");
        }
    }
}
