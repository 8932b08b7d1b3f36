use super::*;
use crate::conditions::Match;
use crate::lease::Length;

const NOW: Timestamp = Timestamp::from_ticks(638_000_000_000_000_000);

fn blob(kind: Kind) -> Blob {
    let created = Timestamp::from_ticks(NOW.ticks() - 600_000_000);
    Blob {
        metadata: Metadata::new(vec![("from".into(), "source".into())]).unwrap(),
        tags: Tags::new(vec![("t".into(), "1".into())]).unwrap(),
        headers: ContentHeaders { content_type: Some("text/plain".into()), ..ContentHeaders::default() },
        ..Blob::new(kind, ContentRef { id: 1, length: 5, starts: vec![0], ..ContentRef::EMPTY }, created)
    }
}

fn copy(family: Family) -> CopyBlob {
    CopyBlob {
        id: 7,
        source: "https://a.blob.example/c/b".into(),
        family,
        metadata: None,
        tags: CopyTags::These(Tags::default()),
        tier: None,
        seal: None,
        protection: Protection::default(),
        encryption: Encryption::Service,
        conditions: Conditions::default(),
        lease: None,
        may_overwrite: true,
    }
}

fn leased(until: Option<u64>) -> Blob {
    let until = until.map(|seconds| NOW.plus_seconds(seconds));
    let length = if until.is_some() { Length::Seconds(60) } else { Length::Infinite };
    Blob { lease: Lease::Leased { id: LeaseId(9), length, until }, ..blob(Kind::Block) }
}

#[test]
fn a_copy_keeps_what_is_the_sources() {
    let (source, old) = (blob(Kind::Block), blob(Kind::Block));
    let copied = copy(Family::Copy).decide(Some(&old), &source, source.content.clone(), NOW).unwrap();
    assert_eq!((&copied.headers, &copied.metadata), (&source.headers, &source.metadata));
    // Observed: tags are not copied unless asked for, and an overwritten blob keeps the time of its creation.
    assert!(copied.tags.is_empty());
    assert_eq!((copied.created, copied.modified, copied.etag), (old.created, NOW, ETag::of(NOW)));
    let status = copied.copy.unwrap();
    assert_eq!((status.status, status.done, status.total, status.completed), (CopyStatus::Success, 5, 5, Some(NOW)));

    let other = CopyBlob { metadata: Some(Metadata::default()), tags: CopyTags::OfSource, ..copy(Family::FromUrl) };
    let copied = other.decide(None, &source, source.content.clone(), NOW).unwrap();
    assert_eq!((copied.metadata, copied.tags), (Metadata::default(), source.tags));
}

#[test]
fn a_seal_is_kept_added_or_taken() {
    for (sealed, asked, expected) in
        [(true, None, true), (false, None, false), (true, Some(false), false), (false, Some(true), true)]
    {
        let source = blob(Kind::Append { sealed });
        let copied = CopyBlob { seal: asked, ..copy(Family::Copy) };
        let copied = copied.decide(None, &source, source.content.clone(), NOW).unwrap();
        assert_eq!(copied.kind, Kind::Append { sealed: expected });
    }
}

/// Each family in its own words.
#[test]
fn conditions_are_refused_by_side() {
    let matching = |tag: &str| Conditions { if_match: Some(Match::parse(tag)), ..Conditions::default() };
    let (other, foreign) = (matching("\"0x8D000000000000\""), matching("\"garbage\""));
    let seen =
        Conditions { if_none_match: Some(Match::OneOf(vec![Some(blob(Kind::Block).etag)])), ..Conditions::default() };
    let source = |conditions: &Conditions, family| {
        let read =
            CopySource { which: Which::Current, conditions: conditions.clone(), family, rehydrates: false, key: None };
        read.decide(Some(&blob(Kind::Block)), NOW).map(|_| ())
    };
    let target = |conditions: &Conditions, family| {
        let copy = CopyBlob { conditions: conditions.clone(), ..copy(family) };
        copy.permit(Some(&blob(Kind::Block)), Kind::Block, NOW).map(|_| ())
    };
    use Refusal::*;
    assert_eq!(source(&other, Family::Copy), Err(SourceConditionNotMet));
    assert_eq!(source(&seen, Family::Copy), Err(SourceConditionNotMet));
    assert_eq!(source(&other, Family::FromUrl), Err(ConditionNotMet));
    assert_eq!(source(&seen, Family::FromUrl), Err(NotModified));
    assert_eq!(target(&other, Family::Copy), Err(TargetConditionNotMet));
    assert_eq!(target(&other, Family::FromUrl), Err(ConditionNotMet));
    // Rules B1 and B2: what cannot be a tag of the service.
    assert_eq!(source(&foreign, Family::Copy), Err(SourceConditionNotMet));
    assert_eq!(source(&foreign, Family::FromUrl), Err(SourceConditionNotMet));
    assert_eq!(source(&foreign, Family::InPlace), Err(ConditionNotMet));
    assert_eq!(target(&foreign, Family::Copy), Err(TargetConditionNotMet));
    assert_eq!(target(&foreign, Family::FromUrl), Err(TargetConditionNotMet));
    let tags =
        Conditions { if_tags: Some(crate::tags::TagCondition::parse("\"t\"='2'").unwrap()), ..Conditions::default() };
    for family in [Family::Copy, Family::FromUrl] {
        assert_eq!(source(&tags, family), Err(ConditionNotMet));
        assert_eq!(target(&tags, family), Err(ConditionNotMet));
        let absent = Conditions { if_none_match: Some(Match::Any), ..Conditions::default() };
        assert_eq!(target(&absent, family), Err(BlobAlreadyExists));
    }
}

#[test]
fn a_lease_guards_the_target() {
    use Refusal::*;
    let permit =
        |family, blob: &Blob, lease| CopyBlob { lease, ..copy(family) }.permit(Some(blob), Kind::Block, NOW).err();
    let (own, other) = (Some(LeaseId(9)), Some(LeaseId(8)));
    for family in [Family::Copy, Family::FromUrl] {
        assert_eq!(permit(family, &leased(None), None), Some(LeaseIdMissing));
        assert_eq!(permit(family, &leased(None), other), Some(LeaseIdMismatchWithBlobOperation));
        assert_eq!(permit(family, &leased(None), own), None);
    }
    assert_eq!(permit(Family::Copy, &leased(Some(30)), own), Some(InfiniteLeaseDurationRequired));
    assert_eq!(permit(Family::FromUrl, &leased(Some(30)), own), None);
}

#[test]
fn the_target_is_of_the_sources_kind() {
    let page = blob(Kind::Page { sequence: 0 });
    assert_eq!(copy(Family::Copy).permit(Some(&page), Kind::Block, NOW), Err(Refusal::InvalidBlobType));
    assert!(copy(Family::Copy).permit(Some(&page), Kind::Page { sequence: 4 }, NOW).is_ok());
}

#[test]
fn an_archived_source_goes_online_or_nowhere() {
    let archived = Blob { tier: Some(Tier::Archive), ..blob(Kind::Block) };
    for (rehydrates, refused) in [(true, None), (false, Some(Refusal::BlobArchived))] {
        let source = CopySource {
            which: Which::Current,
            conditions: Conditions::default(),
            family: Family::Copy,
            rehydrates,
            key: None,
        };
        assert_eq!(source.decide(Some(&archived), NOW).err(), refused);
    }
}

#[test]
fn a_copy_under_way_ends_once() {
    let begin = copy(Family::Copy).begin(None, &ContentHeaders::default(), &Metadata::default(), 9, NOW).unwrap();
    assert_eq!(begin.content, ContentRef::EMPTY);
    assert_eq!(permit_no_copy(&begin), Err(Refusal::PendingCopyOperation));
    assert_eq!(copy(Family::Copy).permit(Some(&begin), Kind::Block, NOW), Err(Refusal::PendingCopyOperation));

    let later = NOW.plus_seconds(1);
    let content = ContentRef { id: 3, length: 9, starts: vec![0], ..ContentRef::EMPTY };
    let done = Ending::Success(content.clone()).decide(Some(&begin), 7, later).unwrap();
    assert_eq!((done.content, done.modified), (content, later));
    assert_eq!(done.copy.as_ref().map(|copy| (copy.status, copy.done)), Some((CopyStatus::Success, 9)));

    let abort = |id, blob: &Blob| AbortCopyBlob { id, lease: None }.decide(Some(blob), later);
    assert_eq!(abort(8, &begin), Err(Refusal::CopyIdMismatch));
    let aborted = abort(7, &begin).unwrap();
    assert_eq!(abort(7, &aborted), Err(Refusal::NoPendingCopyOperation));
    assert_eq!(Ending::Failed("late".into()).decide(Some(&aborted), 7, later), None);
    assert_eq!(Ending::Failed("other".into()).decide(Some(&begin), 8, later), None);
    assert_eq!(permit_no_copy(&aborted), Ok(()));
}
