//! The edge as a client meets it: bytes in, bytes out, over a pipe, with the store on the memory engine.

mod client;

use client::{Client, start};

const VERSION: (&str, &str) = ("x-ms-version", "2021-08-06");

/// Method, target, headers and body of a request; then the status and what else is expected.
type Row<'a, E> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str, u16, E);

async fn with_blob(text: &str) -> Client {
    let mut client = Client::to(&start());
    assert_eq!(client.send("PUT", "/con?restype=container", &[VERSION], b"").await.status, 201);
    let put = client.send("PUT", "/con/b", &[VERSION, ("x-ms-blob-type", "BlockBlob")], text.as_bytes()).await;
    assert_eq!(put.status, 201, "{}", put.text());
    client
}

/// Every answer's headers, beyond those that all answers have, as recorded from the service.
#[tokio::test]
async fn header_sets() {
    let mut client = with_blob("hello").await;
    let read = "etag last-modified content-type accept-ranges x-ms-blob-type x-ms-server-encrypted x-ms-creation-time \
                x-ms-lease-status x-ms-lease-state content-length";
    let tier = "x-ms-access-tier x-ms-access-tier-inferred";
    let written = "etag last-modified content-length";
    let encrypted = "x-ms-request-server-encrypted";
    let container = "x-ms-has-immutability-policy x-ms-has-legal-hold x-ms-immutable-storage-with-versioning-enabled \
                     x-ms-default-encryption-scope x-ms-deny-encryption-scope-override x-ms-lease-status x-ms-lease-state";
    let document = "content-type content-length";
    let account = "x-ms-sku-name x-ms-account-kind x-ms-is-hns-enabled content-length";
    let tags = "<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags>";
    let blocks = "<BlockList><Latest>MQ==</Latest></BlockList>";
    let kind = ("x-ms-blob-type", "BlockBlob");
    let acquire = ("x-ms-lease-action", "acquire");
    let for_ever = ("x-ms-lease-duration", "-1");
    let breaking = ("x-ms-lease-action", "break");
    let table: &[Row<'_, &[&str]>] = &[
        ("GET", "/con/b", &[], "", 200, &[read, "content-md5"]),
        ("GET", "/con/b", &[("x-ms-range", "bytes=1-2")], "", 206, &[read, "x-ms-blob-content-md5 content-range"]),
        ("HEAD", "/con/b", &[], "", 200, &[read, "content-md5", tier]),
        ("PUT", "/con/b", &[kind], "new", 201, &[written, encrypted, "content-md5 x-ms-content-crc64"]),
        ("PUT", "/con/n?comp=block&blockid=MQ==", &[], "one", 201, &[encrypted, "x-ms-content-crc64 content-length"]),
        ("PUT", "/con/n?comp=blocklist", &[], blocks, 201, &[written, encrypted, "x-ms-content-crc64"]),
        ("GET", "/con/n?comp=blocklist", &[], "", 200, &[document, "etag last-modified x-ms-blob-content-length"]),
        ("PUT", "/con/b?comp=metadata", &[("x-ms-meta-a", "1")], "", 200, &[written, encrypted]),
        ("GET", "/con/b?comp=metadata", &[], "", 200, &[written, "x-ms-meta-a"]),
        ("PUT", "/con/b?comp=properties", &[], "", 200, &[written]),
        ("PUT", "/con/b?comp=tags", &[], tags, 204, &[]),
        ("GET", "/con/b?comp=tags", &[], "", 200, &[document]),
        ("PUT", "/con/b?comp=snapshot", &[], "", 201, &[written, encrypted, "x-ms-snapshot"]),
        ("PUT", "/con/b?comp=lease", &[acquire, for_ever], "", 201, &[written, "x-ms-lease-id"]),
        ("PUT", "/con/b?comp=lease", &[breaking], "", 202, &[written, "x-ms-lease-time"]),
        ("GET", "/con?restype=container", &[], "", 200, &[written, container]),
        ("PUT", "/con?restype=container&comp=metadata", &[], "", 200, &[written]),
        ("PUT", "/con?restype=container&comp=acl", &[], "", 200, &[written]),
        ("GET", "/con?restype=container&comp=acl", &[], "", 200, &[document, "etag last-modified"]),
        ("GET", "/con?restype=container&comp=list", &[], "", 200, &[document]),
        ("GET", "/?comp=list", &[], "", 200, &[document]),
        ("GET", "/?restype=service&comp=properties", &[], "", 200, &[document]),
        ("GET", "/?restype=account&comp=properties", &[], "", 200, &[account]),
        (
            "HEAD",
            "/con/b?restype=account&comp=properties",
            &[],
            "",
            200,
            &["x-ms-sku-name x-ms-account-kind x-ms-is-hns-enabled"],
        ),
        (
            "DELETE",
            "/con/b",
            &[("x-ms-delete-snapshots", "include")],
            "",
            202,
            &["content-length x-ms-delete-type-permanent"],
        ),
        ("GET", "/con/b", &[], "", 404, &[document, "x-ms-error-code"]),
        ("HEAD", "/con/b", &[], "", 404, &["x-ms-error-code"]),
        ("DELETE", "/con?restype=container", &[], "", 202, &["content-length"]),
    ];
    for (method, target, headers, body, status, expected) in table {
        let headers: Vec<_> = headers.iter().copied().chain([VERSION]).collect();
        let answer = client.send(method, target, &headers, body.as_bytes()).await;
        assert_eq!(answer.status, *status, "{method} {target}: {}", answer.text());
        let mut expected: Vec<_> = expected.iter().flat_map(|names| names.split_whitespace()).collect();
        expected.extend(["server", "date", "x-ms-request-id", "x-ms-version"]);
        expected.sort_unstable();
        let mut seen: Vec<_> = answer.headers.iter().map(|(name, _)| name.as_str()).collect();
        // Whether an answer without a body says so is not for us to decide.
        seen.retain(|name| *name != "content-length" || expected.contains(name));
        seen.sort_unstable();
        assert_eq!(seen, expected, "{method} {target}");
    }
}

#[tokio::test]
async fn refusals() {
    let mut client = with_blob("hello").await;
    let kind = ("x-ms-blob-type", "BlockBlob");
    let table: &[Row<'_, &str>] = &[
        ("GET", "/con/b", &[("x-ms-version", "soon")], "", 400, "InvalidHeaderValue"),
        ("GET", "/con/b?timeout=0", &[VERSION], "", 400, "InvalidQueryParameterValue"),
        ("GET", "/con/b", &[VERSION, ("x-ms-range", "bytes=9-")], "", 416, "InvalidRange"),
        ("GET", "/con/b?versionid=x", &[VERSION], "", 400, "InvalidQueryParameterValue"),
        ("GET", "/con/b?comp=pagelist", &[VERSION], "", 409, "InvalidBlobType"),
        ("PUT", "/con/b", &[VERSION, ("x-ms-blob-type", "PageBlob")], "", 400, "MissingRequiredHeader"),
        ("PUT", "/con/b", &[VERSION, kind, ("x-ms-encryption-key", "x")], "a", 400, "InvalidHeaderValue"),
        ("PUT", "/con/b", &[VERSION, kind, ("content-md5", "1B2M2Y8AsgTpgAmY7PhCfg==")], "a", 400, "Md5Mismatch"),
        ("PUT", "/con/b", &[VERSION, kind, ("if-match", "\"0x1\"")], "a", 412, "ConditionNotMet"),
        (
            "PUT",
            "/con/b",
            &[VERSION, kind, ("if-match", "*"), ("if-none-match", "*")],
            "a",
            400,
            "MultipleConditionHeadersNotSupported",
        ),
        (
            "PUT",
            "/con/b?comp=block&blockid=MQ==",
            &[VERSION, ("if-match", "*")],
            "a",
            400,
            "ConditionHeadersNotSupported",
        ),
        ("PUT", "/con/b?comp=block", &[VERSION], "a", 400, "MissingRequiredQueryParameter"),
        ("PUT", "/con/b", &[VERSION], "a", 400, "MissingRequiredHeader"),
        ("PUT", "/con/b?comp=lease", &[VERSION, ("x-ms-lease-action", "acquire")], "", 400, "MissingRequiredHeader"),
        ("GET", "/con?restype=container&comp=list&maxresults=0", &[VERSION], "", 400, "OutOfRangeQueryParameterValue"),
        (
            "GET",
            "/con?restype=container&comp=list&include=snapshots&delimiter=/",
            &[VERSION],
            "",
            400,
            "InvalidQueryParameterValue",
        ),
        ("POST", "/con/b", &[VERSION], "", 405, "UnsupportedHttpVerb"),
        ("PUT", "/con?restype=container&comp=acl", &[VERSION], "<nonsense", 400, "InvalidXmlDocument"),
    ];
    for (method, target, headers, body, status, code) in table {
        let answer = client.send(method, target, headers, body.as_bytes()).await;
        assert_eq!(
            (answer.status, answer.header("x-ms-error-code")),
            (*status, Some(*code)),
            "{method} {target}: {}",
            answer.text()
        );
    }
    assert_eq!(client.send("GET", "/con/b", &[VERSION], b"").await.body, b"hello", "a refused write changed the blob");
}

#[tokio::test]
async fn nothing_is_done_for_a_stranger() {
    let edge = start();
    let mut owner = Client::to(&edge);
    owner.send("PUT", "/con?restype=container", &[VERSION], b"").await;
    let mut stranger = Client::unsigned(&edge);
    for (method, target) in [("PUT", "/con/b"), ("DELETE", "/con?restype=container"), ("PUT", "/den?restype=container")]
    {
        let headers = [VERSION, ("x-ms-blob-type", "BlockBlob")];
        let answer = stranger.send(method, target, &headers, b"x").await;
        assert!((401..=404).contains(&answer.status), "{method} {target} {}", answer.status);
    }
    assert_eq!(owner.send("HEAD", "/con/b", &[VERSION], b"").await.status, 404);
    assert_eq!(owner.send("GET", "/con?restype=container", &[VERSION], b"").await.status, 200);
    assert_eq!(owner.send("GET", "/den?restype=container", &[VERSION], b"").await.status, 404);
}

#[tokio::test]
async fn large_bodies_stream_both_ways() {
    let mut client = with_blob("").await;
    let content: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
    let put = client.send("PUT", "/con/large", &[VERSION, ("x-ms-blob-type", "BlockBlob")], &content).await;
    assert_eq!(put.status, 201, "{}", put.text());
    let got = client.send("GET", "/con/large", &[VERSION], b"").await;
    assert!(got.status == 200 && got.body == content);
    let part = client.send("GET", "/con/large", &[VERSION, ("range", "bytes=999999-2000000")], b"").await;
    assert_eq!(part.header("content-range"), Some("bytes 999999-2000000/3000000"));
    assert!(part.status == 206 && part.body == content[999_999..=2_000_000]);
}

/// The example of the structured format: `hello`, in 44 bytes.
#[tokio::test]
async fn structured_bodies_go_both_ways() {
    let mut client = with_blob("hello").await;
    let form = ("x-ms-structured-body", "XSM/1.0; properties=crc64");
    let got = client.send("GET", "/con/b", &[VERSION, form], b"").await;
    assert_eq!((got.status, got.body.len()), (200, 44));
    assert_eq!(got.header("x-ms-structured-content-length"), Some("5"));
    let sent = [VERSION, form, ("x-ms-structured-content-length", "5"), ("x-ms-blob-type", "BlockBlob")];
    let put = client.send("PUT", "/con/again", &sent, &got.body).await;
    assert_eq!((put.status, put.header("x-ms-content-crc64")), (201, Some("V0JSBnCFdzM=")), "{}", put.text());
    assert_eq!(client.send("GET", "/con/again", &[VERSION], b"").await.body, b"hello");
    let mut spoilt = got.body.clone();
    spoilt[24] ^= 1;
    assert_eq!(client.send("PUT", "/con/spoilt", &sent, &spoilt).await.status, 400);
    assert_eq!(client.send("HEAD", "/con/spoilt", &[VERSION], b"").await.status, 404);
}

#[tokio::test]
async fn a_refusal_comes_before_the_body_is_asked_for() {
    let mut client = with_blob("").await;
    let headers = [
        VERSION,
        ("x-ms-blob-type", "BlockBlob"),
        ("if-match", "bad"),
        ("if-none-match", "bad"),
        ("expect", "100-continue"),
    ];
    let head = client.head("PUT", "/con/b", &headers, 10);
    client.write(head.as_bytes()).await;
    // No `100 Continue` came first.
    assert_eq!(client.answer(false).await.status, 400);
}

#[tokio::test]
async fn metadata_comes_back_and_ids_are_echoed() {
    let mut client = with_blob("x").await;
    let id = ("x-ms-client-request-id", "mine");
    client.send("PUT", "/con/b?comp=metadata", &[VERSION, ("x-ms-meta-Upper", "Value")], b"").await;
    let answer = client.send("HEAD", "/con/b", &[VERSION, id], b"").await;
    assert_eq!(answer.header("x-ms-client-request-id"), Some("mine"));
    assert_eq!(answer.header("x-ms-version"), Some(VERSION.1));
    assert_eq!(answer.header("x-ms-meta-Upper"), Some("Value"), "metadata keeps its capitals");
}

/// A client that has sent much for nothing still gets its answer, and keeps its connection.
/// An answer is text, whatever the request was.
#[tokio::test]
async fn a_version_that_is_no_text_is_not_repeated() {
    for version in [&b"\x80019-02-02"[..], &[b'2'; 100]] {
        let server = start();
        let mut client = Client::to(&server);
        let head = client.head("GET", "/?comp=list", &[], 0);
        let (first, rest) = head.split_once("\r\n").expect("a head has lines");
        let asked = [first.as_bytes(), b"\r\nx-ms-version: ", version, b"\r\n", rest.as_bytes()].concat();
        client.write(&asked).await;
        let answer = client.answer(false).await;
        assert_eq!((answer.status, answer.header("x-ms-version")), (400, None));
    }
}

#[tokio::test]
async fn a_refused_body_is_read_away() {
    let mut client = with_blob("hello").await;
    let headers = [VERSION, ("x-ms-blob-type", "BlockBlob"), ("x-ms-encryption-scope", "mine")];
    assert_eq!(client.send("PUT", "/con/b", &headers, &vec![0; 1 << 20]).await.status, 400);
    assert_eq!(client.send("GET", "/con/b", &[VERSION], b"").await.body, b"hello");
}

/// A body that breaks off leaves nothing behind.
#[tokio::test]
async fn half_a_body_is_no_blob() {
    let server = start();
    let mut client = Client::to(&server);
    client.send("PUT", "/con?restype=container", &[VERSION], b"").await;
    let mut leaving = Client::to(&server);
    let head = leaving.head("PUT", "/con/b", &[VERSION, ("x-ms-blob-type", "BlockBlob")], 100_000);
    leaving.write(head.as_bytes()).await;
    leaving.write(&[1; 50_000]).await;
    drop(leaving);
    assert_eq!(client.send("HEAD", "/con/b", &[VERSION], b"").await.status, 404);
    let put = client.send("PUT", "/con/b", &[VERSION, ("x-ms-blob-type", "BlockBlob")], b"whole").await;
    assert_eq!(put.status, 201);
    assert_eq!(client.send("GET", "/con/b", &[VERSION], b"").await.body, b"whole");
}

/// What was deleted softly is found where it is asked for.
#[tokio::test]
async fn a_search_by_tags_may_include_what_was_deleted() {
    let mut client = with_blob("hello").await;
    let keep = "<StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days>\
                </DeleteRetentionPolicy></StorageServiceProperties>";
    let set = client.send("PUT", "/?restype=service&comp=properties", &[VERSION], keep.as_bytes()).await;
    assert_eq!(set.status, 202, "{}", set.text());
    let headers = [VERSION, ("x-ms-blob-type", "BlockBlob"), ("x-ms-tags", "k=v")];
    assert_eq!(client.send("PUT", "/con/gone", &headers, b"").await.status, 201);
    assert_eq!(client.send("DELETE", "/con/gone", &[VERSION], b"").await.status, 202);
    let gone = "<Blob><Name>gone</Name><ContainerName>con</ContainerName><Deleted>true</Deleted>";
    for (target, status, found) in [
        ("/con?restype=container&comp=blobs&where=k='v'", 200, false),
        ("/con?restype=container&comp=blobs&where=k='v'&include=deleted", 200, true),
        ("/?comp=blobs&where=k='v'&include=deleted,versions", 200, true),
        ("/?comp=blobs&where=k='v'&include=versions", 200, false),
        ("/?comp=blobs&where=k='v'&include=none", 200, false),
        ("/?comp=blobs&where=k='v'&include=snapshots", 400, false),
    ] {
        let answer = client.send("GET", target, &[VERSION], b"").await;
        assert_eq!((answer.status, answer.text().contains(gone)), (status, found), "{target} {}", answer.text());
    }
}

/// H3. An answer that nobody takes is broken off, and with it goes what it held; one that is taken in time is whole.
#[tokio::test]
async fn an_answer_that_nobody_takes_is_broken_off() {
    const LENGTH: usize = 4 << 20;
    let bytes: Vec<u8> = (0..LENGTH).map(|at| ((at * 31) >> 5) as u8).collect();
    for taken in [true, false] {
        let (server, content) = client::start_impatient();
        let mut writer = Client::to(&server);
        assert_eq!(writer.send("PUT", "/con?restype=container", &[VERSION], b"").await.status, 201);
        let put = writer.send("PUT", "/con/b", &[VERSION, ("x-ms-blob-type", "BlockBlob")], &bytes).await;
        assert_eq!(put.status, 201, "{}", put.text());
        let mut reader = Client::to(&server);
        let head = reader.head("GET", "/con/b", &[VERSION], 0);
        reader.write(head.as_bytes()).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(writer.send("DELETE", "/con/b", &[VERSION], b"").await.status, 202);
        server.sweep().await;
        assert_eq!(content.size(), LENGTH as u64, "somebody reads it");
        if taken {
            let answer = reader.answer(false).await;
            assert!(answer.status == 200 && answer.body == bytes);
        }
        for _ in 0..1000 {
            server.sweep().await;
            if content.size() == 0 {
                break;
            }
            let moment = std::time::Duration::from_millis(20);
            tokio::time::timeout(moment, std::future::pending::<()>()).await.unwrap_err();
        }
        assert_eq!(content.size(), 0, "nobody reads it any more");
        if !taken {
            assert!(reader.rest().await.len() < LENGTH, "the rest never comes, and the connection ends");
        }
    }
}

/// H2. Credentials are judged by the wall clock, whatever time the engine has come to; what is stored, by the engine's.
#[tokio::test]
async fn credentials_are_judged_by_the_wall_clock() {
    const YEAR_SECONDS: u64 = 365 * 24 * 3600;
    let (server, wall) = client::start_ahead(YEAR_SECONDS);
    let day = |days: u64| wall.plus_seconds(days * 24 * 3600).to_iso_seconds();
    let mut client = Client::to(&server);
    for (signed_at, status) in [(wall, 201), (wall.plus_seconds(YEAR_SECONDS), 403)] {
        let head = client.head_at(signed_at, "PUT", "/con?restype=container", &[VERSION], 0);
        client.write(head.as_bytes()).await;
        let answer = client.answer(false).await;
        assert_eq!(answer.status, status, "signed at {}: {}", signed_at.to_http(), answer.text());
    }
    for (expiry, status) in [(day(30), 200), (day(0), 403)] {
        let mut bearer = Client::unsigned(&server);
        let sas = client::account_sas_until(&expiry);
        let answer = bearer.send("GET", &format!("/con?restype=container&{sas}"), &[VERSION], b"").await;
        assert_eq!(answer.status, status, "a SAS until {expiry}: {}", answer.text());
        if status == 200 {
            let modified = answer.header("last-modified").and_then(lazuli_model::Timestamp::parse_http);
            assert!(
                modified.is_some_and(|modified| wall.seconds_until(modified) >= YEAR_SECONDS - 1),
                "stamps are the engine's"
            );
        }
    }
}
