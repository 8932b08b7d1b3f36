//! Policies as the management plane writes them: `{"properties": {"policyId", "sourceAccount", "destinationAccount", "rules": [{"ruleId",
//! "sourceContainer", "destinationContainer", "filters": {"prefixMatch", "minCreationTime"}}]}}`, one or a list of them. What tools show of a policy can be
//! set again, with or without `properties` around it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ReplicationPolicy, ReplicationRule};
use crate::{AccountName, ContainerName, Timestamp, feed};

/// What an account has: each policy in which it is the source or the destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicationPolicies {
    pub policies: Vec<ReplicationPolicy>,
    document: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    More(Vec<Value>),
    One(Value),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PolicyDocument {
    #[serde(default)]
    policy_id: String,
    source_account: String,
    destination_account: String,
    rules: Vec<RuleDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tags_replication: Option<Enabled>,
    // What the management plane shows beside, and what changes nothing here.
    #[serde(default, rename = "id", skip_serializing)]
    _id: Value,
    #[serde(default, rename = "name", skip_serializing)]
    _name: Value,
    #[serde(default, rename = "type", skip_serializing)]
    _kind: Value,
    #[serde(default, rename = "resourceGroup", skip_serializing)]
    _resource_group: Value,
    #[serde(default, rename = "enabledTime", skip_serializing)]
    _enabled_time: Value,
    #[serde(default, rename = "metrics", skip_serializing)]
    _metrics: Value,
    #[serde(default, rename = "priorityReplication", skip_serializing)]
    _priority: Value,
}

#[derive(Serialize, Deserialize)]
struct Enabled {
    enabled: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RuleDocument {
    #[serde(default)]
    rule_id: String,
    source_container: String,
    destination_container: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filters: Option<Filters>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Filters {
    #[serde(default)]
    prefix_match: Option<Vec<String>>,
    #[serde(default)]
    min_creation_time: Option<String>,
}

const RULES_MAX: usize = 1000;
/// "A source account can replicate to no more than two destination accounts", and may be the destination of two.
const POLICIES_MAX: usize = 4;
const SIDE_MAX: usize = 2;

impl ReplicationPolicies {
    /// Reads policies, or says what is wrong with them.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |error: serde_json::Error| format!("the policy does not read: {error}");
        let given = match serde_json::from_str(text).map_err(wrong)? {
            OneOrMore::More(list) => list,
            OneOrMore::One(one) => vec![one],
        };
        let mut documents = Vec::new();
        for one in given {
            let inner = match one.get("properties") {
                Some(properties) => properties.clone(),
                None => one,
            };
            documents.push(serde_json::from_value::<PolicyDocument>(inner).map_err(wrong)?);
        }
        if !(1..=POLICIES_MAX).contains(&documents.len()) {
            return Err(format!("an account has 1 to {POLICIES_MAX} policies"));
        }
        let policies = documents.iter_mut().map(read).collect::<Result<Vec<_>, _>>()?;
        let mut pairs = BTreeSet::new();
        for policy in &policies {
            if !pairs.insert((&policy.source, &policy.destination)) {
                return Err(format!(
                    "there are two policies from {} to {}; one is enough",
                    policy.source, policy.destination
                ));
            }
            let by = |same: fn(&ReplicationPolicy) -> &AccountName| {
                policies.iter().filter(|other| same(other) == same(policy)).count() > SIDE_MAX
            };
            if by(|policy| &policy.source) || by(|policy| &policy.destination) {
                return Err(format!("an account is the source, and the destination, of at most {SIDE_MAX} policies"));
            }
        }
        let document = serde_json::to_string(&documents).map_err(|error| error.to_string())?;
        Ok(Self { policies, document })
    }

    /// As it can be read again.
    pub fn document(&self) -> &str {
        &self.document
    }
}

/// A policy; ids that it leaves to the service are written into it.
fn read(document: &mut PolicyDocument) -> Result<ReplicationPolicy, String> {
    let source = account(&document.source_account)?;
    let destination = account(&document.destination_account)?;
    if source == destination {
        return Err("source and destination are one account; name two".into());
    }
    if !(1..=RULES_MAX).contains(&document.rules.len()) {
        return Err(format!("a policy has 1 to {RULES_MAX} rules"));
    }
    if matches!(document.policy_id.as_str(), "" | "default") {
        document.policy_id = made_id(&[source.as_str(), destination.as_str()]);
    }
    check_id("policyId", &document.policy_id)?;
    let mut rules: Vec<ReplicationRule> = Vec::new();
    for rule in &mut document.rules {
        if rule.rule_id.is_empty() {
            rule.rule_id = made_id(&[&document.policy_id, &rule.source_container, &rule.destination_container]);
        }
        check_id("ruleId", &rule.rule_id)?;
        let read = read_rule(rule)?;
        if rules.iter().any(|known| known.source == read.source || known.destination == read.destination) {
            return Err(format!(
                "{:?} or {:?} is in two rules; a container can be in one",
                read.source, read.destination
            ));
        }
        rules.push(read);
    }
    let tags = document.tags_replication.as_ref().is_some_and(|tags| tags.enabled);
    Ok(ReplicationPolicy { id: document.policy_id.clone(), source, destination, tags, rules })
}

fn read_rule(rule: &RuleDocument) -> Result<ReplicationRule, String> {
    let container = |name: &str| match ContainerName::parse(name) {
        Ok(container) if name != feed::CONTAINER => Ok(container),
        Ok(_) | Err(_) => Err(format!("{name:?} is not the name of a container that can be replicated")),
    };
    let (source, destination) = (container(&rule.source_container)?, container(&rule.destination_container)?);
    let prefixes = rule.filters.as_ref().and_then(|filters| filters.prefix_match.clone()).unwrap_or_default();
    let time = rule.filters.as_ref().and_then(|filters| filters.min_creation_time.as_deref());
    let since = match time.filter(|text| !text.is_empty()) {
        None => None,
        Some(text) => Some(
            Timestamp::parse_iso(text)
                .ok_or_else(|| format!("minCreationTime is {text:?}; write a time like 2026-01-31T00:00:00Z"))?,
        ),
    };
    let prefixes = prefixes.into_iter().filter(|prefix| !prefix.is_empty()).collect();
    Ok(ReplicationRule { id: rule.rule_id.clone(), source, destination, prefixes, since })
}

/// A name, or the end of a resource's id.
fn account(text: &str) -> Result<AccountName, String> {
    let name = text.rsplit('/').next().unwrap_or_default();
    AccountName::parse(name).map_err(|_| format!("{text:?} names no account; write its name or its resource id"))
}

/// Ids stand in the names of headers and of elements.
fn check_id(what: &str, id: &str) -> Result<(), String> {
    let good = (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if good { Ok(()) } else { Err(format!("{what} is {id:?}; leave it to the service, or write a GUID")) }
}

/// An id for what has none: the same wherever the same is said, so that one document can be given to both accounts.
fn made_id(parts: &[&str]) -> String {
    // FNV-1a. Nothing rests on it but that two policies of one account differ.
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    feed::guid(bytes.fold(OFFSET, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME)))
}
