//! What each operation makes of a blob, and the order of its refusals.

use super::*;
use crate::conditions::Match;
use crate::lease::{Action, Length};
use crate::tags::TagCondition;
use crate::{BlockId, ETag, Metadata, Tags};

const A: LeaseId = LeaseId(0xA);
const B: LeaseId = LeaseId(0xB);

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_ticks(638_000_000_000_000_000).plus_seconds(seconds)
}

fn content(id: u64, length: u64) -> ContentRef {
    ContentRef { id, length, starts: vec![0], blocks: 0, epoch: 0 }
}

fn metadata(name: &str) -> Metadata {
    Metadata::new(vec![(name.into(), "v".into())]).unwrap()
}

fn tags(text: &str) -> Tags {
    Tags::parse_query(text).unwrap()
}

fn block(text: &str) -> BlockId {
    BlockId::from_base64(text).unwrap()
}

/// A blob with everything set, made at 0 and changed at 10.
fn blob(lease: Lease) -> Blob {
    Blob {
        created: at(0),
        headers: ContentHeaders { cache_control: Some("old".into()), md5: Some(vec![1; 16]), ..Default::default() },
        metadata: metadata("old"),
        tags: tags("old=1"),
        tier: Some(Tier::Cool),
        tier_changed: Some(at(0)),
        lease,
        ..Blob::new(Kind::Block, content(1, 5), at(10))
    }
}

fn leased() -> Lease {
    Lease::Leased { id: A, length: Length::Infinite, until: None }
}

fn broken() -> Lease {
    Lease::Broken { id: A }
}

pub(super) fn put() -> PutBlob {
    PutBlob {
        headers: ContentHeaders { content_type: Some("text/plain".into()), ..Default::default() },
        metadata: metadata("new"),
        tags: tags("new=1"),
        tier: None,
        protection: Protection::default(),
        encryption: Encryption::Service,
        conditions: Conditions::default(),
        lease: None,
        may_overwrite: true,
    }
}

fn put_list(blocks: Vec<(Search, BlockId)>) -> PutBlockList {
    let PutBlob { headers, metadata, tags, tier, protection, encryption, conditions, lease, may_overwrite } = put();
    PutBlockList { blocks, headers, metadata, tags, tier, protection, encryption, conditions, lease, may_overwrite }
}

fn none_match_any() -> Conditions {
    Conditions { if_none_match: Some(Match::Any), ..Default::default() }
}

fn unmet() -> Conditions {
    Conditions { if_match: Some(Match::OneOf(vec![None])), ..Default::default() }
}

#[test]
fn a_new_blob_is_what_was_put() {
    let made = put().decide(None, content(2, 7), Some([9; 16]), at(20)).unwrap();
    assert_eq!((made.etag, made.modified, made.created), (ETag::of(at(20)), at(20), at(20)));
    assert_eq!((&made.content, made.headers.md5), (&content(2, 7), Some(vec![9; 16])));
    assert_eq!((made.tier, made.tier_changed, made.lease), (None, None, Lease::Available));
}

#[test]
fn an_overwrite_keeps_the_lease_the_tier_and_the_creation_time_and_nothing_else() {
    let old = blob(leased());
    let made = PutBlob { lease: Some(A), ..put() }.decide(Some(&old), content(2, 7), None, at(20)).unwrap();
    assert_eq!((made.created, made.lease), (at(0), leased()));
    assert_eq!((made.etag, made.modified), (ETag::of(at(20)), at(20)));
    assert_eq!((&made.metadata, &made.tags), (&metadata("new"), &tags("new=1")));
    assert_eq!(made.headers, put().headers);
    // Rule B31.
    assert_eq!((made.tier, made.tier_changed), (old.tier, Some(at(20))));

    let list = PutBlockList { lease: Some(A), ..put_list(vec![]) };
    assert_eq!(list.decide(Some(&old), Lease::Available, content(2, 7), at(20)), Ok(made));
}

#[test]
fn the_clients_md5_is_kept_before_ours() {
    let headers = ContentHeaders { md5: Some(vec![3; 16]), ..Default::default() };
    let made = PutBlob { headers, ..put() }.decide(None, content(2, 7), Some([9; 16]), at(20)).unwrap();
    assert_eq!(made.headers.md5, Some(vec![3; 16]));
}

/// One line per combination of what is there, which id was sent and which condition.
#[test]
fn replacing() {
    use Refusal::*;
    let none = Conditions::default;
    let table = [
        // What is there, id, conditions, may overwrite, outcome.
        (None, None, none(), true, None),
        (None, None, none_match_any(), true, None),
        (None, None, none(), false, None),
        (None, Some(A), none(), true, Some(LeaseNotPresentWithBlobOperation)),
        (None, None, unmet(), true, Some(ConditionNotMet)),
        (Some(Lease::Available), None, none(), true, None),
        (Some(Lease::Available), None, none_match_any(), true, Some(BlobAlreadyExists)),
        (Some(Lease::Available), Some(A), none_match_any(), true, Some(LeaseNotPresentWithBlobOperation)),
        (Some(Lease::Available), None, none(), false, Some(UnauthorizedBlobOverwrite)),
        (Some(Lease::Available), None, none_match_any(), false, Some(BlobAlreadyExists)),
        (Some(leased()), None, none(), true, Some(LeaseIdMissing)),
        (Some(leased()), Some(B), none(), true, Some(LeaseIdMismatchWithBlobOperation)),
        (Some(leased()), Some(A), none(), true, None),
        // Observed: the lease before BlobAlreadyExists, and its holder in spite of it.
        (Some(leased()), None, none_match_any(), true, Some(LeaseIdMissing)),
        (Some(leased()), Some(B), none_match_any(), true, Some(LeaseIdMismatchWithBlobOperation)),
        (Some(leased()), Some(A), none_match_any(), true, None),
        (Some(leased()), Some(A), none_match_any(), false, Some(UnauthorizedBlobOverwrite)),
        (Some(broken()), Some(A), none_match_any(), true, Some(LeaseLost)),
        (Some(broken()), None, none_match_any(), true, Some(BlobAlreadyExists)),
        // Otherwise conditions come before the lease.
        (Some(leased()), None, unmet(), true, Some(ConditionNotMet)),
        (Some(leased()), Some(B), unmet(), true, Some(ConditionNotMet)),
    ];
    for (held, lease, conditions, may_overwrite, refusal) in table {
        let current = held.map(blob);
        let case = format!("{held:?} {lease:?} {conditions:?} {may_overwrite}");
        let put = PutBlob { lease, conditions: conditions.clone(), may_overwrite, ..put() };
        let made = put.decide(current.as_ref(), content(2, 7), None, at(20));
        assert_eq!(made.as_ref().err(), refusal.as_ref(), "{case}");
        assert_eq!(put.permit(current.as_ref(), at(20)).err(), refusal, "{case}");
        let list = PutBlockList { lease, conditions, may_overwrite, ..put_list(vec![]) };
        assert_eq!(list.permit(current.as_ref(), Lease::Available, at(20)).err(), refusal, "{case}");
    }
}

#[test]
fn a_write_without_id_ends_a_lost_lease() {
    let made = put().decide(Some(&blob(broken())), content(2, 7), None, at(20)).unwrap();
    assert_eq!(made.lease, Lease::Available);
}

#[test]
fn put_block_needs_the_lease_and_ids_of_one_length() {
    use Refusal::*;
    let one = Pending { count: 1, id_length: Some(1), ..Pending::default() };
    let full = Pending { count: UNCOMMITTED_BLOCKS_MAX, ..one };
    let table = [
        (None, None, Pending::default(), None),
        (None, None, one, None),
        (None, None, Pending { id_length: Some(2), ..one }, Some(InvalidBlobOrBlock)),
        (None, None, full, Some(BlockCountExceedsLimit)),
        (None, None, Pending { count: full.count - 1, ..full }, None),
        (None, None, Pending { replaces: true, ..full }, None),
        (None, Some(A), one, Some(LeaseNotPresentWithBlobOperation)),
        (Some(leased()), None, one, Some(LeaseIdMissing)),
        (Some(leased()), Some(A), one, None),
        (Some(leased()), Some(B), one, Some(LeaseIdMismatchWithBlobOperation)),
        (Some(broken()), Some(A), one, Some(LeaseLost)),
        // Rule B8: a name without a blob can be leased, too.
        (None, None, Pending { lease: leased(), ..one }, Some(LeaseIdMissing)),
        (None, Some(B), Pending { lease: leased(), ..one }, Some(LeaseIdMismatchWithBlobOperation)),
        (None, Some(A), Pending { lease: leased(), ..one }, None),
    ];
    for (held, lease, pending, refusal) in table {
        let current = held.map(blob);
        let put = PutBlock { id: block("MQ=="), encryption: Encryption::Service, lease };
        assert_eq!(put.decide(current.as_ref(), pending, at(20)).err(), refusal, "{held:?} {lease:?} {pending:?}");
    }
}

#[test]
fn where_a_block_list_looks() {
    // MQ== is committed only, Mg== uncommitted only, Mw== both.
    let committed = |id: &BlockId| ["MQ==", "Mw=="].contains(&&*id.to_base64()).then_some("old");
    let uncommitted = |id: &BlockId| ["Mg==", "Mw=="].contains(&&*id.to_base64()).then_some("new");
    let table = [
        (Search::Committed, "MQ==", Some("old")),
        (Search::Committed, "Mg==", None),
        (Search::Committed, "Mw==", Some("old")),
        (Search::Uncommitted, "MQ==", None),
        (Search::Uncommitted, "Mg==", Some("new")),
        (Search::Uncommitted, "Mw==", Some("new")),
        (Search::Latest, "MQ==", Some("old")),
        (Search::Latest, "Mg==", Some("new")),
        (Search::Latest, "Mw==", Some("new")),
        (Search::Latest, "NA==", None),
    ];
    for (search, id, found) in table {
        // Twice, since a list may repeat a block.
        let list = put_list(vec![(search, block(id)), (search, block(id))]);
        let expected = found.map(|found| vec![found, found]).ok_or(Refusal::InvalidBlockList);
        assert_eq!(list.resolve(committed, uncommitted), expected, "{search:?} {id}");
    }
}

#[test]
fn a_block_list_has_a_limit() {
    let list = |count| put_list(vec![(Search::Latest, block("MQ==")); count]);
    assert_eq!(list(BLOCKS_MAX).permit(None, Lease::Available, at(20)), Ok(Lease::Available));
    assert_eq!(list(BLOCKS_MAX + 1).permit(None, Lease::Available, at(20)), Err(Refusal::BlockListTooLong));
}

#[test]
fn reading() {
    use Refusal::*;
    let none = Conditions::default;
    let same = || Conditions { if_none_match: Some(Match::parse(&ETag::of(at(10)).to_string())), ..none() };
    let table = [
        (None, None, none(), Some(BlobNotFound)),
        (None, Some(A), none(), Some(BlobNotFound)),
        (None, None, unmet(), Some(ConditionNotMet)),
        (None, None, same(), Some(BlobNotFound)),
        (Some(leased()), None, none(), None),
        (Some(leased()), Some(A), none(), None),
        (Some(leased()), Some(B), none(), Some(LeaseIdMismatchWithBlobOperation)),
        (Some(leased()), Some(B), same(), Some(NotModified)),
        (Some(Lease::Available), Some(A), none(), Some(LeaseNotPresentWithBlobOperation)),
        (Some(broken()), Some(A), none(), Some(LeaseLost)),
        (Some(Lease::Available), None, none_match_any(), Some(UnsatisfiableCondition)),
    ];
    for (held, lease, conditions, refusal) in table {
        let current = held.map(blob);
        let case = format!("{held:?} {lease:?} {conditions:?}");
        let read = ReadBlob { which: Which::Current, key: None, conditions: conditions.clone(), lease };
        assert_eq!(
            read.decide(current.as_ref(), at(20)),
            refusal.clone().map_or(Ok(current.as_ref()), Err).map(Option::unwrap),
            "{case}"
        );
        let get = GetBlobTags { which: Which::Current, conditions: conditions.clone(), lease };
        assert_eq!(get.decide(current.as_ref(), at(20)).err(), refusal, "{case}");
        let list = GetBlockList { which: Which::Current, committed: true, uncommitted: true, conditions, lease };
        assert_eq!(list.decide(current.as_ref(), false, at(20)).err(), refusal, "{case}");
    }
}

#[test]
fn uncommitted_blocks_are_enough_for_a_block_list() {
    let list = |which| GetBlockList {
        which,
        committed: true,
        uncommitted: true,
        conditions: Conditions::default(),
        lease: None,
    };
    assert_eq!(list(Which::Current).decide(None, true, at(20)), Ok(None));
    assert_eq!(list(Which::Snapshot(at(5))).decide(None, true, at(20)), Err(Refusal::BlobNotFound));
}

#[test]
fn archived_blobs_show_their_properties_only() {
    let archived = Blob { tier: Some(Tier::Archive), ..blob(Lease::Available) };
    let read = ReadBlob::default();
    assert!(read.decide(Some(&archived), at(20)).is_ok());
    assert_eq!(read.decide_content(Some(&archived), at(20)), Err(Refusal::BlobArchived));
    assert!(read.decide_content(Some(&blob(Lease::Available)), at(20)).is_ok());
    assert_eq!(set_metadata(Conditions::default(), None).decide(Some(&archived), at(20)), Err(Refusal::BlobArchived));
    assert!(put().decide(Some(&archived), content(2, 7), None, at(20)).is_ok());
}

fn set_metadata(conditions: Conditions, lease: Option<LeaseId>) -> SetBlobMetadata {
    SetBlobMetadata { metadata: metadata("new"), encryption: Encryption::Service, conditions, lease }
}

fn set_properties(conditions: Conditions, lease: Option<LeaseId>) -> SetBlobProperties {
    let headers = ContentHeaders { language: Some("en".into()), ..Default::default() };
    SetBlobProperties { headers, conditions, lease }
}

fn set_tags(conditions: Conditions, lease: Option<LeaseId>) -> SetBlobTags {
    SetBlobTags { which: Which::Current, tags: tags("new=2"), conditions, lease }
}

fn delete(conditions: Conditions, lease: Option<LeaseId>) -> DeleteBlob {
    let tier = TierConditions::default();
    DeleteBlob { which: Which::Current, permanent: false, snapshots: None, tier, conditions, lease }
}

/// All the changes that need the lease refuse alike.
#[test]
fn changing() {
    use Refusal::*;
    let none = Conditions::default;
    let table = [
        (None, None, none(), Some(BlobNotFound)),
        (None, Some(A), none(), Some(BlobNotFound)),
        (None, None, unmet(), Some(ConditionNotMet)),
        (None, None, none_match_any(), Some(BlobNotFound)),
        (Some(Lease::Available), None, none(), None),
        // Rule A4.
        (Some(Lease::Available), None, none_match_any(), None),
        (Some(Lease::Available), Some(A), none(), Some(LeaseNotPresentWithBlobOperation)),
        (Some(leased()), None, none(), Some(LeaseIdMissing)),
        (Some(leased()), None, unmet(), Some(ConditionNotMet)),
        (Some(leased()), Some(A), none(), None),
        (Some(leased()), Some(B), none(), Some(LeaseIdMismatchWithBlobOperation)),
        (Some(broken()), Some(A), none(), Some(LeaseLost)),
        (Some(broken()), None, none(), None),
    ];
    for (held, id, conditions, refusal) in table {
        let current = held.map(blob);
        let current = current.as_ref();
        let with = || (conditions.clone(), id);
        let refusals = [
            ("metadata", set_metadata(with().0, with().1).decide(current, at(20)).err()),
            ("properties", set_properties(with().0, with().1).decide(current, at(20)).err()),
            ("tags", set_tags(with().0, with().1).decide(current, at(20)).err()),
            ("delete", delete(with().0, with().1).decide(current, false, at(20)).err()),
        ];
        for (name, got) in refusals {
            assert_eq!(got, refusal, "{name}: {held:?} {id:?} {conditions:?}");
        }
    }
}

#[test]
fn what_each_change_touches() {
    let old = blob(broken());
    let stamped = Blob { etag: ETag::of(at(20)), modified: at(20), lease: Lease::Available, ..old.clone() };

    let made = set_metadata(Conditions::default(), None).decide(Some(&old), at(20));
    assert_eq!(made, Ok(Blob { metadata: metadata("new"), ..stamped.clone() }));

    // Headers that were not sent are cleared, the MD5 among them.
    let headers = ContentHeaders { language: Some("en".into()), ..Default::default() };
    let made = set_properties(Conditions::default(), None).decide(Some(&old), at(20));
    assert_eq!(made, Ok(Blob { headers, ..stamped }));

    // Tags leave the ETag, the date and the lost lease.
    let made = set_tags(Conditions::default(), None).decide(Some(&old), at(20));
    assert_eq!(made, Ok(Blob { tags: tags("new=2"), ..old }));
}

#[test]
fn tag_conditions_see_the_tags_before_the_change() {
    let when = |text: &str| Conditions { if_tags: Some(TagCondition::parse(text).unwrap()), ..Default::default() };
    let old = blob(Lease::Available);
    assert!(set_tags(when("old='1'"), None).decide(Some(&old), at(20)).is_ok());
    assert_eq!(set_tags(when("new='2'"), None).decide(Some(&old), at(20)), Err(Refusal::ConditionNotMet));
}

#[test]
fn deleting() {
    use DeleteSnapshots::{Include, Only};
    let table = [
        (None, false, Ok(Deletion::Base)),
        (None, true, Err(Refusal::SnapshotsPresent)),
        (Some(Include), false, Ok(Deletion::BaseAndSnapshots)),
        (Some(Include), true, Ok(Deletion::BaseAndSnapshots)),
        (Some(Only), false, Ok(Deletion::SnapshotsOnly)),
        (Some(Only), true, Ok(Deletion::SnapshotsOnly)),
    ];
    let current = blob(Lease::Available);
    for (snapshots, has_snapshots, expected) in table {
        let delete = DeleteBlob { snapshots, ..delete(Conditions::default(), None) };
        assert_eq!(delete.decide(Some(&current), has_snapshots, at(20)), expected, "{snapshots:?} {has_snapshots}");
    }
    let one = DeleteBlob { which: Which::Snapshot(at(5)), ..delete(Conditions::default(), None) };
    assert_eq!(one.decide(Some(&current), true, at(20)), Ok(Deletion::Snapshot));
    let both = DeleteBlob { snapshots: Some(Include), ..one };
    let refusal = both.decide(Some(&current), true, at(20));
    assert!(matches!(refusal, Err(Refusal::SnapshotsOfSnapshot { .. })));
    // The lease is looked at before the snapshots.
    assert_eq!(
        delete(Conditions::default(), None).decide(Some(&blob(leased())), true, at(20)),
        Err(Refusal::LeaseIdMissing)
    );
}

#[test]
fn a_snapshot_is_the_blob_without_its_lease() {
    let base = blob(leased());
    let plain = SnapshotBlob {
        metadata: None,
        encryption: Encryption::Service,
        conditions: Conditions::default(),
        lease: None,
    };
    assert_eq!(plain.decide(Some(&base), at(20)), Ok(blob(Lease::Available)));
    assert_eq!(
        SnapshotBlob { lease: Some(A), ..plain.clone() }.decide(Some(&base), at(20)),
        Ok(blob(Lease::Available))
    );

    let other = SnapshotBlob { metadata: Some(metadata("new")), ..plain.clone() };
    let expected =
        Blob { etag: ETag::of(at(20)), modified: at(20), metadata: metadata("new"), ..blob(Lease::Available) };
    assert_eq!(other.decide(Some(&base), at(20)), Ok(expected));

    let refused = |snapshot: SnapshotBlob, current| snapshot.decide(current, at(20)).err();
    assert_eq!(refused(plain.clone(), None), Some(Refusal::BlobNotFound));
    assert_eq!(
        refused(SnapshotBlob { lease: Some(B), ..plain.clone() }, Some(&base)),
        Some(Refusal::LeaseIdMismatchWithBlobOperation)
    );
    assert_eq!(
        refused(SnapshotBlob { conditions: unmet(), lease: Some(B), ..plain }, Some(&base)),
        Some(Refusal::ConditionNotMet)
    );
}

#[test]
fn leasing_leaves_the_blob_as_it_is() {
    let acquire = Action::Acquire { proposed: A, length: Length::Infinite };
    let lease = LeaseBlob { action: acquire, conditions: Conditions::default() };
    let (made, outcome) = lease.decide(Some(&blob(Lease::Available)), at(20)).unwrap();
    assert_eq!((made, outcome.id), (blob(leased()), Some(A)));
    assert_eq!(lease.decide(None, at(20)).err(), Some(Refusal::BlobNotFound));
    let other = LeaseBlob { action: Action::Acquire { proposed: B, length: Length::Infinite }, ..lease };
    assert_eq!(other.decide(Some(&blob(leased())), at(20)).err(), Some(Refusal::LeaseAlreadyPresent));
    let conditional = LeaseBlob { conditions: unmet(), ..other };
    assert_eq!(conditional.decide(Some(&blob(leased())), at(20)).err(), Some(Refusal::ConditionNotMet));
}
