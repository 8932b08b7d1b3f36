//! Bearer tokens and user delegation SAS: who is believed, and what they may.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use lazuli_model::roles::{Role, Scope};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};

use super::*;
use crate::auth::delegation::{KeyFields, key};
use crate::auth::{Assignment, Mode, Principal, Trust, Who};
use crate::operation::Spec;

const ISSUER: &str = "https://login.example/tenant";
const HOUR_LATER: u64 = 1_659_395_567;
const SECRET: &[u8] = b"a secret of the account";
const OID: &str = "11111111-1111-1111-1111-111111111111";
const TID: &str = "22222222-2222-2222-2222-222222222222";

fn issuer_key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).expect("the key")
}

fn key_set(pair: &EcdsaKeyPair) -> String {
    let point = &pair.public_key().as_ref()[1..];
    let (x, y) = (URL_SAFE_NO_PAD.encode(&point[..32]), URL_SAFE_NO_PAD.encode(&point[32..]));
    format!(r#"{{"keys":[{{"kty":"EC","use":"sig","kid":"one","crv":"P-256","x":"{x}","y":"{y}"}}]}}"#)
}

fn token(pair: Option<&EcdsaKeyPair>, header: &str, claims: &str) -> String {
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let tag = pair.map(|pair| pair.sign(&SystemRandom::new(), signed.as_bytes()).expect("a signature"));
    let tag = tag.map(|tag| URL_SAFE_NO_PAD.encode(tag.as_ref())).unwrap_or_default();
    format!("Bearer {signed}.{tag}")
}

fn claims(more: &str) -> String {
    format!(
        r#"{{"iss":"{ISSUER}","aud":"https://storage.azure.com/","exp":{HOUR_LATER},"oid":"{OID}","tid":"{TID}"{more}}}"#
    )
}

const HEADER: &str = r#"{"alg":"ES256","typ":"JWT","kid":"one"}"#;

fn trusting(mode: Mode, pair: Option<&EcdsaKeyPair>, assignments: Vec<Assignment>) -> Accounts {
    let mut trust = Trust::new(mode, vec![ISSUER.into()]);
    trust.insecure = true;
    trust.assignments = assignments;
    if let Some(pair) = pair {
        assert_eq!(trust.set_keys(ISSUER, key_set(pair).as_bytes()), Ok(1));
    }
    let mut accounts = accounts();
    accounts.accept_tokens(Arc::new(trust));
    accounts.delegate(ACCOUNT, SECRET);
    accounts
}

fn assigned(who: Who, role: Role, within: Option<&str>) -> Assignment {
    let scope = Scope { account: Some(ACCOUNT.into()), within: within.map(str::to_owned) };
    Assignment { who, issuer: None, role, scope }
}

fn object(id: &str) -> Who {
    Who::Object(id.into())
}

fn ask(accounts: &Accounts, url: &str, authorization: &str) -> Result<Identity, Refusal> {
    identify(&head("GET", url, &[("authorization", authorization), ("x-ms-version", "2021-08-06")]), accounts)
}

fn why(result: Result<Identity, Refusal>) -> String {
    match result {
        Err(Refusal::Denied(Denied::InvalidAccessToken { detail } | Denied::AuthenticationFailed { detail })) => {
            detail.into_owned()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_whole_and_timely_tokens_of_the_issuer_are_believed() {
    let (pair, other) = (issuer_key(), issuer_key());
    let accounts = trusting(Mode::Verified, Some(&pair), vec![]);
    let url = &format!("{PLACE}/c/b");
    assert!(matches!(ask(&accounts, url, &token(Some(&pair), HEADER, &claims(""))), Ok(Identity::Token(_))));
    let swap = |from: &str, to: &str| token(Some(&pair), HEADER, &claims("").replace(from, to));
    let elsewhere = r#"{"alg":"ES256","kid":"two"}"#;
    let none = r#"{"alg":"none"}"#;
    let symmetric = r#"{"alg":"HS256","kid":"one"}"#;
    for (authorization, detail) in [
        (token(Some(&other), HEADER, &claims("")), "Signature verification failed"),
        (token(None, HEADER, &claims("")), "Signature verification failed"),
        (token(None, none, &claims("")), "Signature verification failed"),
        (token(Some(&pair), symmetric, &claims("")), "Signature verification failed"),
        (token(Some(&pair), elsewhere, &claims("")), "key not found"),
        (swap(ISSUER, "https://evil.example/"), "Issuer did not match"),
        (swap("storage.azure.com", "graph.microsoft.com"), "Audience did not match"),
        (swap("storage.azure.com", "another1.blob.core.windows.net"), "Audience did not match"),
        (swap(&HOUR_LATER.to_string(), "1659394000"), "expired"),
        (token(Some(&pair), HEADER, &claims(r#","nbf":1659399999"#)), "not yet valid"),
        ("Bearer x".into(), "malformed"),
        ("Bearer a.b.c".into(), "malformed"),
    ] {
        let said = why(ask(&accounts, url, &authorization));
        assert!(said.contains(detail), "{said} / {detail}");
    }
    assert_eq!(
        ask(&accounts, url, "Bearer YOU SHALL NOT PASS"),
        Err(Refusal::Denied(Denied::InvalidAuthenticationInfo))
    );
    let account_audience = swap("storage.azure.com", "devstoreaccount1.blob.core.windows.net");
    assert!(ask(&accounts, url, &account_audience).is_ok());
    let old = head(
        "GET",
        url,
        &[("authorization", &token(Some(&pair), HEADER, &claims(""))), ("x-ms-version", "2017-04-17")],
    );
    assert!(why(identify(&old, &accounts)).contains("not supported in this version"));
}

/// Observed: tables and files took tokens before their documentation says so; and only who can be challenged is.
#[test]
fn versions_say_whether_tokens_are_taken_and_how_others_are_refused() {
    let accounts = trusting(Mode::Basic, None, vec![]);
    let good = token(None, HEADER, &claims(""));
    let table = [
        (Service::Table, "2018-03-28", "no", "403"),
        (Service::Table, "2019-02-02", "yes", "403"),
        (Service::Table, "2019-07-07", "yes", "403"),
        (Service::Table, "2020-12-06", "yes", "401"),
        (Service::File, "2021-06-08", "no", "403"),
        (Service::File, "2021-12-02", "yes", "401"),
        (Service::Blob, "2017-04-17", "no", "403"),
        (Service::Blob, "2018-11-09", "yes", "403"),
        (Service::Blob, "2019-12-12", "yes", "401"),
    ];
    for (service, version, taken, refused) in table {
        let ask = |authorization: &str| {
            let headers = [("authorization", authorization), ("x-ms-version", version)];
            identify(
                &head_on(
                    arrival(service, NOW),
                    "GET",
                    "http://127.0.0.1/devstoreaccount1/?comp=properties&restype=service",
                    &headers,
                ),
                &accounts,
            )
        };
        assert_eq!(ask(&good).is_ok(), taken == "yes", "{service:?} {version}");
        match ask("Bearer unreadable") {
            Err(Refusal::Denied(Denied::InvalidAccessToken { .. })) => {
                assert_eq!(refused, "401", "{service:?} {version}")
            }
            Err(Refusal::Denied(Denied::AuthenticationFailed { .. })) => {
                assert_eq!(refused, "403", "{service:?} {version}")
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn tokens_want_a_server_that_accepts_them_and_a_safe_link() {
    let bearer = token(None, HEADER, &claims(""));
    assert!(why(ask(&accounts(), PLACE, &bearer)).contains("accepts no bearer tokens"));
    let mut plain = accounts();
    plain.accept_tokens(Arc::new(Trust::new(Mode::Basic, vec![ISSUER.into()])));
    assert!(why(ask(&plain, PLACE, &bearer)).contains("not allowed with HTTP"));
    let secure = Arrival { secure: true, ..arrival(Service::Blob, NOW) };
    assert!(identify(&head_on(secure, "GET", PLACE, &[("authorization", &bearer)]), &plain).is_ok());
}

fn may(identity: &Identity, spec: &Spec, url: &str) -> bool {
    match authorize(identity, spec, &head(spec.methods[0], url, &[]), None) {
        Ok(_) => true,
        Err(Denied::AuthorizationPermissionMismatch) => false,
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn roles_come_from_the_token_and_from_the_operator() {
    use crate::blob::{delete_blob, get_blob, list_containers};
    let (c, d) = (&format!("{PLACE}/ccc/b"), &format!("{PLACE}/ddd/b"));
    let who = |accounts: &Accounts, more: &str| ask(accounts, c, &token(None, HEADER, &claims(more))).expect("a token");

    let everybody = trusting(Mode::Basic, None, vec![]);
    assert!(may(&who(&everybody, ""), &delete_blob::SPEC, c), "basic mode without assignments");

    let accounts = trusting(
        Mode::Basic,
        None,
        vec![
            assigned(object(OID), Role::BlobReader, Some("ccc")),
            assigned(Who::Group("group".into()), Role::BlobOwner, None),
        ],
    );
    let reader = who(&accounts, "");
    assert!(may(&reader, &get_blob::SPEC, c));
    assert!(!may(&reader, &get_blob::SPEC, d), "another container");
    assert!(!may(&reader, &delete_blob::SPEC, c));
    assert!(!may(&reader, &list_containers::SPEC, PLACE), "the account is beyond a container's scope");
    assert!(may(&who(&accounts, r#","groups":["group"]"#), &delete_blob::SPEC, d));
    let contributor = who(&accounts, r#","roles":["Storage Blob Data Contributor","Something else"]"#);
    assert!(may(&contributor, &delete_blob::SPEC, d));
}

/// A SAS over `path`, signed with the delegation key that `maker` would be given.
fn delegated(
    accounts: &Accounts,
    maker: &Principal,
    path: &str,
    sp: &str,
    changes: &[(&str, &str)],
    version: &str,
) -> String {
    let fields = KeyFields {
        oid: &maker.oid,
        tid: &maker.tid,
        start: "2022-08-01T23:00:00Z",
        expiry: "2022-08-02T23:00:00Z",
        service: "b",
        version,
        delegated_tid: "",
    };
    let key = STANDARD
        .decode(key(SECRET, maker, accounts.trust().expect("tokens"), ACCOUNT, Service::Blob, &fields))
        .expect("base64");
    let sduoid = changes.iter().find(|(name, _)| *name == "sduoid").map_or("", |(_, value)| value);
    let newest = version >= "2025-07-05";
    let users = if newest { format!("\n\n{sduoid}") } else { String::new() };
    let request = if version >= "2026-04-06" { "\n\n" } else { "" };
    let text = format!(
        "{sp}\n\n2022-08-02T01:02:03Z\n/blob/{ACCOUNT}/{path}\n{}\n{}\n{}\n{}\nb\n{version}\n\n\n{users}\n\n\n{version}\nb\n\n{request}\n\n\n\n\n",
        maker.oid, maker.tid, fields.start, fields.expiry
    );
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), text.as_bytes());
    let mut query = vec![
        ("sp", sp),
        ("se", "2022-08-02T01:02:03Z"),
        ("skoid", &maker.oid),
        ("sktid", &maker.tid),
        ("skt", fields.start),
        ("ske", fields.expiry),
        ("sks", "b"),
        ("skv", version),
        ("sv", version),
        ("sr", "b"),
    ];
    for (name, value) in changes {
        query.retain(|(other, _)| other != name);
        query.push((name, value));
    }
    let query: Vec<String> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let tag = STANDARD.encode(tag).replace('+', "%2B");
    format!("{PLACE}/{path}?{}&sig={tag}", query.join("&"))
}

fn maker(accounts: &Accounts, more: &str) -> Principal {
    match ask(accounts, PLACE, &token(None, HEADER, &claims(more))) {
        Ok(Identity::Token(principal)) => (*principal).clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_delegated_sas_may_what_both_it_and_its_maker_may() {
    use crate::blob::{delete_blob, get_blob};
    let accounts = trusting(Mode::Basic, None, vec![assigned(object("someone"), Role::BlobOwner, None)]);
    let url = &format!("{PLACE}/ccc/b");
    let by = |url: &str| identify(&head("GET", url, &[]), &accounts).expect("a SAS");
    for version in ["2021-08-06", "2025-07-05", "2026-02-06", "2026-04-06", "2026-10-06"] {
        let reader = maker(&accounts, r#","roles":["Storage Blob Data Reader"]"#);
        let mut sas = delegated(&accounts, &reader, "ccc/b", "rd", &[], version);
        let identity = by(&sas);
        assert!(may(&identity, &get_blob::SPEC, url), "{version}");
        assert!(!may(&identity, &delete_blob::SPEC, url), "{version}: the maker may only read");
        let owner = maker(&accounts, r#","roles":["Storage Blob Data Owner"]"#);
        sas = delegated(&accounts, &owner, "ccc/b", "r", &[], version);
        assert!(!may(&by(&sas), &delete_blob::SPEC, url), "{version}: the SAS only reads");
        sas = delegated(&accounts, &owner, "ccc/b", "rd", &[], version);
        assert!(may(&by(&sas), &delete_blob::SPEC, url), "{version}");
    }
}

#[test]
fn nothing_of_a_delegated_sas_can_be_changed() {
    let [mut accounts, makers] = [(); 2].map(|()| trusting(Mode::Basic, None, vec![]));
    let owner = maker(&accounts, "");
    let refused = |accounts: &Accounts, url: &str| detail(identify(&head("GET", url, &[]), accounts));
    let sas = |changes: &[(&str, &str)]| delegated(&makers, &owner, "ccc/b", "r", changes, "2026-10-06");
    assert!(identify(&head("GET", &sas(&[]), &[]), &accounts).is_ok());
    for changes in [
        [("sp", "rwd")],
        [("skoid", "33333333-3333-3333-3333-333333333333")],
        [("sktid", "33333333-3333-3333-3333-333333333333")],
        [("ske", "2022-08-03T23:00:00Z")],
        [("skv", "2025-01-05")],
        [("se", "2022-08-02T22:02:03Z")],
        [("saoid", "x")],
        [("srh", "x-ms-date")],
        [("srq", "comp")],
    ] {
        assert!(refused(&accounts, &sas(&changes)).contains("did not match"), "{changes:?}");
    }
    assert!(refused(&accounts, &sas(&[("sks", "q")])).contains("not well formed"));
    assert!(refused(&accounts, &sas(&[("ske", "2022-08-01T23:01:00Z")])).contains("key time frame"));
    accounts.delegate(ACCOUNT, b"another secret");
    assert!(refused(&accounts, &sas(&[])).contains("did not match"), "revoked");
}

#[test]
fn a_sas_for_one_user_wants_that_users_token() {
    let accounts = trusting(Mode::Basic, None, vec![]);
    let owner = maker(&accounts, "");
    let url = delegated(&accounts, &owner, "ccc/b", "r", &[("sduoid", "user")], "2026-10-06");
    assert!(detail(identify(&head("GET", &url, &[]), &accounts)).contains("bearer token"));
    let user = |oid: &str| token(None, HEADER, &claims("").replace(OID, oid));
    assert!(why(ask(&accounts, &url, &user("other"))).contains("another user"));
    assert!(matches!(ask(&accounts, &url, &user("user")), Ok(Identity::Delegated(..))));
}

/// The lists of a file system are asked for who signed, or for another user besides; never for another user instead.
#[test]
fn nobody_lends_a_right_by_naming_its_owner() {
    use crate::auth::{ServiceSas, authorize, caller};
    use crate::blob::get_blob;
    use lazuli_model::access::{Letters, Terms, Times};
    use lazuli_model::authorize::Signed;
    let reads = trusting(Mode::Basic, None, vec![assigned(object(OID), Role::BlobReader, None)]);
    let nothing = trusting(Mode::Basic, None, vec![assigned(object("someone"), Role::BlobOwner, None)]);
    let terms = Terms {
        signed: Signed::Container,
        letters: Letters::parse("r"),
        times: Times { start: None, expiry: Timestamp::parse_iso("2099-01-01T00:00:00Z") },
        policy: None,
    };
    let sas = ServiceSas { version: Version::NEWEST, terms, overrides: Default::default() };
    // Whether lists are asked, and for whom. Nothing: refused.
    for (accounts, query, want) in [
        (&nothing, "", Some((true, OID))),
        (&nothing, "saoid=alice", Some((true, OID))),
        (&nothing, "suoid=alice", None),
        (&nothing, &format!("suoid={OID}"), Some((true, OID))),
        (&reads, "", Some((false, OID))),
        (&reads, "saoid=alice", Some((false, "alice"))),
        (&reads, "suoid=alice", Some((true, "alice"))),
    ] {
        let identity = Identity::Delegated(sas.clone(), Arc::new(maker(accounts, "")));
        let head = Head { hierarchical: true, ..head("GET", &format!("{PLACE}/ccc/b?{query}"), &[]) };
        let granted = authorize(&identity, &get_blob::SPEC, &head, None).ok();
        let asked = granted.map(|grant| caller(&identity, &grant, &head)).map(|caller| (caller.is_bound, caller.oid));
        assert_eq!(asked, want.map(|(bound, oid)| (bound, Some(oid.to_owned()))), "{query}");
    }
}

/// A session is of its maker and of one container, for five minutes, and signs as Shared Key does.
#[test]
fn a_session_does_what_its_maker_may_in_one_container() {
    use crate::auth::session;
    use crate::blob::{delete_blob, get_blob};
    let accounts = trusting(Mode::Basic, None, vec![assigned(object(OID), Role::BlobReader, None)]);
    let (here, there) = (format!("{PLACE}/ccc/b"), format!("{PLACE}/ddd/b"));
    let Ok(Identity::Token(maker)) = ask(&accounts, &here, &token(None, HEADER, &claims(""))) else {
        panic!("a token");
    };
    let account = accounts.get(ACCOUNT).expect("the account");
    let now = arrival(Service::Blob, NOW).wall;
    let sent = |url: &str, token: &str, key: &str| {
        let with = |signature: &str| {
            let authorization = format!("Session {token}:{signature}");
            identify(&head("GET", url, &[("authorization", &authorization), ("x-ms-date", DATE)]), &accounts)
        };
        // A wrong signature is told what to sign.
        let said = why(with("none"));
        let text = said.split("string to sign: '").nth(1).map(|rest| rest.trim_end_matches("'.").to_owned());
        let Some(text) = text else { return with("none") };
        let key = hmac::Key::new(hmac::HMAC_SHA256, &STANDARD.decode(key).expect("a key"));
        with(&STANDARD.encode(hmac::sign(&key, text.as_bytes())))
    };
    let session = session::create(&account, &maker, "ccc", now);
    let reader = sent(&here, &session.token, &session.key).expect("a session");
    assert!(may(&reader, &get_blob::SPEC, &here) && !may(&reader, &delete_blob::SPEC, &here));
    assert!(why(sent(&there, &session.token, &session.key)).contains("another container"));
    let other = session::create(&account, &maker, "ddd", now);
    assert!(why(sent(&here, &session.token, &other.key)).starts_with("The MAC signature"));
    let forged = session.token.replacen(|c: char| c.is_ascii_alphabetic(), "9", 1);
    assert!(why(sent(&here, &forged, &session.key)).contains("no session"));
    let over =
        session::create(&account, &maker, "ccc", lazuli_model::Timestamp::from_ticks(now.ticks() - 6_000_000_000));
    assert!(why(sent(&here, &over.token, &over.key)).contains("create a new session"));
}

const APP: &str = "44444444-4444-4444-4444-444444444444";
const OTHER_ISSUER: &str = "https://login.other/tenant";

/// M3: ids of one kind are not taken for another's, an application's role is not for its users, and an issuer speaks for its own alone.
#[test]
fn an_assignment_is_for_one_kind_of_principal_of_one_issuer() {
    use crate::blob::get_blob;
    let place = &format!("{PLACE}/ccc/b");
    let app_only = format!(r#","idtyp":"app","appid":"{APP}""#);
    let undeclared = format!(r#","sub":"{OID}","azp":"{APP}""#);
    let through_app = format!(r#","idtyp":"user","scp":"user_impersonation","appid":"{APP}""#);
    let scoped = format!(r#","sub":"{OID}","scp":"x","appid":"{APP}""#);
    let (user, group) = (|id: &str| Who::User(id.into()), |id: &str| Who::Group(id.into()));
    let app = |id: &str| Who::Application(id.into());
    // `oid` stands in every token but those marked.
    let table: &[(Who, &str, bool)] = &[
        (Who::Anyone, "", true),
        (object(OID), "", true),
        (object(OID), &app_only, true),
        (user(OID), "", true),
        (user(OID), &app_only, false),
        (group(OID), "", false),
        (app(OID), "", false),
        (app(OID), &app_only, false),
        (app(APP), &app_only, true),
        (app(APP), &undeclared, true),
        (app(APP), &through_app, false),
        (app(APP), &scoped, false),
        (object(APP), &app_only, false),
        (user(APP), &app_only, false),
        (group("g"), r#","groups":["g"]"#, true),
        (object("g"), r#","groups":["g"]"#, false),
        (user("g"), r#","groups":["g"],"sub":"g""#, false),
        (object("s"), r#","sub":"s""#, false),
    ];
    let judge = |accounts: &Accounts, claims: &str| {
        let identity = ask(accounts, place, &token(None, HEADER, claims)).expect("a token");
        may(&identity, &get_blob::SPEC, place)
    };
    for (who, more, expected) in table {
        let accounts = trusting(Mode::Basic, None, vec![assigned(who.clone(), Role::BlobReader, None)]);
        assert_eq!(judge(&accounts, &claims(more)), *expected, "{who:?} {more}");
    }
    // Without an object id, the subject is a user's and nothing else.
    let nameless = |more: &str| claims(more).replace(&format!(r#""oid":"{OID}","#), "");
    for (who, more, expected) in [
        (user("s"), r#","sub":"s""#, true),
        (object("s"), r#","sub":"s""#, false),
        (user("s"), r#","sub":"s","idtyp":"app""#, false),
        (app("s"), r#","sub":"s","idtyp":"app""#, false),
    ] {
        let accounts = trusting(Mode::Basic, None, vec![assigned(who.clone(), Role::BlobReader, None)]);
        assert_eq!(judge(&accounts, &nameless(more)), expected, "{who:?} {more}");
    }
    // Two issuers.
    let mut trust = Trust::new(Mode::Basic, vec![ISSUER.into(), OTHER_ISSUER.into()]);
    trust.insecure = true;
    let of = |issuer: &str, who: Who| Assignment {
        issuer: Some(format!("{issuer}/")),
        ..assigned(who, Role::BlobReader, None)
    };
    trust.assignments = vec![of(ISSUER, object(OID)), of(OTHER_ISSUER, group("g"))];
    let mut both = accounts();
    both.accept_tokens(Arc::new(trust));
    both.delegate(ACCOUNT, SECRET);
    let elsewhere = |more: &str| claims(more).replace(ISSUER, OTHER_ISSUER);
    assert!(judge(&both, &claims("")) && !judge(&both, &elsewhere("")));
    let grouped = r#","groups":["g"]"#;
    assert!(judge(&both, &elsewhere(grouped)));
    assert!(!judge(&both, &claims(grouped).replace(OID, "another")));
    // Nor does it through a delegation key.
    for (claims, expected) in [(claims(""), true), (elsewhere(r#","roles":["Storage Blob Delegator"]"#), false)] {
        let Ok(Identity::Token(maker)) = ask(&both, PLACE, &token(None, HEADER, &claims)) else { panic!("a token") };
        let url = delegated(&both, &maker, "ccc/b", "r", &[], "2026-10-06");
        let identity = identify(&head("GET", &url, &[]), &both).expect("a SAS");
        assert_eq!(may(&identity, &get_blob::SPEC, place), expected, "{claims}");
    }
}

/// M3: what a delegation key or a session finds again is what its maker was: an application is no user, and a subject no object id.
#[test]
fn who_made_a_key_is_part_of_it() {
    use crate::auth::session;
    use crate::blob::get_blob;
    let place = &format!("{PLACE}/ccc/b");
    let delegator = r#","roles":["Storage Blob Delegator"]"#;
    let table = [
        (Who::User(OID.into()), claims(delegator), true),
        (Who::User(OID.into()), claims(&format!(r#"{delegator},"idtyp":"app""#)), false),
        (object(OID), claims(&format!(r#"{delegator},"idtyp":"app""#)), true),
        (object(OID), claims(delegator).replace(r#""oid""#, r#""sub""#), false),
        (Who::Anyone, claims(delegator).replace(r#""oid""#, r#""sub""#), true),
    ];
    for (who, claims, expected) in table {
        let accounts = trusting(Mode::Basic, None, vec![assigned(who.clone(), Role::BlobReader, Some("ccc"))]);
        let Ok(Identity::Token(maker)) = ask(&accounts, PLACE, &token(None, HEADER, &claims)) else {
            panic!("a token")
        };
        let url = delegated(&accounts, &maker, "ccc/b", "r", &[], "2026-10-06");
        let identity = identify(&head("GET", &url, &[]), &accounts).expect("a SAS");
        assert_eq!(may(&identity, &get_blob::SPEC, place), expected, "{who:?} {claims}");
        let account = accounts.get(ACCOUNT).expect("the account");
        let made = session::create(&account, &maker, "ccc", arrival(Service::Blob, NOW).wall);
        let with = |signature: &str| {
            let authorization = format!("Session {}:{signature}", made.token);
            identify(&head("GET", place, &[("authorization", &authorization), ("x-ms-date", DATE)]), &accounts)
        };
        let said = why(with("none"));
        let text = said
            .split("string to sign: '")
            .nth(1)
            .unwrap_or_else(|| panic!("nothing to sign: {said}"))
            .trim_end_matches("'.")
            .to_owned();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &STANDARD.decode(&made.key).expect("a key"));
        let identity = with(&STANDARD.encode(hmac::sign(&key, text.as_bytes()))).expect("a session");
        assert_eq!(may(&identity, &get_blob::SPEC, place), expected, "a session of {who:?} {claims}");
    }
}
