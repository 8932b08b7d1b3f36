use std::net::{IpAddr, Ipv4Addr};

use lazuli_model::access::{PublicAccess, StoredPolicy};
use lazuli_model::authorize::Signed;
use lazuli_model::{AccountName, Timestamp};

use super::*;
use crate::head::{Arrival, ProofCache};
use crate::operation::{AccountNeeds, Anonymous};
use crate::wire::noise::survive;

const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const ACCOUNT: &str = "devstoreaccount1";
pub(crate) const NOW: &str = "2022-08-01T23:12:47Z";

mod confusion;
mod file;
mod tokens;
mod whether;

use whether::READ;

struct Request {
    method: &'static str,
    url: &'static str,
    headers: &'static [(&'static str, &'static str)],
    authorization: &'static str,
}

struct Sas {
    name: &'static str,
    url: &'static str,
}

// Both tables were made with azure-storage-blob 12.31.1 (SharedKeyCredentialPolicy, generate_*_sas).
#[rustfmt::skip]
const SIGNED: &[Request] = &[
    Request { method: "GET", url: "http://127.0.0.1:10000/devstoreaccount1?comp=list&include=", headers: &[("x-ms-date", "Mon, 01 Aug 2022 23:12:47 GMT"), ("x-ms-version", "2021-08-06")], authorization: "SharedKey devstoreaccount1:h1h2Xxf+T9vkP0e/+ahflBFG3I23gzTJt5VlQIeggZk=" },
    Request { method: "PUT", url: "http://127.0.0.1:10000/devstoreaccount1/c?restype=container", headers: &[("x-ms-date", "Mon, 01 Aug 2022 23:12:47 GMT"), ("x-ms-version", "2021-08-06"), ("Content-Length", "0")], authorization: "SharedKey devstoreaccount1:HrtE0xDiUZ8pqZqNJP/NOp3tueE1B94f4PlyDZ3n91c=" },
    Request { method: "PUT", url: "http://127.0.0.1:10000/devstoreaccount1/c/b.txt", headers: &[("x-ms-date", "Mon, 01 Aug 2022 23:12:47 GMT"), ("x-ms-version", "2021-08-06"), ("Content-Length", "11"), ("Content-Type", "application/octet-stream"), ("x-ms-blob-type", "BlockBlob"), ("If-None-Match", "*"), ("x-ms-meta-a-b", "1"), ("x-ms-meta-aa", "2"), ("x-ms-meta-a_b", "3"), ("x-ms-meta-a1", "4")], authorization: "SharedKey devstoreaccount1:mFHGNPRN1vNxg1g/ghhbELe80KXJYmeGGsNGtryw7Q8=" },
    Request { method: "PUT", url: "http://127.0.0.1:10000/devstoreaccount1/c/dir%2Fb%20%E5%95%8A.txt?comp=block&blockid=MTIz%2B%2Fw%3D%3D", headers: &[("x-ms-date", "Mon, 01 Aug 2022 23:12:47 GMT"), ("x-ms-version", "2021-08-06"), ("Content-Length", "3"), ("Content-MD5", "XrY7u+Ae7tCTyyK7j1rNww==")], authorization: "SharedKey devstoreaccount1:MFswRiQZBd1nTCcm267RxNRwZ99NaTPek9iL0wo4GPc=" },
    Request { method: "GET", url: "http://127.0.0.1:10000/devstoreaccount1/c/b.txt?snapshot=2022-08-01T23%3A15%3A21.0293116Z", headers: &[("x-ms-date", "Mon, 01 Aug 2022 23:12:47 GMT"), ("x-ms-version", "2021-08-06"), ("x-ms-range", "bytes=0-33554431"), ("If-Modified-Since", "Mon, 01 Aug 2022 23:12:47 GMT"), ("If-Match", "\"0x8DA741358DE4884\"")], authorization: "SharedKey devstoreaccount1:d0DdtN9nMHHMVyB7LdKu9c8GzLwliuOFZ2qKOcpAfIk=" },
    Request { method: "GET", url: "http://127.0.0.1:10000/devstoreaccount1/c?restype=container&comp=list&prefix=a%20b%26c&maxresults=5&delimiter=%2F", headers: &[("x-ms-date", "Mon, 01 Aug 2022 23:12:47 GMT"), ("x-ms-version", "2021-08-06"), ("x-ms-client-request-id", "1")], authorization: "SharedKey devstoreaccount1:F/IzG6au3ph+yB4AP72nlLiOac1XDEGO3ZHsXTox9a0=" },
    Request { method: "DELETE", url: "https://devstoreaccount1.blob.core.windows.net/c/b.txt", headers: &[("x-ms-date", "Mon, 01 Aug 2022 23:12:47 GMT"), ("x-ms-version", "2021-08-06"), ("Content-Length", "0"), ("x-ms-delete-snapshots", "include"), ("x-ms-lease-id", "")], authorization: "SharedKey devstoreaccount1:raQa0nFu4IyA7n0L/XgQfEX74eIzJwvJeoXxnUh5xYY=" },
    Request { method: "GET", url: "https://devstoreaccount1-secondary.blob.core.windows.net/?restype=service&comp=stats", headers: &[("x-ms-date", "Mon, 01 Aug 2022 23:12:47 GMT"), ("x-ms-version", "2021-08-06")], authorization: "SharedKey devstoreaccount1:L7GAMPpI7WzmrSViEBpzzzXbXmQ7+vweOg1PHrsrzNg=" },
];

#[rustfmt::skip]
const SAS: &[Sas] = &[
    Sas { name: "blob", url: "http://127.0.0.1:10000/devstoreaccount1/c/dir/b.txt?st=2022-08-01T01%3A02%3A03Z&se=2022-08-02T01%3A02%3A03Z&sp=rw&sv=2026-10-06&sr=b&sig=a/aFXqK%2BxM8YJJ%2BYOPXUOngpN9lry%2BWQuMl7KNnX8pc%3D" },
    Sas { name: "blob, unusual name", url: "http://127.0.0.1:10000/devstoreaccount1/c/a%20b%2B%E5%95%8A?se=2022-08-02T01%3A02%3A03Z&sp=r&sv=2026-10-06&sr=b&sig=SgxXoAQJvWO1F2UOQnMWDFWxizNXQOmGpRLrpDMENXY%3D" },
    Sas { name: "blob, response headers", url: "http://127.0.0.1:10000/devstoreaccount1/c/b?se=2022-08-02T01%3A02%3A03Z&sp=r&sv=2026-10-06&sr=b&rscc=no-cache&rscd=inline&rsce=utf-8&rscl=fr&rsct=text/x&sig=y02iQnaQ2b2DTAjL256C3bC1eOIjdzu%2BUdpav6bFZH0%3D" },
    Sas { name: "blob, address and protocol", url: "http://127.0.0.1:10000/devstoreaccount1/c/b?se=2022-08-02T01%3A02%3A03Z&sp=r&sip=127.0.0.1-127.0.0.9&spr=https%2Chttp&sv=2026-10-06&sr=b&sig=rF61ZoVNQo/bbyp0rH7IQrqmq/zhhFbMckWYZlV8rhg%3D" },
    Sas { name: "snapshot", url: "http://127.0.0.1:10000/devstoreaccount1/c/b?snapshot=2022-08-01T23:15:21.0293116Z&se=2022-08-02T01%3A02%3A03Z&sp=r&sv=2026-10-06&sr=bs&sig=V/kfPGVbpue/CBBwRy9yv4ikpmCpdSm/6hjOMt7kj8Y%3D" },
    Sas { name: "version", url: "http://127.0.0.1:10000/devstoreaccount1/c/b?versionid=2022-08-01T23:15:21.0293116Z&se=2022-08-02T01%3A02%3A03Z&sp=r&sv=2026-10-06&sr=bv&sig=2qc7Nt1QwXP%2BEi3APDEYGXLpTrtC7e5%2Bml3IhNw57nE%3D" },
    Sas { name: "container", url: "http://127.0.0.1:10000/devstoreaccount1/c/any?se=2022-08-02T01%3A02%3A03Z&sp=rwdl&sv=2026-10-06&sr=c&sig=cWecJenkKWNHJZHH4uT8QJINYagUxRcP2iNY5kOL3ek%3D" },
    Sas { name: "container list", url: "http://127.0.0.1:10000/devstoreaccount1/c?restype=container&comp=list&se=2022-08-02T01%3A02%3A03Z&sp=l&sv=2026-10-06&sr=c&ses=scope1&sig=H7LxUBBkdx1IvwN2%2B2%2BN/qcAhr7UOjV0Jr7P/rEg300%3D" },
    Sas { name: "policy", url: "http://127.0.0.1:10000/devstoreaccount1/c/b?sv=2026-10-06&si=policy1&sr=c&sig=5oHwPmoq6Vov7mUH/t386bL27F3DiMgjErZYfrEbqTY%3D" },
    Sas { name: "account", url: "http://127.0.0.1:10000/devstoreaccount1/c/b?st=2022-08-01T01%3A02%3A03Z&se=2022-08-02T01%3A02%3A03Z&sp=rwdlacup&sv=2026-10-06&ss=bqf&srt=sco&sig=xQeoF7mt2OLVqZvVdJDlLdCKeBjeTyTZNlOOUnK%2BV9w%3D" },
    Sas { name: "account, address", url: "http://127.0.0.1:10000/devstoreaccount1/c/b?se=2022-08-02T01%3A02%3A03Z&sp=r&sip=127.0.0.1&spr=https%2Chttp&sv=2026-10-06&ss=b&srt=o&ses=s&sig=aMemTZGfHgWfP5M4kOqvI%2BN8j7VOIsJ2aO1w7GzJF7k%3D" },
];

pub(super) fn accounts() -> Accounts {
    let mut accounts = Accounts::new();
    accounts.add(AccountName::parse(ACCOUNT).expect("a name"), &[KEY]).expect("a key");
    accounts
}

fn time(text: &str) -> Timestamp {
    Timestamp::parse_iso(text).expect("a time")
}

pub(crate) fn arrival(service: Service, now: &str) -> Arrival {
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    Arrival {
        service,
        secure: false,
        peer,
        now: Timestamp::from_ticks(0),
        wall: time(now),
        request_id: 1,
        loose: false,
    }
}

pub(super) fn head_on(arrival: Arrival, method: &str, url: &str, headers: &[(&str, &str)]) -> Head {
    head_again(arrival, method, url, headers, &ProofCache::default())
}

fn head_again(arrival: Arrival, method: &str, url: &str, headers: &[(&str, &str)], proofs: &ProofCache) -> Head {
    let mut request = http::Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Head::read_again(request.body(()).expect("a request").into_parts().0, arrival, proofs).expect("a head")
}

pub(super) fn head(method: &str, url: &str, headers: &[(&str, &str)]) -> Head {
    head_on(arrival(Service::Blob, NOW), method, url, headers)
}

fn signed(request: &Request) -> Vec<(&'static str, &'static str)> {
    request.headers.iter().copied().chain([("authorization", request.authorization)]).collect()
}

pub(super) fn detail(result: Result<Identity, Refusal>) -> String {
    match result {
        Err(Refusal::Denied(Denied::AuthenticationFailed { detail })) => detail.into_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn shared_key_as_the_python_client_signs() {
    for request in SIGNED {
        let identity = identify(&head(request.method, request.url, &signed(request)), &accounts());
        assert_eq!(identity, Ok(Identity::Owner), "{} {}", request.method, request.url);
    }
}

#[test]
fn shared_key_is_over_everything() {
    for request in SIGNED {
        let refused = |method: &str, url: &str, headers: &[(&str, &str)]| {
            let said = detail(identify(&head(method, url, headers), &accounts()));
            assert!(said.starts_with("The MAC signature found in the HTTP request '"), "{said}");
            assert!(!said.contains(KEY));
        };
        refused("POST", request.url, &signed(request));
        let more = if request.url.contains('?') { "&a=b" } else { "?a=b" };
        refused(request.method, &format!("{}{more}", request.url), &signed(request));
        let mut headers = signed(request);
        headers.push(("x-ms-meta-more", ""));
        refused(request.method, request.url, &headers);
    }
}

/// What a connection has proven once is not taken on trust where anything else differs: the time, the keys, a letter of the query.
#[test]
fn a_sas_that_was_verified_before() {
    let url = SAS.iter().find(|sas| sas.name == "account").expect("an account SAS").url;
    let (proofs, mut accounts) = (ProofCache::default(), accounts());
    let ask = |accounts: &Accounts, url: &str, now: &str| {
        identify(&head_again(arrival(Service::Blob, now), "GET", url, &[], &proofs), accounts)
    };
    let first = ask(&accounts, url, NOW);
    assert!(matches!(first, Ok(Identity::AccountSas(_))), "{first:?}");
    assert_eq!(ask(&accounts, &url.replace("/c/b?", "/other/blob?"), NOW), first);
    for (now, said) in [("2022-08-01T00:00:00Z", "not valid in the specified"), ("2022-08-03T00:00:00Z", "not valid")] {
        assert!(detail(ask(&accounts, url, now)).contains(said), "{now}");
    }
    assert_eq!(ask(&accounts, url, NOW), first);
    let forged = [url.replace("sp=rwdlacup", "sp=rwdlacupx"), url.replace("sig=xQ", "sig=xR"), format!("{url}&ses=s")];
    for url in forged {
        assert!(detail(ask(&accounts, &url, NOW)).contains("Signature did not match"), "{url}");
    }
    assert_eq!(ask(&accounts, url, NOW), first);
    // Another query with the same SAS, in whatever place.
    let others = [format!("{url}&comp=block&blockid=QQ%3D%3D"), url.replace("/c/b?", "/c/b?comp=tags&")];
    for other in &others {
        assert_eq!(ask(&accounts, other, NOW), first, "{other}");
        assert!(detail(ask(&accounts, other, "2022-08-03T00:00:00Z")).contains("not valid"), "{other}");
        let forged = [other.replace("sp=rwdlacup", "sp=rwdlacupx"), other.replace("sig=xQ", "sig=xR")];
        for forged in forged {
            assert!(detail(ask(&accounts, &forged, NOW)).contains("Signature did not match"), "{forged}");
        }
    }
    let broken = url.replace("sp=rwdlacup", "sp=rwdlacup%0A");
    assert!(detail(ask(&accounts, &broken, NOW)).contains("not well formed"), "{broken}");
    assert_eq!(ask(&accounts, &others[0], NOW), first);
    accounts.add(AccountName::parse(ACCOUNT).expect("a name"), &["b3RoZXI="]).expect("a key");
    for url in [url, &others[0], &others[1]] {
        assert!(detail(ask(&accounts, url, NOW)).contains("Signature did not match"), "{url}");
    }
}

/// Signs what another client would, by its own string.
fn authorized(scheme: &str, text: &str) -> String {
    let accounts = accounts();
    let account = accounts.get(ACCOUNT).expect("the account");
    format!("{scheme} {ACCOUNT}:{}", account.sign(text.as_bytes()))
}

const DATE: &str = "Mon, 01 Aug 2022 23:12:47 GMT";
const PLACE: &str = "http://127.0.0.1:10000/devstoreaccount1";

#[test]
fn forms_that_other_clients_sign() {
    let table: &[(Service, &str, &str, String, &str)] = &[
        // Headers sorted by code, as .NET and Go do it.
        (
            Service::Blob,
            "SharedKey",
            "/c/b",
            format!(
                "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{DATE}\nx-ms-meta-a-b:1\nx-ms-meta-aa:2\nx-ms-version:2021-08-06\n/{ACCOUNT}/{ACCOUNT}/c/b"
            ),
            "2021-08-06",
        ),
        // A path that was encoded anew after it was built.
        (
            Service::Blob,
            "SharedKey",
            "/c/a%2Fb%28c%29",
            format!(
                "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{DATE}\nx-ms-meta-a-b:1\nx-ms-meta-aa:2\nx-ms-version:2021-08-06\n/{ACCOUNT}/{ACCOUNT}/c/a/b(c)"
            ),
            "2021-08-06",
        ),
        // Shared Key Lite signs of the query only `comp`.
        (
            Service::Blob,
            "SharedKeyLite",
            "/c/b?comp=metadata&timeout=5",
            format!(
                "GET\n\n\n\nx-ms-date:{DATE}\nx-ms-meta-aa:2\nx-ms-meta-a-b:1\nx-ms-version:2021-08-06\n/{ACCOUNT}/{ACCOUNT}/c/b?comp=metadata"
            ),
            "2021-08-06",
        ),
        (
            Service::Table,
            "SharedKey",
            "/t()?comp=acl&$top=1",
            format!("GET\n\n\n{DATE}\n/{ACCOUNT}/{ACCOUNT}/t()?comp=acl"),
            "2019-02-02",
        ),
        (Service::Table, "SharedKeyLite", "/t()", format!("{DATE}\n/{ACCOUNT}/{ACCOUNT}/t()"), "2019-02-02"),
        // Parameters by lower-case name, several values of a list sorted.
        (
            Service::Queue,
            "SharedKey",
            "/?Zeta=1&include=b&Include=a",
            format!(
                "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{DATE}\nx-ms-meta-aa:2\nx-ms-meta-a-b:1\nx-ms-version:2021-08-06\n/{ACCOUNT}/{ACCOUNT}/\ninclude:a,b\nzeta:1"
            ),
            "2021-08-06",
        ),
    ];
    for (service, scheme, path, text, version) in table {
        let authorization = authorized(scheme, text);
        let headers = [
            ("x-ms-date", DATE),
            ("x-ms-version", version),
            ("x-ms-meta-a-b", "1"),
            ("x-ms-meta-aa", "2"),
            ("authorization", &authorization),
        ];
        let head = head_on(arrival(*service, NOW), "GET", &format!("{PLACE}{path}"), &headers);
        assert_eq!(identify(&head, &accounts()), Ok(Identity::Owner), "{scheme} {path}");
    }
}

#[test]
fn zero_lengths_and_empty_headers_by_version() {
    let table = [
        (
            "2014-02-14",
            format!("PUT\n\n\n0\n\n\n\n\n\n\n\n\nx-ms-date:{DATE}\nx-ms-version:2014-02-14\n/{ACCOUNT}/{ACCOUNT}/c"),
        ),
        (
            "2015-02-21",
            format!("PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{DATE}\nx-ms-version:2015-02-21\n/{ACCOUNT}/{ACCOUNT}/c"),
        ),
        (
            "2016-05-31",
            format!(
                "PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{DATE}\nx-ms-lease-id:\nx-ms-version:2016-05-31\n/{ACCOUNT}/{ACCOUNT}/c"
            ),
        ),
    ];
    for (version, text) in table {
        let authorization = authorized("SharedKey", &text);
        let headers = [
            ("x-ms-date", DATE),
            ("x-ms-version", version),
            ("x-ms-lease-id", ""),
            ("content-length", "0"),
            ("authorization", &authorization),
        ];
        assert_eq!(
            identify(&head("PUT", &format!("{PLACE}/c"), &headers), &accounts()),
            Ok(Identity::Owner),
            "{version}"
        );
    }
}

#[test]
fn the_clock_may_be_off_by_fifteen_minutes() {
    let request = &SIGNED[1];
    for (now, expected) in [
        ("2022-08-01T23:27:47Z", None),
        ("2022-08-01T23:27:48Z", Some("Request date header too old: 'Mon, 01 Aug 2022 23:12:47 GMT'")),
        ("2022-08-01T22:57:47Z", None),
        ("2022-08-01T22:57:46Z", Some("Request date header too far in the future: 'Mon, 01 Aug 2022 23:12:47 GMT'")),
    ] {
        let head = head_on(arrival(Service::Blob, now), request.method, request.url, &signed(request));
        match (identify(&head, &accounts()), expected) {
            (Ok(Identity::Owner), None) => {}
            (Err(Refusal::Denied(Denied::AuthenticationFailed { detail })), Some(expected)) => {
                assert_eq!(detail, expected)
            }
            (other, _) => panic!("{now}: {other:?}"),
        }
    }
    let undated = [("authorization", request.authorization)];
    assert_eq!(detail(identify(&head("PUT", request.url, &undated), &accounts())), "Request date header not specified");
}

#[test]
fn authorization_headers_of_other_forms() {
    let invalid = Err(Refusal::Denied(Denied::InvalidAuthenticationInfo));
    let ask =
        |value: &str| identify(&head("GET", PLACE, &[("x-ms-date", DATE), ("authorization", value)]), &accounts());
    for value in ["SharedKey", "SharedKey devstoreaccount1", "Basic YTpi", "Digest a:b"] {
        assert_eq!(ask(value), invalid, "{value}");
    }
    assert!(matches!(ask("Bearer abc"), Err(Refusal::Denied(Denied::InvalidAccessToken { .. }))));
    for value in ["SharedKey other:AAAA", "SharedKey devstoreaccount1:AAAA", "SharedKey devstoreaccount1:???"] {
        assert!(matches!(ask(value), Err(Refusal::Denied(Denied::AuthenticationFailed { .. }))), "{value}");
    }
    let twice =
        [("x-ms-date", DATE), ("x-ms-meta-a", "1"), ("x-ms-meta-a", "2"), ("authorization", SIGNED[0].authorization)];
    assert!(matches!(identify(&head("GET", PLACE, &twice), &accounts()), Err(Refusal::InvalidHeaderValue { .. })));
    let stranger = head("GET", "http://127.0.0.1:10000/stranger/c/b", &[("authorization", SIGNED[0].authorization)]);
    assert_eq!(detail(identify(&stranger, &accounts())), "Account 'stranger' is not served here.");
}

#[test]
fn sas_as_the_python_client_signs() {
    for sas in SAS {
        let identity = identify(&head("GET", sas.url, &[]), &accounts());
        let account = sas.name.starts_with("account");
        match identity {
            Ok(Identity::AccountSas(_)) if account => {}
            Ok(Identity::ServiceSas(_)) if !account => {}
            other => panic!("{}: {other:?}", sas.name),
        }
    }
}

#[test]
fn sas_is_over_every_field() {
    for sas in SAS {
        for field in [
            "sp=",
            "se=",
            "st=",
            "sip=",
            "spr=",
            "sr=",
            "ses=",
            "rscc=",
            "snapshot=",
            "versionid=",
            "si=",
            "srt=",
            "ss=",
        ] {
            let Some(at) = sas.url.find(&format!("&{field}")).or_else(|| sas.url.find(&format!("?{field}"))) else {
                continue;
            };
            let end = sas.url[at + 1..].find('&').map_or(sas.url.len(), |end| at + 1 + end);
            let changed = format!("{}{}x{}", &sas.url[..at + 1], &sas.url[at + 1..end], &sas.url[end..]);
            let identity = identify(&head("GET", &changed, &[]), &accounts());
            assert!(
                matches!(identity, Err(Refusal::Denied(Denied::AuthenticationFailed { .. }))),
                "{} {field}: {identity:?}",
                sas.name
            );
        }
        let elsewhere = sas.url.replace("/devstoreaccount1/c", "/devstoreaccount1/d");
        if !sas.name.starts_with("account") {
            let said = detail(identify(&head("GET", &elsewhere, &[]), &accounts()));
            assert!(said.starts_with("Signature did not match. String to sign used was "), "{said}");
            assert!(!said.contains("sig="));
        }
    }
}

/// A service SAS in the form of its version: the query without the signature, and the string that is signed.
fn service_sas(path: &str, query: &str, text: &str) -> String {
    let accounts = accounts();
    let signature = accounts.get(ACCOUNT).expect("the account").sign(text.as_bytes());
    let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    format!("{PLACE}{path}{}{query}&sig={signature}", if path.contains('?') { "&" } else { "?" })
}

#[test]
fn every_form_of_the_string_to_sign() {
    let se = "2022-08-02";
    let times = "st=2022-08-01&se=2022-08-02";
    let table = [
        (Service::Blob, "/c/b", format!("sp=r&{times}&sr=b"), format!("r\n2022-08-01\n{se}\n/{ACCOUNT}/c/b\n")),
        (
            Service::Blob,
            "/c/b",
            format!("sp=r&{times}&sr=b&sv=2012-02-12"),
            format!("r\n2022-08-01\n{se}\n/{ACCOUNT}/c/b\n\n2012-02-12"),
        ),
        (
            Service::Blob,
            "/c/b",
            format!("sp=r&{times}&sr=c&sv=2013-08-15&rsct=t"),
            format!("r\n2022-08-01\n{se}\n/{ACCOUNT}/c\n\n2013-08-15\n\n\n\n\nt"),
        ),
        (
            Service::Blob,
            "/c/b",
            format!("sp=r&{times}&sr=b&sv=2015-02-21"),
            format!("r\n2022-08-01\n{se}\n/blob/{ACCOUNT}/c/b\n\n2015-02-21\n\n\n\n\n"),
        ),
        (
            Service::Blob,
            "/c/b",
            format!("sp=r&{times}&sr=b&sv=2015-04-05&sip=127.0.0.1&spr=https,http"),
            format!("r\n2022-08-01\n{se}\n/blob/{ACCOUNT}/c/b\n\n127.0.0.1\nhttps,http\n2015-04-05\n\n\n\n\n"),
        ),
        (
            Service::Blob,
            "/c/b",
            format!("sp=r&{times}&sr=b&sv=2018-11-09"),
            format!("r\n2022-08-01\n{se}\n/blob/{ACCOUNT}/c/b\n\n\n\n2018-11-09\nb\n\n\n\n\n\n"),
        ),
        (
            Service::Blob,
            "/c/b",
            format!("sp=r&{times}&sr=b&sv=2020-12-06&ses=e"),
            format!("r\n2022-08-01\n{se}\n/blob/{ACCOUNT}/c/b\n\n\n\n2020-12-06\nb\n\ne\n\n\n\n\n"),
        ),
        (
            Service::Blob,
            "/c/a/b/f",
            format!("sp=r&{times}&sr=d&sdd=2&sv=2020-02-10"),
            format!("r\n2022-08-01\n{se}\n/blob/{ACCOUNT}/c/a/b\n\n\n\n2020-02-10\nd\n\n\n\n\n\n"),
        ),
        (
            Service::Blob,
            "/c/a",
            format!("sp=r&{times}&sr=d&sdd=0&sv=2020-02-10"),
            format!("r\n2022-08-01\n{se}\n/blob/{ACCOUNT}/c/\n\n\n\n2020-02-10\nd\n\n\n\n\n\n"),
        ),
        (
            Service::Blob,
            "/b",
            format!("sp=r&{times}&sr=b&sv=2018-11-09"),
            format!("r\n2022-08-01\n{se}\n/blob/{ACCOUNT}/$root/b\n\n\n\n2018-11-09\nb\n\n\n\n\n\n"),
        ),
        (
            Service::Blob,
            "/c/d/",
            format!("sp=r&{times}&sr=b&sv=2018-11-09"),
            format!("r\n2022-08-01\n{se}\n/blob/{ACCOUNT}/c/d/\n\n\n\n2018-11-09\nb\n\n\n\n\n\n"),
        ),
        (
            Service::Queue,
            "/q/messages",
            format!("sp=p&{times}&sv=2020-12-06"),
            format!("p\n2022-08-01\n{se}\n/queue/{ACCOUNT}/q\n\n\n\n2020-12-06"),
        ),
        (
            Service::Table,
            "/T()",
            format!("sp=r&{times}&tn=T&spk=a&erk=z&sv=2019-02-02"),
            format!("r\n2022-08-01\n{se}\n/table/{ACCOUNT}/t\n\n\n\n2019-02-02\na\n\n\nz"),
        ),
        (
            Service::File,
            "/s/d/f",
            format!("sp=r&{times}&sr=f&sv=2020-12-06"),
            format!("r\n2022-08-01\n{se}\n/file/{ACCOUNT}/s/d/f\n\n\n\n2020-12-06\n\n\n\n\n"),
        ),
        (
            Service::File,
            "/s/d/f",
            format!("sp=r&{times}&sr=s&sv=2020-12-06"),
            format!("r\n2022-08-01\n{se}\n/file/{ACCOUNT}/s\n\n\n\n2020-12-06\n\n\n\n\n"),
        ),
    ];
    for (service, path, query, text) in table {
        let url = service_sas(path, &query, &text);
        let identity = identify(&head_on(arrival(service, NOW), "GET", &url, &[]), &accounts());
        assert!(matches!(identity, Ok(Identity::ServiceSas(_))), "{service:?} {query}: {identity:?}");
    }
}

/// What older versions did not sign must not be turned into more than was given.
#[test]
fn a_signature_cannot_be_stretched() {
    let text = format!("r\n\n2022-08-02\n/blob/{ACCOUNT}/c/a\n\n\n\n2017-11-09\n\n\n\n\n");
    let table = [
        ("/c/a", "sp=r&se=2022-08-02&sr=b&sv=2017-11-09", true),
        ("/c/a/b", "sp=r&se=2022-08-02&sr=d&sdd=1&sv=2017-11-09", false),
        ("/c/a?snapshot=2022-08-01T23:15:21.0293116Z", "sp=r&se=2022-08-02&sr=bs&sv=2017-11-09", false),
        ("/c/a", "sp=r%0A&se=2022-08-02&sr=b&sv=2017-11-09", false),
    ];
    for (path, query, good) in table {
        let identity = identify(&head("GET", &service_sas(path, query, &text), &[]), &accounts());
        assert_eq!(identity.is_ok(), good, "{path} {query}: {identity:?}");
    }
}

#[test]
fn account_sas_signs_the_scope_since_2020_12_06() {
    for (version, end) in [("2019-12-12", ""), ("2020-12-06", "\n")] {
        let text = format!("{ACCOUNT}\nr\nb\no\n\n2022-08-02\n\n\n{version}\n{end}");
        let url = service_sas("/c/b", &format!("sp=r&ss=b&srt=o&se=2022-08-02&sv={version}"), &text);
        assert!(identify(&head("GET", &url, &[]), &accounts()).is_ok(), "{version}");
    }
}

type Fields<'a> = &'a [(&'a str, &'a str)];

/// A blob SAS of the given letters and fields, signed.
fn blob_sas(fields: Fields<'_>) -> String {
    let field = |name: &str| fields.iter().find(|field| field.0 == name).map_or("", |field| field.1);
    let sr = if field("sr").is_empty() { "b" } else { field("sr") };
    let resource = if sr == "c" { "c" } else { "c/b" };
    let text = format!(
        "{}\n{}\n{}\n/blob/{ACCOUNT}/{resource}\n{}\n{}\n{}\n2020-12-06\n{sr}\n\n\n\n\n\n\n",
        field("sp"),
        field("st"),
        field("se"),
        field("si"),
        field("sip"),
        field("spr")
    );
    let query: String =
        fields.iter().filter(|field| field.0 != "sr").map(|(name, value)| format!("{name}={value}&")).collect();
    service_sas("/c/b", &format!("{query}sr={sr}&sv=2020-12-06"), &text)
}

#[test]
fn limits_of_a_sas() {
    let table: &[(Fields<'_>, Result<(), &str>)] = &[
        (&[("sp", "r"), ("se", "2022-08-02")], Ok(())),
        (
            &[("sp", "r"), ("se", "2022-08-01T23:12:47Z")],
            Err(
                "Signed expiry time [Mon, 01 Aug 2022 23:12:47 GMT] must be after signed start time [Mon, 01 Aug 2022 23:12:47 GMT]",
            ),
        ),
        (
            &[("sp", "r"), ("st", "2022-08-02"), ("se", "2022-08-03")],
            Err(
                "Signature not valid in the specified time frame: Start [Tue, 02 Aug 2022 00:00:00 GMT] - Expiry [Wed, 03 Aug 2022 00:00:00 GMT] - Current [Mon, 01 Aug 2022 23:12:47 GMT]",
            ),
        ),
        (&[("sp", "r")], Err("se is mandatory. Cannot be empty")),
        (&[("se", "2022-08-02")], Err("sp is mandatory. Cannot be empty")),
        (&[("sp", "r"), ("se", "soon")], Err("Signature fields not well formed.")),
        (&[("sp", "R"), ("se", "2022-08-02")], Err("Signature fields not well formed.")),
        (&[("sp", "r"), ("se", "2022-08-02"), ("sr", "x")], Err("Signature fields not well formed.")),
        (&[("sp", "r"), ("se", "2022-08-02"), ("sip", "127.0.0.1")], Ok(())),
        (&[("sp", "r"), ("se", "2022-08-02"), ("sip", "127.0.0.0-127.0.0.9")], Ok(())),
        (&[("sp", "r"), ("se", "2022-08-02"), ("sip", "10.0.0.1-10.0.0.9")], Err("address")),
        (&[("sp", "r"), ("se", "2022-08-02"), ("sip", "nowhere")], Err("Signature fields not well formed.")),
        (&[("sp", "r"), ("se", "2022-08-02"), ("spr", "https")], Err("protocol")),
        (&[("sp", "r"), ("se", "2022-08-02"), ("spr", "https,http")], Ok(())),
        (&[("sp", "r"), ("se", "2022-08-02"), ("spr", "http")], Err("Signature fields not well formed.")),
    ];
    for (fields, expected) in table {
        let said = match identify(&head("GET", &blob_sas(fields), &[]), &accounts()) {
            Ok(_) => Ok(()),
            Err(Refusal::Denied(Denied::AuthenticationFailed { detail })) => Err(detail.into_owned()),
            Err(Refusal::Denied(Denied::AuthorizationSourceIpMismatch)) => Err("address".to_owned()),
            Err(Refusal::Denied(Denied::AuthorizationProtocolMismatch)) => Err("protocol".to_owned()),
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(said, expected.map_err(str::to_owned), "{fields:?}");
    }
    let mut secure = arrival(Service::Blob, NOW);
    secure.secure = true;
    let url = blob_sas(&[("sp", "r"), ("se", "2022-08-02"), ("spr", "https")]);
    assert!(identify(&head_on(secure, "GET", &url, &[]), &accounts()).is_ok());
    let mut mapped = arrival(Service::Blob, NOW);
    mapped.peer = "::ffff:127.0.0.1".parse().expect("an address");
    let url = blob_sas(&[("sp", "r"), ("se", "2022-08-02"), ("sip", "127.0.0.1")]);
    assert!(identify(&head_on(mapped, "GET", &url, &[]), &accounts()).is_ok());
    let delegated = format!("{PLACE}/c/b?skoid=a&sp=r&sv=2020-12-06&sr=b&sig=AAAA");
    assert!(detail(identify(&head("GET", &delegated, &[]), &accounts())).contains("user delegation SAS"));
}

#[test]
fn nonsense_does_not_panic() {
    let urls: Vec<&[u8]> = SAS.iter().map(|sas| sas.url.as_bytes()).collect();
    survive(&urls, |bytes| {
        let Ok(request) = http::Request::builder().uri(bytes).body(()) else { return };
        let Ok(head) = Head::read(request.into_parts().0, arrival(Service::Blob, NOW)) else { return };
        if let Ok(identity) = identify(&head, &accounts()) {
            let _ = authorize(&identity, &READ, &head, None);
        }
    });
    let authorizations: Vec<&[u8]> = SIGNED.iter().map(|request| request.authorization.as_bytes()).collect();
    survive(&authorizations, |bytes| {
        let Ok(request) =
            http::Request::builder().uri(PLACE).header("x-ms-date", DATE).header("authorization", bytes).body(())
        else {
            return;
        };
        let Ok(head) = Head::read(request.into_parts().0, arrival(Service::Blob, NOW)) else { return };
        drop(identify(&head, &accounts()));
    });
}
