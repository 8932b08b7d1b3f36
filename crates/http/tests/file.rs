//! The File service as a client meets it: bytes in, bytes out, over a pipe, with the store on the memory engine.

mod client;

use client::{Client, start};
use lazuli_http::Service;

const VERSION: (&str, &str) = ("x-ms-version", "2021-06-08");
const NEWEST: (&str, &str) = ("x-ms-version", "2026-10-06");
const FILE: (&str, &str) = ("x-ms-type", "file");

/// Method, target, headers and body of a request; then the status and what else is expected.
type Row<'a, E> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str, u16, E);

/// Target, headers and body of a PUT.
type Step<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

/// A share with a directory, and in it a file of five bytes.
async fn with_file() -> Client {
    let mut client = Client::to_service(&start(), Service::File);
    let steps: [Step<'_>; 4] = [
        ("/sha?restype=share", &[], ""),
        ("/sha/dir?restype=directory", &[], ""),
        ("/sha/dir/f", &[FILE, ("x-ms-content-length", "5")], ""),
        ("/sha/dir/f?comp=range", &[("x-ms-write", "update"), ("x-ms-range", "bytes=0-4")], "hello"),
    ];
    for (target, headers, body) in steps {
        let headers = [&[VERSION], headers].concat();
        let answer = client.send("PUT", target, &headers, body.as_bytes()).await;
        assert_eq!(answer.status, 201, "{target}: {}", answer.text());
    }
    client
}

/// Every answer's headers, beyond those that all answers have, as recorded from the service.
#[tokio::test]
async fn header_sets() {
    let mut client = with_file().await;
    let stamps = "etag last-modified content-length";
    let smb = "x-ms-file-attributes x-ms-file-change-time x-ms-file-creation-time x-ms-file-id x-ms-file-last-write-time \
               x-ms-file-parent-id x-ms-file-permission-key";
    let encrypted = "x-ms-request-server-encrypted";
    let read = "content-type x-ms-lease-state x-ms-lease-status x-ms-server-encrypted x-ms-type";
    let share = "x-ms-access-tier x-ms-access-tier-change-time x-ms-has-immutability-policy x-ms-has-legal-hold \
                 x-ms-lease-state x-ms-lease-status x-ms-share-quota";
    let document = "content-type content-length";
    let acquire = [("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "-1")];
    let sddl = r#"{"permission":"O:BAG:BAD:(A;;FA;;;SY)"}"#;
    let clear = [("x-ms-write", "clear"), ("x-ms-range", "bytes=0-4")];
    let rename = [("x-ms-file-rename-source", "https://account.file.core.windows.net/sha/dir/n")];
    let table: &[Row<'_, &[&str]>] = &[
        ("GET", "/sha/dir/f", &[], "", 200, &[stamps, smb, read, "accept-ranges"]),
        (
            "GET",
            "/sha/dir/f",
            &[("x-ms-range", "bytes=1-2")],
            "",
            206,
            &[stamps, smb, read, "accept-ranges content-range"],
        ),
        ("HEAD", "/sha/dir/f", &[], "", 200, &[stamps, smb, read]),
        ("PUT", "/sha/dir/n", &[FILE, ("x-ms-content-length", "5")], "", 201, &[stamps, smb, encrypted]),
        ("PUT", "/sha/dir/n?comp=range", &clear, "", 201, &[stamps, "x-ms-file-last-write-time"]),
        ("PUT", "/sha/dir/n?comp=metadata", &[("x-ms-meta-a", "1")], "", 200, &[stamps, encrypted]),
        ("GET", "/sha/dir/n?comp=metadata", &[], "", 200, &[stamps, "x-ms-meta-a"]),
        ("PUT", "/sha/dir/n?comp=properties", &[], "", 200, &[stamps, smb, encrypted]),
        ("GET", "/sha/dir/n?comp=rangelist", &[], "", 200, &[document, "etag last-modified x-ms-content-length"]),
        ("PUT", "/sha/dir/n?comp=lease", &acquire, "", 201, &[stamps, "x-ms-lease-id"]),
        ("PUT", "/sha/dir/n?comp=lease", &[("x-ms-lease-action", "break")], "", 202, &[stamps, "x-ms-lease-time"]),
        ("GET", "/sha/dir/n?comp=listhandles", &[], "", 200, &[document]),
        (
            "PUT",
            "/sha/dir/n?comp=forceclosehandles",
            &[("x-ms-handle-id", "*")],
            "",
            200,
            &["x-ms-number-of-handles-closed x-ms-number-of-handles-failed content-length"],
        ),
        ("PUT", "/sha/dir/m?comp=rename", &rename, "", 200, &[stamps, smb, encrypted]),
        ("DELETE", "/sha/dir/m", &[], "", 202, &["content-length"]),
        ("GET", "/sha/dir?restype=directory", &[], "", 200, &[stamps, smb, "x-ms-server-encrypted"]),
        ("GET", "/sha?restype=directory&comp=list", &[], "", 200, &[document]),
        ("PUT", "/sha/dir?restype=directory&comp=metadata", &[], "", 200, &[stamps, encrypted]),
        ("PUT", "/sha/dir?restype=directory&comp=properties", &[], "", 200, &[stamps, smb, encrypted]),
        ("GET", "/sha?restype=share", &[], "", 200, &[stamps, share]),
        ("PUT", "/sha?restype=share&comp=metadata", &[], "", 200, &[stamps]),
        ("PUT", "/sha?restype=share&comp=properties", &[("x-ms-share-quota", "7")], "", 200, &[stamps]),
        ("PUT", "/sha?restype=share&comp=acl", &[], "", 200, &[stamps]),
        ("GET", "/sha?restype=share&comp=acl", &[], "", 200, &[document, "etag last-modified"]),
        ("GET", "/sha?restype=share&comp=stats", &[], "", 200, &[document]),
        ("PUT", "/sha?restype=share&comp=filepermission", &[], sddl, 201, &["x-ms-file-permission-key content-length"]),
        ("PUT", "/sha?restype=share&comp=snapshot", &[], "", 201, &[stamps, "x-ms-snapshot"]),
        ("GET", "/?comp=list&include=snapshots", &[], "", 200, &[document]),
        ("GET", "/?restype=service&comp=properties", &[], "", 200, &[document]),
    ];
    for (method, target, headers, body, status, expected) in table {
        let headers = [&[VERSION], *headers].concat();
        let answer = client.send(method, target, &headers, body.as_bytes()).await;
        assert_eq!(answer.status, *status, "{method} {target}: {}", answer.text());
        let common = ["server", "date", "x-ms-version", "x-ms-request-id"];
        let mut seen: Vec<&str> = answer.headers.iter().map(|(name, _)| name.as_str()).collect();
        seen.retain(|name| !common.contains(name));
        let mut expected: Vec<&str> = expected.iter().flat_map(|names| names.split_whitespace()).collect();
        seen.sort_unstable();
        expected.sort_unstable();
        assert_eq!(seen, expected, "{method} {target}");
    }
}

#[tokio::test]
async fn refusals() {
    let mut client = with_file().await;
    let length = ("x-ms-content-length", "5");
    let update = ("x-ms-write", "update");
    let snapshot = "sharesnapshot=2022-10-05T22:13:19.0000000Z";
    let table: &[Row<'_, &str>] = &[
        ("GET", "/sha/dir/none", &[], "", 404, "ResourceNotFound"),
        ("GET", "/sha/none/f", &[], "", 404, "ParentNotFound"),
        ("GET", "/none/f", &[], "", 404, "ShareNotFound"),
        ("PUT", "/sha?restype=share", &[], "", 409, "ShareAlreadyExists"),
        ("PUT", "/sha/DIR?restype=directory", &[], "", 409, "ResourceAlreadyExists"),
        ("DELETE", "/sha/dir?restype=directory", &[], "", 409, "DirectoryNotEmpty"),
        ("PUT", "/sha/x", &[length], "", 400, "MissingRequiredHeader"),
        ("PUT", "/sha/x", &[FILE], "", 400, "MissingRequiredHeader"),
        ("PUT", "/sha/x", &[FILE, ("x-ms-content-length", "-1")], "", 400, "InvalidHeaderValue"),
        ("PUT", "/sha/x", &[FILE, length, ("x-ms-file-permission", "abc")], "", 400, "FileInvalidPermission"),
        ("PUT", "/sha/dir/f?comp=range", &[update], "x", 400, "MissingRequiredHeader"),
        ("PUT", "/sha/dir/f?comp=range", &[("x-ms-range", "bytes=0-0")], "x", 400, "MissingRequiredHeader"),
        ("PUT", "/sha/dir/f?comp=range", &[update, ("x-ms-range", "bytes=0-1")], "x", 400, "InvalidHeaderValue"),
        ("PUT", "/sha/dir/f?comp=range", &[update, ("x-ms-range", "bytes=5-5")], "x", 416, "InvalidRange"),
        ("GET", "/sha/dir/f", &[("x-ms-range", "bytes=5-9")], "", 416, "InvalidRange"),
        ("PUT", "/sha/dir/f?comp=lease", &[("x-ms-lease-action", "renew")], "", 400, "InvalidHeaderValue"),
        ("PUT", "/sha/dir/f?comp=nonsense", &[], "", 400, "InvalidQueryParameterValue"),
        ("PUT", &format!("/sha/x?restype=directory&{snapshot}"), &[], "", 400, "ShareSnapshotOperationNotSupported"),
        ("GET", &format!("/sha/dir/f?{snapshot}"), &[], "", 404, "ShareNotFound"),
        (
            "PUT",
            "/sha/dir/f",
            &[("x-ms-copy-source", "https://error.file.core.windows.net")],
            "",
            400,
            "CannotVerifyCopySource",
        ),
        ("PUT", "/sha/a*b?restype=directory", &[], "", 400, "InvalidResourceName"),
        ("PUT", "/UPPER?restype=share", &[], "", 400, "InvalidResourceName"),
    ];
    for (method, target, headers, body, status, code) in table {
        let headers = [&[VERSION], *headers].concat();
        let answer = client.send(method, target, &headers, body.as_bytes()).await;
        assert_eq!((answer.status, answer.header("x-ms-error-code")), (*status, Some(*code)), "{method} {target}");
    }
}

/// Since 2026-06-06 Create File takes bytes; before, they are thrown away.
#[tokio::test]
async fn a_file_is_made_with_its_bytes() {
    let mut client = with_file().await;
    let headers = [FILE, ("x-ms-content-length", "8")];
    for (version, path, expected) in [(NEWEST, "/sha/new", "hello\0\0\0"), (VERSION, "/sha/old", "\0\0\0\0\0\0\0\0")] {
        let made = client.send("PUT", path, &[&headers[..], &[version]].concat(), b"hello").await;
        assert_eq!(made.status, 201, "{}", made.text());
        assert_eq!(client.send("GET", path, &[version], b"").await.text(), expected);
    }
    let short = [FILE, ("x-ms-content-length", "4"), NEWEST];
    let refused = client.send("PUT", "/sha/short", &short, b"hello").await;
    assert_eq!((refused.status, refused.header("x-ms-error-code")), (400, Some("InvalidHeaderValue")));
}

/// Since 2026-10-06.
#[tokio::test]
async fn ranges_come_in_pages() {
    let mut client = with_file().await;
    let made = client.send("PUT", "/sha/holes", &[NEWEST, FILE, ("x-ms-content-length", "8192")], b"").await;
    assert_eq!(made.status, 201);
    for range in ["bytes=0-511", "bytes=2048-2559", "bytes=4096-4607"] {
        let headers = [NEWEST, ("x-ms-write", "update"), ("x-ms-range", range)];
        assert_eq!(client.send("PUT", "/sha/holes?comp=range", &headers, &[7; 512]).await.status, 201);
    }
    let mut marker = String::new();
    let mut starts = Vec::new();
    loop {
        let target = format!("/sha/holes?comp=rangelist&maxresults=2&marker={marker}");
        let text = client.send("GET", &target, &[NEWEST], b"").await.text();
        starts.extend(text.split("<Start>").skip(1).map(|rest| rest.split('<').next().unwrap_or_default().to_owned()));
        match text.split_once("<NextMarker>").and_then(|(_, rest)| rest.split('<').next()) {
            Some(next) if !next.is_empty() => marker = next.to_owned(),
            Some(_) | None => break,
        }
    }
    assert_eq!(starts, ["0", "2048", "4096"]);
    let whole = client.send("GET", "/sha/holes?comp=rangelist", &[NEWEST], b"").await.text();
    assert!(whole.ends_with("<Range><Start>4096</Start><End>4607</End></Range></Ranges>"), "{whole}");
}

#[tokio::test]
async fn properties_are_restored_as_they_were() {
    let mut client = with_file().await;
    let headers = [NEWEST, FILE, ("x-ms-content-length", "0"), ("x-ms-file-attributes", "Hidden")];
    for (semantics, expected) in [("New", "Hidden | Archive"), ("Restore", "Hidden")] {
        let headers = [&headers[..], &[("x-ms-file-property-semantics", semantics)]].concat();
        let made = client.send("PUT", "/sha/p", &headers, b"").await;
        assert_eq!(made.header("x-ms-file-attributes"), Some(expected));
    }
}

#[tokio::test]
async fn a_copy_keeps_what_it_is_told_to() {
    let mut client = with_file().await;
    let source = ("x-ms-copy-source", "http://127.0.0.1/devstoreaccount1/sha/dir/f");
    let copied = client.send("PUT", "/sha/copy", &[VERSION, source], b"").await;
    assert_eq!((copied.status, copied.header("x-ms-copy-status")), (202, Some("success")), "{}", copied.text());
    let read = client.send("GET", "/sha/copy", &[VERSION], b"").await;
    assert_eq!(read.text(), "hello");
    assert_eq!(read.header("x-ms-copy-progress"), Some("5/5"));
    let keep = [VERSION, source, ("x-ms-file-creation-time", "source"), ("x-ms-file-permission-copy-mode", "source")];
    assert_eq!(client.send("PUT", "/sha/kept", &keep, b"").await.status, 202);
    let (one, other) = (
        client.send("HEAD", "/sha/dir/f", &[VERSION], b"").await,
        client.send("HEAD", "/sha/kept", &[VERSION], b"").await,
    );
    for name in ["x-ms-file-creation-time", "x-ms-file-permission-key"] {
        assert_eq!(one.header(name), other.header(name), "{name}");
    }
    let none = ("x-ms-copy-source", "http://127.0.0.1/devstoreaccount1/sha/none");
    let refused = client.send("PUT", "/sha/copy", &[VERSION, none], b"").await;
    assert_eq!((refused.status, refused.header("x-ms-error-code")), (404, Some("ResourceNotFound")));
}
