//! Answers follow the version of their request, in both directions of time.

use crate::client::{ACCOUNT, Client, Server, accounts, start};
use crate::{Headers, done};

const BLOCK: (&str, &str) = ("x-ms-blob-type", "BlockBlob");

async fn with_blob() -> Client {
    with_blob_in(&start()).await
}

async fn with_blob_in(server: &Server) -> Client {
    let mut client = Client::to(server);
    done(&mut client, "2021-12-02", ("PUT", "/con?restype=container", &[], "")).await;
    done(&mut client, "2021-12-02", ("PUT", "/con/b", &[BLOCK], "hello")).await;
    client
}

#[tokio::test]
async fn b27_digests_before_there_were_others() {
    let mut client = with_blob().await;
    let append = [("x-ms-blob-type", "AppendBlob")];
    let page = [("x-ms-blob-type", "PageBlob"), ("x-ms-blob-content-length", "512")];
    done(&mut client, "2018-11-09", ("PUT", "/con/append", &append, "")).await;
    done(&mut client, "2018-11-09", ("PUT", "/con/page", &page, "")).await;
    let list = "<BlockList><Latest>MQ==</Latest></BlockList>";
    let pages = "p".repeat(512);
    let update: Headers<'_> = &[("x-ms-page-write", "update"), ("x-ms-range", "bytes=0-511")];
    // Target, headers, body, and whether the MD5 comes with newer answers, too.
    let writes: &[(&str, Headers<'_>, &str, bool)] = &[
        ("/con/b", &[BLOCK], "x", true),
        ("/con/n?comp=block&blockid=MQ==", &[], "x", false),
        ("/con/n?comp=blocklist", &[], list, false),
        ("/con/append?comp=appendblock", &[], "x", false),
        ("/con/page?comp=page", update, &pages, false),
    ];
    for (target, headers, body, both) in writes {
        for (version, expected) in [("2018-11-09", (true, false)), ("2019-02-02", (*both, true))] {
            done(&mut client, version, ("PUT", "/con/n?comp=block&blockid=MQ==", &[], "x")).await;
            let answer = done(&mut client, version, ("PUT", target, headers, body)).await;
            let seen = (answer.header("content-md5").is_some(), answer.header("x-ms-content-crc64").is_some());
            assert_eq!(seen, expected, "{target} {version}");
        }
    }
}

#[tokio::test]
async fn b28_snapshots_of_old() {
    let mut client = with_blob().await;
    let taken = done(&mut client, "2021-12-02", ("PUT", "/con/b?comp=snapshot", &[], "")).await;
    let snapshot = taken.header("x-ms-snapshot").unwrap_or_default().to_owned();
    let target = format!("/con/b?snapshot={snapshot}");
    let list = "/con?restype=container&comp=list&include=snapshots";
    for (version, is_old) in [("2018-11-09", true), ("2020-02-10", false)] {
        for method in ["GET", "HEAD"] {
            let read = done(&mut client, version, (method, &target, &[], "")).await;
            assert_eq!(read.header("x-ms-snapshot"), is_old.then_some(snapshot.as_str()), "{version} {method}");
            let tier = read.header("x-ms-access-tier").is_some();
            assert_eq!(tier, !is_old && method == "HEAD", "{version} {method}");
        }
        let listed = done(&mut client, version, ("GET", list, &[], "")).await.text();
        let tiers = listed.matches("<AccessTier>").count();
        assert_eq!(tiers, if is_old { 1 } else { 2 }, "{version}: {listed}");
    }
}

#[tokio::test]
async fn b29_b30_what_old_answers_do_not_tell() {
    let mut client = with_blob().await;
    let table: &[(&str, &str, bool)] = &[
        ("2014-02-14", "x-ms-creation-time", false),
        ("2014-02-14", "x-ms-server-encrypted", false),
        ("2014-02-14", "x-ms-access-tier", false),
        ("2014-02-14", "x-ms-lease-state", true),
        ("2015-12-11", "x-ms-server-encrypted", true),
        ("2017-11-09", "x-ms-creation-time", true),
        ("2017-04-17", "x-ms-access-tier", true),
        ("2009-09-19", "x-ms-lease-state", false),
        ("2009-09-19", "x-ms-lease-status", true),
    ];
    for (version, header, told) in table {
        let read = done(&mut client, version, ("HEAD", "/con/b", &[], "")).await;
        assert_eq!(read.header(header).is_some(), *told, "{version} {header}");
    }
    let properties = "/?restype=service&comp=properties";
    for (version, element, told) in [
        ("2017-04-17", "<DeleteRetentionPolicy>", false),
        ("2017-11-09", "<DeleteRetentionPolicy>", true),
        ("2017-11-09", "<StaticWebsite>", false),
        ("2018-03-28", "<StaticWebsite>", true),
        ("2018-11-09", "<AllowPermanentDelete>", false),
        ("2019-02-02", "<AllowPermanentDelete>", true),
    ] {
        let read = done(&mut client, version, ("GET", properties, &[], "")).await.text();
        assert_eq!(read.contains(element), told, "{version} {element}");
    }
}

/// "List Blobs" and "List Containers".
#[tokio::test]
async fn listings_of_old_have_addresses() {
    let mut client = with_blob().await;
    let here = "http://127.0.0.1/devstoreaccount1";
    let blobs = "/con?restype=container&comp=list";
    let old = done(&mut client, "2012-02-12", ("GET", blobs, &[], "")).await.text();
    assert!(old.contains(&format!("<EnumerationResults ContainerName=\"{here}/con\">")), "{old}");
    assert!(old.contains(&format!("<Name>b</Name><Url>{here}/con/b</Url>")), "{old}");
    for element in ["<ServerEncrypted>", "<Creation-Time>", "<AccessTier>", "<Content-Disposition", "<OrMetadata"] {
        assert!(!old.contains(element), "{element}: {old}");
    }
    let new = done(&mut client, "2013-08-15", ("GET", blobs, &[], "")).await.text();
    assert!(new.contains(&format!("ServiceEndpoint=\"{here}/\" ContainerName=\"con\"")), "{new}");
    assert!(!new.contains("<Url>") && new.contains("<Content-Disposition"), "{new}");
    let old = done(&mut client, "2012-02-12", ("GET", "/?comp=list", &[], "")).await.text();
    assert!(old.contains(&format!("<EnumerationResults AccountName=\"{here}\">")), "{old}");
    assert!(old.contains(&format!("<Name>con</Name><Url>{here}/con</Url>")), "{old}");
    assert!(!old.contains("<HasLegalHold>"), "{old}");
    let mut client = Client::to_service(&start(), lazuli_http::Service::Queue);
    done(&mut client, "2012-02-12", ("PUT", "/que", &[], "")).await;
    let old = done(&mut client, "2012-02-12", ("GET", "/?comp=list", &[], "")).await.text();
    assert!(old.contains(&format!("<EnumerationResults AccountName=\"{here}\">")), "{old}");
    assert!(old.contains(&format!("<Name>que</Name><Url>{here}/que</Url>")), "{old}");
}

/// "Status and error codes": for version 2017-07-29 and later, the code is in a header, too.
#[tokio::test]
async fn the_code_of_a_refusal_is_in_a_header_since_2017_07_29() {
    let mut client = Client::to(&start());
    for (version, is_told) in [("2016-05-31", false), ("2017-04-17", false), ("2017-07-29", true), ("2021-12-02", true)]
    {
        let headers = [("x-ms-version", version)];
        let refused = client.send("GET", "/missing?restype=container", &headers, b"").await;
        assert_eq!((refused.status, refused.header("x-ms-error-code").is_some()), (404, is_told), "{version}");
        assert!(refused.text().contains("<Code>ContainerNotFound</Code>"), "{version}");
    }
}

#[tokio::test]
async fn what_came_later_cannot_be_asked_for() {
    let mut client = with_blob().await;
    done(&mut client, "2021-12-02", ("PUT", "/con/c", &[BLOCK], "hello")).await;
    for (version, tier, status) in [
        ("2021-10-04", "Cold", 400),
        ("2021-12-02", "Cold", 200),
        ("2026-04-06", "Smart", 400),
        ("2026-06-06", "Smart", 200),
        ("2019-02-02", "Cool", 200),
    ] {
        let headers = [("x-ms-version", version), ("x-ms-access-tier", tier)];
        let answer = client.send("PUT", "/con/b?comp=tier", &headers, b"").await;
        assert_eq!(answer.status, status, "{version} {tier}: {}", answer.text());
    }
    // A parameter that nobody knows is passed over.
    for (version, bound, count) in
        [("2026-06-06", "endbefore=c", 2), ("2026-10-06", "endbefore=c", 1), ("2023-11-03", "startfrom=c", 1)]
    {
        let list = format!("/con?restype=container&comp=list&{bound}");
        let listed = done(&mut client, version, ("GET", &list, &[], "")).await.text();
        assert_eq!(listed.matches("<Blob>").count(), count, "{version} {bound}: {listed}");
    }
    // And so is a header.
    let since = ("x-ms-access-tier-if-modified-since", "Fri, 01 Jan 2038 00:00:00 GMT");
    for (version, status) in [("2026-04-06", 412), ("2026-02-06", 202)] {
        let answer = client.send("DELETE", "/con/c", &[("x-ms-version", version), since], b"").await;
        assert_eq!(answer.status, status, "{version}: {}", answer.text());
    }
}

/// "x-ms-blob-if-match" and the like are sent by today's clients; before they were thought of, nobody reads them.
#[tokio::test]
async fn tags_on_conditions_about_their_blob() {
    let mut client = with_blob().await;
    let etag = done(&mut client, "2026-02-06", ("HEAD", "/con/b", &[], "")).await;
    let etag = etag.header("etag").unwrap_or_default().to_owned();
    let (other, past, future) =
        ("\"0x8D000000000000\"", "Mon, 01 Jan 2001 00:00:00 GMT", "Fri, 01 Jan 2038 00:00:00 GMT");
    let tags = "<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags>";
    let table: &[(&str, &str, &str, u16, u16)] = &[
        ("2026-02-06", "x-ms-blob-if-match", &etag, 204, 200),
        ("2026-02-06", "x-ms-blob-if-match", other, 412, 412),
        ("2026-02-06", "x-ms-blob-if-none-match", other, 204, 200),
        ("2026-02-06", "x-ms-blob-if-none-match", &etag, 412, 304),
        ("2026-02-06", "x-ms-blob-if-unmodified-since", past, 412, 412),
        ("2026-02-06", "x-ms-blob-if-modified-since", future, 412, 304),
        ("2025-11-05", "x-ms-blob-if-match", other, 204, 200),
    ];
    for (version, name, value, set, get) in table {
        for (method, body, status) in [("PUT", tags, set), ("GET", "", get)] {
            let headers = [("x-ms-version", *version), (*name, *value)];
            let answer = client.send(method, "/con/b?comp=tags", &headers, body.as_bytes()).await;
            assert_eq!(answer.status, *status, "{version} {method} {name}: {}", answer.text());
        }
    }
}

/// "Optimize Azure Blob Storage costs with smart tier": where such a blob is, is told.
#[tokio::test]
async fn a_blob_of_the_smart_tier_says_where_it_is() {
    let mut client = with_blob().await;
    done(&mut client, "2026-06-06", ("PUT", "/con/b?comp=tier", &[("x-ms-access-tier", "Smart")], "")).await;
    for (version, told) in [("2026-06-06", Some("Hot")), ("2026-04-06", None)] {
        let seen = done(&mut client, version, ("HEAD", "/con/b", &[], "")).await;
        let seen = (seen.header("x-ms-access-tier"), seen.header("x-ms-smart-access-tier"));
        assert_eq!(seen, (Some("Smart"), told), "{version}");
        let list = done(&mut client, version, ("GET", "/con?restype=container&comp=list", &[], "")).await.text();
        assert_eq!(list.contains("<SmartAccessTier>Hot</SmartAccessTier>"), told.is_some(), "{version}: {list}");
    }
}

/// A SAS that may create, and not write: since 2026-06-06 it may do so block by block.
#[tokio::test]
async fn what_may_create_may_put_blocks_since_2026_06_06() {
    let server = start();
    with_blob_in(&server).await;
    let mut guest = Client::unsigned(&server);
    let list = "<BlockList><Latest>MQ==</Latest></BlockList>";
    for (version, status) in [("2026-04-06", 403), ("2026-06-06", 201)] {
        let end = "2099-01-01T00:00:00Z";
        let text = format!("{ACCOUNT}\nc\nb\no\n\n{end}\n\n\n{version}\n\n");
        let signature = accounts().get(ACCOUNT).unwrap().sign(text.as_bytes());
        let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
        let sas = format!("sv={version}&ss=b&srt=o&sp=c&se={end}&sig={signature}");
        for (comp, body) in [("block&blockid=MQ==", "x"), ("blocklist", list)] {
            let target = format!("/con/new?comp={comp}&{sas}");
            let answer = guest.send("PUT", &target, &[("x-ms-version", version)], body.as_bytes()).await;
            assert_eq!(answer.status, status, "{version} {comp}: {}", answer.text());
        }
    }
}
