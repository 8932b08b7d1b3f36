use super::*;
use crate::wire::noise::survive;

const DECLARATION: &str = "<?xml version='1.0' encoding='utf-8'?>\n";

fn document(text: &str) -> Vec<u8> {
    format!("{DECLARATION}{text}").into_bytes()
}

#[test]
fn block_lists() {
    let read = |text: &str| read_block_list(&document(text));
    let blocks = read(
        "<BlockList><Latest>MQ==</Latest>\n <Committed>Mg==</Committed><Uncommitted>Mw==</Uncommitted></BlockList>",
    );
    let shown: Vec<_> = blocks.expect("blocks").into_iter().map(|(search, id)| (search, id.to_base64())).collect();
    let id = |text: &str| text.to_owned();
    assert_eq!(
        shown,
        [(Search::Latest, id("MQ==")), (Search::Committed, id("Mg==")), (Search::Uncommitted, id("Mw=="))]
    );
    assert_eq!(read("<BlockList />").expect("none"), []);
    assert!(read("<BlockList><Other>MQ==</Other></BlockList>").is_err());
    assert!(read("<Blocks />").is_err());
    let many = |count: usize| format!("<BlockList>{}</BlockList>", "<Latest>MQ==</Latest>".repeat(count));
    assert_eq!(read(&many(BLOCKS_MAX)).expect("as many as may be").len(), BLOCKS_MAX);
    assert_eq!(read(&many(BLOCKS_MAX + 1)).err(), Some(Denied::BlockListTooLong.into()));
}

#[test]
fn signed_identifiers() {
    let identifier = |id: &str, policy: &str| format!("<SignedIdentifier><Id>{id}</Id>{policy}</SignedIdentifier>");
    let read = |inner: &str| {
        read_signed_identifiers(
            &document(&format!("<SignedIdentifiers>{inner}</SignedIdentifiers>")),
            letters::CONTAINER,
        )
    };
    assert_eq!(read_signed_identifiers(b"", ""), Ok(vec![]));
    assert_eq!(read(""), Ok(vec![]));

    let full = "<AccessPolicy><Start>2022-07-13T23:44:52Z</Start><Expiry>2022-07-14</Expiry><Permission>rwd</Permission></AccessPolicy>";
    let policies = read(&identifier("a", full)).expect("a policy");
    assert_eq!(policies[0].id, "a");
    assert_eq!(policies[0].start, Timestamp::parse_iso("2022-07-13T23:44:52Z"));
    assert_eq!(policies[0].expiry, Timestamp::parse_iso("2022-07-14"));
    assert_eq!(policies[0].permissions.as_deref(), Some("rwd"));

    let empty = "<AccessPolicy><Start /><Expiry></Expiry><Permission/></AccessPolicy>";
    let policies = read(&identifier("a", empty)).expect("a policy");
    assert_eq!((policies[0].start, policies[0].expiry, &policies[0].permissions), (None, None, &None));

    assert_eq!(read(&identifier("a", "").repeat(5)).map(|all| all.len()), Ok(5));
    assert_eq!(read(&identifier("a", "").repeat(6)), Err(unexplained()));
    assert_eq!(read(&identifier("", "")), Err(missing("Id")));
    assert!(read(&identifier(&"a".repeat(64), "")).is_ok());
    assert!(read(&identifier(&"a".repeat(65), "")).is_err());
    assert_eq!(read(&identifier("a", "<AccessPolicy><Start>soon</Start></AccessPolicy>")), Err(wrong("Start", "soon")));
    assert_eq!(
        read(&identifier("a", "<AccessPolicy><Permission>R!</Permission></AccessPolicy>")),
        Err(unexplained()),
        "rule A3"
    );
    assert!(read("<Other />").is_err());
}

/// Positions and reasons as recorded for these very documents.
#[test]
fn retention_that_is_too_long_or_too_short() {
    let reason = "Retention days must be greater than 0 and less than or equal to 365 days.";
    let refused = |position| Err(Refusal::InvalidXmlDocument { line: 2, position, reason: reason.into() });
    let deleted = |days: &str| {
        format!(
            "<StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled><Days>{days}</Days></DeleteRetentionPolicy></StorageServiceProperties>"
        )
    };
    let minutes = "<StorageServiceProperties><MinuteMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>true</Enabled><Days>366</Days></RetentionPolicy></MinuteMetrics></StorageServiceProperties>";
    assert_eq!(read_service_properties(&document(&deleted("0"))), refused(89));
    assert_eq!(read_service_properties(&document(&deleted("366"))), refused(91));
    assert_eq!(read_service_properties(&document(minutes)), refused(176));
    let good = read_service_properties(&document(&deleted("365"))).expect("good");
    assert_eq!(good.delete_retention.and_then(|retention| retention.days), Some(365));
    assert_eq!(read_service_properties(&document(&deleted("x"))), Err(wrong("Days", "x")));
}

#[test]
fn sections_that_are_left_out_stay() {
    let read = |inner: &str| {
        read_service_properties(&document(&format!("<StorageServiceProperties>{inner}</StorageServiceProperties>")))
    };
    assert_eq!(read(""), Ok(ServicePropertiesChange::default()));
    let website = read("<StaticWebsite><Enabled>True</Enabled><IndexDocument>i.html</IndexDocument></StaticWebsite>")
        .expect("good");
    assert!(
        website
            .static_website
            .as_ref()
            .is_some_and(|site| site.enabled && site.index_document.as_deref() == Some("i.html"))
    );
    assert_eq!((&website.cors, &website.logging), (&None, &None));
    assert_eq!(read("<Cors />").map(|change| change.cors), Ok(Some(vec![])));
    assert_eq!(read("<StaticWebsite />"), Err(missing("Enabled")));
    assert_eq!(read("<StaticWebsite><Enabled>yes</Enabled></StaticWebsite>"), Err(wrong("Enabled", "yes")));
    assert_eq!(
        read("<DefaultServiceVersion>soon</DefaultServiceVersion>"),
        Err(wrong("DefaultServiceVersion", "soon"))
    );
    assert_eq!(read("<Other />"), Err(Refusal::UnsupportedXmlNode { name: "Other".to_owned() }));
}

#[test]
fn cors_rules() {
    let rule = |origins: &str, methods: &str, headers: &str, age: &str| {
        format!(
            "<CorsRule><AllowedOrigins>{origins}</AllowedOrigins><AllowedMethods>{methods}</AllowedMethods><AllowedHeaders>{headers}</AllowedHeaders><ExposedHeaders /><MaxAgeInSeconds>{age}</MaxAgeInSeconds></CorsRule>"
        )
    };
    let read = |rules: &str| {
        read_service_properties(&document(&format!(
            "<StorageServiceProperties><Cors>{rules}</Cors></StorageServiceProperties>"
        )))
        .map(|change| change.cors.unwrap_or_default())
    };
    let rules = read(&rule("*", "GET,PUT", "x-ms-meta-data*,x-ms-meta-xyz", "500")).expect("a rule");
    assert_eq!(rules[0].allowed_headers, "x-ms-meta-xyz,x-ms-meta-data*");
    assert_eq!(rules[0].max_age_seconds, 500);
    assert_eq!(read(&rule("*", "GET", "", "0").repeat(5)).map(|rules| rules.len()), Ok(5));
    assert_eq!(read(&rule("*", "GET", "", "0").repeat(6)), Err(unexplained()));
    assert_eq!(read(&rule(&"o".repeat(2049), "GET", "", "0")), Err(unexplained()));
    assert_eq!(read(&rule("", "GET", "", "0")), Err(wrong("AllowedOrigins", "")));
    assert_eq!(read(&rule("*", "FETCH", "", "0")), Err(wrong("AllowedMethods", "FETCH")));
    assert_eq!(read(&rule("*", "GET", "", "-1")), Err(wrong("MaxAgeInSeconds", "-1")));
    assert_eq!(read("<CorsRule><AllowedOrigins>*</AllowedOrigins></CorsRule>"), Err(missing("AllowedMethods")));
}

#[test]
fn tags() {
    let read = |inner: &str| read_tags(&document(&format!("<Tags>{inner}</Tags>")));
    let tags =
        read("<TagSet><Tag><Key>tag1 name</Key><Value>my tag</Value></Tag><Tag><Key>b</Key><Value/></Tag></TagSet>");
    let tags = tags.expect("tags");
    let mut pairs: Vec<_> = tags.iter().collect();
    pairs.sort_unstable();
    assert_eq!(pairs, [("b", ""), ("tag1 name", "my tag")]);
    assert_eq!(read("<TagSet />").map(|tags| tags.len()), Ok(0));
    assert_eq!(read(""), Err(missing("TagSet")));
    assert_eq!(read("<TagSet><Tag><Value>v</Value></Tag></TagSet>"), Err(missing("Key")));
    assert!(read("<TagSet><Other /></TagSet>").is_err());
}

#[test]
fn nonsense_does_not_panic() {
    let inputs = [
        "<BlockList><Latest>MQ==</Latest></BlockList>",
        "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Start>2022-07-13T23:44:52Z</Start><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>",
        "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>0</MaxAgeInSeconds></CorsRule></Cors><DeleteRetentionPolicy><Enabled>true</Enabled><Days>0</Days></DeleteRetentionPolicy></StorageServiceProperties>",
        "<Tags><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tags>",
    ];
    let inputs = inputs.map(str::as_bytes);
    survive(&inputs, |bytes| {
        drop(read_block_list(bytes));
        drop(read_signed_identifiers(bytes, letters::QUEUE));
        drop(read_service_properties(bytes));
        drop(read_tags(bytes));
    });
}
