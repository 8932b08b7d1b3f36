//! Who may do what: stored policies, public access, and the permission letters of a SAS.
//!
//! A SAS is what it says together with the policy it names: each field is in one of the two, and never in both.
//! Signatures are checked before (`http/auth`); here a SAS's words are known to be its maker's.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::authorize::Signed;
use crate::container::Container;
use crate::file::Share;
use crate::queue::Queue;
use crate::table::Table;
use crate::{Refusal, Timestamp};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PublicAccess {
    #[default]
    Off,
    Blob,
    Container,
}

/// A stored access policy. Each part may be left to the SAS that names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPolicy {
    pub id: String,
    pub start: Option<Timestamp>,
    pub expiry: Option<Timestamp>,
    pub permissions: Option<String>,
}

/// Policies of one container, queue, table or share.
pub const POLICIES_MAX: usize = 5;
/// Characters of a policy's id.
pub const POLICY_ID_MAX: usize = 64;

impl StoredPolicy {
    /// The rules over a whole list: how many, how long, each id once.
    pub fn check_all(policies: &[StoredPolicy]) -> Result<(), Refusal> {
        let ids_fit = policies.iter().all(|policy| (1..=POLICY_ID_MAX).contains(&policy.id.chars().count()));
        let unique = policies.iter().enumerate().all(|(at, policy)| policies[..at].iter().all(|p| p.id != policy.id));
        if policies.len() <= POLICIES_MAX && ids_fit && unique {
            return Ok(());
        }
        Err(Refusal::InvalidStoredPolicies)
    }
}

/// What a container, queue, table or share says of who may.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Openness {
    pub public: PublicAccess,
    pub policies: Vec<StoredPolicy>,
}

impl From<Container> for Openness {
    fn from(container: Container) -> Self {
        Self { public: container.public, policies: container.policies }
    }
}

impl From<Queue> for Openness {
    fn from(queue: Queue) -> Self {
        Self { public: PublicAccess::Off, policies: queue.policies }
    }
}

impl From<Share> for Openness {
    fn from(share: Share) -> Self {
        Self { public: PublicAccess::Off, policies: share.policies }
    }
}

impl From<Table> for Openness {
    fn from(table: Table) -> Self {
        Self { public: PublicAccess::Off, policies: table.policies }
    }
}

/// A set of lower-case letters.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Letters(u32);

impl Letters {
    /// `None` if something is no lower-case letter.
    pub fn parse(text: &str) -> Option<Self> {
        text.chars().try_fold(Self(0), |set, letter| Some(Self(set.0 | bit(letter)?)))
    }

    pub const fn all() -> Self {
        Self((1 << 26) - 1)
    }

    pub fn has(self, letter: char) -> bool {
        bit(letter).is_some_and(|bit| self.0 & bit != 0)
    }

    pub fn has_any(self, letters: &str) -> bool {
        letters.chars().any(|letter| self.has(letter))
    }

    pub fn has_all(self, letters: Letters) -> bool {
        self.0 & letters.0 == letters.0
    }
}

fn bit(letter: char) -> Option<u32> {
    letter.is_ascii_lowercase().then(|| 1 << (letter as u32 - 'a' as u32))
}

impl FromIterator<char> for Letters {
    /// What is no lower-case letter is left out.
    fn from_iter<I: IntoIterator<Item = char>>(letters: I) -> Self {
        Self(letters.into_iter().filter_map(bit).fold(0, |set, bit| set | bit))
    }
}

impl fmt::Debug for Letters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: String = ('a'..='z').filter(|letter| self.has(*letter)).collect();
        write!(f, "{text:?}")
    }
}

/// When a SAS, or the policy it names, is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub start: Option<Timestamp>,
    pub expiry: Option<Timestamp>,
}

impl Times {
    /// From the start on and before the expiry, which there must be. Azure's words, so that people who search for them find the cause.
    pub fn permit(self, now: Timestamp) -> Result<(), Refusal> {
        let expiry = self.expiry.ok_or_else(|| failed("se is mandatory. Cannot be empty"))?;
        match self.start {
            Some(start) if now < start || now >= expiry => Err(failed(format!(
                "Signature not valid in the specified time frame: Start [{}] - Expiry [{}] - Current [{}]",
                start.to_http(),
                expiry.to_http(),
                now.to_http()
            ))),
            None if now >= expiry => Err(failed(format!(
                "Signed expiry time [{}] must be after signed start time [{}]",
                expiry.to_http(),
                now.to_http()
            ))),
            Some(_) | None => Ok(()),
        }
    }
}

/// What a service SAS grants and when. Times and letters may come from the policy it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    pub signed: Signed,
    pub letters: Option<Letters>,
    pub times: Times,
    /// The stored access policy it leans on.
    pub policy: Option<String>,
}

impl Terms {
    /// The letters it carries at `now`, with what the policy adds. A policy that is gone takes its SAS with it.
    pub fn in_force(&self, policies: &[StoredPolicy], now: Timestamp) -> Result<Letters, Refusal> {
        let Some(id) = &self.policy else {
            self.times.permit(now)?;
            return self.letters.ok_or_else(|| failed("sp is mandatory. Cannot be empty"));
        };
        let policy = policies.iter().find(|policy| policy.id == *id);
        let policy = policy.ok_or_else(|| failed("Specified signed identifier is not found"))?;
        let both = (policy.start.is_some() && self.times.start.is_some())
            || (policy.expiry.is_some() && self.times.expiry.is_some())
            || (policy.permissions.is_some() && self.letters.is_some());
        if both {
            return Err(failed("Access policy fields can be associated with signature or SAS identifier but not both"));
        }
        let times = Times { start: self.times.start.or(policy.start), expiry: self.times.expiry.or(policy.expiry) };
        times.permit(now)?;
        let stored = policy.permissions.as_deref().and_then(Letters::parse);
        self.letters.or(stored).ok_or_else(|| failed("sp is mandatory. Cannot be empty"))
    }
}

fn failed(detail: impl Into<Cow<'static, str>>) -> Refusal {
    Refusal::AuthenticationFailed { detail: detail.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_ticks(0).plus_seconds(seconds)
    }

    #[test]
    fn letters_are_a_set() {
        for (text, known) in [("", true), ("r", true), ("wr", true), ("rr", true), ("R", false), ("é", false)] {
            assert_eq!(Letters::parse(text).is_some(), known, "{text}");
        }
        let some: Letters = "cwt".chars().collect();
        assert_eq!(Letters::parse("twc"), Some(some));
        assert!(some.has('w') && !some.has('r') && some.has_any("rw") && !some.has_any("") && !some.has_any("rd"));
        assert!(some.has_all(Letters::default()) && some.has_all("ct".chars().collect()));
        assert!(!some.has_all("cr".chars().collect()) && Letters::all().has_all(some));
    }

    /// Every way of placing each of the three fields: nowhere, in the token, in the policy, in both.
    #[test]
    fn a_field_is_in_the_token_or_in_the_policy() {
        for places in 0..64 {
            let place = |field: u32| places >> (2 * field) & 3;
            let token = |field| place(field) & 1 != 0;
            let policy = |field| place(field) & 2 != 0;
            let terms = Terms {
                signed: Signed::Blob,
                letters: token(2).then(|| "r".chars().collect()),
                times: Times { start: token(0).then(|| at(1)), expiry: token(1).then(|| at(3)) },
                policy: Some("p".into()),
            };
            let stored = StoredPolicy {
                id: "p".into(),
                start: policy(0).then(|| at(1)),
                expiry: policy(1).then(|| at(3)),
                permissions: policy(2).then(|| "r".to_owned()),
            };
            let in_force = terms.in_force(&[stored], at(2));
            let whole = place(0) != 3 && matches!(place(1), 1 | 2) && matches!(place(2), 1 | 2);
            assert_eq!(in_force.is_ok(), whole, "{places}: {in_force:?}");
            assert!(terms.in_force(&[], at(2)).is_err(), "{places}: without its policy");
        }
    }

    #[test]
    fn times_are_from_the_start_to_before_the_expiry() {
        for (start, expiry, now, permitted) in [
            (None, None, 5, false),
            (None, Some(6), 5, true),
            (None, Some(5), 5, false),
            (Some(5), Some(6), 5, true),
            (Some(6), Some(9), 5, false),
            (Some(1), Some(5), 5, false),
            (Some(1), None, 5, false),
        ] {
            let times = Times { start: start.map(at), expiry: expiry.map(at) };
            assert_eq!(times.permit(at(now)).is_ok(), permitted, "{times:?} at {now}");
        }
    }

    #[test]
    fn policies_are_few_short_and_told_apart() {
        let named = |id: &str| StoredPolicy { id: id.into(), start: None, expiry: None, permissions: None };
        let many = |count: usize| (0..count).map(|at| named(&at.to_string())).collect::<Vec<_>>();
        for (policies, fit) in [
            (vec![], true),
            (many(POLICIES_MAX), true),
            (many(POLICIES_MAX + 1), false),
            (vec![named("")], false),
            (vec![named(&"é".repeat(POLICY_ID_MAX))], true),
            (vec![named(&"a".repeat(POLICY_ID_MAX + 1))], false),
            (vec![named("a"), named("b"), named("a")], false),
        ] {
            assert_eq!(StoredPolicy::check_all(&policies).is_ok(), fit, "{policies:?}");
        }
    }
}
