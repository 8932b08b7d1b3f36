//! Copies over the edge: whose rights a source is read under, and what is said when it cannot be read.

mod client;

use client::{ACCOUNT, Client, OTHER, Server, account_sas, start};

const VERSION: (&str, &str) = ("x-ms-version", "2021-08-06");
const NEWER: (&str, &str) = ("x-ms-version", "2025-11-05");
const KIND: (&str, &str) = ("x-ms-blob-type", "BlockBlob");
const SYNC: (&str, &str) = ("x-ms-requires-sync", "true");
const HERE: &str = "http://127.0.0.1/devstoreaccount1";

async fn with_blob(server: &Server) -> Client {
    let mut client = Client::to(server);
    assert_eq!(client.send("PUT", "/con?restype=container", &[VERSION], b"").await.status, 201);
    assert_eq!(client.send("PUT", "/con/b", &[VERSION, KIND], b"hello").await.status, 201);
    client
}

/// The account's key opens the account's own sources to Copy Blob, and to nothing else; as recorded.
#[tokio::test]
async fn a_source_is_read_under_its_own_rights() {
    let mut client = with_blob(&start()).await;
    let (own, absent) = (format!("{HERE}/con/b"), format!("{HERE}/con/none"));
    let source = |url: &'static str| ("x-ms-copy-source", url);
    let own = source(Box::leak(own.into_boxed_str()));
    let absent = source(Box::leak(absent.into_boxed_str()));
    let etag = ("x-ms-source-if-match", "\"0x8D000000000000\"");
    let outside = source("http://10.0.0.1/con/b");
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], u16, Option<&'a str>);
    let table: &[Row<'_>] = &[
        ("/con/copy", &[own], 202, None),
        ("/con/copy", &[own, SYNC], 401, Some("CannotVerifyCopySource")),
        ("/con/copy", &[own, KIND], 401, Some("CannotVerifyCopySource")),
        ("/con/copy?comp=block&blockid=MQ==", &[own], 401, Some("CannotVerifyCopySource")),
        ("/con/copy", &[absent], 404, Some("BlobNotFound")),
        ("/con/copy", &[own, etag], 412, Some("SourceConditionNotMet")),
        ("/con/copy", &[own, ("if-match", "\"0x8D000000000000\"")], 412, Some("TargetConditionNotMet")),
        ("/con/copy", &[outside], 403, Some("CannotVerifyCopySource")),
        ("/con/copy", &[source("nonsense")], 400, Some("InvalidHeaderValue")),
        ("/con/copy", &[source("ftp://127.0.0.1/devstoreaccount1/con/b")], 400, Some("InvalidHeaderValue")),
        ("/con/copy?comp=copy&copyid=1", &[("x-ms-copy-action", "abort")], 409, Some("NoPendingCopyOperation")),
    ];
    for (target, headers, status, code) in table {
        let headers: Vec<_> = headers.iter().copied().chain([VERSION]).collect();
        let answer = client.send("PUT", target, &headers, b"").await;
        assert_eq!((answer.status, answer.header("x-ms-error-code")), (*status, *code), "{target} {headers:?}");
    }
    let copy = client.send("GET", "/con/copy", &[VERSION], b"").await;
    assert_eq!((copy.text().as_str(), copy.header("x-ms-copy-source")), ("hello", Some(own.1)));
    assert_eq!(copy.header("x-ms-copy-progress"), Some("5/5"));
}

/// Once a container is open to everybody, so is it as a source.
#[tokio::test]
async fn a_public_source_needs_no_signature() {
    let mut client = with_blob(&start()).await;
    let open = [VERSION, ("x-ms-blob-public-access", "blob")];
    assert_eq!(client.send("PUT", "/con?restype=container&comp=acl", &open, b"").await.status, 200);
    let own: &'static str = Box::leak(format!("{HERE}/con/b").into_boxed_str());
    let range = ("x-ms-source-range", "bytes=1-3");
    let block = "/con/parts?comp=block&blockid=MQ==";
    let staged = client.send("PUT", block, &[VERSION, ("x-ms-copy-source", own), range], b"").await;
    assert_eq!(staged.status, 201, "{}", staged.text());
    let list = b"<BlockList><Latest>MQ==</Latest></BlockList>";
    assert_eq!(client.send("PUT", "/con/parts?comp=blocklist", &[VERSION], list).await.status, 201);
    assert_eq!(client.send("GET", "/con/parts", &[VERSION], b"").await.text(), "ell");

    let beyond = ("x-ms-source-range", "bytes=9-");
    let refused = client.send("PUT", block, &[VERSION, ("x-ms-copy-source", own), beyond], b"").await;
    assert_eq!((refused.status, refused.header("x-ms-error-code")), (416, Some("CannotVerifyCopySource")));
    let wrong = ("x-ms-source-content-md5", "AAAAAAAAAAAAAAAAAAAAAA==");
    let refused = client.send("PUT", "/con/whole", &[VERSION, KIND, ("x-ms-copy-source", own), wrong], b"").await;
    assert_eq!((refused.status, refused.header("x-ms-error-code")), (400, Some("Md5Mismatch")));
}

/// An account that is reached over TLS alone is so as a source, too, whatever the address says.
#[tokio::test]
async fn a_source_is_reached_as_its_account_may_be() {
    let server = start();
    let mut client = with_blob(&server).await;
    let mut other = Client::of_account(&server, OTHER);
    assert_eq!(other.send("PUT", "/con?restype=container", &[VERSION], b"").await.status, 201);
    let source = format!("https://127.0.0.1/{ACCOUNT}/con/b?{}", account_sas());
    let headers = [VERSION, ("x-ms-copy-source", source.as_str()), SYNC];
    assert_eq!(other.send("PUT", "/con/copy", &headers, b"").await.status, 202);
    server.set(&[("secure-transfer", "on")]).await;
    assert_eq!(client.send("GET", "/con/b", &[VERSION], b"").await.status, 400);
    let refused = other.send("PUT", "/con/copy", &headers, b"").await;
    assert_eq!((refused.status, refused.header("x-ms-error-code")), (400, Some("CannotVerifyCopySource")));
}

/// Newer versions name what the source answered.
#[tokio::test]
async fn the_fault_of_a_source_is_named() {
    let mut client = with_blob(&start()).await;
    let own: &'static str = Box::leak(format!("{HERE}/con/b").into_boxed_str());
    for (version, named) in [(VERSION, None), (NEWER, Some("NoAuthenticationInformation"))] {
        let answer = client.send("PUT", "/con/copy", &[version, KIND, ("x-ms-copy-source", own)], b"").await;
        assert_eq!((answer.status, answer.header("x-ms-copy-source-error-code")), (401, named), "{}", answer.text());
        let element = "<CopySourceErrorCode>NoAuthenticationInformation</CopySourceErrorCode>";
        assert_eq!(answer.text().contains(element), named.is_some());
    }
}

/// A page blob follows another by its snapshots, and is not to be used in any other way ("Incremental Copy Blob").
#[tokio::test]
async fn an_incremental_copy_follows_snapshots() {
    let mut client = with_blob(&start()).await;
    let page = [VERSION, ("x-ms-blob-type", "PageBlob"), ("x-ms-blob-content-length", "1024")];
    assert_eq!(client.send("PUT", "/con/disk", &page, b"").await.status, 201);
    let write = |range: &'static str| [VERSION, ("x-ms-page-write", "update"), ("x-ms-range", range)];
    let mut copies = Vec::new();
    for (range, byte) in [("bytes=0-511", b'a'), ("bytes=512-1023", b'b')] {
        assert_eq!(client.send("PUT", "/con/disk?comp=page", &write(range), &[byte; 512]).await.status, 201);
        let snapshot = client.send("PUT", "/con/disk?comp=snapshot", &[VERSION], b"").await;
        let time = snapshot.header("x-ms-snapshot").unwrap().to_owned();
        let source = format!("{HERE}/con/disk?snapshot={time}");
        let copied = client
            .send("PUT", "/con/backup?comp=incrementalcopy", &[VERSION, ("x-ms-copy-source", &source)], b"")
            .await;
        assert_eq!((copied.status, copied.header("x-ms-copy-status")), (202, Some("pending")), "{}", copied.text());
        let seen = client.send("HEAD", "/con/backup", &[VERSION], b"").await;
        assert_eq!(seen.header("x-ms-copy-status"), Some("success"));
        assert_eq!(seen.header("x-ms-copy-id"), copied.header("x-ms-copy-id"));
        assert_eq!(seen.header("x-ms-incremental-copy"), Some("true"));
        copies.push((seen.header("x-ms-copy-destination-snapshot").unwrap().to_owned(), source));
    }
    let (latest, again) = copies.pop().unwrap();
    let (first, _) = copies.pop().unwrap();
    for (snapshot, end) in [(&first, 0), (&latest, b'b')] {
        let read = client.send("GET", &format!("/con/backup?snapshot={snapshot}"), &[VERSION], b"").await;
        assert_eq!((read.status, read.body[0], read.body[1023]), (200, b'a', end), "{snapshot}");
    }
    let diff = format!("/con/backup?comp=pagelist&prevsnapshot={first}&snapshot={latest}");
    let diff = client.send("GET", &diff, &[VERSION], b"").await;
    assert!(diff.text().contains("<PageRange><Start>512</Start><End>1023</End></PageRange>"), "{}", diff.text());
    let listed = client.send("GET", "/con?restype=container&comp=list&include=copy", &[VERSION], b"").await;
    let shown = format!("<IncrementalCopy>true</IncrementalCopy><CopyDestinationSnapshot>{latest}");
    assert!(listed.text().contains(&shown), "{}", listed.text());

    let base = format!("{HERE}/con/disk");
    let none = "OperationNotAllowedOnIncrementalCopyBlob";
    let (again, base) = (("x-ms-copy-source", again.as_str()), ("x-ms-copy-source", base.as_str()));
    type Row<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], u16, &'a str);
    let table: &[Row<'_>] = &[
        ("PUT", "/con/backup?comp=incrementalcopy", &[again], 409, "IncrementalCopyOfEarlierSnapshotNotAllowed"),
        ("PUT", "/con/new?comp=incrementalcopy", &[base], 409, "IncrementalCopySourceMustBeSnapshot"),
        ("PUT", "/con/disk?comp=incrementalcopy", &[again], 409, "IncrementalCopyBlobMismatch"),
        ("PUT", "/con/new?comp=incrementalcopy", &[], 400, "MissingRequiredHeader"),
        ("GET", "/con/backup", &[], 409, none),
        ("GET", "/con/backup?comp=pagelist", &[], 409, none),
        ("PUT", "/con/backup?comp=snapshot", &[], 409, none),
        ("PUT", "/con/backup?comp=metadata", &[], 409, none),
        ("PUT", "/con/backup", &[KIND], 409, none),
        ("DELETE", "/con/backup", &[("x-ms-delete-snapshots", "include")], 202, ""),
    ];
    for (method, target, headers, status, code) in table {
        let headers: Vec<_> = headers.iter().copied().chain([VERSION]).collect();
        let answer = client.send(method, target, &headers, b"").await;
        let said = answer.header("x-ms-error-code").unwrap_or_default();
        assert_eq!((answer.status, said), (*status, *code), "{method} {target}");
    }
}

/// What is appended, or written to pages, from a URL under a customer's key is answered with its MD5, as recorded; blocks are not, nor is what comes
/// in the request.
#[tokio::test]
async fn some_sources_under_a_key_are_answered_with_their_md5() {
    let mut client = with_blob(&start()).await;
    let page = &[b'p'; 512];
    assert_eq!(client.send("PUT", "/con/page", &[VERSION, KIND], page).await.status, 201);
    let key = [
        ("x-ms-encryption-key", "MDEyMzQ1NjcwMTIzNDU2NzAxMjM0NTY3MDEyMzQ1Njc="),
        ("x-ms-encryption-key-sha256", "3QFFFpRA5+XANHqwwbT4yXDmrT/2JaLt/FKHjzhOdoE="),
        ("x-ms-encryption-algorithm", "AES256"),
    ];
    let source = format!("{HERE}/con/page?{}", account_sas());
    let from = ("x-ms-copy-source", source.as_str());
    let update = [("x-ms-page-write", "update"), ("x-ms-range", "bytes=0-511"), ("x-ms-source-range", "bytes=0-511")];
    let kinds = [
        ("log", &[("x-ms-blob-type", "AppendBlob")][..], "appendblock", &[][..], true),
        ("disk", &[("x-ms-blob-type", "PageBlob"), ("x-ms-blob-content-length", "512")], "page", &update, true),
        ("parts", &[KIND], "block&blockid=MQ==", &[], false),
    ];
    for (name, kind, comp, headers, by_md5) in kinds {
        for sealed in [&[][..], &key] {
            let (blob, put) = (format!("/con/{name}{}", sealed.len()), [&[VERSION], kind, sealed].concat());
            assert_eq!(client.send("PUT", &blob, &put, b"").await.status, 201);
            for url in [&[][..], &[from]] {
                let headers = [&[VERSION], headers, sealed, url].concat();
                let body = if url.is_empty() { &page[..] } else { b"" };
                let answer = client.send("PUT", &format!("{blob}?comp={comp}"), &headers, body).await;
                assert_eq!(answer.status, 201, "{headers:?} {}", answer.text());
                let md5 = by_md5 && !sealed.is_empty() && !url.is_empty();
                let found = [answer.header("content-md5").is_some(), answer.header("x-ms-content-crc64").is_some()];
                assert_eq!(found, [md5, !md5], "{headers:?}");
            }
        }
    }
}
