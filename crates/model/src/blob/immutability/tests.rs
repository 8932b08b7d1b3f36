use super::*;
use crate::blob::{ContentRef, DeleteBlob, Keeping, Kind, SetBlobMetadata, SetBlobTags, TierConditions};
use crate::{Metadata, Tags};

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_ticks(0).plus_seconds(seconds)
}

fn blob(immutability: Option<Immutability>, legal_hold: Option<bool>) -> Blob {
    Blob { immutability, legal_hold, ..Blob::new(Kind::Block, ContentRef::EMPTY, at(1)) }
}

fn policy(until: u64, locked: bool) -> Option<Immutability> {
    Some(Immutability { until: at(until), locked })
}

/// At 10: what may be done to a blob that is protected so.
#[test]
fn what_is_protected_stays() {
    use Refusal::{BlobImmutableDueToLegalHold as Held, BlobImmutableDueToPolicy as Policed};
    let table = [
        (None, None, None),
        (None, Some(false), None),
        (None, Some(true), Some(Held)),
        (policy(11, false), None, Some(Policed.clone())),
        (policy(11, true), Some(false), Some(Policed.clone())),
        (policy(11, true), Some(true), Some(Held)),
        (policy(10, true), None, None),
        (policy(9, false), Some(false), None),
    ];
    for (immutability, hold, refusal) in table {
        let blob = blob(immutability, hold);
        let want = refusal.map_or(Ok(()), Err);
        let conditions = Conditions::default;
        let delete = DeleteBlob {
            permanent: false,
            which: Which::Current,
            snapshots: None,
            tier: TierConditions::default(),
            conditions: conditions(),
            lease: None,
        };
        let metadata = SetBlobMetadata {
            metadata: Metadata::default(),
            encryption: Default::default(),
            conditions: conditions(),
            lease: None,
        };
        let replaced = Keeping::NOTHING.permit_overwrite(&blob, at(10));
        assert_eq!(replaced, want, "put over {immutability:?} {hold:?}");
        let versions = Keeping { versions: true, ..Keeping::NOTHING };
        assert_eq!(versions.permit_overwrite(&blob, at(10)), Ok(()), "it stays as a version");
        assert_eq!(delete.decide(Some(&blob), false, at(10)).map(drop), want, "delete of {immutability:?} {hold:?}");
        assert_eq!(metadata.decide(Some(&blob), at(10)).map(drop), want, "metadata of {immutability:?} {hold:?}");
        let tags = SetBlobTags { which: Which::Current, tags: Tags::default(), conditions: conditions(), lease: None };
        assert!(tags.decide(Some(&blob), at(10)).is_ok(), "tags are beside the blob");
    }
}

/// "Set Blob Immutability Policy": an unlocked one can be anything; a locked one only grows.
#[test]
fn a_locked_policy_only_grows() {
    let table = [
        (None, policy(20, false), true),
        (None, policy(20, true), true),
        (policy(20, false), policy(15, false), true),
        (policy(20, false), policy(20, true), true),
        (policy(20, true), policy(21, true), true),
        (policy(20, true), policy(20, true), true),
        (policy(20, true), policy(19, true), false),
        (policy(20, true), policy(30, false), false),
    ];
    for (before, after, allowed) in table {
        let set =
            SetImmutabilityPolicy { which: Which::Current, policy: after.unwrap(), conditions: Conditions::default() };
        let want = if allowed { Ok(after) } else { Err(Refusal::BlobImmutableDueToPolicy) };
        let got = set.decide(Some(&blob(before, None))).map(|blob| blob.immutability);
        assert_eq!(got, want, "{before:?} → {after:?}");
    }
    let delete = DeleteImmutabilityPolicy { which: Which::Current };
    for (before, allowed) in [(None, true), (policy(20, false), true), (policy(20, true), false)] {
        assert_eq!(delete.decide(Some(&blob(before, None))).is_ok(), allowed, "{before:?}");
    }
    assert_eq!(delete.decide(None).map(drop), Err(Refusal::BlobNotFound));
}

/// A new blob may say that nothing holds it, also where nothing can.
#[test]
fn protection_is_for_accounts_that_have_it() {
    let policy = Some(Immutability { until: Timestamp::from_ticks(9), locked: false });
    for (policy, legal_hold, needs) in [
        (None, None, false),
        (None, Some(false), false),
        (None, Some(true), true),
        (policy, None, true),
        (policy, Some(false), true),
    ] {
        let protection = Protection { policy, legal_hold };
        assert_eq!(protection.permit(true), Ok(()), "{protection:?}");
        let refused = if needs { Err(Refusal::ImmutabilityNotEnabled) } else { Ok(()) };
        assert_eq!(protection.permit(false), refused, "{protection:?}");
    }
}
