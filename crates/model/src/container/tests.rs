//! What each operation makes of a container, and the order of its refusals.

use super::*;
use crate::lease::Length;

const A: LeaseId = LeaseId(0xA);
const B: LeaseId = LeaseId(0xB);

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_ticks(638_000_000_000_000_000).plus_seconds(seconds)
}

fn metadata(name: &str) -> Metadata {
    Metadata::new(vec![(name.into(), "v".into())]).unwrap()
}

fn container(lease: Lease) -> Container {
    Container {
        id: 1,
        hierarchical: false,
        scope: None,
        etag: ETag::of(at(10)),
        modified: at(10),
        metadata: metadata("old"),
        public: PublicAccess::Off,
        policies: Vec::new(),
        lease,
    }
}

fn leased() -> Lease {
    Lease::Leased { id: A, length: Length::Infinite, until: None }
}

fn expired() -> Lease {
    Lease::Expired { id: A, length: Length::Seconds(15) }
}

/// The container was not modified since it was.
fn unmet() -> Conditions {
    Conditions { if_modified_since: Some(at(10)), ..Default::default() }
}

#[test]
fn creating() {
    let create = CreateContainer { id: 7, scope: None, metadata: metadata("new"), public: PublicAccess::Blob };
    let made = create.decide(None, at(20)).unwrap();
    assert_eq!((made.id, made.etag, made.modified, made.public), (7, ETag::of(at(20)), at(20), PublicAccess::Blob));
    assert_eq!(create.decide(Some(&made), at(30)), Err(Refusal::ContainerAlreadyExists));
}

/// Which refusals each operation gives: deletion needs the id, the others only look at one that is sent.
#[test]
fn refusals() {
    use Refusal::*;
    let none = Conditions::default;
    let table = [
        // What is there, id, conditions; reading, setting, deleting.
        (None, None, none(), [Some(ContainerNotFound), Some(ContainerNotFound), Some(ContainerNotFound)]),
        (Some(Lease::Available), None, none(), [None, None, None]),
        (Some(Lease::Available), None, unmet(), [None, Some(ConditionNotMet), Some(ConditionNotMet)]),
        (Some(leased()), None, none(), [None, None, Some(LeaseIdMissing)]),
        (Some(leased()), None, unmet(), [None, Some(ConditionNotMet), Some(ConditionNotMet)]),
        (Some(leased()), Some(A), none(), [None, None, None]),
        (
            Some(leased()),
            Some(B),
            none(),
            [
                Some(LeaseIdMismatchWithContainerOperation),
                Some(LeaseIdMismatchWithContainerOperation),
                Some(LeaseIdMismatchWithContainerOperation),
            ],
        ),
        (
            Some(Lease::Available),
            Some(A),
            none(),
            [
                Some(LeaseNotPresentWithContainerOperation),
                Some(LeaseNotPresentWithContainerOperation),
                Some(LeaseNotPresentWithContainerOperation),
            ],
        ),
        (Some(expired()), Some(A), none(), [Some(LeaseLost), Some(LeaseLost), Some(LeaseLost)]),
        (Some(expired()), None, none(), [None, None, None]),
    ];
    for (held, lease, conditions, [read, set, delete]) in table {
        let current = held.map(container);
        let current = current.as_ref();
        let case = format!("{held:?} {lease:?} {conditions:?}");
        let with = || conditions.clone();
        assert_eq!(ReadContainer { lease }.decide(current, at(20)).err(), read, "{case}");
        let metadata = SetContainerMetadata { metadata: metadata("new"), conditions: with(), lease };
        assert_eq!(metadata.decide(current, at(20)).err(), set, "{case}");
        let acl = SetContainerAcl { public: PublicAccess::Blob, policies: vec![], conditions: with(), lease };
        assert_eq!(acl.decide(current, at(20)).err(), set, "{case}");
        assert_eq!(DeleteContainer { conditions: with(), lease }.decide(current, at(20)).err(), delete, "{case}");
    }
}

#[test]
fn what_each_change_touches() {
    // An expired lease of a container can be renewed though the container was written.
    let old = container(expired());
    let stamped = Container { etag: ETag::of(at(20)), modified: at(20), ..old.clone() };
    let set = SetContainerMetadata { metadata: metadata("new"), conditions: Conditions::default(), lease: None };
    assert_eq!(set.decide(Some(&old), at(20)), Ok(Container { metadata: metadata("new"), ..stamped.clone() }));

    let policy = StoredPolicy { id: "p".into(), start: None, expiry: None, permissions: None };
    let (public, policies) = (PublicAccess::Container, vec![policy]);
    let set = SetContainerAcl { public, policies: policies.clone(), conditions: Conditions::default(), lease: None };
    let made = set.decide(Some(&old), at(20)).unwrap();
    assert_eq!(made, Container { public, policies, ..stamped });

    let renew = LeaseContainer { action: Action::Renew { id: A }, conditions: Conditions::default() };
    let (renewed, outcome) = renew.decide(Some(&made), at(30)).unwrap();
    assert_eq!((outcome.id, renewed.etag, renewed.modified), (Some(A), made.etag, made.modified));
}

#[test]
fn leasing() {
    let acquire = Action::Acquire { proposed: A, length: Length::Infinite };
    let lease = LeaseContainer { action: acquire, conditions: Conditions::default() };
    let (made, _) = lease.decide(Some(&container(Lease::Available)), at(20)).unwrap();
    assert_eq!(made, container(leased()));
    assert_eq!(lease.decide(None, at(20)).err(), Some(Refusal::ContainerNotFound));
    let conditional = LeaseContainer { conditions: unmet(), ..lease };
    assert_eq!(conditional.decide(Some(&made), at(20)).err(), Some(Refusal::ConditionNotMet));
}
