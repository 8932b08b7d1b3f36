//! Containers, listings, searches, and what all of a service has in common.

use crate::client::{Client, Server, start};
use crate::{Request, details, done, element, said};
use lazuli_http::Service;

const V: &str = "2021-12-02";
const BLOCK: (&str, &str) = ("x-ms-blob-type", "BlockBlob");

async fn with_container(server: &Server) -> Client {
    let mut client = Client::to(server);
    done(&mut client, V, ("PUT", "/con?restype=container", &[], "")).await;
    client
}

#[tokio::test]
async fn b19_nobody_is_told_what_an_account_is() {
    let mut client = Client::unsigned(&start());
    let (status, code, _) =
        said(&mut client, "2020-06-12", ("GET", "/?restype=account&comp=properties", &[], "")).await;
    assert_eq!((status, code.as_str()), (404, "ResourceNotFound"));
    let (status, code, _) = said(&mut client, "2020-06-12", ("GET", "/?comp=list", &[], "")).await;
    assert_eq!((status, code.as_str()), (401, "NoAuthenticationInformation"));
}

#[tokio::test]
async fn b20_q2_a20_a_marker_that_is_none() {
    let server = start();
    for service in [Service::Blob, Service::Queue] {
        let mut client = Client::to_service(&server, service);
        let (status, code, text) = said(&mut client, V, ("GET", "/?comp=list&marker=garbage", &[], "")).await;
        assert_eq!((status, code.as_str()), (400, "OutOfRangeInput"), "{service:?}");
        assert_eq!(details(&text), ("One of the request inputs is out of range.", ""));
    }
}

#[tokio::test]
async fn b24_renaming_a_container_was_never_switched_on() {
    let mut client = with_container(&start()).await;
    let source = [("x-ms-source-container-name", "con")];
    let (status, code, _) = said(&mut client, V, ("PUT", "/new?restype=container&comp=rename", &source, "")).await;
    assert_eq!((status, code.as_str()), (400, "InvalidQueryParameterValue"));
}

#[tokio::test]
async fn b26_a18_keys_for_users_are_given_to_tokens_alone() {
    let mut client = with_container(&start()).await;
    let key = "/?restype=service&comp=userdelegationkey";
    let detail = "Only authentication scheme Bearer is supported";
    let (status, code, text) = said(&mut client, V, ("POST", key, &[], "<KeyInfo/>")).await;
    assert_eq!((status, code.as_str()), (403, "AuthenticationFailed"));
    assert_eq!(element(&text, "AuthenticationErrorDetail"), Some(detail), "{text}");
    let mut bearer = Client::unsigned(&start());
    let signed = format!("{key}&{}", crate::client::account_sas());
    let (status, code, text) = said(&mut bearer, V, ("POST", &signed, &[], "<KeyInfo/>")).await;
    assert_eq!((status, code.as_str()), (403, "AuthenticationFailed"), "{text}");
    assert_eq!(element(&text, "AuthenticationErrorDetail"), Some(detail), "{text}");
}

#[tokio::test]
async fn b26_a_sas_for_a_container_on_a_call_to_the_account() {
    let server = start();
    with_container(&server).await;
    let mut client = Client::unsigned(&server);
    let target = "/?comp=list&sv=2019-02-02&sr=c&sp=rl&se=2099-01-01T00:00:00Z&sig=AAAA";
    let (status, code, text) = said(&mut client, V, ("GET", target, &[], "")).await;
    assert_eq!((status, code.as_str()), (403, "AuthenticationFailed"));
    let detail = "The specified signed resource is not allowed for this resource level";
    assert_eq!(element(&text, "AuthenticationErrorDetail"), Some(detail), "{text}");
}

#[tokio::test]
async fn a3_letters_of_stored_policies() {
    let server = start();
    let policy = |letters: &str| {
        format!(
            "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Permission>{letters}</Permission></AccessPolicy>\
             </SignedIdentifier></SignedIdentifiers>"
        )
    };
    let json = [("Content-Type", "application/json")];
    type Row<'a> = (Service, Request<'a>, &'a str, &'a str, &'a str);
    let table: &[Row<'_>] = &[
        (Service::Blob, ("PUT", "/con?restype=container", &[], ""), "/con?restype=container&comp=acl", "rwdl", "u"),
        (Service::Queue, ("PUT", "/que", &[], ""), "/que?comp=acl", "raup", "rwdl"),
        (Service::Table, ("POST", "/Tables", &json, r#"{"TableName":"tab"}"#), "/tab?comp=acl", "raud", "p"),
        (Service::File, ("PUT", "/sha?restype=share", &[], ""), "/sha?restype=share&comp=acl", "rcwdl", "a"),
    ];
    for (service, make, target, good, bad) in table {
        let mut client = Client::to_service(&server, *service);
        let version = if *service == Service::Table { "2019-02-02" } else { V };
        done(&mut client, version, *make).await;
        done(&mut client, version, ("PUT", target, &[], &policy(good))).await;
        let (status, _, text) = said(&mut client, version, ("PUT", target, &[], &policy(bad))).await;
        assert_eq!(status, 400, "{service:?} {text}");
        assert!(text.contains("InvalidXmlDocument"), "{service:?} {text}");
        if *service != Service::Table {
            let elements = "<LineNumber>0</LineNumber><LinePosition>0</LinePosition><Reason />";
            assert_eq!(details(&text), ("XML specified is not syntactically valid.", elements));
        }
    }
}

/// The parser's words are tested where it is, in `model`.
#[tokio::test]
async fn a9_a21_searches_that_cannot_be_read() {
    let mut client = with_container(&start()).await;
    let table = [
        (
            "/?comp=blobs&where=a%3D%271%27%20OR%20b%3D%272%27",
            "Error parsing query at or near character position 7: unexpected 'OR'",
            "a='1' OR b='2'",
        ),
        (
            "/con?restype=container&comp=blobs&where=@container%3D%27con%27%20AND%20a%3D%271%27",
            "Error parsing query: Cannot have container in both uri and query",
            "@container='con' AND a='1'",
        ),
    ];
    for (target, message, query) in table {
        let (status, code, text) = said(&mut client, V, ("GET", target, &[], "")).await;
        assert_eq!((status, code.as_str()), (400, "InvalidQueryParameterValue"), "{text}");
        let (said, elements) = details(&text);
        assert_eq!(said, message);
        assert!(elements.starts_with("<QueryParameterName>where</QueryParameterName>"), "{elements}");
        assert_eq!(element(elements, "QueryParameterValue"), Some(query));
        assert_eq!(element(elements, "Reason"), Some("This query parameter value is invalid."));
    }
}

#[tokio::test]
async fn a11_characters_that_no_tag_has() {
    let mut client = with_container(&start()).await;
    done(&mut client, V, ("PUT", "/con/b", &[BLOCK], "x")).await;
    let condition = [("x-ms-if-tags", "\"a#\"='1'")];
    let (status, code, _) = said(&mut client, V, ("GET", "/con/b", &condition, "")).await;
    assert_eq!((status, code.as_str()), (400, "InvalidHeaderValue"));
}

#[tokio::test]
async fn a12_a_preflight_that_does_not_say_what_is_asked_for() {
    let server = start();
    let (origin, method) = (("Origin", "http://contoso.com"), ("Access-Control-Request-Method", "GET"));
    for service in [Service::Blob, Service::Queue, Service::File] {
        for headers in [&[][..], &[origin], &[method]] {
            let mut client = Client::unsigned_to(&server, service);
            let (status, code, text) = said(&mut client, V, ("OPTIONS", "/con", headers, "")).await;
            assert_eq!((status, code.as_str()), (400, "InvalidHeaderValue"), "{service:?} {headers:?}");
            assert_eq!(details(&text).0, "A required CORS header is not present.");
        }
    }
}

#[tokio::test]
async fn a13_statistics_are_the_secondarys() {
    let server = start();
    for service in [Service::Blob, Service::Queue] {
        let mut client = Client::to_service(&server, service);
        let (status, code, text) = said(&mut client, V, ("GET", "/?restype=service&comp=stats", &[], "")).await;
        assert_eq!((status, code.as_str()), (400, "InvalidQueryParameterValue"), "{service:?}");
        assert_eq!(element(&text, "QueryParameterName"), Some("comp"));
        assert_eq!(element(&text, "QueryParameterValue"), Some("stats"));
    }
}

#[tokio::test]
async fn a16_a_batch_without_a_boundary_is_refused_in_a_part() {
    let mut client = with_container(&start()).await;
    for kind in ["multipart/mixed", "multipart/mixed; boundary="] {
        let (status, _, text) = said(&mut client, V, ("POST", "/?comp=batch", &[("Content-Type", kind)], "x")).await;
        assert_eq!(status, 202, "{kind}: {text}");
        assert!(text.contains("HTTP/1.1 400 ") && text.contains("x-ms-error-code: InvalidHeaderValue"), "{text}");
        assert!(!text.contains("Content-ID"), "{text}");
    }
}

#[tokio::test]
async fn a17_names_that_are_too_short_or_too_long() {
    let server = start();
    let message = "The specified resource name length is not within the permissible limits.";
    let long = "a".repeat(64);
    for (service, query) in
        [(Service::Blob, "?restype=container"), (Service::Queue, ""), (Service::File, "?restype=share")]
    {
        for name in ["ab", long.as_str()] {
            let mut client = Client::to_service(&server, service);
            let target = format!("/{name}{query}");
            let (status, code, text) = said(&mut client, V, ("PUT", &target, &[], "")).await;
            assert_eq!(
                (status, code.as_str(), details(&text).0),
                (400, "OutOfRangeInput", message),
                "{service:?} {name}"
            );
        }
    }
}

#[tokio::test]
async fn a19_a_source_with_a_right_of_its_own_is_verified() {
    let mut client = with_container(&start()).await;
    done(&mut client, V, ("PUT", "/con/b", &[BLOCK, ("x-ms-access-tier", "Archive")], "x")).await;
    let own = "http://127.0.0.1/devstoreaccount1/con/b".to_owned();
    let signed = format!("{own}?{}", crate::client::account_sas());
    for (source, code) in [(own, "BlobArchived"), (signed, "CannotVerifyCopySource")] {
        let (status, said, _) = said(&mut client, V, ("PUT", "/con/copy", &[("x-ms-copy-source", &source)], "")).await;
        assert_eq!((status, said.as_str()), (409, code), "{source}");
    }
}

/// Each is signed rightly; it is there once too often, in whatever case.
#[tokio::test]
async fn a1_a_parameter_of_a_sas_comes_once() {
    let mut client = Client::unsigned(&start());
    let sas = crate::client::account_sas();
    let (status, _, _) = said(&mut client, V, ("GET", &format!("/?comp=list&{sas}"), &[], "")).await;
    assert_eq!(status, 200);
    for again in ["sv=2019-02-02", "se=2099-01-01T00:00:00Z", "SP=r", "sip=127.0.0.1&sip=127.0.0.1", "rscc=a&rscc=b"] {
        let (status, code, _) = said(&mut client, V, ("GET", &format!("/?comp=list&{sas}&{again}"), &[], "")).await;
        assert_eq!((status, code.as_str()), (403, "AuthenticationFailed"), "{again}");
    }
}

/// The service leases it for half a minute, while it goes; here it has gone when that is answered (docs/fidelity.md).
#[tokio::test]
async fn b22_a_container_that_was_deleted_softly_is_leased_no_more() {
    let server = start();
    server.set(&[("container-soft-delete", "1")]).await;
    let mut client = with_container(&server).await;
    done(&mut client, V, ("DELETE", "/con?restype=container", &[], "")).await;
    let listed = done(&mut client, V, ("GET", "/?comp=list&include=deleted", &[], "")).await.text();
    assert_eq!(element(&listed, "Deleted"), Some("true"), "{listed}");
    let lease = ["LeaseStatus", "LeaseState", "LeaseDuration"].map(|name| element(&listed, name));
    assert_eq!(lease, [Some("unlocked"), Some("expired"), None]);
}

/// The service may give a marker behind which there is nothing; ours means what it says.
#[tokio::test]
async fn b23_a_full_page_has_a_marker_only_if_something_follows() {
    let server = start();
    server.set(&[("versioning", "on"), ("blob-soft-delete", "1")]).await;
    let mut client = with_container(&server).await;
    for _ in 0..2 {
        done(&mut client, V, ("PUT", "/con/b", &[BLOCK], "x")).await;
    }
    for (most, follows) in [(1, true), (2, false)] {
        let target = format!("/con?restype=container&comp=list&include=deleted,versions&maxresults={most}");
        let listed = done(&mut client, V, ("GET", &target, &[], "")).await.text();
        assert_eq!(element(&listed, "NextMarker").is_some(), follows, "{most}: {listed}");
    }
}
