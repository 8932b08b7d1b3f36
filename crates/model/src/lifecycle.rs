//! Lifecycle management: rules that move blobs to cooler tiers and delete them as they age ("Optimize costs by automating Azure Blob Storage
//! access tiers"). A policy is the JSON document that Azure's management plane takes.
//!
//! Held true: a policy that was read can be carried out, because all that contradicts itself is refused when it is read; and what a policy wants
//! of a blob is a pure function of the blob and the time ([`Policy::wants`]), so that it can be asked twice.

mod document;

use crate::blob::{Blob, Kind, Tier};
use crate::{Refusal, Timestamp};

pub use document::Policy;

/// What a policy wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyAct {
    Delete,
    Tier(Tier),
}

/// What of a name it is that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Base,
    Snapshot(Timestamp),
    Version(Timestamp),
}

/// A condition on age: one clock, and the days that must have gone by on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Age {
    pub since: Since,
    pub days: u32,
    /// Also so many days since the tier was changed; of the archive alone.
    pub since_tier: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    Modification,
    Creation,
    LastAccess,
}

/// What a rule does to one part of a name, from the cheapest to the dearest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Actions {
    pub delete: Option<Age>,
    pub archive: Option<Age>,
    pub cold: Option<Age>,
    pub cool: Option<Age>,
    /// A blob that is read in the cool tier goes back.
    pub hot_when_read: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub name: String,
    pub enabled: bool,
    pub blocks: bool,
    pub appends: bool,
    /// `container/prefix`; everything, if there are none.
    pub prefixes: Vec<String>,
    /// All of these tags.
    pub tags: Vec<(String, String)>,
    pub base: Actions,
    pub snapshot: Actions,
    pub version: Actions,
}

const DAY_SECONDS: u64 = 24 * 60 * 60;

impl Policy {
    /// What is to be done now. Where several rules or actions hold, the one that costs least to keep: to delete before the archive, the archive
    /// before cold, cold before cool.
    pub fn wants(&self, container: &str, name: &str, part: Part, blob: &Blob, now: Timestamp) -> Option<PolicyAct> {
        let rules = self.rules.iter().filter(|rule| rule.enabled && rule.is_for(container, name, part, blob));
        rules.filter_map(|rule| rule.actions(part).wants(part, blob, now)).min_by_key(rank)
    }

    /// Whether some rule may concern the container.
    pub fn concerns(&self, container: &str) -> bool {
        self.rules.iter().filter(|rule| rule.enabled).any(|rule| {
            let named = |prefix: &String| {
                prefix.split('/').next().is_some_and(|first| match prefix.contains('/') {
                    true => first == container,
                    false => container.starts_with(first),
                })
            };
            rule.prefixes.is_empty() || rule.prefixes.iter().any(named)
        })
    }
}

fn rank(act: &PolicyAct) -> u8 {
    match act {
        PolicyAct::Delete => 0,
        PolicyAct::Tier(Tier::Archive) => 1,
        PolicyAct::Tier(Tier::Cold) => 2,
        PolicyAct::Tier(Tier::Cool) => 3,
        PolicyAct::Tier(Tier::Hot | Tier::Smart | Tier::Premium(_)) => 4,
    }
}

impl Rule {
    fn is_for(&self, container: &str, name: &str, part: Part, blob: &Blob) -> bool {
        let of_type = match blob.kind {
            Kind::Block => self.blocks,
            Kind::Append { .. } => self.appends,
            // "Page blobs are not supported".
            Kind::Page { .. } => false,
        };
        let at = |prefix: &String| match prefix.split_once('/') {
            Some((first, rest)) => first == container && name.starts_with(rest),
            None => container.starts_with(prefix.as_str()),
        };
        let placed = self.prefixes.is_empty() || self.prefixes.iter().any(at);
        // Tags are those of the blob itself.
        let tagged = match part {
            Part::Base => self
                .tags
                .iter()
                .all(|(name, value)| blob.tags.iter().any(|(own, is)| (own, is) == (name.as_str(), value.as_str()))),
            Part::Snapshot(_) | Part::Version(_) => self.tags.is_empty(),
        };
        of_type && placed && tagged
    }

    fn actions(&self, part: Part) -> &Actions {
        match part {
            Part::Base => &self.base,
            Part::Snapshot(_) => &self.snapshot,
            Part::Version(_) => &self.version,
        }
    }
}

impl Actions {
    fn wants(&self, part: Part, blob: &Blob, now: Timestamp) -> Option<PolicyAct> {
        let is_due = |age: Option<Age>| age.is_some_and(|age| age.is_over(part, blob, now));
        if is_due(self.delete) {
            return Some(PolicyAct::Delete);
        }
        // An append blob stays where it is, and so does what is on its way.
        if blob.kind != Kind::Block || blob.rehydrating.is_some() {
            return None;
        }
        let (warm, cool) = match blob.tier {
            None | Some(Tier::Hot) => (true, false),
            Some(Tier::Cool) => (false, true),
            Some(Tier::Cold) => (false, false),
            // The service moves these by itself, or nobody does.
            Some(Tier::Archive | Tier::Smart | Tier::Premium(_)) => return None,
        };
        if is_due(self.archive) {
            return Some(PolicyAct::Tier(Tier::Archive));
        }
        if is_due(self.cold) && (warm || cool) {
            return Some(PolicyAct::Tier(Tier::Cold));
        }
        if is_due(self.cool) && warm {
            return Some(PolicyAct::Tier(Tier::Cool));
        }
        let read_since = blob.tier_changed.is_some_and(|changed| blob.last_access() > changed);
        (self.hot_when_read && cool && read_since).then_some(PolicyAct::Tier(Tier::Hot))
    }
}

impl Age {
    fn is_over(&self, part: Part, blob: &Blob, now: Timestamp) -> bool {
        let began = match (self.since, part) {
            (Since::Modification, _) => blob.modified,
            (Since::LastAccess, _) => blob.last_access(),
            (Since::Creation, Part::Base) => blob.created,
            // A snapshot, or a version that is one no longer, was made at the time that names it.
            (Since::Creation, Part::Snapshot(time) | Part::Version(time)) => time,
        };
        let gone = |since: Timestamp, days: u32| since.plus_seconds(u64::from(days) * DAY_SECONDS) < now;
        let moved = || blob.tier_changed.unwrap_or(blob.created);
        gone(began, self.days) && self.since_tier.is_none_or(|days| gone(moved(), days))
    }
}

/// What an act that was refused means for the round: a blob that was changed, leased or protected meanwhile stays as it is, until the next one.
pub fn passes_over(refusal: &Refusal) -> bool {
    !matches!(refusal, Refusal::InternalError | Refusal::ServerBusy)
}

#[cfg(test)]
mod tests;
