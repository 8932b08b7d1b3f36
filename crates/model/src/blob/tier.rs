//! Set Blob Tier, and what a tier means for other operations.
//!
//! A block blob is in one of the standard tiers. The way out of the archive takes time: until it is over the blob stays
//! archived, and says where it is going. A page blob has the tiers of premium disks, which only go up.

use crate::blob::{Blob, Kind, Premium, Priority, Rehydrating, Tier, Which, existing};
use crate::lease::{self, On};
use crate::{Conditions, LeaseId, Refusal, Timestamp};

#[derive(Clone, Debug)]
pub struct SetBlobTier {
    pub which: Which,
    pub tier: Tier,
    pub priority: Option<Priority>,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

/// How long the way back from the archive takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rehydration {
    pub standard_seconds: u64,
    pub high_seconds: u64,
}

impl Rehydration {
    /// There is no tape to fetch. Long enough that a program can see the state it was written for, short enough that nobody
    /// waits for a test.
    pub const DEFAULT: Self = Self::of(15);

    /// From the time that standard priority takes; high priority takes a third of it.
    pub const fn of(standard_seconds: u64) -> Self {
        Self { standard_seconds, high_seconds: standard_seconds / 3 }
    }

    fn until(self, priority: Priority, now: Timestamp) -> Timestamp {
        now.plus_seconds(match priority {
            Priority::Standard => self.standard_seconds,
            Priority::High => self.high_seconds,
        })
    }
}

/// Whether the blob is in its tier, or on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierChange {
    Done,
    Pending,
}

impl SetBlobTier {
    /// Neither ETag nor date changes. Asking for the archive, or for the way back, moves the change time (observed).
    pub fn decide(
        &self,
        current: Option<&Blob>,
        takes: Rehydration,
        now: Timestamp,
    ) -> Result<(Blob, TierChange), Refusal> {
        let blob = existing(current, &self.conditions)?;
        lease::permit_write(blob.lease, self.lease, now, On::Blob)?;
        permit(blob.kind, self.tier, blob.content.length)?;
        let changed = |tier, rehydrating, how| {
            Ok((Blob { tier: Some(tier), tier_changed: Some(now), rehydrating, ..blob.clone() }, how))
        };
        match (blob.tier, blob.rehydrating, self.tier) {
            (_, Some(back), tier) if back.to == tier => Ok((self.hurry(blob, back, takes, now), TierChange::Pending)),
            (_, Some(_), _) => Err(Refusal::BlobBeingRehydrated),
            (Some(Tier::Archive), None, Tier::Archive) => Ok((blob.clone(), TierChange::Done)),
            (Some(Tier::Archive), None, to) => {
                let priority = self.priority.unwrap_or(Priority::Standard);
                let back = Rehydrating { to, priority, since: now, until: takes.until(priority, now) };
                changed(Tier::Archive, Some(back), TierChange::Pending)
            }
            (Some(Tier::Premium(before)), None, Tier::Premium(tier)) if tier < before => {
                Err(Refusal::CannotChangeToLowerTier)
            }
            (_, None, tier) => changed(tier, None, TierChange::Done),
        }
    }

    /// The same way again: its priority can be raised, never lowered ("Overview of blob rehydration").
    fn hurry(&self, blob: &Blob, back: Rehydrating, takes: Rehydration, now: Timestamp) -> Blob {
        let priority = back.priority.max(self.priority.unwrap_or(back.priority));
        let until = if priority == back.priority { back.until } else { back.until.min(takes.until(priority, now)) };
        Blob { rehydrating: Some(Rehydrating { priority, until, ..back }), ..blob.clone() }
    }
}

/// "Optimize Azure Blob Storage costs with smart tier": smaller blobs stay in the hot tier.
const SMART_LENGTH_MIN: u64 = 128 << 10;
const DAY_SECONDS: u64 = 24 * 60 * 60;

impl Blob {
    /// Where a blob of the smart tier is: hot, cool after 30 days without access, cold after 90 (as above).
    pub fn smart_tier(&self, now: Timestamp) -> Option<Tier> {
        let idle = |days: u64| self.last_access().plus_seconds(days * DAY_SECONDS) <= now;
        match self.tier {
            Some(Tier::Smart) if self.content.length < SMART_LENGTH_MIN => Some(Tier::Hot),
            Some(Tier::Smart) if idle(90) => Some(Tier::Cold),
            Some(Tier::Smart) if idle(30) => Some(Tier::Cool),
            Some(Tier::Smart) => Some(Tier::Hot),
            Some(Tier::Hot | Tier::Cool | Tier::Cold | Tier::Archive | Tier::Premium(_)) | None => None,
        }
    }
}

/// Whether a blob of this kind and length may be in `tier`.
pub(super) fn permit(kind: Kind, tier: Tier, length: u64) -> Result<(), Refusal> {
    match (kind, tier) {
        (Kind::Block, Tier::Hot | Tier::Cool | Tier::Cold | Tier::Archive | Tier::Smart) => Ok(()),
        (Kind::Page { .. }, Tier::Premium(premium)) if length <= premium.bytes_max() => Ok(()),
        (Kind::Page { .. }, Tier::Premium(_)) => Err(Refusal::BlobTierInadequateForContentLength),
        (Kind::Block, Tier::Premium(_)) | (Kind::Append { .. }, _) => Err(Refusal::AccessTierNotSupportedForBlobType),
        (Kind::Page { .. }, Tier::Hot | Tier::Cool | Tier::Cold | Tier::Archive | Tier::Smart) => {
            Err(Refusal::AccessTierNotSupportedForBlobType)
        }
    }
}

impl Tier {
    /// Every tier by its name.
    #[rustfmt::skip]
    pub const NAMES: [(&'static str, Tier); 16] = [
        ("Hot", Tier::Hot), ("Cool", Tier::Cool), ("Cold", Tier::Cold), ("Archive", Tier::Archive), ("Smart", Tier::Smart),
        ("P4", Tier::Premium(Premium::P4)), ("P6", Tier::Premium(Premium::P6)), ("P10", Tier::Premium(Premium::P10)),
        ("P15", Tier::Premium(Premium::P15)), ("P20", Tier::Premium(Premium::P20)), ("P30", Tier::Premium(Premium::P30)),
        ("P40", Tier::Premium(Premium::P40)), ("P50", Tier::Premium(Premium::P50)), ("P60", Tier::Premium(Premium::P60)),
        ("P70", Tier::Premium(Premium::P70)), ("P80", Tier::Premium(Premium::P80)),
    ];

    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, listed)| *listed == self).map_or("Hot", |(name, _)| name)
    }
}

impl Premium {
    /// In the order of their sizes.
    const ALL: [Premium; 11] = [
        Premium::P4,
        Premium::P6,
        Premium::P10,
        Premium::P15,
        Premium::P20,
        Premium::P30,
        Premium::P40,
        Premium::P50,
        Premium::P60,
        Premium::P70,
        Premium::P80,
    ];

    /// What a premium account takes a page blob for that nobody has set a tier for: the smallest that is large enough, and P10 at least
    /// (observed: P10 of a blob of a few pages).
    pub fn of_length(length: u64) -> Premium {
        let fits = |tier: &Premium| *tier >= Premium::P10 && length <= tier.bytes_max();
        Self::ALL.into_iter().find(fits).unwrap_or(Premium::P80)
    }

    /// "Premium page blob tiers": each is for blobs up to a size.
    pub fn bytes_max(self) -> u64 {
        const GIB: u64 = 1 << 30;
        match self {
            Premium::P4 => 32 * GIB,
            Premium::P6 => 64 * GIB,
            Premium::P10 => 128 * GIB,
            Premium::P15 => 256 * GIB,
            Premium::P20 => 512 * GIB,
            Premium::P30 => 1024 * GIB,
            Premium::P40 => 2048 * GIB,
            Premium::P50 => 4096 * GIB,
            Premium::P60 => 8192 * GIB,
            Premium::P70 => 16_384 * GIB,
            Premium::P80 => 32_768 * GIB,
        }
    }
}

impl Blob {
    /// In the archive, or still on its way out of it: it cannot be read, nor changed.
    pub fn permit_unarchived(&self) -> Result<(), Refusal> {
        match (self.tier, self.rehydrating) {
            (_, Some(_)) => Err(Refusal::BlobBeingRehydrated),
            (Some(Tier::Archive), None) => Err(Refusal::BlobArchived),
            (Some(Tier::Hot | Tier::Cool | Tier::Cold | Tier::Smart | Tier::Premium(_)) | None, None) => Ok(()),
        }
    }
}

/// Conditions on when the tier was last changed: `x-ms-access-tier-if-(un)modified-since` of Delete Blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierConditions {
    pub if_modified_since: Option<Timestamp>,
    pub if_unmodified_since: Option<Timestamp>,
}

impl TierConditions {
    /// A blob whose tier was never set has had it since it was created.
    pub fn permit(self, blob: &Blob) -> Result<(), Refusal> {
        let changed = blob.tier_changed.unwrap_or(blob.created).whole_seconds();
        let met = self.if_modified_since.is_none_or(|date| changed > date)
            && self.if_unmodified_since.is_none_or(|date| changed <= date);
        if met { Ok(()) } else { Err(Refusal::ConditionNotMet) }
    }
}

#[cfg(test)]
mod tests;
