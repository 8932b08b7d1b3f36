//! What operations make of a share's record. Order of refusals: absent, lease.
//!
//! As with containers, only deletion needs the lease's id; elsewhere an id may be left out, and must be right if it is sent.

use crate::file::{
    CreateShare, DeleteShare, DeleteShareSnapshots, PaidBursting, Protocol, ReadShare, RootSquash, SetShareAcl,
    SetShareMetadata, SetShareProperties, Share, ShareSettings, ShareTier,
};
use crate::lease::{self, Action, On, Outcome};
use crate::{ETag, Lease, Refusal, Timestamp};

/// What a share without `x-ms-share-quota` may hold.
pub const QUOTA_GIB: u32 = 5120;
/// The same of a premium share, which NFS ones are (observed).
pub const PREMIUM_QUOTA_GIB: u32 = 100;
pub const QUOTA_GIB_MAX: u32 = 256 * 1024;
pub const SNAPSHOTS_MAX: usize = 200;

impl ShareSettings {
    fn apply(&self, share: Share, now: Timestamp) -> Share {
        let tier = self.tier.unwrap_or(share.tier);
        let bursting = &self.paid_bursting;
        Share {
            quota_gib: self.quota_gib.unwrap_or(share.quota_gib),
            tier,
            tier_changed: if tier == share.tier { share.tier_changed } else { now },
            tier_before: if tier == share.tier { share.tier_before } else { Some(share.tier) },
            root_squash: self.root_squash.or(share.root_squash),
            snapshot_directory: self.snapshot_directory.or(share.snapshot_directory),
            smb_directory_lease: self.smb_directory_lease.or(share.smb_directory_lease),
            paid_bursting: PaidBursting {
                enabled: bursting.enabled.or(share.paid_bursting.enabled),
                max_iops: bursting.max_iops.or(share.paid_bursting.max_iops),
                max_bandwidth_mibps: bursting.max_bandwidth_mibps.or(share.paid_bursting.max_bandwidth_mibps),
            },
            provisioned_iops: self.provisioned_iops.or(share.provisioned_iops),
            provisioned_bandwidth_mibps: self.provisioned_bandwidth_mibps.or(share.provisioned_bandwidth_mibps),
            ..share
        }
    }
}

impl CreateShare {
    pub fn decide(&self, exists: bool, now: Timestamp) -> Result<Share, Refusal> {
        if exists {
            return Err(Refusal::ShareAlreadyExists);
        }
        let (tier, root_squash) = match self.protocol {
            Protocol::Smb => (ShareTier::TransactionOptimized, None),
            Protocol::Nfs => (ShareTier::Premium, Some(RootSquash::NoRootSquash)),
        };
        let quota_gib = match self.settings.tier.unwrap_or(tier) {
            ShareTier::Premium => PREMIUM_QUOTA_GIB,
            ShareTier::TransactionOptimized | ShareTier::Hot | ShareTier::Cool => QUOTA_GIB,
        };
        let plain = Share {
            etag: ETag::of(now),
            modified: now,
            quota_gib,
            tier,
            tier_changed: now,
            tier_before: None,
            protocol: self.protocol,
            root_squash,
            snapshot_directory: None,
            smb_directory_lease: None,
            paid_bursting: PaidBursting::default(),
            provisioned_iops: None,
            provisioned_bandwidth_mibps: None,
            metadata: self.metadata.clone(),
            policies: Vec::new(),
            lease: Lease::Available,
        };
        // A share is not moved to the tier that it is made with.
        Ok(Share { tier_before: None, ..self.settings.apply(plain, now) })
    }
}

impl Share {
    fn changed(&self, now: Timestamp) -> Share {
        Share { etag: ETag::of(now), modified: now, ..self.clone() }
    }

    /// A lease changes neither the ETag nor the date.
    pub fn leased(&self, action: Action, now: Timestamp) -> Result<(Share, Outcome), Refusal> {
        let outcome = lease::act(self.lease, action, now)?;
        Ok((Share { lease: outcome.lease, ..self.clone() }, outcome))
    }

    /// As a snapshot keeps it: with the lease left behind. Observed: with metadata of its own it has an ETag of its own.
    pub fn frozen(&self, metadata: Option<crate::Metadata>, now: Timestamp) -> Share {
        let share = Share { lease: Lease::Available, ..self.clone() };
        match metadata {
            None => share,
            Some(metadata) => Share { metadata, ..share.changed(now) },
        }
    }

    /// As it comes back from among the deleted.
    pub fn restored(&self, now: Timestamp) -> Share {
        Share { lease: Lease::Available, ..self.changed(now) }
    }

    /// As it is shown among the deleted. Observed: its lease is broken.
    pub fn buried(&self) -> Share {
        let lease = match self.lease {
            Lease::Available => Lease::Broken { id: crate::LeaseId(0) },
            Lease::Leased { id, .. }
            | Lease::Breaking { id, .. }
            | Lease::Broken { id }
            | Lease::Expired { id, .. } => Lease::Broken { id },
        };
        Share { lease, ..self.clone() }
    }
}

impl super::SnapshotShare {
    /// `count` snapshots are there already.
    pub fn permit(&self, count: usize) -> Result<(), Refusal> {
        match count >= SNAPSHOTS_MAX {
            true => Err(Refusal::ShareSnapshotCountExceeded),
            false => Ok(()),
        }
    }
}

impl ReadShare {
    pub fn decide(&self, share: &Share, now: Timestamp) -> Result<(), Refusal> {
        lease::permit_read(share.lease, self.lease, now, On::Container)
    }
}

impl SetShareProperties {
    pub fn decide(&self, share: &Share, now: Timestamp) -> Result<Share, Refusal> {
        lease::permit_read(share.lease, self.lease, now, On::Container)?;
        Ok(self.settings.apply(share.changed(now), now))
    }
}

impl SetShareMetadata {
    pub fn decide(&self, share: &Share, now: Timestamp) -> Result<Share, Refusal> {
        lease::permit_read(share.lease, self.lease, now, On::Container)?;
        Ok(Share { metadata: self.metadata.clone(), ..share.changed(now) })
    }
}

impl SetShareAcl {
    pub fn decide(&self, share: &Share, now: Timestamp) -> Result<Share, Refusal> {
        lease::permit_read(share.lease, self.lease, now, On::Container)?;
        Ok(Share { policies: self.policies.clone(), ..share.changed(now) })
    }
}

impl DeleteShare {
    /// `snapshots` are the leases of the snapshots there are.
    pub fn decide(&self, share: &Share, snapshots: &[Lease], now: Timestamp) -> Result<(), Refusal> {
        let leased = snapshots.iter().any(|lease| is_held(*lease, now));
        // Observed: of a share that is leased, and its snapshot too, the snapshot's lease is told of.
        match self.snapshots {
            None if !snapshots.is_empty() => return Err(Refusal::ShareHasSnapshots),
            Some(DeleteShareSnapshots::Include) if leased => return Err(Refusal::DeleteShareWhenSnapshotLeased),
            None | Some(DeleteShareSnapshots::Include | DeleteShareSnapshots::IncludeLeased) => {}
        }
        lease::permit_write(share.lease, self.lease, now, On::Container).map(|_| ())
    }

    /// For when a snapshot is what is to be deleted.
    pub fn decide_snapshot(&self, snapshot: &Share, now: Timestamp) -> Result<(), Refusal> {
        if self.snapshots.is_some() {
            return Err(Refusal::ShareSnapshotOperationNotSupported);
        }
        lease::permit_write(snapshot.lease, self.lease, now, On::Container).map(|_| ())
    }
}

fn is_held(lease: Lease, now: Timestamp) -> bool {
    matches!(lease.at(now), Lease::Leased { .. } | Lease::Breaking { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::Length;
    use crate::{LeaseId, Metadata};

    fn now() -> Timestamp {
        Timestamp::from_ticks(1_000_000)
    }

    fn share() -> Share {
        let create = CreateShare {
            id: 1,
            metadata: Metadata::default(),
            settings: ShareSettings::default(),
            protocol: Protocol::Smb,
        };
        create.decide(false, now()).unwrap()
    }

    #[test]
    fn deletion_asks_for_leases_and_snapshots() {
        let free = Lease::Available;
        let held = Lease::Leased { id: LeaseId(1), length: Length::Infinite, until: None };
        use DeleteShareSnapshots::{Include, IncludeLeased};
        let cases = [
            (free, &[][..], None, None, Ok(())),
            (free, &[free], None, None, Err(Refusal::ShareHasSnapshots)),
            (free, &[free], Some(Include), None, Ok(())),
            (free, &[free, held], Some(Include), None, Err(Refusal::DeleteShareWhenSnapshotLeased)),
            (free, &[free, held], Some(IncludeLeased), None, Ok(())),
            (held, &[], None, None, Err(Refusal::LeaseIdMissing)),
            (held, &[free], Some(Include), Some(LeaseId(1)), Ok(())),
            (held, &[], None, Some(LeaseId(2)), Err(Refusal::LeaseIdMismatchWithContainerOperation)),
        ];
        for (lease, leases, snapshots, id, want) in cases {
            let delete = DeleteShare { snapshot: None, snapshots, lease: id, retention_days: None };
            assert_eq!(delete.decide(&Share { lease, ..share() }, leases, now()), want, "{leases:?} {snapshots:?}");
        }
    }

    #[test]
    fn a_share_without_a_quota_has_that_of_its_tier() {
        let table = [
            (Protocol::Smb, None, None, 5120),
            (Protocol::Smb, Some(ShareTier::Cool), None, 5120),
            (Protocol::Smb, Some(ShareTier::Premium), None, 100),
            (Protocol::Nfs, None, None, 100),
            (Protocol::Nfs, None, Some(7), 7),
        ];
        for (protocol, tier, quota_gib, want) in table {
            let settings = ShareSettings { tier, quota_gib, ..ShareSettings::default() };
            let create = CreateShare { id: 1, protocol, settings, metadata: Default::default() };
            assert_eq!(create.decide(false, now()).unwrap().quota_gib, want, "{protocol:?} {tier:?}");
        }
    }

    #[test]
    fn settings_that_are_left_out_stay() {
        let settings = ShareSettings { quota_gib: Some(7), ..ShareSettings::default() };
        let later = Timestamp::from_ticks(2_000_000);
        let set = SetShareProperties { settings, lease: None };
        let changed = set.decide(&share(), later).unwrap();
        assert_eq!((changed.quota_gib, changed.tier, changed.modified), (7, ShareTier::TransactionOptimized, later));
        assert_eq!(changed.tier_changed, now());
        let settings = ShareSettings { tier: Some(ShareTier::Hot), ..ShareSettings::default() };
        let changed = SetShareProperties { settings, lease: None }.decide(&changed, later).unwrap();
        assert_eq!((changed.quota_gib, changed.tier, changed.tier_changed), (7, ShareTier::Hot, later));
    }
}
