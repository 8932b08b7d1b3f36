//! Copies, and writes from a URL: rules B1 to B6.

use crate::client::{Client, account_sas, start};
use crate::{Headers, details, done, said};

const V: &str = "2021-12-02";
const HERE: &str = "http://127.0.0.1/devstoreaccount1";
const BLOCK: (&str, &str) = ("x-ms-blob-type", "BlockBlob");
const SYNC: (&str, &str) = ("x-ms-requires-sync", "true");
const PAGE: (&str, &str) = ("x-ms-range", "bytes=0-511");
const GARBAGE: &str = "\"garbage\"";
const OTHER: &str = "\"0x8D000000000000\"";

/// A container that is open to everybody, with a source, and a target of each kind.
async fn with_targets() -> Client {
    let mut client = Client::to(&start());
    let open = ("x-ms-blob-public-access", "blob");
    let page = [("x-ms-blob-type", "PageBlob"), ("x-ms-blob-content-length", "512")];
    done(&mut client, V, ("PUT", "/con?restype=container", &[open], "")).await;
    done(&mut client, V, ("PUT", "/con/source", &[BLOCK], &"x".repeat(512))).await;
    done(&mut client, V, ("PUT", "/con/block", &[BLOCK], "y")).await;
    done(&mut client, V, ("PUT", "/con/append", &[("x-ms-blob-type", "AppendBlob")], "")).await;
    done(&mut client, V, ("PUT", "/con/page", &page, "")).await;
    client
}

/// Name, target and headers.
type Write<'a> = (&'static str, &'static str, Vec<(&'static str, &'a str)>);

/// The five that write from a URL, and what each needs.
fn writes(source: &str) -> Vec<Write<'_>> {
    let source = ("x-ms-copy-source", source);
    let write = ("x-ms-page-write", "update");
    let from = ("x-ms-source-range", "bytes=0-511");
    vec![
        ("Put Blob From URL", "/con/block", vec![source, BLOCK]),
        ("Copy Blob From URL", "/con/block", vec![source, SYNC]),
        ("Put Page From URL", "/con/page?comp=page", vec![source, write, PAGE, from]),
        ("Append Block From URL", "/con/append?comp=appendblock", vec![source]),
        ("Put Block From URL", "/con/block?comp=block&blockid=MQ==", vec![source]),
    ]
}

async fn refused(client: &mut Client, target: &str, headers: Headers<'_>) -> (u16, String) {
    let (status, code, _) = said(client, V, ("PUT", target, headers, "")).await;
    (status, code)
}

#[tokio::test]
async fn b1_what_cannot_be_a_tag_is_blamed_on_the_target() {
    let mut client = with_targets().await;
    let source = format!("{HERE}/con/source");
    for (name, target, headers) in writes(&source).into_iter().take(4) {
        let foreign = if name.starts_with("Append") { "ConditionNotMet" } else { "TargetConditionNotMet" };
        for (tag, code) in [(GARBAGE, foreign), (OTHER, "ConditionNotMet")] {
            let headers = [&headers[..], &[("if-match", tag)]].concat();
            assert_eq!(refused(&mut client, target, &headers).await, (412, code.into()), "{name} {tag}");
        }
    }
    let copy = [("x-ms-copy-source", source.as_str()), ("if-match", OTHER)];
    assert_eq!(refused(&mut client, "/con/block", &copy).await, (412, "TargetConditionNotMet".into()));
}

#[tokio::test]
async fn b2_what_cannot_be_a_tag_of_the_source() {
    let mut client = with_targets().await;
    let source = format!("{HERE}/con/source");
    let etag =
        done(&mut client, V, ("HEAD", "/con/source", &[], "")).await.header("etag").unwrap_or_default().to_owned();
    let (past, future) = ("Mon, 01 Jan 2001 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT");
    for (name, target, headers) in writes(&source) {
        let in_place = name.starts_with("Append") || name.starts_with("Put Page");
        let foreign = if in_place { "CannotVerifyCopySource" } else { "SourceConditionNotMet" };
        let table = [
            ("x-ms-source-if-match", GARBAGE, 412, foreign),
            ("x-ms-source-if-match", OTHER, 412, "CannotVerifyCopySource"),
            ("x-ms-source-if-unmodified-since", past, 412, "CannotVerifyCopySource"),
            ("x-ms-source-if-none-match", etag.as_str(), 304, "CannotVerifyCopySource"),
            ("x-ms-source-if-modified-since", future, 304, "CannotVerifyCopySource"),
            ("x-ms-source-if-match", "", 201, ""),
        ];
        for (condition, value, status, code) in table {
            let headers = [&headers[..], &[(condition, value)]].concat();
            let got = refused(&mut client, target, &headers).await;
            let status = if status == 201 && name.starts_with("Copy") { 202 } else { status };
            assert_eq!(got, (status, code.into()), "{name} {condition}: {value}");
        }
    }
}

#[tokio::test]
async fn b3_incremental_copies() {
    let mut client = with_targets().await;
    let taken = done(&mut client, V, ("PUT", "/con/page?comp=snapshot", &[], "")).await;
    let snapshot = taken.header("x-ms-snapshot").unwrap_or_default().to_owned();
    let copy = "/con/follows?comp=incrementalcopy";
    let absent = format!("{HERE}/con/none?snapshot={snapshot}");
    let (status, code, text) = said(&mut client, V, ("PUT", copy, &[("x-ms-copy-source", &absent)], "")).await;
    assert_eq!((status, code.as_str()), (404, "CannotVerifyCopySource"), "{text}");
    assert_eq!(details(&text).0, "The specified blob does not exist.");
    // The same time, with all its digits.
    let (seconds, fraction) = snapshot.trim_end_matches('Z').split_once('.').unwrap_or((&snapshot, "0"));
    let source = format!("{HERE}/con/page?snapshot={seconds}.{fraction:0<7}Z");
    done(&mut client, V, ("PUT", copy, &[("x-ms-copy-source", &source)], "")).await;
    let tags = "<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags>";
    let tagged = done(&mut client, V, ("PUT", "/con/follows?comp=tags", &[], tags)).await;
    assert_eq!(tagged.status, 204);
}

#[tokio::test]
async fn b4_which_digest_a_write_from_a_url_returns() {
    let mut client = with_targets().await;
    let open = format!("{HERE}/con/source");
    let signed = format!("{open}?{}", account_sas());
    for (source, is_open) in [(open, true), (signed, false)] {
        for (name, target, headers) in writes(&source) {
            let answer = done(&mut client, V, ("PUT", target, &headers, "")).await;
            let by_md5 = is_open && (name.starts_with("Append") || name.starts_with("Put Page"));
            let seen = (answer.header("content-md5").is_some(), answer.header("x-ms-content-crc64").is_some());
            assert_eq!(seen, (by_md5, !by_md5), "{name} {source}");
        }
    }
}

#[tokio::test]
async fn b5_whether_a_copy_from_a_url_tells_that_it_is_encrypted() {
    let mut client = with_targets().await;
    let source = format!("{HERE}/con/source");
    let headers = [("x-ms-copy-source", source.as_str()), SYNC];
    for (version, told) in [("2020-06-12", None), ("2021-06-08", None), ("2021-08-06", Some("true"))] {
        let answer = done(&mut client, version, ("PUT", "/con/block", &headers, "")).await;
        assert_eq!(answer.header("x-ms-request-server-encrypted"), told, "{version}");
    }
}

#[tokio::test]
async fn b6_a_priority_of_rehydration_must_exist() {
    let mut client = with_targets().await;
    let source = format!("{HERE}/con/source");
    for (priority, status) in [("None", 400), ("High", 202), ("standard", 202)] {
        let headers = [("x-ms-copy-source", source.as_str()), ("x-ms-rehydrate-priority", priority)];
        let (got, _, text) = said(&mut client, "2019-02-02", ("PUT", "/con/block", &headers, "")).await;
        assert_eq!(got, status, "{priority}: {text}");
        if got == 400 {
            let named = "<HeaderName>x-ms-rehydrate-priority</HeaderName>";
            assert!(text.contains("InvalidHeaderValue") && text.contains(named), "{text}");
        }
    }
}
