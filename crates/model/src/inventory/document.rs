//! An inventory policy as the management plane writes it ("Blob inventory": policy, rules, filters).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::fields::{OF_BLOBS, OF_CONTAINERS};
use super::{Lists, ReportFormat, Rule};

/// A policy that can be carried out, with the document that it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub enabled: bool,
    pub rules: Vec<Rule>,
    document: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default = "yes")]
    enabled: bool,
    #[serde(rename = "type")]
    kind: String,
    rules: Vec<RuleDocument>,
}

fn yes() -> bool {
    true
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleDocument {
    #[serde(default = "yes")]
    enabled: bool,
    name: String,
    destination: String,
    definition: Definition,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Definition {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filters: Option<Filters>,
    format: String,
    object_type: String,
    schedule: String,
    schema_fields: Vec<String>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Filters {
    #[serde(default)]
    blob_types: Vec<String>,
    #[serde(default)]
    prefix_match: Vec<String>,
    #[serde(default)]
    exclude_prefix: Vec<String>,
    #[serde(default)]
    include_snapshots: bool,
    #[serde(default)]
    include_blob_versions: bool,
    #[serde(default)]
    include_deleted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    creation_time: Option<CreationTime>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CreationTime {
    #[serde(rename = "lastNDays")]
    last_days: u32,
}

const RULES_MAX: usize = 100;
const PREFIXES_MAX: usize = 10;

impl Policy {
    /// Reads a policy, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let document: Document =
            serde_json::from_str(text).map_err(|error| format!("the policy does not read: {error}"))?;
        if document.kind != "Inventory" {
            return Err(format!("its type is {:?}; write \"Inventory\"", document.kind));
        }
        if !(1..=RULES_MAX).contains(&document.rules.len()) {
            return Err(format!("a policy has 1 to {RULES_MAX} rules"));
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = document.rules.iter().find(|rule| !names.insert(rule.name.to_ascii_lowercase())) {
            return Err(format!("two rules are called {:?}; give each a name of its own", twice.name));
        }
        let rules = document.rules.iter().map(|rule| read(rule).map_err(|why| format!("rule {:?}: {why}", rule.name)));
        let rules = rules.collect::<Result<_, _>>()?;
        let enabled = document.enabled;
        let document = serde_json::to_string(&document).map_err(|error| error.to_string())?;
        Ok(Self { enabled, rules, document })
    }

    /// As it can be read again.
    pub fn document(&self) -> &str {
        &self.document
    }
}

fn read(rule: &RuleDocument) -> Result<Rule, String> {
    let good = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    if !good(&rule.name) {
        return Err("its name is of letters, digits, hyphens and underscores".into());
    }
    let definition = &rule.definition;
    let format = match definition.format.to_ascii_lowercase().as_str() {
        "csv" => ReportFormat::Csv,
        "parquet" => ReportFormat::Parquet,
        other => return Err(format!("its format is {other:?}; there are Csv and Parquet")),
    };
    let days = match definition.schedule.to_ascii_lowercase().as_str() {
        "daily" => 1,
        "weekly" => 7,
        other => return Err(format!("its schedule is {other:?}; there are Daily and Weekly")),
    };
    let (lists, known) = match definition.object_type.to_ascii_lowercase().as_str() {
        "blob" => (Lists::Blobs, OF_BLOBS),
        "container" => (Lists::Containers, OF_CONTAINERS),
        other => return Err(format!("its objectType is {other:?}; there are Blob and Container")),
    };
    let none = Filters::default();
    let filters = definition.filters.as_ref().unwrap_or(&none);
    let types = ["blockBlob", "appendBlob", "pageBlob"];
    if let Some(other) = filters.blob_types.iter().find(|kind| !types.contains(&kind.as_str())) {
        return Err(format!("blobTypes has {other:?}; there are {}", types.join(", ")));
    }
    if lists == Lists::Blobs && filters.blob_types.is_empty() {
        return Err(format!("say which blobTypes it lists, of {}", types.join(", ")));
    }
    if filters.prefix_match.len() > PREFIXES_MAX || filters.exclude_prefix.len() > PREFIXES_MAX {
        return Err(format!("prefixMatch and excludePrefix take up to {PREFIXES_MAX} prefixes"));
    }
    if !definition.schema_fields.iter().any(|field| field == "Name") {
        return Err("schemaFields must have Name".into());
    }
    if let Some(other) = definition.schema_fields.iter().find(|field| !known.contains(&field.as_str())) {
        return Err(format!("schemaFields has {other:?}; there are {}", known.join(", ")));
    }
    let wants = |field: &str| definition.schema_fields.iter().any(|listed| listed == field);
    for (included, field) in [
        (filters.include_snapshots, "Snapshot"),
        (filters.include_blob_versions, "VersionId"),
        (filters.include_blob_versions, "IsCurrentVersion"),
        (filters.include_deleted, "Deleted"),
    ] {
        if included && !wants(field) {
            return Err(format!(
                "what it includes can be told from the rest only by {field}; add that to schemaFields"
            ));
        }
    }
    Ok(Rule {
        name: rule.name.clone(),
        enabled: rule.enabled,
        destination: rule.destination.clone(),
        lists,
        format,
        days,
        include_snapshots: filters.include_snapshots,
        include_versions: filters.include_blob_versions,
        include_deleted: filters.include_deleted,
        types: filters.blob_types.clone(),
        prefixes: filters.prefix_match.clone(),
        excluded: filters.exclude_prefix.clone(),
        created_within_days: filters.creation_time.as_ref().map(|time| time.last_days),
        fields: definition.schema_fields.clone(),
        definition: serde_json::to_string(definition).map_err(|error| error.to_string())?,
    })
}
