//! A policy as the management plane writes it: `{"rules": [{"enabled", "name", "type": "Lifecycle", "definition": {"filters", "actions"}}]}`. What it
//! may say is in "Lifecycle management policies"; what it must not is refused with words that say what to do.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Actions, Age, Rule, Since};

/// A policy that can be carried out, with the document that it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub(super) rules: Vec<Rule>,
    document: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    rules: Vec<RuleDocument>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RuleDocument {
    #[serde(default = "yes")]
    enabled: bool,
    name: String,
    #[serde(rename = "type")]
    kind: String,
    definition: Definition,
}

fn yes() -> bool {
    true
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Definition {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filters: Option<Filters>,
    actions: ActionSet,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Filters {
    blob_types: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    prefix_match: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    blob_index_match: Vec<TagFilter>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TagFilter {
    name: String,
    op: String,
    value: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ActionSet {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base_blob: Option<PartActions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    snapshot: Option<PartActions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<PartActions>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PartActions {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tier_to_cool: Option<AgeDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tier_to_cold: Option<AgeDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tier_to_archive: Option<AgeDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delete: Option<AgeDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    enable_auto_tier_to_hot_from_cool: Option<bool>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AgeDocument {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    days_after_modification_greater_than: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    days_after_creation_greater_than: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    days_after_last_access_time_greater_than: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    days_after_last_tier_change_greater_than: Option<u32>,
}

const RULES_MAX: usize = 100;
const PREFIXES_MAX: usize = 10;
const TAGS_MAX: usize = 10;

impl Policy {
    /// Reads a policy, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let document: Document =
            serde_json::from_str(text).map_err(|error| format!("the policy does not read: {error}"))?;
        if !(1..=RULES_MAX).contains(&document.rules.len()) {
            return Err(format!("a policy has 1 to {RULES_MAX} rules"));
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = document.rules.iter().find(|rule| !names.insert(rule.name.as_str())) {
            return Err(format!("two rules are called {:?}; give each a name of its own", twice.name));
        }
        let rules = document.rules.iter().map(|rule| read(rule).map_err(|why| format!("rule {:?}: {why}", rule.name)));
        let rules = rules.collect::<Result<_, _>>()?;
        let document = serde_json::to_string(&document).map_err(|error| error.to_string())?;
        Ok(Self { rules, document })
    }

    /// Whether some rule asks when a blob was last read.
    pub fn is_by_last_access(&self) -> bool {
        let parts = self.rules.iter().flat_map(|rule| [&rule.base, &rule.snapshot, &rule.version]);
        let mut ages = parts.flat_map(|one| [one.delete, one.archive, one.cold, one.cool]).flatten();
        ages.any(|age| age.since == Since::LastAccess)
    }

    /// As it can be read again.
    pub fn document(&self) -> &str {
        &self.document
    }
}

fn read(rule: &RuleDocument) -> Result<Rule, String> {
    if rule.kind != "Lifecycle" {
        return Err(format!("its type is {:?}; write \"Lifecycle\"", rule.kind));
    }
    let ActionSet { base_blob, snapshot, version } = &rule.definition.actions;
    let none = Filters { blob_types: vec!["blockBlob".into()], prefix_match: Vec::new(), blob_index_match: Vec::new() };
    let filters = rule.definition.filters.as_ref().unwrap_or(&none);
    let (mut blocks, mut appends) = (false, false);
    for kind in &filters.blob_types {
        match kind.as_str() {
            "blockBlob" => blocks = true,
            "appendBlob" => appends = true,
            other => return Err(format!("blobTypes has {other:?}; there are blockBlob and appendBlob")),
        }
    }
    if filters.prefix_match.len() > PREFIXES_MAX || filters.prefix_match.iter().any(|prefix| prefix.is_empty()) {
        return Err(format!("prefixMatch takes up to {PREFIXES_MAX} prefixes, each beginning with a container's name"));
    }
    if filters.blob_index_match.len() > TAGS_MAX || filters.blob_index_match.iter().any(|tag| tag.op != "==") {
        return Err(format!("blobIndexMatch takes up to {TAGS_MAX} tags, each with the op \"==\""));
    }
    let base = actions(base_blob.as_ref(), true)?;
    let (snapshot, version) = (actions(snapshot.as_ref(), false)?, actions(version.as_ref(), false)?);
    let all = [&base, &snapshot, &version];
    let tiers = |one: &&Actions| one.cool.is_some() || one.cold.is_some() || one.archive.is_some();
    if all.iter().all(|one| **one == Actions::default()) {
        return Err("it has no action; give it one under baseBlob, snapshot or version".into());
    }
    if appends && all.iter().any(tiers) {
        return Err("append blobs can be deleted, and have no tiers; make a rule of their own for them".into());
    }
    let tags = filters.blob_index_match.iter().map(|tag| (tag.name.clone(), tag.value.clone())).collect();
    let (name, enabled, prefixes) = (rule.name.clone(), rule.enabled, filters.prefix_match.clone());
    Ok(Rule { name, enabled, blocks, appends, prefixes, tags, base, snapshot, version })
}

fn actions(part: Option<&PartActions>, base: bool) -> Result<Actions, String> {
    let Some(part) = part else { return Ok(Actions::default()) };
    let read = |given: &Option<AgeDocument>, what: &str, archive: bool| match given {
        None => Ok(None),
        Some(given) => age(given, base, archive).map(Some).map_err(|why| format!("{what}: {why}")),
    };
    let actions = Actions {
        delete: read(&part.delete, "delete", false)?,
        archive: read(&part.tier_to_archive, "tierToArchive", true)?,
        cold: read(&part.tier_to_cold, "tierToCold", false)?,
        cool: read(&part.tier_to_cool, "tierToCool", false)?,
        hot_when_read: part.enable_auto_tier_to_hot_from_cool.unwrap_or(false),
    };
    if actions.hot_when_read && actions.cool.is_none_or(|age| age.since != Since::LastAccess) {
        return Err("enableAutoTierToHotFromCool goes with a tierToCool by daysAfterLastAccessTimeGreaterThan".into());
    }
    Ok(actions)
}

fn age(given: &AgeDocument, base: bool, archive: bool) -> Result<Age, String> {
    let clocks = [
        (given.days_after_modification_greater_than, Since::Modification, base),
        (given.days_after_creation_greater_than, Since::Creation, true),
        (given.days_after_last_access_time_greater_than, Since::LastAccess, base),
    ];
    let mut said = clocks.into_iter().filter_map(|(days, since, may)| days.map(|days| (days, since, may)));
    let one = "say one of daysAfterModificationGreaterThan, daysAfterCreationGreaterThan and daysAfterLastAccessTimeGreaterThan";
    let (days, since, may) = said.next().ok_or(one)?;
    if said.next().is_some() {
        return Err(one.into());
    }
    if !may {
        return Err("snapshots and versions age by daysAfterCreationGreaterThan".into());
    }
    if given.days_after_last_tier_change_greater_than.is_some() && !archive {
        return Err("daysAfterLastTierChangeGreaterThan is for tierToArchive".into());
    }
    Ok(Age { since, days, since_tier: given.days_after_last_tier_change_greater_than })
}
