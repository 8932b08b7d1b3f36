//! The short documents that the service sends. Elements and their order are those of recorded answers.

use lazuli_model::access::StoredPolicy;
use lazuli_model::account::GeoReplication;
use lazuli_model::service::{CorsRule, Logging, Metrics, Retention, ServiceProperties, StaticWebsite};
use lazuli_model::{BlockId, Tags, Timestamp, Version};
use lazuli_store::Difference;

use super::{document, element, number, optional};
use crate::versions::Since;

/// Get Container ACL.
pub fn acl(policies: &[StoredPolicy]) -> Vec<u8> {
    let mut out = document(64 + policies.len() * 256);
    if policies.is_empty() {
        out.push_str("<SignedIdentifiers />");
        return out.into_bytes();
    }
    out.push_str("<SignedIdentifiers>");
    for policy in policies {
        out.push_str("<SignedIdentifier>");
        element(&mut out, "Id", &policy.id);
        if policy.start.is_some() || policy.expiry.is_some() || policy.permissions.is_some() {
            out.push_str("<AccessPolicy>");
            optional(&mut out, "Start", policy.start.map(Timestamp::to_iso).as_deref());
            optional(&mut out, "Expiry", policy.expiry.map(Timestamp::to_iso).as_deref());
            optional(&mut out, "Permission", policy.permissions.as_deref());
            out.push_str("</AccessPolicy>");
        }
        out.push_str("</SignedIdentifier>");
    }
    out.push_str("</SignedIdentifiers>");
    out.into_bytes()
}

/// A list that was not asked for is `None`, and not there.
pub fn block_list(committed: Option<&[(BlockId, u64)]>, uncommitted: Option<&[(BlockId, u64)]>) -> Vec<u8> {
    let count = committed.map_or(0, <[_]>::len) + uncommitted.map_or(0, <[_]>::len);
    let mut out = document(128 + count * 128);
    out.push_str("<BlockList>");
    for (name, blocks) in [("CommittedBlocks", committed), ("UncommittedBlocks", uncommitted)] {
        let Some(blocks) = blocks else { continue };
        if blocks.is_empty() {
            element(&mut out, name, "");
            continue;
        }
        out.extend(["<", name, ">"]);
        for (id, size) in blocks {
            out.push_str("<Block>");
            element(&mut out, "Name", &id.to_base64());
            number(&mut out, "Size", size);
            out.push_str("</Block>");
        }
        out.extend(["</", name, ">"]);
    }
    out.push_str("</BlockList>");
    out.into_bytes()
}

/// Get Page Ranges. `marker` is `None` when the list was not asked for in pages, and empty behind its last page.
pub fn page_list(ranges: &[Difference], marker: Option<Option<&str>>) -> Vec<u8> {
    let mut out = document(64 + ranges.len() * 80);
    out.push('\n');
    if ranges.is_empty() && marker.is_none() {
        out.push_str("<PageList/>");
        return out.into_bytes();
    }
    out.push_str("<PageList>");
    for difference in ranges {
        let (name, range) = match difference {
            Difference::Written(range) => ("PageRange", range),
            Difference::Cleared(range) => ("ClearRange", range),
        };
        out.extend(["<", name, ">"]);
        number(&mut out, "Start", range.start);
        number(&mut out, "End", range.end - 1);
        out.extend(["</", name, ">"]);
    }
    match marker {
        None => {}
        Some(None) => out.push_str("<NextMarker/>"),
        Some(Some(marker)) => element(&mut out, "NextMarker", marker),
    }
    out.push_str("</PageList>");
    out.into_bytes()
}

/// Get Blob Tags. This one begins on a new line.
pub fn tags(tags: &Tags) -> Vec<u8> {
    let mut out = document(64 + tags.len() * 64);
    out.push('\n');
    tag_set(&mut out, tags);
    out.into_bytes()
}

/// `<Tags><TagSet>…`, also a part of listings.
pub fn tag_set(out: &mut String, tags: &Tags) {
    out.push_str("<Tags><TagSet>");
    for (key, value) in tags.iter() {
        out.push_str("<Tag>");
        element(out, "Key", key);
        element(out, "Value", value);
        out.push_str("</Tag>");
    }
    out.push_str("</TagSet></Tags>");
}

/// Get Blob Service Stats.
/// A secondary that is not live has no time up to which it is complete (observed).
pub fn service_stats(state: GeoReplication, last_sync: Timestamp) -> Vec<u8> {
    let mut out = document(192);
    out.push_str("<StorageServiceStats><GeoReplication>");
    element(&mut out, "Status", state.name());
    let last_sync = match state {
        GeoReplication::Live => last_sync.to_http(),
        GeoReplication::Bootstrap | GeoReplication::Unavailable => String::new(),
    };
    element(&mut out, "LastSyncTime", &last_sync);
    out.push_str("</GeoReplication></StorageServiceStats>");
    out.into_bytes()
}

/// Get Blob Service Properties, in the sections that its version has.
pub fn service_properties(properties: &ServiceProperties, version: Version) -> Vec<u8> {
    let mut out = document(2048);
    out.push_str("<StorageServiceProperties>");
    analytics_and_cors(&mut out, properties);
    if Since::SoftDelete.is_in(version) {
        out.push_str("<DeleteRetentionPolicy>");
        retention(&mut out, &properties.delete_retention);
        // Rule B29.
        if Since::RehydratePriority.is_in(version) {
            let allowed = properties.delete_retention.allow_permanent_delete.unwrap_or(false);
            flag(&mut out, "AllowPermanentDelete", allowed);
        }
        out.push_str("</DeleteRetentionPolicy>");
    }
    if Since::StaticWebsites.is_in(version) {
        website(&mut out, &properties.static_website);
    }
    optional(&mut out, "DefaultServiceVersion", properties.default_service_version.as_deref());
    out.push_str("</StorageServiceProperties>");
    out.into_bytes()
}

/// The sections that every service has.
pub fn analytics_and_cors(out: &mut String, properties: &ServiceProperties) {
    logging(out, &properties.logging);
    metrics_and_cors(out, properties);
}

/// All that the File service has of them.
pub fn metrics_and_cors(out: &mut String, properties: &ServiceProperties) {
    metrics(out, "HourMetrics", &properties.hour_metrics);
    metrics(out, "MinuteMetrics", &properties.minute_metrics);
    cors(out, &properties.cors);
}

fn flag(out: &mut String, name: &str, value: bool) {
    element(out, name, if value { "true" } else { "false" });
}

fn retention(out: &mut String, retention: &Retention) {
    flag(out, "Enabled", retention.days.is_some());
    if let Some(days) = retention.days {
        number(out, "Days", days);
    }
}

fn retention_policy(out: &mut String, policy: &Retention) {
    out.push_str("<RetentionPolicy>");
    retention(out, policy);
    out.push_str("</RetentionPolicy>");
}

fn logging(out: &mut String, logging: &Logging) {
    out.push_str("<Logging>");
    element(out, "Version", &logging.version);
    flag(out, "Read", logging.read);
    flag(out, "Write", logging.write);
    flag(out, "Delete", logging.delete);
    retention_policy(out, &logging.retention);
    out.push_str("</Logging>");
}

fn metrics(out: &mut String, name: &str, metrics: &Metrics) {
    out.extend(["<", name, ">"]);
    element(out, "Version", &metrics.version);
    flag(out, "Enabled", metrics.enabled);
    // Only where metrics are on.
    if let Some(include) = metrics.include_apis.filter(|_| metrics.enabled) {
        flag(out, "IncludeAPIs", include);
    }
    retention_policy(out, &metrics.retention);
    out.extend(["</", name, ">"]);
}

fn cors(out: &mut String, rules: &[CorsRule]) {
    if rules.is_empty() {
        out.push_str("<Cors />");
        return;
    }
    out.push_str("<Cors>");
    for rule in rules {
        out.push_str("<CorsRule>");
        element(out, "AllowedMethods", &rule.allowed_methods);
        element(out, "AllowedOrigins", &rule.allowed_origins);
        element(out, "AllowedHeaders", &rule.allowed_headers);
        element(out, "ExposedHeaders", &rule.exposed_headers);
        number(out, "MaxAgeInSeconds", rule.max_age_seconds);
        out.push_str("</CorsRule>");
    }
    out.push_str("</Cors>");
}

fn website(out: &mut String, website: &StaticWebsite) {
    out.push_str("<StaticWebsite>");
    flag(out, "Enabled", website.enabled);
    optional(out, "IndexDocument", website.index_document.as_deref());
    optional(out, "ErrorDocument404Path", website.error_document_404_path.as_deref());
    optional(out, "DefaultIndexDocumentPath", website.default_index_document_path.as_deref());
    out.push_str("</StaticWebsite>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::xml::{read_service_properties, read_signed_identifiers, read_tags};

    fn text(document: Vec<u8>) -> String {
        let text = String::from_utf8(document).expect("UTF-8");
        text.strip_prefix("\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>").expect("a declaration").to_owned()
    }

    #[test]
    fn acl_as_recorded() {
        let recorded = "<SignedIdentifiers><SignedIdentifier><Id>testid</Id><AccessPolicy><Start>2022-07-13T23:44:52.0000000Z</Start><Expiry>2022-07-14T00:44:52.0000000Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier><SignedIdentifier><Id>empty</Id></SignedIdentifier></SignedIdentifiers>";
        let policies = read_signed_identifiers(recorded.as_bytes(), "rwdla").expect("policies");
        assert_eq!(text(acl(&policies)), recorded);
        assert_eq!(text(acl(&[])), "<SignedIdentifiers />");
    }

    #[test]
    fn block_list_as_recorded() {
        let block = |id: &str| (BlockId::from_base64(id).expect("an id"), 3);
        let blocks = [block("MQ=="), block("Mg==")];
        let items = "<Block><Name>MQ==</Name><Size>3</Size></Block><Block><Name>Mg==</Name><Size>3</Size></Block>";
        let table = [
            (Some(&blocks[..]), None, format!("<BlockList><CommittedBlocks>{items}</CommittedBlocks></BlockList>")),
            (None, Some(&blocks[..]), format!("<BlockList><UncommittedBlocks>{items}</UncommittedBlocks></BlockList>")),
            (
                Some(&[][..]),
                Some(&[][..]),
                "<BlockList><CommittedBlocks /><UncommittedBlocks /></BlockList>".to_owned(),
            ),
        ];
        for (committed, uncommitted, expected) in table {
            assert_eq!(text(block_list(committed, uncommitted)), expected);
        }
    }

    #[test]
    fn tags_as_recorded() {
        let recorded = "\n<Tags><TagSet><Tag><Key>tag1</Key><Value>firsttag</Value></Tag><Tag><Key>tag2</Key><Value>secondtag</Value></Tag></TagSet></Tags>";
        assert_eq!(text(tags(&read_tags(recorded.as_bytes()).expect("tags"))), recorded);
    }

    #[test]
    fn stats_as_recorded() {
        let at = Timestamp::parse_http("Tue, 30 Aug 2022 23:22:54 GMT").expect("a time");
        assert_eq!(
            text(service_stats(GeoReplication::Live, at)),
            "<StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>Tue, 30 Aug 2022 23:22:54 GMT</LastSyncTime></GeoReplication></StorageServiceStats>"
        );
    }

    #[test]
    fn service_properties_as_recorded() {
        let recorded = "<StorageServiceProperties><Logging><Version>1.0</Version><Read>true</Read><Write>true</Write><Delete>true</Delete><RetentionPolicy><Enabled>true</Enabled><Days>5</Days></RetentionPolicy></Logging><HourMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>true</Enabled><Days>5</Days></RetentionPolicy></HourMetrics><MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></MinuteMetrics><Cors><CorsRule><AllowedMethods>GET</AllowedMethods><AllowedOrigins>www.xyz.com</AllowedOrigins><AllowedHeaders /><ExposedHeaders /><MaxAgeInSeconds>0</MaxAgeInSeconds></CorsRule><CorsRule><AllowedMethods>GET,PUT</AllowedMethods><AllowedOrigins>www.xyz.com,www.ab.com,www.bc.com</AllowedOrigins><AllowedHeaders>x-ms-meta-xyz,x-ms-meta-foo,x-ms-meta-data*,x-ms-meta-target*</AllowedHeaders><ExposedHeaders>x-ms-meta-abc,x-ms-meta-bcd,x-ms-meta-data*,x-ms-meta-source*</ExposedHeaders><MaxAgeInSeconds>500</MaxAgeInSeconds></CorsRule></Cors><DeleteRetentionPolicy><Enabled>false</Enabled><AllowPermanentDelete>false</AllowPermanentDelete></DeleteRetentionPolicy><StaticWebsite><Enabled>true</Enabled><ErrorDocument404Path>errors/error/404error.html</ErrorDocument404Path><DefaultIndexDocumentPath>index.html</DefaultIndexDocumentPath></StaticWebsite><DefaultServiceVersion>2014-02-14</DefaultServiceVersion></StorageServiceProperties>";
        let properties = read_service_properties(recorded.as_bytes()).expect("properties").apply(Default::default());
        assert_eq!(text(service_properties(&properties, Version::NEWEST)), recorded);
        let fresh = text(service_properties(&ServiceProperties::default(), Version::NEWEST));
        assert!(fresh.contains("<Cors /><DeleteRetentionPolicy><Enabled>false</Enabled>"), "{fresh}");
    }
}
