//! The table: each right, against needs that it meets and needs that it does not.

use super::*;
use crate::access::Times;
use crate::roles::{Role, Scope};

const NOW: Timestamp = Timestamp::from_ticks(10_000_000_000);

fn letters(text: &str) -> Letters {
    text.chars().collect()
}

fn terms(signed: Signed, sp: &str) -> Terms {
    let times = Times { start: None, expiry: Some(NOW.plus_seconds(60)) };
    Terms { signed, letters: Some(letters(sp)), times, policy: None }
}

/// Get Blob.
fn read() -> Need<'static> {
    Need {
        of: Of::Blob,
        on: On::Blob,
        letters: "r",
        also: Letters::default(),
        account_sas: Some(AccountNeeds { resource: 'o', any: "r" }),
        anonymous: Anonymous::Blob,
        actions: &[Action::BlobRead],
        tokens_only: false,
        moments: true,
        of_root: false,
        has_lists: false,
        account: "account1",
        within: Some("container1"),
        now: NOW,
    }
}

/// Put Blob.
fn write() -> Need<'static> {
    Need {
        letters: "cw",
        account_sas: Some(AccountNeeds { resource: 'o', any: "cw" }),
        anonymous: Anonymous::Never,
        actions: &[Action::BlobWrite],
        moments: false,
        ..read()
    }
}

/// List Blobs.
fn list() -> Need<'static> {
    Need {
        on: On::Container,
        letters: "l",
        account_sas: Some(AccountNeeds { resource: 'c', any: "l" }),
        anonymous: Anonymous::Container,
        moments: false,
        ..read()
    }
}

fn tagged() -> Need<'static> {
    Need { also: letters("t"), actions: &[Action::BlobWrite, Action::BlobTags], ..write() }
}

fn queue() -> Need<'static> {
    Need { of: Of::Queue, on: On::Message, anonymous: Anonymous::Never, actions: &[Action::MessageRead], ..read() }
}

fn for_tokens() -> Need<'static> {
    Need { tokens_only: true, letters: "", account_sas: None, ..read() }
}

/// Only the key and roles do.
fn for_owners() -> Need<'static> {
    Need { on: On::Service, letters: "", account_sas: None, anonymous: Anonymous::Never, ..read() }
}

fn in_tree(need: Need<'static>) -> Need<'static> {
    Need { has_lists: true, ..need }
}

const SERVICE: Result<(), Refusal> = Err(Refusal::AuthorizationServiceMismatch);
const RESOURCE: Result<(), Refusal> = Err(Refusal::AuthorizationResourceTypeMismatch);
const PERMISSION: Result<(), Refusal> = Err(Refusal::AuthorizationPermissionMismatch);
const FAILURE: Result<(), Refusal> = Err(Refusal::AuthorizationFailure);
const NOBODY: Result<(), Refusal> = Err(Refusal::NoAuthenticationInformation);

fn judge(right: &Proof<'_>, need: &Need<'_>) -> Result<(), Refusal> {
    authorize(right, need).map(|_| ())
}

#[test]
fn signatures() {
    let account = |services: &str, resource_types: &str, sp: &str| Proof::AccountSas {
        services: letters(services),
        resource_types: letters(resource_types),
        letters: letters(sp),
    };
    let table = [
        (account("b", "o", "r"), read(), Ok(())),
        (account("q", "o", "r"), read(), SERVICE),
        (account("b", "sc", "r"), read(), RESOURCE),
        (account("b", "o", "w"), read(), PERMISSION),
        (account("bq", "sco", "rw"), write(), Ok(())),
        (account("b", "o", "w"), tagged(), PERMISSION),
        (account("b", "o", "wt"), tagged(), Ok(())),
        (account("b", "o", "r"), queue(), SERVICE),
        (account("q", "o", "r"), queue(), Ok(())),
        (account("bqtf", "sco", "rwdlacup"), for_owners(), FAILURE),
    ];
    for (right, need, expected) in table {
        assert_eq!(judge(&right, &need), expected, "{right:?} for {need:?}");
    }
    let moments = Need { moments: false, ..read() };
    let root = Need { of_root: true, ..list() };
    let table = [
        (terms(Signed::Blob, "r"), read(), Ok(())),
        (terms(Signed::Container, "r"), read(), Ok(())),
        (terms(Signed::Directory, "r"), read(), Ok(())),
        (terms(Signed::Snapshot, "r"), read(), Ok(())),
        (terms(Signed::Version, "r"), moments, RESOURCE),
        (terms(Signed::Blob, "w"), read(), PERMISSION),
        (terms(Signed::Blob, "c"), write(), Ok(())),
        (terms(Signed::Blob, "l"), list(), RESOURCE),
        (terms(Signed::Container, "l"), list(), Ok(())),
        (terms(Signed::Directory, "l"), list(), RESOURCE),
        (terms(Signed::Directory, "l"), root, Ok(())),
        (terms(Signed::Share, "r"), read(), RESOURCE),
        (terms(Signed::File, "r"), read(), RESOURCE),
        (terms(Signed::Other, "r"), queue(), Ok(())),
        (terms(Signed::Container, "r"), queue(), RESOURCE),
        (terms(Signed::Container, "racwdl"), for_owners(), FAILURE),
    ];
    for (terms, need, expected) in &table {
        assert_eq!(judge(&Proof::ServiceSas(terms, &[]), need), *expected, "{terms:?} for {need:?}");
    }
}

#[test]
fn keys_and_strangers() {
    let failed = judge(&Proof::Key, &for_tokens());
    assert!(matches!(failed, Err(Refusal::AuthenticationFailed { .. })), "{failed:?}");
    for need in [read(), write(), list(), queue(), for_owners()] {
        assert!(authorize(&Proof::Key, &need).is_ok_and(|allowed| allowed.owner && allowed.may_overwrite));
    }
    let table = [
        (None, read(), NOBODY),
        (Some(PublicAccess::Off), read(), NOBODY),
        (Some(PublicAccess::Blob), read(), Ok(())),
        (Some(PublicAccess::Container), read(), Ok(())),
        (Some(PublicAccess::Blob), list(), NOBODY),
        (Some(PublicAccess::Container), list(), Ok(())),
        (Some(PublicAccess::Container), write(), NOBODY),
    ];
    for (public, need, expected) in table {
        assert_eq!(judge(&Proof::Nothing(public), &need), expected, "{public:?} for {need:?}");
    }
    let stranger = authorize(&Proof::Nothing(Some(PublicAccess::Container)), &read());
    assert_eq!(stranger, Ok(Allowed::default()));
}

#[test]
fn roles_and_what_they_delegate() {
    let role = |role, account: Option<&str>| Granted {
        role,
        scope: Scope { account: account.map(str::to_owned), within: None },
        lasting: true,
    };
    let reader = [role(Role::BlobReader, None)];
    let elsewhere = [role(Role::BlobOwner, Some("account2"))];
    let contributor = [role(Role::BlobContributor, Some("account1"))];
    let table: [(&[Granted], _, _); 8] = [
        (&reader, read(), Ok(false)),
        (&reader, write(), Err(Refusal::AuthorizationPermissionMismatch)),
        (&reader, in_tree(write()), Ok(true)),
        (&reader, in_tree(read()), Ok(false)),
        (&contributor, write(), Ok(false)),
        (&contributor, tagged(), Err(Refusal::AuthorizationPermissionMismatch)),
        (&elsewhere, read(), Err(Refusal::AuthorizationPermissionMismatch)),
        (&reader, for_tokens(), Ok(false)),
    ];
    for (roles, need, expected) in table {
        let by_lists = authorize(&Proof::Roles(roles), &need).map(|allowed| allowed.by_lists);
        assert_eq!(by_lists, expected, "{roles:?} for {need:?}");
    }
    // Both the SAS and its maker must be allowed; for another user, the lists decide besides.
    let (all, only_read) = (terms(Signed::Container, "racwdl"), terms(Signed::Container, "r"));
    let nobody: [Granted; 0] = [];
    let mismatch = || Err(Refusal::AuthorizationPermissionMismatch);
    let table: [(&Terms, &[Granted], ListsOf, _, _); 11] = [
        (&all, &reader, ListsOf::Signer, read(), Ok(false)),
        (&all, &reader, ListsOf::Signer, write(), mismatch()),
        (&only_read, &contributor, ListsOf::Signer, write(), mismatch()),
        (&all, &contributor, ListsOf::Signer, write(), Ok(false)),
        (&all, &nobody, ListsOf::Signer, in_tree(write()), Ok(true)),
        (&all, &contributor, ListsOf::Other, write(), Err(Refusal::AuthorizationFailure)),
        (&all, &contributor, ListsOf::Other, in_tree(write()), Ok(true)),
        // Who has no right to write lends none by naming somebody who has.
        (&all, &reader, ListsOf::Other, in_tree(write()), mismatch()),
        (&all, &nobody, ListsOf::Other, in_tree(read()), mismatch()),
        (&all, &nobody, ListsOf::SignerAlways, in_tree(read()), Ok(true)),
        (&all, &contributor, ListsOf::SignerAlways, read(), Err(Refusal::AuthorizationFailure)),
    ];
    for (terms, roles, lists, need, expected) in table {
        let right = Proof::Delegated { terms, roles, lists };
        assert_eq!(authorize(&right, &need).map(|allowed| allowed.by_lists), expected, "{right:?} for {need:?}");
    }
}
