//! Blobs that are read, written and leased.

use crate::client::{Answer, Client, Server, start};
use crate::{Headers, details, done, said};

const V: &str = "2021-12-02";
const BLOCK: (&str, &str) = ("x-ms-blob-type", "BlockBlob");

async fn with_blob() -> Client {
    with_blob_in(&start()).await
}

async fn with_blob_in(server: &Server) -> Client {
    let mut client = Client::to(server);
    done(&mut client, V, ("PUT", "/con?restype=container", &[], "")).await;
    done(&mut client, V, ("PUT", "/con/b", &[BLOCK], "hello")).await;
    client
}

#[tokio::test]
async fn b8_a_name_with_uncommitted_blocks_can_be_leased() {
    let mut client = with_blob().await;
    let id = ("x-ms-lease-id", "11111111-2222-3333-4444-555555555555");
    let acquire = [("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "-1"), ("x-ms-proposed-lease-id", id.1)];
    let list = "<BlockList><Latest>MQ==</Latest></BlockList>";
    done(&mut client, V, ("PUT", "/con/n?comp=block&blockid=MQ==", &[], "one")).await;
    let leased = done(&mut client, V, ("PUT", "/con/n?comp=lease", &acquire, "")).await;
    assert_eq!(leased.status, 201);
    assert_eq!(leased.header("etag"), Some("\"0x701CE1722770000\""));
    assert_eq!(leased.header("last-modified"), Some("Mon, 01 Jan 1601 00:00:00 GMT"));
    let refused = said(&mut client, V, ("PUT", "/con/n?comp=blocklist", &[], list)).await;
    assert_eq!((refused.0, refused.1.as_str()), (412, "LeaseIdMissing"));
    let refused = said(&mut client, V, ("PUT", "/con/n?comp=block&blockid=Mg==", &[], "two")).await;
    assert_eq!((refused.0, refused.1.as_str()), (412, "LeaseIdMissing"));
    done(&mut client, V, ("PUT", "/con/n?comp=blocklist", &[id], list)).await;
    let blob = done(&mut client, V, ("HEAD", "/con/n", &[], "")).await;
    assert_eq!(blob.header("x-ms-lease-state"), Some("leased"));
}

#[tokio::test]
async fn b9_uncommitted_blocks_can_be_deleted() {
    let mut client = with_blob().await;
    done(&mut client, V, ("PUT", "/con/n?comp=block&blockid=MQ==", &[], "one")).await;
    assert_eq!(said(&mut client, V, ("GET", "/con/n", &[], "")).await.0, 404);
    assert_eq!(done(&mut client, V, ("DELETE", "/con/n", &[], "")).await.status, 202);
    for (method, target) in [("GET", "/con/n?comp=blocklist&blocklisttype=all"), ("DELETE", "/con/n")] {
        let (status, code, _) = said(&mut client, V, (method, target, &[], "")).await;
        assert_eq!((status, code.as_str()), (404, "BlobNotFound"), "{method} {target}");
    }
}

#[tokio::test]
async fn b10_one_digest_of_a_range() {
    let mut client = with_blob().await;
    let both =
        [("x-ms-range", "bytes=0-1"), ("x-ms-range-get-content-md5", "true"), ("x-ms-range-get-content-crc64", "true")];
    let (status, code, text) = said(&mut client, V, ("GET", "/con/b", &both, "")).await;
    assert_eq!((status, code.as_str()), (400, "BothCrc64AndMd5RangeHeaderPresent"));
    let message = "Both x-ms-range-get-content-crc64 header and x-ms-range-get-content-md5 header are present.";
    assert_eq!(details(&text), (message, ""));
}

#[tokio::test]
async fn b11_a_snapshot_or_a_version() {
    let mut client = with_blob().await;
    let target = "/con/b?snapshot=2021-01-01T00:00:00.0000000Z&versionid=2021-01-01T00:00:00.0000000Z";
    let (status, code, _) = said(&mut client, V, ("GET", target, &[], "")).await;
    assert_eq!((status, code.as_str()), (400, "MutuallyExclusiveQueryParameters"));
}

const QUERY: &str =
    "<QueryRequest><QueryType>SQL</QueryType><Expression>SELECT _1 FROM BlobStorage</Expression></QueryRequest>";

#[tokio::test]
async fn b12_a_query_is_a_read_for_its_conditions() {
    let server = start();
    let mut client = with_blob_in(&server).await;
    let etag = done(&mut client, V, ("HEAD", "/con/b", &[], "")).await.header("etag").unwrap_or_default().to_owned();
    let (past, future) = ("Mon, 01 Jan 2001 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT");
    let other = "\"0x8D000000000000\"";
    let all = [
        ("if-match", etag.as_str()),
        ("if-none-match", other),
        ("if-modified-since", past),
        ("if-unmodified-since", future),
    ];
    let table = [
        (&all[..], 200),
        (&[("if-match", other)], 412),
        (&[("if-unmodified-since", past)], 412),
        (&[("if-none-match", etag.as_str())], 304),
        (&[("if-modified-since", future)], 304),
    ];
    for (headers, status) in table {
        assert_eq!(done_once(&server, headers).await.status, status, "{headers:?}");
    }
}

/// A query's answer has no length, so each has a connection of its own.
async fn done_once(server: &Server, headers: Headers<'_>) -> Answer {
    let headers = [&[("x-ms-version", V)], headers].concat();
    Client::to(server).send("POST", "/con/b?comp=query", &headers, QUERY.as_bytes()).await
}

#[tokio::test]
async fn b13_a_query_tells_no_count_of_tags() {
    let server = start();
    let mut client = with_blob_in(&server).await;
    done(&mut client, V, ("PUT", "/con/b", &[BLOCK, ("x-ms-tags", "k=v")], "hello")).await;
    let read = done(&mut client, V, ("GET", "/con/b", &[], "")).await;
    assert_eq!(read.header("x-ms-tag-count"), Some("1"));
    assert_eq!(done_once(&server, &[]).await.header("x-ms-tag-count"), None);
}

#[tokio::test]
async fn b18_a2_a_backslash_is_a_slash() {
    let mut client = with_blob().await;
    done(&mut client, V, ("PUT", "/con/dir%5Cfile", &[BLOCK], "x")).await;
    let list = done(&mut client, V, ("GET", "/con?restype=container&comp=list&prefix=dir%2F", &[], "")).await;
    assert!(list.text().contains("<Name>dir/file</Name>"), "{}", list.text());
    assert_eq!(done(&mut client, V, ("GET", "/con/dir/file", &[], "")).await.text(), "x");
    let prefix = done(&mut client, V, ("GET", "/con?restype=container&comp=list&prefix=dir%5C", &[], "")).await;
    assert!(!prefix.text().contains("<Name>"), "a prefix is what it is: {}", prefix.text());
}

#[tokio::test]
async fn b26_elements_of_errors() {
    let mut client = with_blob().await;
    let taken = done(&mut client, V, ("PUT", "/con/b?comp=snapshot", &[], "")).await;
    let time = taken.header("x-ms-snapshot").unwrap_or_default().to_owned();
    let parameter = |name: &str, value: &str, reason: &str| {
        let reason = if reason.is_empty() { String::new() } else { format!("<Reason>{reason}</Reason>") };
        format!(
            "<QueryParameterName>{name}</QueryParameterName><QueryParameterValue>{value}</QueryParameterValue>{reason}"
        )
    };
    let root = "This operation is only allowed on the root blob. Version id should not be provided.";
    let page = [("x-ms-blob-type", "PageBlob"), ("x-ms-blob-content-length", "512")];
    done(&mut client, V, ("PUT", "/con/page", &page, "")).await;
    let negative = [("x-ms-page-write", "clear"), ("x-ms-range", "bytes=0-511"), ("x-ms-if-sequence-number-le", "-1")];
    let include = [("x-ms-delete-snapshots", "include")];
    let (snapshot, version) = (format!("/con/b?snapshot={time}"), format!("/con/b?versionid={time}"));
    let table: &[(&str, &str, Headers<'_>, String)] = &[
        ("PUT", "/con/n?comp=block&blockid=%25", &[], parameter("blockid", "%", "Not a valid base64 string.")),
        ("DELETE", &version, &include, parameter("versionid", &time, root)),
        ("DELETE", &snapshot, &include, parameter("snapshot", &time, "")),
        ("GET", "/con?restype=container&comp=nonsense", &[], parameter("comp", "nonsense", "")),
        ("PUT", "/con/page?comp=page", &negative, String::new()),
    ];
    for (method, target, headers, elements) in table {
        let (status, _, text) = said(&mut client, V, (method, target, headers, "")).await;
        assert_eq!((status, details(&text).1), (400, elements.as_str()), "{method} {target}");
    }
}

#[tokio::test]
async fn a4_none_match_any_is_no_condition_where_nothing_is_created() {
    let any = [("if-none-match", "*")];
    let lease = [("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "-1"), any[0]];
    let table: &[(&str, &str, Headers<'_>, u16, &str)] = &[
        ("PUT", "/con/b?comp=properties", &any, 200, ""),
        ("PUT", "/con/b?comp=metadata", &any, 200, ""),
        ("PUT", "/con/b?comp=snapshot", &any, 201, ""),
        ("PUT", "/con/b?comp=lease", &lease, 201, ""),
        ("PUT", "/con/b", &[BLOCK, any[0]], 412, "LeaseIdMissing"),
        ("PUT", "/con/c", &[BLOCK, any[0]], 201, ""),
        ("PUT", "/con/c", &[BLOCK, any[0]], 409, "BlobAlreadyExists"),
        ("DELETE", "/con/c", &any, 202, ""),
        ("HEAD", "/con/c", &[], 404, "BlobNotFound"),
    ];
    let mut client = with_blob().await;
    for (method, target, headers, status, code) in table {
        let (got, said, _) = said(&mut client, V, (method, target, headers, "")).await;
        assert_eq!((got, said.as_str()), (*status, *code), "{method} {target}");
    }
    let etag = done(&mut client, V, ("HEAD", "/con/b", &[], "")).await.header("etag").unwrap_or_default().to_owned();
    let own = [("if-none-match", etag.as_str())];
    assert_eq!(said(&mut client, V, ("DELETE", "/con/b", &own, "")).await.0, 412);
}

#[tokio::test]
async fn a5_a_snapshot_has_tags_of_its_own() {
    let mut client = with_blob().await;
    let taken = done(&mut client, V, ("PUT", "/con/b?comp=snapshot", &[], "")).await;
    let snapshot = taken.header("x-ms-snapshot").unwrap_or_default().to_owned();
    let tags = "<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags>";
    let of_snapshot = format!("/con/b?comp=tags&snapshot={snapshot}");
    assert_eq!(done(&mut client, V, ("PUT", &of_snapshot, &[], tags)).await.status, 204);
    assert!(done(&mut client, V, ("GET", &of_snapshot, &[], "")).await.text().contains("<Key>k</Key>"));
    assert!(!done(&mut client, V, ("GET", "/con/b?comp=tags", &[], "")).await.text().contains("<Key>"));
    let read = done(&mut client, V, ("HEAD", &format!("/con/b?snapshot={snapshot}"), &[], "")).await;
    assert_eq!(read.header("etag"), taken.header("etag"));
}

#[tokio::test]
async fn a6_which_md5_speaks_of_a_body() {
    let mut client = with_blob().await;
    // Of "hello", and of something else.
    let (own, other) = ("XUFAKrxLKna5cZ2REBfFkg==", "1B2M2Y8AsgTpgAmY7PhCfg==");
    let block = "/con/n?comp=block&blockid=MQ==";
    let table: &[(&str, Headers<'_>, u16, &str)] = &[
        ("/con/b", &[BLOCK, ("x-ms-blob-content-md5", own), ("content-md5", other)], 201, ""),
        ("/con/b", &[BLOCK, ("x-ms-blob-content-md5", other), ("content-md5", own)], 400, "Md5Mismatch"),
        ("/con/b", &[BLOCK, ("content-md5", other)], 400, "Md5Mismatch"),
        (block, &[("x-ms-blob-content-md5", other)], 201, ""),
        (block, &[("x-ms-blob-content-md5", "nonsense")], 201, ""),
        (block, &[("content-md5", other)], 400, "Md5Mismatch"),
    ];
    for (target, headers, status, code) in table {
        let (got, said, _) = said(&mut client, V, ("PUT", target, headers, "hello")).await;
        assert_eq!((got, said.as_str()), (*status, *code), "{target} {headers:?}");
    }
}

#[tokio::test]
async fn a7_what_is_left_of_a_lease_is_told_in_full_seconds() {
    let mut client = with_blob().await;
    let acquire = [("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "15")];
    let breaking = ("x-ms-lease-action", "break");
    let table: &[(&str, Headers<'_>, &str)] = &[
        ("/con/b?comp=lease", &[breaking], "14"),
        ("/con?restype=container&comp=lease", &[breaking, ("x-ms-lease-break-period", "15")], "14"),
        ("/con?restype=container&comp=lease", &[breaking, ("x-ms-lease-break-period", "3")], "3"),
    ];
    done(&mut client, V, ("PUT", "/con/b?comp=lease", &acquire, "")).await;
    done(&mut client, V, ("PUT", "/con?restype=container&comp=lease", &acquire, "")).await;
    for (target, headers, left) in table {
        let broken = done(&mut client, V, ("PUT", target, headers, "")).await;
        assert_eq!(broken.header("x-ms-lease-time"), Some(*left), "{target} {headers:?}");
    }
}

/// What a query answers, as the text that is in it: data and descriptions stand in Avro as they are.
async fn queried(server: &Server, input: &str, output: &str, query: &str) -> String {
    let body = format!(
        "<QueryRequest><QueryType>SQL</QueryType><Expression>{query}</Expression><InputSerialization><Format>{input}</Format>\
         </InputSerialization><OutputSerialization><Format>{output}</Format></OutputSerialization></QueryRequest>"
    );
    let mut client = Client::to(server);
    client.write(client.head("POST", "/con/b?comp=query", &[("x-ms-version", V)], body.len()).as_bytes()).await;
    client.write(body.as_bytes()).await;
    let answer = client.answer(false).await;
    assert_eq!(answer.status, 200);
    String::from_utf8_lossy(&answer.body).into_owned()
}

const JSON: &str =
    "<Type>json</Type><JsonTextConfiguration><RecordSeparator>\n</RecordSeparator></JsonTextConfiguration>";
const CSV: &str = "<Type>delimited</Type><DelimitedTextConfiguration><ColumnSeparator>,</ColumnSeparator><FieldQuote>&quot;</FieldQuote>\
                   <RecordSeparator>\n</RecordSeparator><EscapeChar>\\</EscapeChar><HasHeaders>false</HasHeaders></DelimitedTextConfiguration>";
const ARROW: &str = "<Type>arrow</Type><ArrowConfiguration><Schema><Field><Type>string</Type><Name>a</Name></Field></Schema>\
                     </ArrowConfiguration>";

#[tokio::test]
async fn b14_b15_b16_what_queries_say() {
    let server = start();
    let mut client = with_blob_in(&server).await;
    done(&mut client, V, ("PUT", "/con/b", &[BLOCK], "100,200,300\n")).await;
    let table = [
        (JSON, JSON, "SELECT * FROM BlobStorage", "Unexpected token ',' at [byte: 3]. Expecting tokens '{', or '['. "),
        (CSV, ARROW, "SELECT * FROM BlobStorage", "Number of columns in the row does not match the schema."),
        (CSV, JSON, "SELECT _2 FROM BlobStorage", r#"{"_1":"200"}"#),
        (CSV, JSON, "SELECT _2 AS b FROM BlobStorage", r#"{"b":"200"}"#),
    ];
    for (input, output, query, expected) in table {
        let said = queried(&server, input, output, query).await;
        assert!(said.contains(expected), "{query}: {said}");
    }
}
