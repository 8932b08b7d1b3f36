use super::*;
use crate::Tags;
use crate::blob::ContentRef;

fn at(days: u64) -> Timestamp {
    Timestamp::from_ticks(0).plus_seconds(days * DAY_SECONDS)
}

fn policy(actions: &str, filters: &str) -> Policy {
    let text = format!(
        r#"{{"rules":[{{"name":"one","type":"Lifecycle","definition":{{"actions":{actions},"filters":{filters}}}}}]}}"#
    );
    Policy::parse(&text).unwrap_or_else(|why| panic!("{text}: {why}"))
}

const BLOCKS: &str = r#"{"blobTypes":["blockBlob"]}"#;

fn blob(tier: Option<Tier>) -> Blob {
    Blob { tier, ..Blob::new(Kind::Block, ContentRef::EMPTY, at(100)) }
}

/// Made on day 100. The tier, the day, and what the policy wants.
#[test]
fn a_blob_grows_cooler_and_is_deleted() {
    let by_age = r#"{"baseBlob":{"tierToCool":{"daysAfterModificationGreaterThan":30},"tierToCold":{"daysAfterModificationGreaterThan":60},
        "tierToArchive":{"daysAfterModificationGreaterThan":90},"delete":{"daysAfterModificationGreaterThan":365}}}"#;
    let policy = policy(by_age, BLOCKS);
    let (cool, cold, archive) =
        (PolicyAct::Tier(Tier::Cool), PolicyAct::Tier(Tier::Cold), PolicyAct::Tier(Tier::Archive));
    for (tier, day, want) in [
        (None, 129, None),
        (None, 130, None), // greater than
        (None, 131, Some(cool)),
        (Some(Tier::Hot), 131, Some(cool)),
        (Some(Tier::Cool), 131, None),
        (Some(Tier::Cool), 161, Some(cold)),
        (Some(Tier::Cold), 161, None),
        (Some(Tier::Cold), 191, Some(archive)),
        (None, 191, Some(archive)),
        (Some(Tier::Archive), 191, None),
        (Some(Tier::Smart), 191, None),
        (Some(Tier::Archive), 466, Some(PolicyAct::Delete)),
        (None, 466, Some(PolicyAct::Delete)),
    ] {
        assert_eq!(policy.wants("con", "name", Part::Base, &blob(tier), at(day)), want, "{tier:?} {day}");
    }
}

#[test]
fn rules_are_for_places_types_and_tags() {
    let delete = r#"{"baseBlob":{"delete":{"daysAfterCreationGreaterThan":1}}}"#;
    let tagged = Tags::new(vec![("a".into(), "b".into())]).unwrap();
    let append = Blob { kind: Kind::Append { sealed: false }, ..blob(None) };
    let page = Blob { kind: Kind::Page { sequence: 0 }, ..blob(None) };
    let with_tag = Blob { tags: tagged, ..blob(None) };
    for (filters, container, name, blob, is_for) in [
        (BLOCKS, "con", "name", &blob(None), true),
        (BLOCKS, "con", "name", &append, false),
        (BLOCKS, "con", "name", &page, false),
        (r#"{"blobTypes":["appendBlob"]}"#, "con", "name", &append, true),
        (r#"{"blobTypes":["blockBlob"],"prefixMatch":["con/na"]}"#, "con", "name", &blob(None), true),
        (r#"{"blobTypes":["blockBlob"],"prefixMatch":["con/na"]}"#, "cons", "name", &blob(None), false),
        (r#"{"blobTypes":["blockBlob"],"prefixMatch":["con"]}"#, "cons", "name", &blob(None), true),
        (r#"{"blobTypes":["blockBlob"],"prefixMatch":["con/x","con/n"]}"#, "con", "name", &blob(None), true),
        (r#"{"blobTypes":["blockBlob"],"prefixMatch":["con/N"]}"#, "con", "name", &blob(None), false),
        (
            r#"{"blobTypes":["blockBlob"],"blobIndexMatch":[{"name":"a","op":"==","value":"b"}]}"#,
            "con",
            "n",
            &with_tag,
            true,
        ),
        (
            r#"{"blobTypes":["blockBlob"],"blobIndexMatch":[{"name":"a","op":"==","value":"c"}]}"#,
            "con",
            "n",
            &with_tag,
            false,
        ),
        (
            r#"{"blobTypes":["blockBlob"],"blobIndexMatch":[{"name":"a","op":"==","value":"b"}]}"#,
            "con",
            "n",
            &blob(None),
            false,
        ),
    ] {
        let policy = policy(delete, filters);
        let wants = policy.wants(container, name, Part::Base, blob, at(102));
        assert_eq!(wants.is_some(), is_for, "{filters} {container}/{name}");
        assert!(!is_for || policy.concerns(container), "{filters} {container}");
    }
}

#[test]
fn snapshots_and_versions_age_by_their_own_time() {
    let policy = policy(
        r#"{"snapshot":{"delete":{"daysAfterCreationGreaterThan":10}},"version":{"tierToCool":{"daysAfterCreationGreaterThan":5}}}"#,
        BLOCKS,
    );
    for (part, day, want) in [
        (Part::Base, 500, None),
        (Part::Snapshot(at(110)), 120, None),
        (Part::Snapshot(at(110)), 121, Some(PolicyAct::Delete)),
        (Part::Version(at(110)), 115, None),
        (Part::Version(at(110)), 116, Some(PolicyAct::Tier(Tier::Cool))),
    ] {
        assert_eq!(policy.wants("con", "name", part, &blob(None), at(day)), want, "{part:?} {day}");
    }
}

#[test]
fn by_last_access_and_back() {
    let policy = policy(
        r#"{"baseBlob":{"tierToCool":{"daysAfterLastAccessTimeGreaterThan":30},"enableAutoTierToHotFromCool":true,
            "tierToArchive":{"daysAfterLastAccessTimeGreaterThan":30,"daysAfterLastTierChangeGreaterThan":7}}}"#,
        BLOCKS,
    );
    let read_on = |day, tier, moved| Blob { accessed: Some(at(day)), tier_changed: Some(at(moved)), ..blob(tier) };
    let wants = |blob: &Blob, day| policy.wants("con", "name", Part::Base, blob, at(day));
    assert_eq!(wants(&read_on(120, None, 100), 140), None);
    assert_eq!(wants(&read_on(120, None, 100), 151), Some(PolicyAct::Tier(Tier::Archive)));
    assert_eq!(wants(&read_on(120, None, 145), 151), Some(PolicyAct::Tier(Tier::Cool)), "moved six days ago");
    assert_eq!(wants(&read_on(160, Some(Tier::Cool), 151), 161), Some(PolicyAct::Tier(Tier::Hot)), "read since");
    assert_eq!(wants(&read_on(150, Some(Tier::Cool), 151), 152), None);
}

#[test]
fn rules_that_are_off_do_nothing() {
    let text = r#"{"rules":[{"enabled":false,"name":"one","type":"Lifecycle","definition":{"actions":{"baseBlob":{"delete":{"daysAfterModificationGreaterThan":0}}}}}]}"#;
    let policy = Policy::parse(text).unwrap();
    assert_eq!(policy.wants("con", "name", Part::Base, &blob(None), at(500)), None);
    assert!(!policy.concerns("con"));
    assert_eq!(Policy::parse(policy.document()), Ok(policy.clone()), "what is shown can be set");
}

#[test]
fn what_is_wrong_is_said() {
    let rule = |name: &str, actions: &str, filters: &str| {
        format!(r#"{{"name":"{name}","type":"Lifecycle","definition":{{"actions":{actions},"filters":{filters}}}}}"#)
    };
    let delete = r#"{"baseBlob":{"delete":{"daysAfterModificationGreaterThan":1}}}"#;
    for (rules, advice) in [
        ("{".into(), "does not read"),
        (r#"{"rules":[]}"#.into(), "1 to 100 rules"),
        (format!(r#"{{"rules":[{0},{0}]}}"#, rule("a", delete, BLOCKS)), "a name of its own"),
        (format!(r#"{{"rules":[{}]}}"#, rule("a", "{}", BLOCKS)), "no action"),
        (
            format!(r#"{{"rules":[{}]}}"#, rule("a", delete, r#"{"blobTypes":["pageBlob"]}"#)),
            "blockBlob and appendBlob",
        ),
        (format!(r#"{{"rules":[{}]}}"#, rule("a", r#"{"baseBlob":{"delete":{}}}"#, BLOCKS)), "say one of"),
        (
            format!(
                r#"{{"rules":[{}]}}"#,
                rule("a", r#"{"snapshot":{"delete":{"daysAfterModificationGreaterThan":1}}}"#, BLOCKS)
            ),
            "daysAfterCreationGreaterThan",
        ),
        (
            format!(
                r#"{{"rules":[{}]}}"#,
                rule(
                    "a",
                    r#"{"baseBlob":{"tierToCool":{"daysAfterCreationGreaterThan":1}}}"#,
                    r#"{"blobTypes":["appendBlob"]}"#
                )
            ),
            "a rule of their own",
        ),
        (
            format!(
                r#"{{"rules":[{}]}}"#,
                rule(
                    "a",
                    r#"{"baseBlob":{"enableAutoTierToHotFromCool":true,"delete":{"daysAfterCreationGreaterThan":1}}}"#,
                    BLOCKS
                )
            ),
            "goes with a tierToCool",
        ),
        (format!(r#"{{"rules":[{}],"more":1}}"#, rule("a", delete, BLOCKS)), "unknown field"),
    ] {
        let error = Policy::parse(&rules).unwrap_err();
        assert!(error.contains(advice), "{rules}: {error}");
    }
}
