use super::*;
use crate::account::AccountSettings;
use crate::blob::ContentRef;
use crate::{Metadata, Tags};

fn at(days: u64) -> Timestamp {
    Timestamp::parse_iso("2026-01-01T00:00:00Z").unwrap().plus_seconds(days * DAY_SECONDS)
}

fn policy(filters: &str, fields: &str) -> Result<Policy, String> {
    Policy::parse(&format!(
        r#"{{"type":"Inventory","rules":[{{"name":"rule_1","destination":"reports","definition":{{
            "filters":{filters},"format":"Csv","objectType":"Blob","schedule":"Daily","schemaFields":{fields}}}}}]}}"#
    ))
}

const BLOCKS: &str = r#"{"blobTypes":["blockBlob"]}"#;

fn rule(filters: &str, fields: &str) -> Rule {
    policy(filters, fields).unwrap().rules.remove(0)
}

fn blob() -> Blob {
    let metadata = Metadata::new(vec![("a".into(), "b,c".into())]).unwrap();
    let tags = Tags::new(vec![("t".into(), "1".into())]).unwrap();
    Blob { metadata, tags, ..Blob::new(Kind::Block, ContentRef { length: 5, ..ContentRef::EMPTY }, at(1)) }
}

#[test]
fn a_line_has_the_fields_that_are_asked_for() {
    let rule = rule(
        BLOCKS,
        r#"["Name","Content-Length","AccessTier","AccessTierInferred","BlobType","Metadata","TagCount","Creation-Time","Snapshot"]"#,
    );
    assert_eq!(
        rule.heading(),
        "Name,Content-Length,AccessTier,AccessTierInferred,BlobType,Metadata,TagCount,Creation-Time,Snapshot\n"
    );
    let (blob, settings) = (blob(), AccountSettings::default());
    let line =
        BlobLine { container: "con", name: "dir/\"x\"", snapshot: None, blob: &blob, settings: &settings, now: at(2) };
    let want = "\"con/dir/\"\"x\"\"\",5,Hot,true,BlockBlob,\"{\"\"a\"\":\"\"b,c\"\"}\",1,2026-01-02T00:00:00Z,\n";
    assert_eq!(fields::csv(&rule.blob_fields(&line)), want);
}

#[test]
fn filters_say_what_is_listed() {
    let append = Blob { kind: Kind::Append { sealed: false }, ..blob() };
    for (filters, name, blob, day, has) in [
        (BLOCKS, "a", &blob(), 2, true),
        (BLOCKS, "a", &append, 2, false),
        (r#"{"blobTypes":["appendBlob"]}"#, "a", &append, 2, true),
        (r#"{"blobTypes":["blockBlob"],"prefixMatch":["con/a"]}"#, "ab", &blob(), 2, true),
        (r#"{"blobTypes":["blockBlob"],"prefixMatch":["con/b"]}"#, "ab", &blob(), 2, false),
        (r#"{"blobTypes":["blockBlob"],"prefixMatch":["con/"],"excludePrefix":["con/ab"]}"#, "abc", &blob(), 2, false),
        (r#"{"blobTypes":["blockBlob"],"creationTime":{"lastNDays":3}}"#, "a", &blob(), 4, true),
        (r#"{"blobTypes":["blockBlob"],"creationTime":{"lastNDays":3}}"#, "a", &blob(), 5, false),
    ] {
        assert_eq!(rule(filters, r#"["Name"]"#).has("con", name, blob, at(day)), has, "{filters} {name}");
    }
}

#[test]
fn where_a_report_goes() {
    let rule = rule(BLOCKS, r#"["Name"]"#);
    let now = Timestamp::parse_iso("2021-05-26T13:25:36Z").unwrap();
    assert_eq!(rule.path(now), "2021/05/26/13-25-36/rule_1/rule_1");
    let report = Report { endpoint: "http://x/", file: "f.csv", size: 9, began: now, ended: now, objects: 2, bytes: 7 };
    let manifest: serde_json::Value = serde_json::from_str(&rule.manifest(&report)).unwrap();
    assert_eq!(manifest["summary"]["objectCount"], 2);
    assert_eq!(manifest["files"][0]["size"], 9);
    assert_eq!(manifest["ruleDefinition"]["schedule"], "Daily");
}

#[test]
fn what_is_wrong_is_said() {
    for (filters, fields, advice) in [
        ("{}", r#"["Name"]"#, "blobTypes"),
        (r#"{"blobTypes":["blob"]}"#, r#"["Name"]"#, "blockBlob, appendBlob"),
        (BLOCKS, r#"["Etag"]"#, "must have Name"),
        (BLOCKS, r#"["Name","Color"]"#, "there are Name"),
        (r#"{"blobTypes":["blockBlob"],"includeSnapshots":true}"#, r#"["Name"]"#, "add that"),
    ] {
        let error = policy(filters, fields).unwrap_err();
        assert!(error.contains(advice), "{filters} {fields}: {error}");
    }
    let good = policy(BLOCKS, r#"["Name"]"#).unwrap();
    assert_eq!(Policy::parse(good.document()), Ok(good.clone()));
    let parquet = Policy::parse(&good.document().replace("Csv", "Parquet")).unwrap();
    assert_eq!(parquet.rules[0].format, ReportFormat::Parquet);
    assert!(Policy::parse(&good.document().replace("Csv", "Avro")).unwrap_err().contains("Csv and Parquet"));
}
