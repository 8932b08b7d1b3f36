use super::*;
use crate::blob::Kind;

fn at(ticks: u64) -> Timestamp {
    Timestamp::from_ticks(ticks)
}

fn blob() -> Blob {
    Blob::new(Kind::Block, ContentRef { length: 10, ..ContentRef::EMPTY }, at(1))
}

fn leased(id: u128) -> Blob {
    Blob { lease: Lease::Leased { id: LeaseId(id), length: Length::Infinite, until: None }, ..blob() }
}

fn node(is_directory: bool) -> Node {
    Node { is_directory, ..Node::root() }
}

/// As observed: what is there already, the condition, the lease.
#[test]
fn create_over_what_is_there() {
    let exists = |is_directory| Err(Refusal::PathAlreadyExists { is_directory });
    let never = Conditions { if_none_match: Some(Match::Any), ..Conditions::default() };
    let any = Conditions::default();
    for (is_directory, current, conditions, lease, want) in [
        (false, None, &any, None, Ok(())),
        (false, None, &never, None, Ok(())),
        (false, Some((blob(), false)), &any, None, Ok(())),
        (false, Some((blob(), false)), &never, None, exists(false)),
        (false, Some((leased(7), false)), &any, None, Err(Refusal::LeaseIdMissing)),
        (false, Some((leased(7), false)), &any, Some(7), Ok(())),
        (false, Some((blob(), false)), &any, Some(7), Err(Refusal::LeaseNotPresentWithBlobOperation)),
        (true, Some((blob(), true)), &any, None, Ok(())),
        (true, Some((blob(), true)), &never, None, exists(true)),
        (true, Some((blob(), false)), &any, None, exists(false)),
        (false, Some((blob(), true)), &any, None, exists(true)),
    ] {
        let create =
            CreatePath { conditions: conditions.clone(), lease: lease.map(LeaseId), ..CreatePath::plain(is_directory) };
        let current = current.map(|(blob, is_directory)| (blob, node(is_directory)));
        let made = create.decide(current.as_ref().map(|(blob, node)| (blob, node)), at(5));
        assert_eq!(made.map(|_| ()), want, "{is_directory} {current:?} {conditions:?} {lease:?}");
    }
    let expiring = CreatePath { expiry: Some(Expiry::RelativeToNow(1)), ..CreatePath::plain(true) };
    assert_eq!(expiring.decide(None, at(5)), Err(Refusal::ExpiryNotSupportedForDirectory));
}

/// As observed, by what is at both ends.
#[test]
fn rename_by_what_is_at_both_ends() {
    let exists = |is_directory| Err(Refusal::PathAlreadyExists { is_directory });
    for (source, target, want) in [
        (Some(false), None, Ok(())),
        (Some(true), None, Ok(())),
        (Some(false), Some((false, true)), Ok(())),
        (Some(true), Some((true, true)), Ok(())),
        (Some(true), Some((true, false)), exists(true)),
        (Some(false), Some((true, true)), Err(Refusal::InvalidSourceOrDestinationResourceType)),
        (Some(true), Some((false, true)), Err(Refusal::InvalidSourceOrDestinationResourceType)),
        (None, None, Err(Refusal::SourcePathNotFound)),
        (None, Some((false, true)), Err(Refusal::SourcePathNotFound)),
    ] {
        let record = blob();
        let (from, onto) = (source.map(node), target.map(|(is_directory, empty)| (node(is_directory), empty)));
        let decided = RenamePath::default().decide(
            from.as_ref().map(|node| (&record, node)),
            onto.as_ref().map(|(node, empty)| (&record, node, *empty)),
            at(5),
        );
        assert_eq!(decided.map(|moved| assert_eq!(moved, record)), want, "{source:?} {target:?}");
    }
}

#[test]
fn rename_asks_both_leases() {
    let file = node(false);
    let missing = Refusal::LeaseIdMissing;
    for (source, source_id, target, id, want) in [
        (leased(1), Some(1), None, None, Ok(true)),
        (leased(1), None, None, None, Err(missing.clone())),
        (blob(), Some(1), None, None, Err(Refusal::LeaseNotPresentWithBlobOperation)),
        (blob(), None, Some(leased(2)), Some(2), Ok(true)),
        (blob(), None, Some(leased(2)), None, Err(missing)),
        (blob(), None, Some(blob()), Some(2), Err(Refusal::LeaseNotPresentWithBlobOperation)),
        (blob(), None, None, Some(2), Err(Refusal::LeaseNotPresentWithBlobOperation)),
        (blob(), None, Some(blob()), None, Ok(false)),
    ] {
        let rename =
            RenamePath { source_lease: source_id.map(LeaseId), lease: id.map(LeaseId), ..RenamePath::default() };
        let decided = rename.decide(Some((&source, &file)), target.as_ref().map(|blob| (blob, &file, true)), at(5));
        assert_eq!(decided.map(|moved| moved.lease != Lease::Available), want);
    }
}

/// Who may create and not write gives nothing away that is there.
#[test]
fn rename_by_who_may_only_create() {
    let (record, file) = (blob(), node(false));
    let rename = RenamePath { create_only: true, ..RenamePath::default() };
    for (target, want) in [(None, Ok(())), (Some((&record, &file, true)), Err(Refusal::UnauthorizedBlobOverwrite))] {
        assert_eq!(rename.decide(Some((&record, &file)), target, at(5)).map(drop), want);
    }
}

#[test]
fn rename_within_itself() {
    for (from, to, may) in [
        ("a", "b", true),
        ("a", "a/b", false),
        ("a", "a", true),
        ("", "b", false),
        ("a", "", false),
        ("a/b", "a", true),
    ] {
        let path = |text| LakePath::parse(text).unwrap();
        assert_eq!(permit_rename(&path(from), &path(to)).is_ok(), may, "{from} {to}");
    }
}

fn flush(position: u64) -> FlushData {
    FlushData {
        position,
        retain: false,
        headers: ContentHeaders::default(),
        encryption: Encryption::Service,
        conditions: Conditions::default(),
        lease: None,
        step: None,
    }
}

/// A file of ten bytes: what was appended has to join it without a hole.
#[test]
fn a_flush_has_no_hole() {
    for (position, appended, may) in [
        (10, &[][..], true),
        (0, &[], true),
        (5, &[(10, 5)], true),
        (11, &[], false),
        (15, &[(10, 5)], true),
        (16, &[(10, 5)], false),
        (20, &[(15, 5), (10, 5)], true),
        (20, &[(15, 5)], false),
        (12, &[(0, 12)], true),
        (20, &[(5, 10), (12, 8)], true),
    ] {
        let flushed = flush(position).decide(Some((&blob(), false)), appended, at(5));
        let want = if may { Ok(position) } else { Err(Refusal::InvalidFlushPosition) };
        assert_eq!(flushed.map(|flushed| flushed.blob.content.length), want, "{position} {appended:?}");
    }
    assert_eq!(flush(0).decide(None, &[], at(5)), Err(Refusal::BlobNotFound));
    assert_eq!(flush(0).decide(Some((&blob(), true)), &[], at(5)), Err(Refusal::ResourceTypeMismatch));
}

/// As observed: a flush answers two of the conditions as a read does.
#[test]
fn a_flush_has_conditions_of_its_own() {
    let tag = |etag| Some(Match::OneOf(vec![Some(etag)]));
    let (own, other) = (ETag::of(at(1)), ETag::of(at(2)));
    for (conditions, want) in [
        (Conditions { if_match: tag(own), ..Conditions::default() }, Ok(())),
        (Conditions { if_match: tag(other), ..Conditions::default() }, Err(Refusal::ConditionNotMet)),
        (Conditions { if_none_match: tag(other), ..Conditions::default() }, Ok(())),
        (Conditions { if_none_match: tag(own), ..Conditions::default() }, Err(Refusal::NotModified)),
        (Conditions { if_none_match: Some(Match::Any), ..Conditions::default() }, Err(Refusal::ConditionNotMet)),
        (Conditions { if_modified_since: Some(at(u64::MAX)), ..Conditions::default() }, Err(Refusal::NotModified)),
    ] {
        let flushed =
            FlushData { conditions: conditions.clone(), ..flush(10) }.decide(Some((&blob(), false)), &[], at(5));
        assert_eq!(flushed.map(|_| ()), want, "{conditions:?}");
    }
}

/// As observed, for each lease action.
#[test]
fn what_becomes_of_the_lease() {
    let held = |seconds: u64| Blob {
        lease: Lease::Leased { id: LeaseId(7), length: Length::Seconds(30), until: Some(at(5).plus_seconds(seconds)) },
        ..blob()
    };
    let acquire = (LeaseId(7), Length::Infinite);
    let step = |step| Some(step);
    for (current, id, action, want) in [
        (blob(), None, None, Ok((false, None))),
        (held(30), None, None, Err(Refusal::LeaseIdMissing)),
        (blob(), Some(7), None, Err(Refusal::LeaseNotPresentWithBlobOperation)),
        (blob(), None, step(LeaseStep::Acquire { proposed: acquire.0, length: acquire.1 }), Ok((true, None))),
        (blob(), None, step(LeaseStep::AcquireRelease { proposed: acquire.0, length: acquire.1 }), Ok((false, None))),
        (held(30), Some(7), step(LeaseStep::Release), Ok((false, None))),
        (held(30), Some(7), step(LeaseStep::AutoRenew), Ok((true, Some(false)))),
        (held(15), Some(7), step(LeaseStep::AutoRenew), Ok((true, Some(true)))),
    ] {
        let append = AppendData {
            position: 0,
            encryption: Encryption::Service,
            lease: id.map(LeaseId),
            step: action,
            flush: None,
        };
        let decided = append.decide(Some((&current, false)), at(5));
        let got = decided.map(|(blob, renewed)| (blob.lease != Lease::Available, renewed));
        assert_eq!(got, want, "{current:?} {action:?}");
    }
}

/// Who may write to a directory may make it again, and owns it no more than before.
#[test]
fn a_directory_that_is_made_again_stays_its_owners() {
    let caller = |oid: &str| Caller { oid: Some(oid.into()), groups: Vec::new(), is_bound: true };
    let parent = AccessControl::new("root", "root", Mode::of(0o777));
    let before = AccessControl::new("alice", "alice", Mode::of(0o777));
    let plain = CreatePath::plain(true);
    let open = CreatePath { permissions: Some(Mode::of(0o700)), ..CreatePath::plain(true) };
    let list = CreatePath { acl: Some(Acl::parse("other::rwx", false).unwrap()), ..CreatePath::plain(true) };
    for create in [&plain, &open] {
        assert_eq!(create.access(&parent, Some(&before), &caller("bob")), Ok(before.clone()));
    }
    assert_eq!(list.access(&parent, Some(&before), &caller("bob")), Err(Refusal::AuthorizationPermissionMismatch));
    assert_eq!(plain.access(&parent, Some(&before), &caller("alice")), Ok(before.clone()));
    let changed = open.access(&parent, Some(&before), &caller("alice")).unwrap();
    assert_eq!((changed.owner.as_str(), changed.permissions().as_str()), ("alice", "rwx------"));
    assert_eq!(plain.access(&parent, None, &caller("bob")).unwrap().owner, "bob");
}

/// As `mv` has it, or always the name that was asked for.
#[test]
fn where_a_rename_leads_to() {
    let path = |text| LakePath::parse(text).unwrap();
    for (mode, is_directory, want) in [
        (RenameMode::Legacy, true, "to"),
        (RenameMode::Legacy, false, "to"),
        (RenameMode::Posix, true, "to/b"),
        (RenameMode::Posix, false, "to"),
    ] {
        let rename = RenamePath { mode, ..RenamePath::default() };
        assert_eq!(rename.destination(&path("a/b"), &path("to"), is_directory), Ok(path(want)), "{mode:?}");
    }
}
