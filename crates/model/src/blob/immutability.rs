//! Immutability policies and legal holds: what keeps a blob from being changed or deleted, and who may lift it.
//!
//! Held true: while a policy runs or a hold is set, content, metadata, properties and existence stay as they are. Tags, tier,
//! lease and the protection itself can change.

use crate::blob::{Blob, Immutability, Which, existing};
use crate::{Conditions, Refusal, Timestamp};

/// What a new blob is protected by from its first moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    pub policy: Option<Immutability>,
    pub legal_hold: Option<bool>,
}

/// Whether an account has policies and holds at all.
pub fn permit_protection(enabled: bool) -> Result<(), Refusal> {
    if enabled { Ok(()) } else { Err(Refusal::ImmutabilityNotEnabled) }
}

impl Protection {
    /// Whether a new blob of an account may have this. Not to hold anything is what happens anyway.
    pub fn permit(&self, enabled: bool) -> Result<(), Refusal> {
        if self.policy.is_some() || self.legal_hold == Some(true) { permit_protection(enabled) } else { Ok(()) }
    }
}

#[derive(Clone, Debug)]
pub struct SetImmutabilityPolicy {
    pub which: Which,
    pub policy: Immutability,
    /// Only If-Unmodified-Since.
    pub conditions: Conditions,
}

#[derive(Clone, Copy, Debug)]
pub struct DeleteImmutabilityPolicy {
    pub which: Which,
}

#[derive(Clone, Copy, Debug)]
pub struct SetLegalHold {
    pub which: Which,
    pub hold: bool,
}

impl Blob {
    /// Whether it may be changed or deleted. Of the two reasons the hold is named (observed).
    pub fn permit_mutable(&self, now: Timestamp) -> Result<(), Refusal> {
        if self.legal_hold == Some(true) {
            return Err(Refusal::BlobImmutableDueToLegalHold);
        }
        match self.immutability {
            Some(policy) if policy.until > now => Err(Refusal::BlobImmutableDueToPolicy),
            Some(_) | None => Ok(()),
        }
    }

    /// Whether anything about it was ever protected: then somebody may have to look closer.
    pub fn is_guarded(&self) -> bool {
        self.legal_hold == Some(true) || self.immutability.is_some()
    }
}

impl SetImmutabilityPolicy {
    /// A locked policy stays locked and can only be made longer.
    pub fn decide(&self, current: Option<&Blob>) -> Result<Blob, Refusal> {
        let blob = existing(current, &self.conditions)?;
        match blob.immutability {
            Some(old) if old.locked && (!self.policy.locked || self.policy.until < old.until) => {
                Err(Refusal::BlobImmutableDueToPolicy)
            }
            Some(_) | None => Ok(Blob { immutability: Some(self.policy), ..blob.clone() }),
        }
    }
}

impl DeleteImmutabilityPolicy {
    /// There may be none (observed: 200).
    pub fn decide(&self, current: Option<&Blob>) -> Result<Blob, Refusal> {
        let blob = existing(current, &Conditions::default())?;
        match blob.immutability {
            Some(policy) if policy.locked => Err(Refusal::BlobImmutableDueToPolicy),
            Some(_) | None => Ok(Blob { immutability: None, ..blob.clone() }),
        }
    }
}

impl SetLegalHold {
    pub fn decide(&self, current: Option<&Blob>) -> Result<Blob, Refusal> {
        let blob = existing(current, &Conditions::default())?;
        Ok(Blob { legal_hold: Some(self.hold), ..blob.clone() })
    }
}

#[cfg(test)]
mod tests;
