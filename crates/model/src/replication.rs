//! Object replication: block blobs of a container of one account are copied into a container of another, by rules that both accounts have
//! ("Object replication for block blobs"). A policy is the JSON document that Azure's management plane takes.
//!
//! Held true: what a change of the source asks of the copy is a pure function of both records ([`follow`]), and asking twice does nothing twice,
//! because a copy knows the version that it was made of.

mod document;

use serde::{Deserialize, Serialize};

use crate::blob::{Blob, ContentRef, Encryption, Kind, Tier, inherited_tier};
use crate::lease::{self, On};
use crate::{AccountName, ContainerName, Refusal, Tags, Timestamp};

pub use document::ReplicationPolicies;

/// From one account to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicationPolicy {
    pub id: String,
    pub source: AccountName,
    pub destination: AccountName,
    /// Tags are copied as well ("tagsReplication").
    pub tags: bool,
    pub rules: Vec<ReplicationRule>,
}

/// From one container to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicationRule {
    pub id: String,
    pub source: ContainerName,
    pub destination: ContainerName,
    /// Of the names of blobs; all of them, if there are none.
    pub(crate) prefixes: Vec<String>,
    /// Blobs that were there before are copied too, if they were created since then.
    pub since: Option<Timestamp>,
}

impl ReplicationRule {
    pub fn is_for(&self, name: &str) -> bool {
        self.prefixes.is_empty() || self.prefixes.iter().any(|prefix| name.starts_with(prefix))
    }
}

impl ReplicationPolicies {
    /// The rules by which `container` of `account` is copied.
    pub fn of_source<'a>(
        &'a self,
        account: &'a AccountName,
        container: &'a ContainerName,
    ) -> impl Iterator<Item = (&'a ReplicationPolicy, &'a ReplicationRule)> {
        let policies = self.policies.iter().filter(move |policy| policy.source == *account);
        policies.flat_map(move |policy| {
            let rules = policy.rules.iter().filter(move |rule| rule.source == *container);
            rules.map(move |rule| (policy, rule))
        })
    }

    /// Every rule by which a container of `account` is copied.
    pub fn from_account<'a>(
        &'a self,
        account: &'a AccountName,
    ) -> impl Iterator<Item = (&'a ReplicationPolicy, &'a ReplicationRule)> {
        let policies = self.policies.iter().filter(move |policy| policy.source == *account);
        policies.flat_map(|policy| policy.rules.iter().map(move |rule| (policy, rule)))
    }

    /// Whether `container` of `account` is one that others are copied into, so that nobody else writes there.
    pub fn is_destination(&self, account: &AccountName, container: &str) -> bool {
        let mut policies = self.policies.iter().filter(|policy| policy.destination == *account);
        policies.any(|policy| policy.rules.iter().any(|rule| rule.destination.as_str() == container))
    }

    /// Whether the account that has these policies agrees to be copied to by `rule` of `policy`: both have to have it, under one id.
    pub fn agrees(&self, policy: &ReplicationPolicy, rule: &ReplicationRule) -> bool {
        let mut own = self.policies.iter().filter(|own| own.id == policy.id && own.destination == policy.destination);
        own.any(|own| own.rules.iter().any(|own| own.id == rule.id && own.destination == rule.destination))
    }
}

/// What a record knows of its replication.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replication {
    /// Of a source: what came of each rule.
    pub outcomes: Vec<RuleOutcome>,
    /// Of a copy: what made it.
    pub origin: Option<ReplicaOrigin>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleOutcome {
    pub policy: String,
    pub rule: String,
    /// Or else it failed.
    pub complete: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaOrigin {
    pub policy: String,
    /// The version of the source ([`moment`]).
    pub version: Timestamp,
}

/// A change of a source that has still to be made at its copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SourceChange {
    Written,
    /// Its properties.
    Changed,
    Deleted,
}

/// What is to be done at the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// It has been done, or there is nothing to do any more.
    Nothing,
    /// This kind of blob is not replicated, and nothing is said of it.
    Never,
    Copy,
    /// The properties alone.
    Update,
    Delete,
    Fail,
}

/// What tells one version of a source from another: its id, or the time of its last change if it has none.
pub fn moment(source: &Blob) -> Timestamp {
    source.version.unwrap_or(source.modified)
}

/// What a change of `version` asks. `source` is that version, if it is still there; `copy` is the current blob at the destination, and `newest`
/// that or the newest of its versions.
pub fn follow(
    change: SourceChange,
    version: Timestamp,
    source: Option<&Blob>,
    copy: Option<&Blob>,
    newest: Option<&Blob>,
) -> Follow {
    let made_of = |blob: Option<&Blob>| blob.and_then(origin).map(|origin| origin.version);
    match (change, source) {
        (SourceChange::Deleted, _) => match made_of(copy) {
            Some(copied) if copied <= version => Follow::Delete,
            Some(_) | None => Follow::Nothing,
        },
        (_, Some(source)) if source.kind != Kind::Block => Follow::Never,
        (_, None) => Follow::Nothing,
        (SourceChange::Written, Some(_)) if made_of(newest) >= Some(version) => Follow::Nothing,
        (SourceChange::Written, Some(source)) => match is_out_of_reach(source) || copy.is_some_and(is_archived) {
            true => Follow::Fail,
            false => Follow::Copy,
        },
        (SourceChange::Changed, Some(source)) => match copy.filter(|copy| made_of(Some(copy)) == Some(version)) {
            Some(copy) if is_archived(copy) || is_out_of_reach(source) => Follow::Fail,
            Some(copy) if (&copy.headers, &copy.metadata) != (&source.headers, &source.metadata) => Follow::Update,
            Some(_) | None => Follow::Nothing,
        },
    }
}

/// "Object replication will fail if a blob in either account has been moved to the archive tier", and of what is encrypted by a key that is not
/// the service's.
fn is_out_of_reach(source: &Blob) -> bool {
    is_archived(source) || source.encryption != Encryption::Service
}

fn is_archived(blob: &Blob) -> bool {
    blob.tier == Some(Tier::Archive) || blob.rehydrating.is_some()
}

pub fn origin(blob: &Blob) -> Option<&ReplicaOrigin> {
    blob.replication.as_ref().and_then(|replication| replication.origin.as_ref())
}

/// The copy of `source`, in place of `old`: contents, properties and metadata; not its tier.
pub fn copied(
    policy: &ReplicationPolicy,
    source: &Blob,
    old: Option<&Blob>,
    content: ContentRef,
    now: Timestamp,
) -> Result<Blob, Refusal> {
    // Somebody else was faster.
    if old.and_then(origin).is_some_and(|origin| origin.version >= moment(source)) {
        return Err(Refusal::BlobAlreadyExists);
    }
    let lease = match old {
        Some(old) => lease::permit_write(old.lease, None, now, On::Blob)?,
        None => crate::Lease::Available,
    };
    let tier = inherited_tier(Kind::Block, old);
    let origin = Some(ReplicaOrigin { policy: policy.id.clone(), version: moment(source) });
    Ok(Blob {
        created: old.map_or(now, |old| old.created),
        headers: source.headers.clone(),
        metadata: source.metadata.clone(),
        tags: if policy.tags { source.tags.clone() } else { Tags::default() },
        tier,
        tier_changed: tier.map(|_| now),
        lease,
        replication: Some(Box::new(Replication { outcomes: Vec::new(), origin })),
        ..Blob::new(Kind::Block, content, now)
    })
}

/// The copy with the properties that its source has now.
pub fn updated(source: &Blob, copy: &Blob, now: Timestamp) -> Result<Blob, Refusal> {
    let lease = lease::permit_write(copy.lease, None, now, On::Blob)?;
    copy.permit_mutable(now)?;
    let (headers, metadata) = (source.headers.clone(), source.metadata.clone());
    Ok(Blob { etag: crate::ETag::of(now), modified: now, headers, metadata, lease, ..copy.clone() })
}

/// The source with what came of a rule.
pub fn concluded(source: &Blob, policy: &ReplicationPolicy, rule: &ReplicationRule, complete: bool) -> Blob {
    let mut replication = source.replication.as_deref().cloned().unwrap_or_default();
    replication.outcomes.retain(|known| (&known.policy, &known.rule) != (&policy.id, &rule.id));
    replication.outcomes.push(RuleOutcome { policy: policy.id.clone(), rule: rule.id.clone(), complete });
    Blob { replication: Some(Box::new(replication)), ..source.clone() }
}

/// Whether a blob that was there before a rule has still to be copied by it.
pub fn is_left(policy: &ReplicationPolicy, rule: &ReplicationRule, name: &str, source: &Blob) -> bool {
    let known = source.replication.as_ref().is_some_and(|replication| {
        replication.outcomes.iter().any(|known| (&known.policy, &known.rule) == (&policy.id, &rule.id))
    });
    !known && source.kind == Kind::Block && rule.is_for(name) && rule.since.is_some_and(|since| source.created >= since)
}

#[cfg(test)]
mod tests;
