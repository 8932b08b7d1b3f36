//! The headers that set what a share is: quota, tier, protocol, and what is paid for.

use lazuli_model::file::{PaidBursting, Protocol, RootSquash, ShareSettings, ShareTier};

use crate::head::Head;
use crate::refusal::Refusal;

/// "Create Share": 1 to 102,400 GiB; a provisioned share of the second kind up to 256 TiB.
const QUOTA_GIB: std::ops::RangeInclusive<u32> = 1..=262_144;

pub fn settings(head: &Head) -> Result<ShareSettings, Refusal> {
    let number = |text: &str| text.parse::<u64>().ok();
    Ok(ShareSettings {
        quota_gib: head.opt("x-ms-share-quota", |text| text.parse().ok().filter(|quota| QUOTA_GIB.contains(quota)))?,
        tier: head.opt("x-ms-access-tier", tier)?,
        root_squash: head.opt("x-ms-root-squash", squash)?,
        snapshot_directory: flag(head, "x-ms-enable-snapshot-virtual-directory-access")?,
        smb_directory_lease: flag(head, "x-ms-enable-smb-directory-lease")?,
        paid_bursting: PaidBursting {
            enabled: flag(head, "x-ms-share-paid-bursting-enabled")?,
            max_iops: head.opt("x-ms-share-paid-bursting-max-iops", number)?,
            max_bandwidth_mibps: head.opt("x-ms-share-paid-bursting-max-bandwidth-mibps", number)?,
        },
        provisioned_iops: head.opt("x-ms-share-provisioned-iops", number)?,
        provisioned_bandwidth_mibps: head.opt("x-ms-share-provisioned-bandwidth-mibps", number)?,
    })
}

fn flag(head: &Head, name: &'static str) -> Result<Option<bool>, Refusal> {
    head.text(name).map(|_| head.flag(name)).transpose()
}

fn tier(text: &str) -> Option<ShareTier> {
    match text.to_ascii_lowercase().as_str() {
        "transactionoptimized" => Some(ShareTier::TransactionOptimized),
        "hot" => Some(ShareTier::Hot),
        "cool" => Some(ShareTier::Cool),
        "premium" => Some(ShareTier::Premium),
        _ => None,
    }
}

fn squash(text: &str) -> Option<RootSquash> {
    match text.to_ascii_lowercase().as_str() {
        "norootsquash" => Some(RootSquash::NoRootSquash),
        "rootsquash" => Some(RootSquash::RootSquash),
        "allsquash" => Some(RootSquash::AllSquash),
        _ => None,
    }
}

/// `x-ms-enabled-protocols`: one of the two; a share cannot have both.
pub fn protocol(head: &Head) -> Result<Protocol, Refusal> {
    let read = |text: &str| match text.to_ascii_uppercase().as_str() {
        "SMB" => Some(Protocol::Smb),
        "NFS" => Some(Protocol::Nfs),
        _ => None,
    };
    Ok(head.opt("x-ms-enabled-protocols", read)?.unwrap_or(Protocol::Smb))
}
