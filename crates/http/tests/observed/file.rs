//! Shares, directories and files.

use crate::client::{Client, Server, account_sas, start};
use crate::{Headers, details, done, element, said};
use lazuli_http::Service;

const V: &str = "2022-11-02";
const HERE: &str = "http://127.0.0.1/devstoreaccount1";
const FILE: (&str, &str) = ("x-ms-type", "file");

fn to(server: &Server) -> Client {
    Client::to_service(server, Service::File)
}

async fn with_file(server: &Server, length: &str) -> Client {
    let mut client = to(server);
    done(&mut client, V, ("PUT", "/sha?restype=share", &[], "")).await;
    done(&mut client, V, ("PUT", "/sha/f", &[FILE, ("x-ms-content-length", length)], "")).await;
    client
}

#[tokio::test]
async fn f1_nobody_in_particular_is_told_that_anything_is_there() {
    let server = start();
    with_file(&server, "5").await;
    let mut client = Client::unsigned_to(&server, Service::File);
    for version in ["2019-07-07", "2020-06-12"] {
        for target in ["/new?restype=share", "/sha/dir?restype=directory"] {
            let (status, code, text) = said(&mut client, version, ("PUT", target, &[], "")).await;
            assert_eq!((status, code.as_str()), (404, "ResourceNotFound"), "{version} {target}");
            assert_eq!(details(&text).0, "The specified resource does not exist.");
        }
    }
    let mut client = to(&server);
    let source = format!("{HERE}/sha/f");
    let range = [
        ("x-ms-write", "update"),
        ("x-ms-range", "bytes=0-4"),
        ("x-ms-source-range", "bytes=0-4"),
        ("x-ms-copy-source", &source),
    ];
    let (status, code, text) = said(&mut client, "2020-06-12", ("PUT", "/sha/f?comp=range", &range, "")).await;
    assert_eq!((status, code.as_str()), (404, "CannotVerifyCopySource"), "{text}");
    assert_eq!(details(&text).0, "The specified resource does not exist.");
}

#[tokio::test]
async fn f2_the_root_without_an_operation() {
    let mut client = to(&start());
    let answer = client.send("DELETE", "/", &[("x-ms-version", V)], b"").await;
    assert_eq!((answer.status, answer.header("x-ms-error-code")), (400, Some("InvalidQueryParameterValue")));
    let elements = "<QueryParameterName>comp</QueryParameterName><QueryParameterValue /><Reason />";
    assert_eq!(details(&answer.text()).1, elements);
    assert_eq!(answer.header("x-ms-version"), None);
    let answer = client.send("HEAD", "/", &[("x-ms-version", V)], b"").await;
    assert_eq!((answer.status, answer.header("x-ms-error-code")), (400, Some("InvalidQueryParameterValue")));
}

#[tokio::test]
async fn f3_the_id_of_a_copy_is_a_guid() {
    let mut client = with_file(&start(), "5").await;
    let abort = [("x-ms-copy-action", "abort")];
    let (status, code, text) = said(&mut client, V, ("PUT", "/sha/f?comp=copy&copyid=x", &abort, "")).await;
    assert_eq!((status, code.as_str()), (400, "InvalidQueryParameterValue"));
    assert_eq!(element(&text, "QueryParameterName"), Some("copyid"));
    assert_eq!(element(&text, "Reason"), Some("copyid needs to be valid Guid."));
}

#[tokio::test]
async fn f4_copies_of_nothing() {
    let mut client = with_file(&start(), "5").await;
    let table = [
        (format!("{HERE}/sha/none"), 404, "ResourceNotFound", "The specified resource does not exist."),
        (
            "http://127.0.0.1/".to_owned(),
            400,
            "CannotVerifyCopySource",
            "Value for one of the query parameters specified in the request URI is invalid.",
        ),
    ];
    for (source, status, code, message) in table {
        let headers = [("x-ms-copy-source", source.as_str())];
        let (got, said, text) = said(&mut client, V, ("PUT", "/sha/copy", &headers, "")).await;
        assert_eq!((got, said.as_str(), details(&text).0), (status, code, message), "{source}");
    }
}

/// A SAS that is made for a name with a dot at its end.
#[tokio::test]
async fn f5_a_source_loses_its_dots_before_its_signature_is_looked_at() {
    let mut client = with_file(&start(), "5").await;
    let dotted = [FILE, ("x-ms-content-length", "5"), ("x-ms-allow-trailing-dot", "true")];
    done(&mut client, V, ("PUT", "/sha/dot.", &dotted, "")).await;
    let (version, end) = ("2019-02-02", "2099-01-01T00:00:00Z");
    let text = format!("r\n\n{end}\n/file/devstoreaccount1/sha/dot.\n\n\n\n{version}\n\n\n\n\n");
    let signature = crate::client::accounts().get(crate::client::ACCOUNT).unwrap().sign(text.as_bytes());
    let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let source = format!("{HERE}/sha/dot.?sv={version}&sr=f&sp=r&se={end}&sig={signature}");
    let copy = ("x-ms-copy-source", source.as_str());
    let (status, code, text) = said(&mut client, V, ("PUT", "/sha/copy", &[copy], "")).await;
    assert_eq!((status, code.as_str()), (403, "CannotVerifyCopySource"), "{text}");
    assert!(details(&text).0.starts_with("Server failed to authenticate the request."), "{text}");
    let kept = ("x-ms-source-allow-trailing-dot", "true");
    assert_eq!(said(&mut client, V, ("PUT", "/sha/copy", &[copy, kept], "")).await.0, 202);
}

#[tokio::test]
async fn f6_snapshots_that_are_not_there() {
    let mut client = with_file(&start(), "5").await;
    let time = "2021-01-01T00:00:00.0000000Z";
    let table = [
        ("DELETE", format!("/sha?restype=share&sharesnapshot={time}"), "ShareSnapshotNotFound"),
        ("GET", format!("/sha/f?comp=rangelist&prevsharesnapshot={time}"), "ShareNotFound"),
        ("GET", format!("/sha/f?sharesnapshot={time}"), "ShareNotFound"),
    ];
    for (method, target, expected) in table {
        let (status, code, text) = said(&mut client, V, (method, &target, &[], "")).await;
        assert_eq!((status, code.as_str()), (404, expected), "{target}");
        if method == "DELETE" {
            assert_eq!(details(&text).0, "The specified share snapshot was not found.");
        }
    }
}

#[tokio::test]
async fn f7_what_a_release_tells() {
    let mut client = with_file(&start(), "5").await;
    let acquire = [("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "-1")];
    for (target, told) in [("/sha/f?comp=lease", None), ("/sha?restype=share&comp=lease", Some("0"))] {
        let leased = done(&mut client, V, ("PUT", target, &acquire, "")).await;
        let id = leased.header("x-ms-lease-id").unwrap_or_default().to_owned();
        let release = [("x-ms-lease-action", "release"), ("x-ms-lease-id", id.as_str())];
        let released = done(&mut client, V, ("PUT", target, &release, "")).await;
        assert_eq!(released.header("x-ms-lease-time"), told, "{target}");
    }
}

#[tokio::test]
async fn f8_the_root_of_a_share_that_nobody_has_changed() {
    let mut client = with_file(&start(), "5").await;
    let share = done(&mut client, V, ("GET", "/sha?restype=share", &[], "")).await;
    let root = done(&mut client, V, ("GET", "/sha?restype=directory", &[], "")).await;
    let seen = |name: &str| root.header(name).map(str::to_owned);
    assert_eq!(seen("x-ms-file-id").as_deref(), Some("0"));
    assert_eq!(seen("x-ms-file-parent-id").as_deref(), Some("0"));
    assert_eq!(seen("x-ms-file-attributes").as_deref(), Some("Directory"));
    assert_eq!(seen("x-ms-server-encrypted").as_deref(), Some("false"));
    assert_eq!(seen("x-ms-file-permission-key"), None);
    assert_ne!(root.header("etag"), share.header("etag"));
    done(&mut client, V, ("PUT", "/sha?restype=directory&comp=metadata", &[("x-ms-meta-a", "b")], "")).await;
    let root = done(&mut client, V, ("GET", "/sha?restype=directory", &[], "")).await;
    assert_eq!(root.header("x-ms-server-encrypted"), Some("true"));
    assert!(root.header("x-ms-file-permission-key").is_some());
}

#[tokio::test]
async fn f9_what_a_directory_in_the_root_inherits() {
    let mut client = with_file(&start(), "5").await;
    let made = done(&mut client, V, ("PUT", "/sha/dir?restype=directory", &[], "")).await;
    let key = made.header("x-ms-file-permission-key").unwrap_or_default().to_owned();
    let asked = [("x-ms-file-permission-key", key.as_str())];
    let read = done(&mut client, V, ("GET", "/sha?restype=share&comp=filepermission", &asked, "")).await;
    let text = "O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;OICI;0x1301bf;;;AU)\
                (A;;FA;;;SY)(A;OICIIO;GA;;;CO)";
    assert_eq!(read.text(), format!("{{\"permission\":\"{text}\"}}"));
    assert_eq!(read.header("content-type"), None);
    let permission = [("x-ms-file-permission", text)];
    let same = done(&mut client, V, ("PUT", "/sha/two?restype=directory", &permission, "")).await;
    assert_eq!(same.header("x-ms-file-permission-key"), Some(key.as_str()));
}

fn ranges(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in text.split("Range><Start>").skip(1) {
        let (from, rest) = part.split_once("</Start><End>").unwrap_or_default();
        found.push(format!("{from}-{}", rest.split('<').next().unwrap_or_default()));
    }
    found
}

#[tokio::test]
async fn f10_ranges_are_of_whole_pages() {
    let mut client = with_file(&start(), "2048").await;
    let write = [("x-ms-write", "update"), ("x-ms-range", "bytes=1023-1027")];
    done(&mut client, V, ("PUT", "/sha/f?comp=range", &write, "hello")).await;
    let list = done(&mut client, V, ("GET", "/sha/f?comp=rangelist", &[], "")).await.text();
    assert_eq!(ranges(&list), ["512-1535"]);
    done(&mut client, V, ("PUT", "/sha/g", &[FILE, ("x-ms-content-length", "513")], "")).await;
    let all = [("x-ms-write", "update"), ("x-ms-range", "bytes=0-512")];
    done(&mut client, V, ("PUT", "/sha/g?comp=range", &all, &"x".repeat(513))).await;
    let clear = [("x-ms-write", "clear"), ("x-ms-range", "bytes=0-512")];
    done(&mut client, V, ("PUT", "/sha/g?comp=range", &clear, "")).await;
    let list = done(&mut client, V, ("GET", "/sha/g?comp=rangelist", &[], "")).await.text();
    assert_eq!(ranges(&list), ["512-512"]);
}

#[tokio::test]
async fn f10_a_clear_is_a_difference_where_nothing_was_written() {
    let mut client = with_file(&start(), "2048").await;
    let taken = done(&mut client, V, ("PUT", "/sha?restype=share&comp=snapshot", &[], "")).await;
    let snapshot = taken.header("x-ms-snapshot").unwrap_or_default().to_owned();
    let clear = [("x-ms-write", "clear"), ("x-ms-range", "bytes=0-600")];
    done(&mut client, V, ("PUT", "/sha/f?comp=range", &clear, "")).await;
    let target = format!("/sha/f?comp=rangelist&prevsharesnapshot={snapshot}");
    let list = done(&mut client, V, ("GET", &target, &[], "")).await.text();
    let cleared = "<ClearRange><Start>0</Start><End>511</End></ClearRange>";
    assert!(list.contains(cleared) && list.contains("<Range><Start>512</Start><End>1023</End></Range>"), "{list}");
    let list = done(&mut client, V, ("GET", "/sha/f?comp=rangelist", &[], "")).await.text();
    assert_eq!(ranges(&list), ["512-1023"]);
}

#[tokio::test]
async fn f12_what_old_answers_do_not_tell() {
    let mut client = with_file(&start(), "5").await;
    let table: &[(&str, &str, &str, bool)] = &[
        ("/sha?restype=share", "2018-11-09", "x-ms-lease-state", false),
        ("/sha?restype=share", "2019-07-07", "x-ms-access-tier", false),
        ("/sha?restype=share", "2020-02-10", "x-ms-lease-state", true),
        ("/sha/f", "2018-11-09", "x-ms-lease-state", false),
        ("/sha/f", "2019-02-02", "x-ms-lease-state", true),
    ];
    for (target, version, header, told) in table {
        let answer = done(&mut client, version, ("GET", target, &[], "")).await;
        assert_eq!(answer.header(header).is_some(), *told, "{target} {version}");
    }
    for (version, told) in [("2019-07-07", false), ("2020-02-10", true)] {
        let list = done(&mut client, version, ("GET", "/?comp=list", &[], "")).await.text();
        assert_eq!((list.contains("<LeaseState>"), list.contains("<AccessTier>")), (told, told), "{version}");
    }
}

#[tokio::test]
async fn f13_what_is_made_with_a_time_of_creation() {
    let mut client = with_file(&start(), "5").await;
    let created = "2019-05-06T07:08:09.0000000Z";
    let make: Headers<'_> = &[
        FILE,
        ("x-ms-content-length", "5"),
        ("x-ms-file-attributes", "None"),
        ("x-ms-file-creation-time", created),
        ("x-ms-file-last-write-time", "now"),
        ("x-ms-file-permission", "inherit"),
    ];
    let then = Some("Mon, 06 May 2019 07:08:09 GMT");
    for (version, is_then) in [("2019-02-02", true), ("2021-06-08", true), ("2021-10-04", false)] {
        let made = done(&mut client, version, ("PUT", "/sha/new", make, "")).await;
        assert_eq!(made.header("last-modified") == then, is_then, "{version}");
        assert_eq!(made.header("x-ms-file-change-time") == Some(created), is_then, "{version}");
    }
}

#[tokio::test]
async fn f14_a_source_that_is_too_short() {
    let mut client = with_file(&start(), "5").await;
    done(&mut client, V, ("PUT", "/sha/g", &[FILE, ("x-ms-content-length", "10")], "")).await;
    let source = format!("{HERE}/sha/f?{}", account_sas());
    let range = [
        ("x-ms-write", "update"),
        ("x-ms-range", "bytes=0-9"),
        ("x-ms-source-range", "bytes=0-9"),
        ("x-ms-copy-source", &source),
    ];
    let (status, code, text) = said(&mut client, V, ("PUT", "/sha/g?comp=range", &range, "")).await;
    assert_eq!((status, code.as_str()), (409, "CannotVerifyCopySource"), "{text}");
    let message = "The source request body for copy source does not match requested length to write on target.";
    assert_eq!(details(&text).0, message);
}

/// The service forgets that a file is encrypted when its metadata are taken away; ours does not (docs/fidelity.md).
#[tokio::test]
async fn f11_a_file_without_metadata_is_still_encrypted() {
    let mut client = with_file(&start(), "5").await;
    done(&mut client, V, ("PUT", "/sha/f?comp=metadata", &[], "")).await;
    let read = done(&mut client, V, ("HEAD", "/sha/f", &[], "")).await;
    assert_eq!(read.header("x-ms-server-encrypted"), Some("true"));
}

/// "Get Share Properties": a share whose IOPS were set (provisioned v2) says what it may do for a while.
#[tokio::test]
async fn what_a_provisioned_share_may_do_for_a_while() {
    let mut client = Client::to_service(&start(), Service::File);
    let given = [("x-ms-share-provisioned-iops", "5000"), ("x-ms-share-provisioned-bandwidth-mibps", "200")];
    let made = done(&mut client, "2025-01-05", ("PUT", "/share?restype=share", &given, "")).await;
    assert_eq!(made.header("x-ms-share-included-burst-iops"), Some("15000"));
    for (version, burst) in [("2025-01-05", Some("36000000")), ("2024-11-04", None)] {
        let seen = done(&mut client, version, ("GET", "/share?restype=share", &[], "")).await;
        assert_eq!(seen.header("x-ms-share-max-burst-credits-for-iops"), burst, "{version}");
        let told = seen.header("x-ms-share-next-allowed-provisioned-iops-downgrade-time").is_some();
        assert_eq!(told, burst.is_some(), "{version}");
        let list = done(&mut client, version, ("GET", "/?comp=list", &[], "")).await.text();
        assert_eq!(list.contains("<IncludedBurstIops>15000</IncludedBurstIops>"), burst.is_some(), "{version}: {list}");
    }
    let old = done(&mut client, "2018-11-09", ("GET", "/?comp=list", &[], "")).await.text();
    assert!(!old.contains("Provisioned"), "{old}");
}
