//! What each kind of caller may do.

use super::*;

fn container(public: PublicAccess, policies: Vec<StoredPolicy>) -> Openness {
    Openness { public, policies }
}

pub const READ: Spec = Spec {
    name: "GetBlob",
    on: On::Blob,
    needs: "r",
    account_sas: Some(AccountNeeds { resource: 'o', any: "r" }),
    anonymous: Anonymous::Blob,
    ..Spec::PLAIN
};
const WRITE: Spec = Spec {
    name: "PutBlob",
    on: On::Blob,
    needs: "cw",
    also: &[("x-ms-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "cw" }),
    ..Spec::PLAIN
};
const LIST: Spec = Spec {
    name: "ListBlobs",
    on: On::Container,
    needs: "l",
    account_sas: Some(AccountNeeds { resource: 'c', any: "l" }),
    anonymous: Anonymous::Container,
    ..Spec::PLAIN
};
const CREATE: Spec = Spec {
    name: "CreateContainer",
    on: On::Container,
    account_sas: Some(AccountNeeds { resource: 'c', any: "cw" }),
    ..Spec::PLAIN
};

#[test]
fn stored_policies() {
    let policy = |start: Option<&str>, expiry: Option<&str>, permissions: Option<&str>| StoredPolicy {
        id: "policy1".to_owned(),
        start: start.map(time),
        expiry: expiry.map(time),
        permissions: permissions.map(str::to_owned),
    };
    let bare: &[(&str, &str)] = &[("si", "policy1"), ("sr", "c")];
    let with_expiry: &[(&str, &str)] = &[("si", "policy1"), ("sr", "c"), ("se", "2022-08-02")];
    let both = "Access policy fields can be associated with signature or SAS identifier but not both";
    let gone = "Specified signed identifier is not found";
    let table = [
        (bare, Some(policy(None, Some("2022-08-02"), Some("r"))), Ok(())),
        (
            bare,
            Some(policy(Some("2022-08-02"), Some("2022-08-03"), Some("r"))),
            Err("Signature not valid in the specified time frame"),
        ),
        (bare, Some(policy(None, Some("2022-08-01"), Some("r"))), Err("Signed expiry time")),
        (bare, Some(policy(None, None, Some("r"))), Err("se is mandatory")),
        (bare, Some(policy(None, Some("2022-08-02"), None)), Err("sp is mandatory")),
        (bare, Some(policy(None, Some("2022-08-02"), Some("w"))), Err("permission")),
        (bare, None, Err(gone)),
        (with_expiry, Some(policy(None, None, Some("r"))), Ok(())),
        (with_expiry, Some(policy(None, Some("2022-08-02"), Some("r"))), Err(both)),
    ];
    for (fields, policy, expected) in table {
        let head = head("GET", &blob_sas(fields), &[]);
        let identity = identify(&head, &accounts()).expect("a good signature");
        assert!(identity.needs_record());
        let container = container(PublicAccess::Off, policy.into_iter().collect());
        match (authorize(&identity, &READ, &head, Some(&container)), expected) {
            (Ok(_), Ok(())) => {}
            (Err(Denied::AuthorizationPermissionMismatch), Err("permission")) => {}
            (Err(Denied::AuthenticationFailed { detail }), Err(expected)) => {
                assert!(detail.starts_with(expected), "{detail}")
            }
            (other, expected) => panic!("{other:?} for {expected:?}"),
        }
        assert!(matches!(authorize(&identity, &READ, &head, None), Err(Denied::AuthenticationFailed { .. })));
    }
}

#[test]
fn letters_and_resources() {
    let service = |sp: &'static str, sr: &'static str| blob_sas(&[("sp", sp), ("se", "2022-08-02"), ("sr", sr)]);
    let account = |sp: &str, ss: &str, srt: &str| {
        let text = format!("{ACCOUNT}\n{sp}\n{ss}\n{srt}\n\n2022-08-02\n\n\n2020-12-06\n\n");
        service_sas("/c/b", &format!("sp={sp}&ss={ss}&srt={srt}&se=2022-08-02&sv=2020-12-06"), &text)
    };
    let permission = Err(Denied::AuthorizationPermissionMismatch);
    let table = [
        (service("r", "b"), &READ, Ok(false)),
        (service("r", "c"), &READ, Ok(false)),
        (service("w", "b"), &READ, permission.clone()),
        (service("w", "b"), &WRITE, Ok(true)),
        (service("c", "b"), &WRITE, Ok(false)),
        (service("r", "b"), &WRITE, permission.clone()),
        (service("l", "c"), &LIST, Ok(false)),
        (service("l", "b"), &LIST, Err(Denied::AuthorizationResourceTypeMismatch)),
        (service("rwdl", "c"), &CREATE, Err(Denied::AuthorizationFailure)),
        (account("r", "b", "o"), &READ, Ok(false)),
        (account("rw", "bq", "sco"), &WRITE, Ok(true)),
        (account("c", "b", "o"), &WRITE, Ok(false)),
        (account("r", "q", "o"), &READ, Err(Denied::AuthorizationServiceMismatch)),
        (account("r", "b", "sc"), &READ, Err(Denied::AuthorizationResourceTypeMismatch)),
        (account("w", "b", "o"), &READ, permission.clone()),
        (account("c", "b", "c"), &CREATE, Ok(false)),
    ];
    for (url, spec, expected) in table {
        let head = head("PUT", &url, &[]);
        let identity = identify(&head, &accounts()).expect("a good signature");
        assert!(!identity.needs_record());
        let granted = authorize(&identity, spec, &head, None).map(|grant| grant.may_overwrite);
        assert_eq!(granted, expected, "{} {url}", spec.name);
    }
    for (letters, allowed) in [("w", false), ("wt", true)] {
        let head = head("PUT", &blob_sas(&[("sp", letters), ("se", "2022-08-02")]), &[("x-ms-tags", "a=b")]);
        let identity = identify(&head, &accounts()).expect("a good signature");
        assert_eq!(authorize(&identity, &WRITE, &head, None).is_ok(), allowed, "{letters}");
    }
}

#[test]
fn overrides_come_from_the_sas() {
    let head = head("GET", SAS[2].url, &[]);
    let identity = identify(&head, &accounts()).expect("a good signature");
    let grant = authorize(&identity, &READ, &head, None).expect("allowed");
    assert_eq!(grant.overrides.cache_control.as_deref(), Some("no-cache"));
    assert_eq!(grant.overrides.content_type.as_deref(), Some("text/x"));
    assert!(!grant.owner && !grant.may_overwrite);
}

#[test]
fn anonymous_requests() {
    let missing = || Err(Denied::NoAuthenticationInformation);
    let nothing = || Err(Denied::ResourceNotFound);
    let table = [
        (&READ, Some(PublicAccess::Container), "2021-08-06", Ok(())),
        (&READ, Some(PublicAccess::Blob), "2021-08-06", Ok(())),
        (&READ, Some(PublicAccess::Off), "2021-08-06", missing()),
        (&READ, Some(PublicAccess::Off), "2019-12-12", missing()),
        (&READ, Some(PublicAccess::Off), "2018-11-09", nothing()),
        (&READ, Some(PublicAccess::Off), "", nothing()),
        (&READ, None, "2021-08-06", missing()),
        (&READ, None, "", nothing()),
        (&LIST, Some(PublicAccess::Container), "2021-08-06", Ok(())),
        (&LIST, Some(PublicAccess::Blob), "2021-08-06", missing()),
        (&WRITE, Some(PublicAccess::Container), "2021-08-06", missing()),
    ];
    for (spec, public, version, expected) in table {
        let head = head("GET", &format!("{PLACE}/c/b"), &[("x-ms-version", version)]);
        let identity = identify(&head, &accounts()).expect("nobody");
        assert!(identity == Identity::Anonymous && identity.needs_record());
        let container = public.map(|public| container(public, vec![]));
        let granted = authorize(&identity, spec, &head, container.as_ref()).map(|grant| assert!(!grant.owner));
        assert_eq!(granted, expected, "{} {public:?} {version}", spec.name);
    }
    let mut closed = accounts();
    closed.set(
        ACCOUNT,
        lazuli_model::AccountSettings { public_access: false, ..lazuli_model::AccountSettings::default() },
    );
    let ask = |method: &str, path: &str| identify(&head(method, &format!("{PLACE}{path}"), &[]), &closed);
    assert_eq!(ask("GET", "/c/b"), Err(Refusal::Denied(Denied::PublicAccessNotPermitted)));
    assert_eq!(ask("PUT", "/c/b"), Ok(Identity::Anonymous));
    assert_eq!(ask("GET", "?comp=list"), Ok(Identity::Anonymous));
}
