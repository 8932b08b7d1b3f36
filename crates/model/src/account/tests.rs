use super::*;

fn with(changes: &[(&str, &str)]) -> Result<AccountSettings, BadSetting> {
    AccountSettings::default().with(changes.iter().copied())
}

#[test]
fn what_is_set_is_shown_and_what_is_shown_can_be_set() {
    let changes = [
        ("kind", "premium-block-blob"),
        ("secure-transfer", "on"),
        ("shared-key", "off"),
        ("minimum-tls", "1.3"),
        ("network-rules", "10.0.0.0/8,127.0.0.1"),
        ("default-to-oauth", "on"),
        ("geo-replication", "unavailable"),
        ("versioning", "on"),
        ("blob-soft-delete", "7"),
        ("permanent-delete", "on"),
        ("container-soft-delete", "1"),
        ("share-soft-delete", "365"),
        ("change-feed", "on"),
        ("change-feed-retention", "90"),
        ("public-access", "off"),
        ("last-access-tracking", "on"),
        ("immutability", "on"),
        ("default-tier", "cool"),
        ("encryption-scopes", "one,two:disabled"),
        ("copy-sources", "*.example.com,127.0.0.1:80"),
    ];
    let settings = with(&changes).unwrap();
    for (name, value) in changes {
        let shown = settings.entries().find(|(shown, _)| *shown == name).unwrap().1;
        assert_eq!(shown, value, "{name}");
    }
    assert_eq!(AccountSettings::default().with(settings.entries()), Ok(settings));
}

const BY_ACCESS: &str = r#"{"rules":[{"name":"a","type":"Lifecycle","definition":{"actions":{"baseBlob":{"delete":{"daysAfterLastAccessTimeGreaterThan":1}}}}}]}"#;

const REPLICATED: &str = r#"{"sourceAccount":"one","destinationAccount":"two","rules":[{"sourceContainer":"a-b","destinationContainer":"a-c"}]}"#;

#[test]
fn replication_is_between_accounts_that_can() {
    let account = |name| AccountName::parse(name).unwrap();
    let settings = with(&[("object-replication", REPLICATED), ("versioning", "on")]).unwrap();
    assert!(settings.check_for(&account("one")).unwrap_err().0.contains("change-feed=on"));
    assert_eq!(settings.check_for(&account("two")), Ok(()));
    assert!(settings.check_for(&account("three")).unwrap_err().0.contains("neither"));
    let settings = settings.with([("change-feed", "on")]).unwrap();
    assert_eq!(settings.check_for(&account("one")), Ok(()));
}

#[test]
fn bad_settings_say_what_to_do() {
    for (changes, advice) in [
        (&[("version", "on")][..], "versioning, "),
        (&[("versioning", "yes")], "on|off"),
        (&[("kind", "premium")], "premium-file"),
        (&[("minimum-tls", "2")], "1.2"),
        (&[("network-rules", "10.0.0.0/40")], "ADDRESS"),
        (&[("kind", "premium-page-blob"), ("versioning", "on")], "turn versioning off"),
        (&[("kind", "premium-file"), ("hierarchical-namespace", "on")], "turn it off"),
        (&[("blob-soft-delete", "366")], "DAYS"),
        (&[("default-tier", "archive")], "hot|cool"),
        (&[("lifecycle", "{}")], "missing field `rules`"),
        (&[("lifecycle", BY_ACCESS)], "last-access-tracking=on"),
        (&[("inventory", "{}")], "missing field"),
        (&[("object-replication", "{}")], "missing field"),
        (&[("object-replication", REPLICATED)], "versioning=on"),
        (&[("object-replication", REPLICATED), ("hierarchical-namespace", "on")], "turn one of them off"),
        (&[("encryption-scopes", "a b")], "NAME"),
        (&[("copy-sources", "http://host/")], "HOST"),
        (&[("immutability", "on")], "versioning=on"),
        (&[("hierarchical-namespace", "on"), ("versioning", "on")], "turn one of them off"),
    ] {
        let error = with(changes).unwrap_err().0;
        assert!(error.contains(advice), "{changes:?}: {error}");
    }
}

#[test]
fn copies_read_from_where_they_may() {
    for (patterns, authority, may) in [
        ("off", "example.com", false),
        ("*", "example.com:80", true),
        ("example.com", "EXAMPLE.com", true),
        ("example.com", "www.example.com", false),
        ("*.example.com", "www.example.com:8443", true),
        ("*.example.com", "badexample.com", false),
        ("127.0.0.1:80", "127.0.0.1:80", true),
        ("127.0.0.1:80", "127.0.0.1:81", false),
        ("[::1]", "[::1]:80", true),
    ] {
        let settings = with(&[("copy-sources", patterns)]).unwrap();
        assert_eq!(settings.may_copy_from(authority), may, "{patterns} {authority}");
    }
}

#[test]
fn keys_are_not_printed() {
    let keys = Keys { key1: "c2VjcmV0".into(), key2: "c2VjcmV0".into() };
    assert!(!format!("{keys:?}").contains("c2Vj"));
}
