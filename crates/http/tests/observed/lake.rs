//! Data Lake Storage: files and directories by the `dfs` endpoint, on an account with a hierarchical namespace. L4 is the rule about creating, and so on.

use crate::client::{Answer, Client, Server, start};
use crate::{Headers, Request, done};
use lazuli_http::Service;

pub const V: &str = "2021-12-02";
pub const LEASE: &str = "11111111-2222-3333-4444-555555555555";
pub const PAST: &str = "Mon, 01 Jan 2001 00:00:00 GMT";
pub const FUTURE: &str = "Fri, 01 Jan 2038 00:00:00 GMT";

/// A client of each host, and a file system.
pub async fn with_file_system() -> (Client, Client, Server) {
    let server = start();
    server.set(&[("hierarchical-namespace", "on")]).await;
    let (mut dfs, blob) = (Client::to_service(&server, Service::Dfs), Client::to(&server));
    done(&mut dfs, V, ("PUT", "/tree?resource=filesystem", &[], "")).await;
    (dfs, blob, server)
}

/// Sends each request, and compares status and code.
pub async fn table(client: &mut Client, version: &str, rows: &[(Request<'_>, u16, &str)]) {
    for (row, ((method, target, headers, body), status, code)) in rows.iter().enumerate() {
        let headers = [headers, &[("x-ms-version", version)][..]].concat();
        let answer = client.send(method, target, &headers, body.as_bytes()).await;
        let seen = (answer.status, answer.header("x-ms-error-code").unwrap_or_default());
        assert_eq!(seen, (*status, *code), "row {row}: {method} {target} {headers:?}: {}", answer.text());
    }
}

pub async fn head(client: &mut Client, target: &str) -> Answer {
    done(client, V, ("HEAD", target, &[], "")).await
}

async fn etag(client: &mut Client, target: &str) -> String {
    head(client, target).await.header("etag").unwrap_or_default().to_owned()
}

const FILE: &str = "/tree/f?resource=file";
const DIRECTORY: &str = "/tree/d?resource=directory";
const NONE: Headers<'static> = &[];

#[tokio::test]
async fn l1_names_are_decoded_once_and_parents_are_made() {
    let (mut dfs, _, _) = with_file_system().await;
    done(&mut dfs, V, ("PUT", "/tree/a%2Fb%2Ffile?resource=file", &[], "")).await;
    done(&mut dfs, V, ("PUT", "/tree/%2521%20'%3B?resource=file", &[], "")).await;
    let list = done(&mut dfs, V, ("GET", "/tree?resource=filesystem&recursive=true", &[], "")).await.text();
    for name in ["\"a\"", "\"a/b\"", "\"a/b/file\"", "\"%21 ';\""] {
        assert!(list.contains(&format!("\"name\":{name}")), "{name}: {list}");
    }
    for root in ["/tree/?action=getAccessControl", "/tree//?action=getAccessControl"] {
        assert_eq!(head(&mut dfs, root).await.header("x-ms-permissions"), Some("rwxr-x---"), "{root}");
    }
}

#[tokio::test]
async fn l2_how_it_says_no() {
    let (mut dfs, _, server) = with_file_system().await;
    let refused = dfs.send("PATCH", "/tree/none?action=flush&position=0", &[("x-ms-version", V)], b"").await;
    assert_eq!(refused.header("content-type"), Some("application/json;charset=utf-8"));
    let text = refused.text();
    assert!(
        text.starts_with(
            r#"{"error":{"code":"PathNotFound","message":"The specified path does not exist.\nRequestId:"#
        )
    );
    assert!(text.ends_with("Z\"}}"), "{text}");
    done(&mut dfs, V, ("PUT", FILE, &[], "")).await;
    let empty = dfs.send("PATCH", "/tree/f?action=append&position=0", &[("x-ms-version", V)], b"").await;
    let detail = r#","detail":{"HeaderName":"Content-Length", "HeaderValue":"0"}}}"#;
    assert!(empty.text().ends_with(detail), "{}", empty.text());
    let mut nobody = Client::unsigned_to(&server, Service::Dfs);
    let refused = nobody.send("GET", "/tree?resource=filesystem&recursive=true", &[("x-ms-version", V)], b"").await;
    let seen = (refused.status, refused.header("x-ms-error-code"), refused.header("www-authenticate"));
    assert_eq!(seen, (403, Some("AuthenticationFailed"), None));
    done(&mut dfs, V, ("DELETE", "/tree/f", &[], "")).await;
    let list = done(&mut dfs, V, ("GET", "/tree?resource=filesystem&recursive=true", &[], "")).await;
    assert_eq!((list.text().as_str(), list.header("etag")), ("{\"paths\":[]}\n", None));
}

#[tokio::test]
async fn l3_a_file_system_is_a_container_with_a_root() {
    let (mut dfs, mut blob, server) = with_file_system().await;
    let root = head(&mut dfs, "/tree/?action=getAccessControl").await;
    let owners = (root.header("x-ms-owner"), root.header("x-ms-group"), root.header("x-ms-acl"));
    assert_eq!(owners, (Some("$superuser"), Some("$superuser"), Some("user::rwx,group::r-x,other::---")));
    let container = head(&mut blob, "/tree?restype=container").await;
    assert_ne!(root.header("etag"), container.header("etag"));
    server.set(&[("container-soft-delete", "7")]).await;
    table(
        &mut blob,
        V,
        &[
            (("PUT", "/tree?restype=container", NONE, ""), 409, "ContainerAlreadyExists"),
            (("DELETE", "/tree?restype=container", NONE, ""), 202, ""),
            (("DELETE", "/tree?restype=container", NONE, ""), 202, ""),
            (("DELETE", "/other?restype=container", NONE, ""), 404, "ContainerNotFound"),
        ],
    )
    .await;
}

#[tokio::test]
async fn l4_create() {
    let (mut dfs, mut blob, _) = with_file_system().await;
    let made = done(&mut dfs, V, ("PUT", FILE, &[], "")).await;
    assert_eq!((made.status, made.header("x-ms-request-server-encrypted")), (201, Some("true")));
    let old = done(&mut dfs, "2020-06-12", ("PUT", FILE, &[], "")).await;
    assert_eq!(old.header("x-ms-request-server-encrypted"), None);
    assert_ne!(made.header("etag"), old.header("etag"));
    let any = [("if-none-match", "*")];
    let acquire = [("x-ms-proposed-lease-id", LEASE), ("x-ms-lease-duration", "15")];
    let id = [("x-ms-lease-id", LEASE)];
    let expiry = [("x-ms-expiry-option", "RelativeToNow"), ("x-ms-expiry-time", "60000")];
    table(
        &mut dfs,
        V,
        &[
            (("PUT", FILE, &any, ""), 409, "PathAlreadyExists"),
            (("PUT", FILE, &id, ""), 412, "LeaseNotPresent"),
            (("PUT", FILE, &acquire, ""), 201, ""),
            (("PUT", FILE, NONE, ""), 412, "LeaseIdMissing"),
            (("PUT", FILE, &id, ""), 201, ""),
            (("PUT", DIRECTORY, &any, ""), 201, ""),
            (("PUT", DIRECTORY, NONE, ""), 201, ""),
            (("PUT", DIRECTORY, &any, ""), 409, "PathAlreadyExists"),
            (("PUT", "/tree/e?resource=directory", &expiry, ""), 400, "ExpiryNotSupportedForDirectory"),
            (("PUT", "/tree/e?resource=file", &expiry, ""), 201, ""),
            (("PUT", "/none/e?resource=file", NONE, ""), 404, "FilesystemNotFound"),
        ],
    )
    .await;
    assert_eq!(head(&mut blob, "/tree/f").await.header("x-ms-lease-state"), Some("leased"));
    for (version, told) in [("2022-11-02", Some("directory")), (V, None)] {
        let headers = [any[0], ("x-ms-version", version)];
        let refused = dfs.send("PUT", DIRECTORY, &headers, b"").await;
        assert_eq!(refused.header("x-ms-existing-resource-type"), told, "{version}");
    }
}

#[tokio::test]
async fn l4_what_a_new_path_is() {
    let (mut dfs, mut blob, _) = with_file_system().await;
    let rows: &[(&str, Headers<'_>, &str)] = &[
        ("file", &[], "rw-r-----"),
        ("directory", &[], "rwxr-x---"),
        ("file", &[("x-ms-permissions", "0777")], "rwxr-x---"),
        ("directory", &[("x-ms-permissions", "0777"), ("x-ms-umask", "0057")], "rwx-w----"),
        ("file", &[("x-ms-permissions", "---------"), ("x-ms-umask", "0000")], "---------"),
        ("file", &[("x-ms-acl", "user::rwx,group::rwx,other::rwx")], "rwxrwxrwx"),
    ];
    for (at, (kind, headers, permissions)) in rows.iter().enumerate() {
        let target = format!("/tree/p{at}?resource={kind}");
        done(&mut dfs, V, ("PUT", &target, headers, "")).await;
        let seen = head(&mut dfs, &format!("/tree/p{at}?action=getAccessControl")).await;
        assert_eq!(seen.header("x-ms-permissions"), Some(*permissions), "{kind} {headers:?}");
    }
    let (id, properties) = ("7f2e2f52-a4b8-4e0e-a2c0-9e9f0a1b2c3d", "foo=YmFy,Capital=bGV0dGVy");
    let sent = [
        ("x-ms-content-type", "text/plain"),
        ("x-ms-cache-control", "no-store"),
        ("x-ms-properties", properties),
        ("x-ms-owner", id),
        ("x-ms-encryption-context", "a context"),
    ];
    done(&mut dfs, "2022-11-02", ("PUT", "/tree/sent?resource=file", &sent, "")).await;
    let seen = head(&mut blob, "/tree/sent").await;
    for (name, value) in [
        ("content-type", "text/plain"),
        ("cache-control", "no-store"),
        ("x-ms-meta-foo", "bar"),
        ("x-ms-owner", id),
        ("x-ms-group", "$superuser"),
        ("x-ms-encryption-context", "a context"),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
}

#[tokio::test]
async fn l5_rename() {
    let (mut dfs, mut blob, _) = with_file_system().await;
    done(&mut dfs, V, ("PUT", "/two?resource=filesystem", &[], "")).await;
    for target in
        ["/tree/f?resource=file", "/tree/g?resource=file", "/tree/d/x?resource=file", "/tree/empty?resource=directory"]
    {
        done(&mut dfs, V, ("PUT", target, &[], "")).await;
    }
    let (before, other) = (etag(&mut blob, "/tree/f").await, "\"0x8D000000000000\"");
    let from = |path: &'static str| ("x-ms-rename-source", path);
    let moved = done(&mut dfs, V, ("PUT", "/tree/h?mode=legacy", &[from("/tree/f")], "")).await;
    let seen = (moved.status, moved.header("etag"), moved.header("x-ms-request-server-encrypted"));
    assert_eq!(seen, (201, Some(before.as_str()), None), "the source's tag, and no word of encryption");
    assert_eq!(etag(&mut blob, "/tree/h").await, before);
    let old = done(&mut dfs, "2020-06-12", ("PUT", "/tree/f?mode=legacy", &[from("/tree/h")], "")).await;
    assert_eq!(old.header("etag"), None);
    let (source_lease, lease) = (("x-ms-source-lease-id", LEASE), ("x-ms-lease-id", LEASE));
    table(
        &mut dfs,
        V,
        &[
            (("PUT", "/tree/n?mode=legacy", &[from("/tree/none")], ""), 404, "SourcePathNotFound"),
            (("PUT", "/tree/g?mode=legacy", &[from("/tree/f"), ("if-none-match", "*")], ""), 409, "PathAlreadyExists"),
            (("PUT", "/tree/g?mode=legacy", &[from("/tree/f"), ("if-match", other)], ""), 412, "ConditionNotMet"),
            (
                ("PUT", "/tree/g?mode=legacy", &[from("/tree/f"), ("if-modified-since", FUTURE)], ""),
                412,
                "ConditionNotMet",
            ),
            (
                ("PUT", "/tree/g?mode=legacy", &[from("/tree/f"), ("x-ms-source-if-match", other)], ""),
                412,
                "SourceConditionNotMet",
            ),
            (
                ("PUT", "/tree/g?mode=legacy", &[from("/tree/f"), ("x-ms-source-if-modified-since", FUTURE)], ""),
                412,
                "SourceConditionNotMet",
            ),
            (("PUT", "/tree/n?mode=legacy", &[from("/tree/f"), source_lease], ""), 412, "LeaseNotPresent"),
            (("PUT", "/tree/g?mode=legacy", &[from("/tree/f"), lease], ""), 412, "LeaseNotPresent"),
            (("PUT", "/tree/d?mode=legacy", &[from("/tree/empty")], ""), 409, "PathAlreadyExists"),
            (("PUT", "/tree/g?mode=legacy", &[from("/tree/f"), ("x-ms-source-lease-id", "")], ""), 201, ""),
            (("PUT", "/tree/empty?mode=legacy", &[from("/tree/d")], ""), 201, ""),
            (("PUT", "/two/g?mode=legacy", &[from("/tree/g"), ("if-none-match", "*")], ""), 201, ""),
        ],
    )
    .await;
    table(
        &mut blob,
        V,
        &[(("HEAD", "/tree/g", NONE, ""), 404, "BlobNotFound"), (("HEAD", "/tree/empty/x", NONE, ""), 200, "")],
    )
    .await;
}

#[tokio::test]
async fn l6_append() {
    let (mut dfs, mut blob, _) = with_file_system().await;
    done(&mut dfs, V, ("PUT", FILE, &[], "")).await;
    let before = etag(&mut blob, "/tree/f").await;
    let (md5, wrong_md5) = (("content-md5", "XUFAKrxLKna5cZ2REBfFkg=="), ("content-md5", "1B2M2Y8AsgTpgAmY7PhCfg=="));
    let (crc, wrong_crc) = (("x-ms-content-crc64", "V0JSBnCFdzM="), ("x-ms-content-crc64", "AAAAAAAAAAA="));
    let at = "/tree/f?action=append&position=0";
    let plain = done(&mut dfs, V, ("PATCH", at, &[], "hello")).await;
    assert_eq!(
        (plain.status, plain.header("x-ms-request-server-encrypted"), plain.header("etag")),
        (202, Some("true"), None)
    );
    for (headers, answered) in [(&[][..], (None, None)), (&[md5], (Some(md5.1), None)), (&[crc], (None, Some(crc.1)))] {
        let answer = done(&mut dfs, V, ("PATCH", at, headers, "hello")).await;
        let seen = (answer.header("content-md5"), answer.header("x-ms-content-crc64"));
        assert_eq!(seen, answered, "{headers:?}");
    }
    assert_eq!(etag(&mut blob, "/tree/f").await, before, "nobody sees it yet");
    let id = ("x-ms-lease-id", LEASE);
    let acquire = [("x-ms-lease-action", "acquire"), ("x-ms-proposed-lease-id", LEASE), ("x-ms-lease-duration", "15")];
    table(
        &mut dfs,
        V,
        &[
            (("PATCH", "/tree/f?action=append&position=100", NONE, "far"), 202, ""),
            (("PATCH", at, NONE, ""), 400, "InvalidHeaderValue"),
            (("PATCH", "/tree/none?action=append&position=0", NONE, "x"), 404, "PathNotFound"),
            (("PATCH", at, &[wrong_md5], "hello"), 400, "Md5Mismatch"),
            (("PATCH", at, &[wrong_crc], "hello"), 400, "Crc64Mismatch"),
            (("PATCH", at, &[id], "hello"), 412, "LeaseNotPresent"),
            (("PATCH", at, &acquire, "hello"), 202, ""),
            (("PATCH", at, NONE, "hello"), 412, "LeaseIdMissing"),
            (("PATCH", at, &[id, ("x-ms-lease-action", "release")], "hello"), 400, "InvalidHeaderValue"),
        ],
    )
    .await;
    let renewed = done(&mut dfs, V, ("PATCH", at, &[id, ("x-ms-lease-action", "auto-renew")], "hello")).await;
    assert_eq!(renewed.header("x-ms-lease-renewed"), Some("true"));
    let flush = "/tree/f?action=append&position=0&flush=true";
    let release = [id, ("x-ms-lease-action", "release"), ("Content-Type", "application/json")];
    let flushed = done(&mut dfs, V, ("PATCH", flush, &release, "hello")).await;
    assert!(flushed.header("etag").is_some());
    let seen = head(&mut blob, "/tree/f").await;
    let seen = ["content-length", "content-type", "x-ms-lease-state"].map(|name| seen.header(name).unwrap_or_default());
    assert_eq!(seen, ["5", "application/json", "available"]);
}

/// "Path - Update" and what SDKs demand: a structured body is answered with its form.
#[tokio::test]
async fn l6_a_structured_append_is_answered_as_one() {
    let (mut dfs, _, _) = with_file_system().await;
    done(&mut dfs, V, ("PUT", FILE, &[], "")).await;
    let crc = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, b"hello").to_le_bytes();
    let head: &[&[u8]] = &[&[1], &44u64.to_le_bytes(), &1u16.to_le_bytes(), &1u16.to_le_bytes()];
    let segment: &[&[u8]] = &[&1u16.to_le_bytes(), &5u64.to_le_bytes(), b"hello", &crc, &crc];
    let body = [head.concat(), segment.concat()].concat();
    let form = "XSM/1.0; properties=crc64";
    let headers =
        [("x-ms-version", "2026-04-06"), ("x-ms-structured-body", form), ("x-ms-structured-content-length", "5")];
    let answer = dfs.send("PATCH", "/tree/f?action=append&position=0", &headers, &body).await;
    assert_eq!((answer.status, answer.header("x-ms-structured-body")), (202, Some(form)), "{}", answer.text());
}

#[tokio::test]
async fn l7_flush() {
    let (mut dfs, mut blob, _) = with_file_system().await;
    done(&mut dfs, V, ("PUT", FILE, &[("x-ms-content-language", "fr")], "")).await;
    done(&mut dfs, V, ("PATCH", "/tree/f?action=append&position=0", &[], "hello")).await;
    let (other, own) = ("\"0x8D000000000000\"", etag(&mut blob, "/tree/f").await);
    let at = "/tree/f?action=flush&position=3&retainUncommittedData=true";
    table(
        &mut dfs,
        V,
        &[
            (("PATCH", at, &[("if-match", other)], ""), 412, "ConditionNotMet"),
            (("PATCH", at, &[("if-unmodified-since", PAST)], ""), 412, "ConditionNotMet"),
            (("PATCH", at, &[("if-none-match", &own)], ""), 304, "ConditionNotMet"),
            (("PATCH", at, &[("if-modified-since", FUTURE)], ""), 304, "ConditionNotMet"),
            (("PATCH", at, &[("if-none-match", "*")], ""), 412, "ConditionNotMet"),
            (("PATCH", at, &[("x-ms-lease-id", LEASE)], ""), 412, "LeaseNotPresent"),
            (("PATCH", "/tree/none?action=flush&position=0", NONE, ""), 404, "PathNotFound"),
        ],
    )
    .await;
    let flushed = done(&mut dfs, V, ("PATCH", at, &[("x-ms-content-type", "text/plain")], "")).await;
    let seen = (flushed.status, flushed.header("x-ms-request-server-encrypted"), flushed.header("content-length"));
    assert_eq!(seen, (200, Some("false"), Some("0")));
    let seen = head(&mut blob, "/tree/f").await;
    let seen = ["content-length", "content-type", "content-language"].map(|name| seen.header(name).unwrap_or_default());
    assert_eq!(seen, ["3", "text/plain", "fr"]);
    // What was kept back joins later; a lower position drops the rest.
    done(&mut dfs, V, ("PATCH", "/tree/f?action=flush&position=5&close=true", &[], "")).await;
    assert_eq!(done(&mut blob, V, ("GET", "/tree/f", &[], "")).await.text(), "hello");
    let again = etag(&mut blob, "/tree/f").await;
    done(&mut dfs, V, ("PATCH", "/tree/f?action=flush&position=0", &[], "")).await;
    let seen = head(&mut blob, "/tree/f").await;
    assert_eq!(seen.header("content-length"), Some("0"));
    assert_ne!(seen.header("etag"), Some(again.as_str()));
}

/// HADOOP-19450: what a client called its request is told, so that it can see whether that was done.
#[tokio::test]
async fn a_path_tells_the_transaction_that_put_it_there() {
    let (mut dfs, _, _) = with_file_system().await;
    let (first, second) = (("x-ms-client-transaction-id", LEASE), ("x-ms-client-transaction-id", "another"));
    let asked = ["/tree/f?action=getStatus", "/tree/f", "/two/f"];
    done(&mut dfs, V, ("PUT", "/two?resource=filesystem", &[], "")).await;
    done(&mut dfs, "2024-11-04", ("PUT", FILE, &[first], "")).await;
    for target in &asked[..2] {
        for (version, told) in [("2024-11-04", Some(LEASE)), ("2024-08-04", None)] {
            let seen = done(&mut dfs, version, ("HEAD", target, &[], "")).await;
            assert_eq!(seen.header("x-ms-client-transaction-id"), told, "{target} {version}");
        }
    }
    for (from, to) in [("/tree/f", "/tree/g"), ("/tree/g", "/two/f")] {
        let source = ("x-ms-rename-source", from);
        done(&mut dfs, "2024-11-04", ("PUT", &format!("{to}?mode=legacy"), &[source, second], "")).await;
        let seen = done(&mut dfs, "2024-11-04", ("HEAD", to, &[], "")).await;
        assert_eq!(seen.header("x-ms-client-transaction-id"), Some("another"), "{to}");
    }
}
