use super::*;
use crate::Metadata;

const NOW: Timestamp = Timestamp::from_ticks(638_000_000_000_000_000);
const V1: Timestamp = Timestamp::from_ticks(638_000_000_000_000_001);
const V2: Timestamp = Timestamp::from_ticks(638_000_000_000_000_002);

const POLICY: &str = r#"{"properties":{"policyId":"default","sourceAccount":"one",
    "destinationAccount":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/two",
    "rules":[{"ruleId":"","sourceContainer":"from","destinationContainer":"into","filters":{"prefixMatch":["b"],"minCreationTime":"2020-01-01T00:00:00Z"}}]}}"#;

fn policies() -> ReplicationPolicies {
    ReplicationPolicies::parse(POLICY).unwrap()
}

fn block() -> Blob {
    Blob { version: Some(V1), ..Blob::new(Kind::Block, ContentRef::EMPTY, NOW) }
}

fn copy_of(version: Timestamp) -> Blob {
    let origin = Some(ReplicaOrigin { policy: "p".into(), version });
    let replication = Some(Box::new(Replication { outcomes: Vec::new(), origin }));
    Blob { replication, ..Blob::new(Kind::Block, ContentRef::EMPTY, NOW) }
}

/// Each row: the change, its source, the copy that is there and the newest version of it, and what is to be done.
#[test]
fn what_a_change_asks() {
    use Follow::*;
    use SourceChange::*;
    let archived = |blob: Blob| Blob { tier: Some(Tier::Archive), ..blob };
    let metadata = Metadata::new(vec![("a".into(), "1".into())]).unwrap();
    let described = Blob { metadata, ..block() };
    let keyed = Blob { encryption: Encryption::Customer([0; 32]), ..block() };
    let appended = Blob { kind: Kind::Append { sealed: false }, ..block() };
    let stranger = Blob::new(Kind::Block, ContentRef::EMPTY, NOW);
    let (old, same, newer) = (copy_of(Timestamp::from_ticks(1)), copy_of(V1), copy_of(V2));
    type Row<'a> = (SourceChange, Option<&'a Blob>, Option<&'a Blob>, Option<&'a Blob>, Follow);
    let block = block();
    let table: &[Row<'_>] = &[
        (Written, Some(&block), None, None, Copy),
        (Written, Some(&block), Some(&old), Some(&old), Copy),
        (Written, Some(&block), Some(&stranger), Some(&stranger), Copy),
        (Written, Some(&block), Some(&same), Some(&same), Nothing),
        (Written, Some(&block), Some(&newer), Some(&newer), Nothing),
        // The copy was made, and deleted at the destination.
        (Written, Some(&block), None, Some(&same), Nothing),
        (Written, None, None, None, Nothing),
        (Written, Some(&appended), None, None, Never),
        (Written, Some(&keyed), None, None, Fail),
        (Written, Some(&archived(block.clone())), None, None, Fail),
        (Written, Some(&block), Some(&archived(old.clone())), Some(&old), Fail),
        (Changed, Some(&described), Some(&same), Some(&same), Update),
        (Changed, Some(&block), Some(&same), Some(&same), Nothing),
        (Changed, Some(&described), Some(&old), Some(&old), Nothing),
        (Changed, Some(&described), None, None, Nothing),
        (Changed, Some(&described), Some(&archived(same.clone())), Some(&same), Fail),
        (Deleted, None, Some(&same), Some(&same), Delete),
        (Deleted, Some(&block), Some(&old), Some(&old), Delete),
        (Deleted, None, Some(&newer), Some(&newer), Nothing),
        (Deleted, None, Some(&stranger), Some(&stranger), Nothing),
        (Deleted, None, None, Some(&same), Nothing),
    ];
    for (row, (change, source, copy, newest, expected)) in table.iter().enumerate() {
        assert_eq!(follow(*change, V1, *source, *copy, *newest), *expected, "row {row}");
    }
}

#[test]
fn a_policy_as_azure_writes_it() {
    let policies = policies();
    let (one, two) = (AccountName::parse("one").unwrap(), AccountName::parse("two").unwrap());
    let from = ContainerName::parse("from").unwrap();
    let (policy, rule) = policies.of_source(&one, &from).next().unwrap();
    assert_eq!((policy.id.len(), rule.id.len()), (36, 36), "made ids are GUIDs");
    assert!(rule.is_for("b/1") && !rule.is_for("a"));
    assert!(policies.is_destination(&two, "into") && !policies.is_destination(&one, "into"));
    assert!(policies.agrees(policy, rule));
    // What is shown can be set, and says the same.
    let shown = ReplicationPolicies::parse(policies.document()).unwrap();
    assert_eq!((&shown.policies, shown.document()), (&policies.policies, policies.document()));
    let stranger = ReplicationPolicies::parse(&POLICY.replace("\"into\"", "\"other\"")).unwrap();
    assert!(!stranger.agrees(policy, rule));
}

#[test]
fn what_is_wrong_is_said() {
    let rule = r#"{"sourceContainer":"from","destinationContainer":"into"}"#;
    let policy = |source: &str, rules: &str| {
        format!(r#"{{"sourceAccount":"{source}","destinationAccount":"two","rules":[{rules}]}}"#)
    };
    let table = [
        ("[]".to_owned(), "1 to 4 policies"),
        (policy("two", rule), "name two"),
        (policy("a/", rule), "names no account"),
        (policy("one", ""), "1 to 1000 rules"),
        (policy("one", &format!("{rule},{rule}")), "a container can be in one"),
        (policy("one", &rule.replace("from", "$blobchangefeed")), "can be replicated"),
        (policy("one", &rule.replace('{', r#"{"ruleId":"a b","#)), "write a GUID"),
        (policy("one", &rule.replace('{', r#"{"filters":{"minCreationTime":"now"},"#)), "write a time"),
        (policy("one", &rule.replace('{', r#"{"unknown":1,"#)), "unknown field"),
        (format!("[{0},{0}]", policy("one", rule)), "one is enough"),
        (format!("[{},{},{}]", policy("one", rule), policy("three", rule), policy("four", rule)), "at most 2"),
        ("{}".to_owned(), "missing field"),
    ];
    for (text, advice) in table {
        let error = ReplicationPolicies::parse(&text).unwrap_err();
        assert!(error.contains(advice), "{text}: {error}");
    }
}

#[test]
fn records_of_source_and_copy() {
    let policies = policies();
    let policy = &policies.policies[0];
    let rule = &policy.rules[0];
    let source = block();
    assert!(is_left(policy, rule, "b", &source) && !is_left(policy, rule, "a", &source));
    let failed = concluded(&source, policy, rule, false);
    let complete = concluded(&failed, policy, rule, true);
    assert_eq!(complete.replication.as_ref().unwrap().outcomes.len(), 1, "the last word counts");
    assert!(complete.replication.as_ref().unwrap().outcomes[0].complete);
    assert!(!is_left(policy, rule, "b", &failed), "a failure is an outcome");
    let copy = copied(policy, &source, None, ContentRef::EMPTY, V2).unwrap();
    assert_eq!(origin(&copy).map(|origin| origin.version), Some(V1));
    assert_eq!(copied(policy, &source, Some(&copy), ContentRef::EMPTY, V2), Err(Refusal::BlobAlreadyExists));
    assert_eq!(copy.created, V2);
    let early = ReplicationRule { since: Some(V2), ..rule.clone() };
    assert!(!is_left(policy, &early, "b", &source), "it was created before");
}
