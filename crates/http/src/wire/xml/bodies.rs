//! The documents that clients send: block lists, access policies, service properties and tags.

use lazuli_model::access::StoredPolicy;
use lazuli_model::blob::Search;
use lazuli_model::service::{CorsRule, Logging, Metrics, Retention, ServicePropertiesChange, StaticWebsite};
use lazuli_model::{BlockId, Tags, Timestamp, Version};

use super::read::{Document, Node};

use crate::refusal::{Denied, Refusal};

const BLOCKS_MAX: usize = 50_000;
const POLICIES_MAX: usize = 5;
const POLICY_ID_MAX: usize = 64;
const CORS_RULES_MAX: usize = 5;
/// All rules together, without their tags.
const CORS_BYTES_MAX: usize = 2 * 1024;
const RETENTION_DAYS: std::ops::RangeInclusive<u32> = 1..=365;

/// The service says no more than this of a document with too many of something, or with a letter that it does not know.
fn unexplained() -> Refusal {
    Refusal::InvalidXmlDocument { line: 0, position: 0, reason: "".into() }
}

fn wrong(name: &'static str, value: &str) -> Refusal {
    Refusal::InvalidXmlNodeValue { name: name.into(), value: value.to_owned(), reason: "".into() }
}

fn missing(name: &'static str) -> Refusal {
    Refusal::MissingRequiredXmlNode { name: name.into() }
}

fn unsupported(node: &Node<'_>) -> Refusal {
    Refusal::UnsupportedXmlNode { name: node.name.to_owned() }
}

/// Put Block List.
pub fn read_block_list(body: &[u8]) -> Result<Vec<(Search, BlockId)>, Refusal> {
    let document = Document::expect(body, "BlockList")?;
    if document.root.children.len() > BLOCKS_MAX {
        return Err(Denied::BlockListTooLong.into());
    }
    let block = |node: &Node<'_>| {
        let search = match node.name {
            "Committed" => Search::Committed,
            "Uncommitted" => Search::Uncommitted,
            "Latest" => Search::Latest,
            _ => return Err(document.refuse(node, "")),
        };
        Ok((search, BlockId::from_base64(node.text.trim())?))
    };
    document.root.children.iter().map(block).collect()
}

/// The letters that a stored policy may have, by what it is for: those that a SAS for it knows (rule A3).
pub mod letters {
    pub const CONTAINER: &str = "racwdxyltmeopif";
    pub const QUEUE: &str = "raup";
    pub const TABLE: &str = "raud";
    pub const SHARE: &str = "rcwdl";
}

/// Set Container ACL and its kin. No body at all is no policies.
pub fn read_signed_identifiers(body: &[u8], letters: &str) -> Result<Vec<StoredPolicy>, Refusal> {
    if body.is_empty() {
        return Ok(Vec::new());
    }
    let document = Document::expect(body, "SignedIdentifiers")?;
    if document.root.children.len() > POLICIES_MAX {
        return Err(unexplained());
    }
    document.root.children.iter().map(|node| policy(&document, node, letters)).collect()
}

fn policy(document: &Document<'_>, node: &Node<'_>, letters: &str) -> Result<StoredPolicy, Refusal> {
    if node.name != "SignedIdentifier" {
        return Err(document.refuse(node, ""));
    }
    let id = node.text_of("Id").filter(|id| !id.is_empty()).ok_or_else(|| missing("Id"))?;
    if id.chars().count() > POLICY_ID_MAX {
        return Err(wrong("Id", id));
    }
    let part =
        |name| node.child("AccessPolicy").and_then(|policy| policy.text_of(name)).filter(|text| !text.is_empty());
    let time = |name| part(name).map(|text| Timestamp::parse_iso(text).ok_or_else(|| wrong(name, text))).transpose();
    let permissions = part("Permission");
    if permissions.is_some_and(|text| !text.chars().all(|letter| letters.contains(letter))) {
        return Err(unexplained());
    }
    Ok(StoredPolicy {
        id: id.to_owned(),
        start: time("Start")?,
        expiry: time("Expiry")?,
        permissions: permissions.map(str::to_owned),
    })
}

/// Set Blob Service Properties. A section that is left out stays as it is.
pub fn read_service_properties(body: &[u8]) -> Result<ServicePropertiesChange, Refusal> {
    let document = Document::expect(body, "StorageServiceProperties")?;
    read_sections(&document, document.root.children.iter())
}

/// The sections that several services have.
pub fn read_sections<'a, 'b: 'a>(
    document: &Document<'b>,
    nodes: impl Iterator<Item = &'a Node<'b>>,
) -> Result<ServicePropertiesChange, Refusal> {
    let mut change = ServicePropertiesChange::default();
    for node in nodes {
        match node.name {
            "Logging" => change.logging = Some(logging(document, node)?),
            // Before 2013-08-15 there was one kind of metrics.
            "HourMetrics" | "Metrics" => change.hour_metrics = Some(metrics(document, node)?),
            "MinuteMetrics" => change.minute_metrics = Some(metrics(document, node)?),
            "Cors" => change.cors = Some(cors(node)?),
            "DefaultServiceVersion" => change.default_service_version = default_version(node)?,
            "DeleteRetentionPolicy" => change.delete_retention = Some(retention(document, node)?),
            "StaticWebsite" => change.static_website = Some(website(node)?),
            _ => return Err(unsupported(node)),
        }
    }
    Ok(change)
}

fn flag(node: &Node<'_>, name: &'static str) -> Result<Option<bool>, Refusal> {
    match node.text_of(name) {
        None => Ok(None),
        // Python writes `True`, and the service takes it.
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
        Some(text) => Err(wrong(name, text)),
    }
}

fn required_flag(node: &Node<'_>, name: &'static str) -> Result<bool, Refusal> {
    flag(node, name)?.ok_or_else(|| missing(name))
}

fn text(node: &Node<'_>, name: &str) -> Option<String> {
    node.text_of(name).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn analytics_version(node: &Node<'_>) -> String {
    text(node, "Version").unwrap_or_else(|| "1.0".to_owned())
}

fn nested_retention(document: &Document<'_>, node: &Node<'_>) -> Result<Retention, Refusal> {
    node.child("RetentionPolicy").map_or_else(|| Ok(Retention::default()), |policy| retention(document, policy))
}

fn retention(document: &Document<'_>, node: &Node<'_>) -> Result<Retention, Refusal> {
    let enabled = required_flag(node, "Enabled")?;
    let allow_permanent_delete = flag(node, "AllowPermanentDelete")?;
    if !enabled {
        return Ok(Retention { days: None, allow_permanent_delete });
    }
    let days = node.text_of("Days").ok_or_else(|| missing("Days"))?;
    let days: u32 = days.parse().map_err(|_| wrong("Days", days))?;
    if !RETENTION_DAYS.contains(&days) {
        let reason = "Retention days must be greater than 0 and less than or equal to 365 days.";
        return Err(document.refuse(node, reason));
    }
    Ok(Retention { days: Some(days), allow_permanent_delete })
}

fn logging(document: &Document<'_>, node: &Node<'_>) -> Result<Logging, Refusal> {
    Ok(Logging {
        version: analytics_version(node),
        delete: required_flag(node, "Delete")?,
        read: required_flag(node, "Read")?,
        write: required_flag(node, "Write")?,
        retention: nested_retention(document, node)?,
    })
}

fn metrics(document: &Document<'_>, node: &Node<'_>) -> Result<Metrics, Refusal> {
    Ok(Metrics {
        version: analytics_version(node),
        enabled: required_flag(node, "Enabled")?,
        include_apis: flag(node, "IncludeAPIs")?,
        retention: nested_retention(document, node)?,
    })
}

fn website(node: &Node<'_>) -> Result<StaticWebsite, Refusal> {
    Ok(StaticWebsite {
        enabled: required_flag(node, "Enabled")?,
        index_document: text(node, "IndexDocument"),
        error_document_404_path: text(node, "ErrorDocument404Path"),
        default_index_document_path: text(node, "DefaultIndexDocumentPath"),
    })
}

fn default_version(node: &Node<'_>) -> Result<Option<String>, Refusal> {
    match node.text.trim() {
        "" => Ok(None),
        text if Version::parse(text).is_some() => Ok(Some(text.to_owned())),
        text => Err(wrong("DefaultServiceVersion", text)),
    }
}

fn cors(node: &Node<'_>) -> Result<Vec<CorsRule>, Refusal> {
    if node.children.len() > CORS_RULES_MAX {
        return Err(unexplained());
    }
    let rules = node.children.iter().map(cors_rule).collect::<Result<Vec<_>, _>>()?;
    let size = |rule: &CorsRule| {
        rule.allowed_origins.len()
            + rule.allowed_methods.len()
            + rule.allowed_headers.len()
            + rule.exposed_headers.len()
    };
    if rules.iter().map(size).sum::<usize>() > CORS_BYTES_MAX { Err(unexplained()) } else { Ok(rules) }
}

const CORS_METHODS: [&str; 8] = ["DELETE", "GET", "HEAD", "MERGE", "PATCH", "POST", "OPTIONS", "PUT"];

fn cors_rule(node: &Node<'_>) -> Result<CorsRule, Refusal> {
    if node.name != "CorsRule" {
        return Err(unsupported(node));
    }
    let part = |name| node.text_of(name).map(str::to_owned).ok_or_else(|| missing(name));
    let (origins, methods) = (part("AllowedOrigins")?, part("AllowedMethods")?);
    if origins.is_empty() {
        return Err(wrong("AllowedOrigins", &origins));
    }
    if !methods.split(',').all(|method| CORS_METHODS.contains(&method.trim())) {
        return Err(wrong("AllowedMethods", &methods));
    }
    let age = part("MaxAgeInSeconds")?;
    Ok(CorsRule {
        allowed_origins: origins,
        allowed_methods: methods,
        allowed_headers: literals_first(node.text_of("AllowedHeaders").unwrap_or_default()),
        exposed_headers: literals_first(node.text_of("ExposedHeaders").unwrap_or_default()),
        max_age_seconds: age.parse().map_err(|_| wrong("MaxAgeInSeconds", &age))?,
    })
}

/// The service gives header lists back with whole names before prefixes.
fn literals_first(list: &str) -> String {
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    let (prefixes, literals): (Vec<_>, Vec<_>) = names.partition(|name| name.ends_with('*'));
    literals.into_iter().chain(prefixes).collect::<Vec<_>>().join(",")
}

/// Set Blob Tags.
pub fn read_tags(body: &[u8]) -> Result<Tags, Refusal> {
    let document = Document::expect(body, "Tags")?;
    let set = document.root.child("TagSet").ok_or_else(|| missing("TagSet"))?;
    let pair = |node: &Node<'_>| {
        if node.name != "Tag" {
            return Err(unsupported(node));
        }
        let key = node.child("Key").ok_or_else(|| missing("Key"))?;
        let value = node.child("Value").map(|value| value.text.to_string()).unwrap_or_default();
        Ok((key.text.to_string(), value))
    };
    Ok(Tags::new(set.children.iter().map(pair).collect::<Result<Vec<_>, _>>()?)?)
}

#[cfg(test)]
mod tests;
