//! What answers say of shares, directories and files, in headers.

use lazuli_model::Timestamp;
use lazuli_model::file::{Entry, Kind, Protocol, RootSquash, Share, ShareTier};

use crate::answer::{Answer, name};
use crate::head::{Head, guid};
use crate::versions::Since;
use crate::wire::digest::md5_text;
use crate::wire::headers;

/// The identity and SMB properties of an entry: what creating, changing and reading one answer alike.
pub fn entry(answer: Answer, head: &Head, entry: &Entry) -> Answer {
    let node = &entry.node;
    let answer = answer.etag(node.etag, node.modified);
    if head.lacks(Since::SmbProperties) {
        return answer;
    }
    let answer = answer
        .text(&name::FILE_CREATION_TIME, node.smb.created.to_iso())
        .text(&name::FILE_LAST_WRITE_TIME, node.smb.written.to_iso())
        .text(&name::FILE_CHANGE_TIME, node.smb.changed.to_iso())
        .text(&name::FILE_ID, node.id.shown().to_string())
        .text(&name::FILE_PARENT_ID, entry.parent.shown().to_string());
    match &node.posix {
        Some(posix) if head.has(Since::Posix) => {
            let answer = answer
                .text(&name::MODE, format!("{:04o}", posix.mode))
                .number(&name::OWNER, posix.owner.into())
                .number(&name::GROUP, posix.group.into())
                .constant(&name::FILE_FILE_TYPE, file_type(node.kind));
            if node.kind == Kind::Directory { answer } else { answer.number(&name::LINK_COUNT, node.links.into()) }
        }
        Some(_) | None => {
            let answer = answer.text(&name::FILE_ATTRIBUTES, node.smb.attributes.to_string());
            // Rule F8.
            match node.is_fresh_root() {
                true => answer,
                false => answer.text(&name::FILE_PERMISSION_KEY, node.smb.permission.to_string()),
            }
        }
    }
}

fn file_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Directory => "Directory",
        Kind::File => "Regular",
        Kind::Symlink => "SymLink",
    }
}

/// As [`entry`], after a write.
pub fn written(answer: Answer, head: &Head, written: &Entry) -> Answer {
    entry(answer, head, written).constant(&name::REQUEST_SERVER_ENCRYPTED, "true")
}

/// What Get File and Get File Properties say alike. A snapshot has no lease to show.
pub fn file(answer: Answer, head: &Head, file: &Entry, snapshot: bool) -> Answer {
    let content = &file.node.headers;
    let answer = entry(answer, head, file)
        .optional(&name::CONTENT_TYPE, content.content_type.as_deref())
        .optional(&name::CONTENT_ENCODING, content.encoding.as_deref())
        .optional(&name::CONTENT_LANGUAGE, content.language.as_deref())
        .optional(&name::CACHE_CONTROL, content.cache_control.as_deref())
        .optional(&name::CONTENT_DISPOSITION, content.disposition.as_deref())
        .constant(&name::TYPE, "File")
        .constant(&name::SERVER_ENCRYPTED, "true");
    let answer = if snapshot { answer } else { headers::lease(answer, file.lease, head.now) };
    let answer = match &file.node.copied {
        None => answer,
        Some(copied) => answer
            .text(&name::COPY_ID, guid(copied.id))
            .text(&name::COPY_SOURCE, copied.source.clone())
            .constant(&name::COPY_STATUS, "success")
            .text(&name::COPY_PROGRESS, format!("{0}/{0}", copied.length))
            .date(&name::COPY_COMPLETION_TIME, copied.completed),
    };
    headers::metadata_of(answer, &file.node.metadata)
}

/// The kept MD5, where it speaks of the answer's body.
pub fn md5(file: &Entry) -> Option<String> {
    file.node.headers.md5.as_ref().map(md5_text)
}

pub fn tier(tier: ShareTier) -> &'static str {
    match tier {
        ShareTier::TransactionOptimized => "TransactionOptimized",
        ShareTier::Hot => "Hot",
        ShareTier::Cool => "Cool",
        ShareTier::Premium => "Premium",
    }
}

pub fn squash(squash: RootSquash) -> &'static str {
    match squash {
        RootSquash::NoRootSquash => "NoRootSquash",
        RootSquash::RootSquash => "RootSquash",
        RootSquash::AllSquash => "AllSquash",
    }
}

/// Moving a share to another tier costs nothing here; for as long as it may take elsewhere, it is said to go on.
const TRANSITION_SECONDS: u64 = 3600;

/// `pending-from-transactionOptimized`, for a while after the tier was changed.
pub fn transition(share: &Share, now: Timestamp) -> Option<String> {
    let before = share.tier_before.filter(|_| now < share.tier_changed.plus_seconds(TRANSITION_SECONDS))?;
    let mut word = tier(before).to_owned();
    word[..1].make_ascii_lowercase();
    Some(format!("pending-from-{word}"))
}

/// What a provisioned share may do: what it was given, or what comes with its size.
pub struct Provisioned {
    pub iops: u64,
    pub bandwidth_mibps: u64,
    /// When less may be asked for.
    pub downgrade_from: Timestamp,
    /// Of a share whose IOPS or bandwidth was set (provisioned v2).
    pub burst: Option<Burst>,
}

/// What such a share may do for a while.
pub struct Burst {
    pub iops: u64,
    pub credits: u64,
}

impl Burst {
    /// Three times the IOPS, or what every share of its kind has; the credits are enough for an hour ("Understand Azure Files billing").
    fn of(iops: u64, tier: ShareTier) -> Self {
        let least = match tier {
            ShareTier::Premium => 10_000,
            ShareTier::TransactionOptimized | ShareTier::Hot | ShareTier::Cool => 5_000,
        };
        let burst = iops.saturating_mul(3).max(least);
        Self { iops: burst, credits: (burst - iops).saturating_mul(3600) }
    }
}

/// Premium shares are provisioned: 3,000 IOPS and one for each GiB; 100 MiB/s and a tenth for each GiB, as recorded.
pub fn provisioned(share: &Share) -> Option<Provisioned> {
    let given = share.provisioned_iops.is_some() || share.provisioned_bandwidth_mibps.is_some();
    if share.tier != ShareTier::Premium && !given {
        return None;
    }
    let quota = u64::from(share.quota_gib);
    let iops = share.provisioned_iops.unwrap_or(3000 + quota);
    Some(Provisioned {
        iops,
        bandwidth_mibps: share.provisioned_bandwidth_mibps.unwrap_or(100 + quota.div_ceil(10)),
        downgrade_from: share.modified,
        burst: given.then(|| Burst::of(iops, share.tier)),
    })
}

/// Get Share Properties.
pub fn share(answer: Answer, head: &Head, share: &Share) -> Answer {
    let premium = share.tier == ShareTier::Premium || share.protocol == Protocol::Nfs;
    let answer = answer
        .etag(share.etag, share.modified)
        .number(&name::SHARE_QUOTA, share.quota_gib.into())
        .constant(&name::ACCESS_TIER, tier(share.tier))
        .constant(&name::HAS_IMMUTABILITY_POLICY, "false")
        .constant(&name::HAS_LEGAL_HOLD, "false");
    let answer = if premium {
        answer.constant(&name::ENABLED_PROTOCOLS, protocol(share.protocol))
    } else {
        answer.date(&name::ACCESS_TIER_CHANGE_TIME, share.tier_changed)
    };
    let answer = match share.root_squash {
        None => answer,
        Some(root) => answer.constant(&name::ROOT_SQUASH, squash(root)),
    };
    let answer = match provisioned(share) {
        None => answer,
        Some(given) => answer
            .number(&name::SHARE_PROVISIONED_IOPS, given.iops)
            .number(&name::SHARE_PROVISIONED_BANDWIDTH, given.bandwidth_mibps)
            .number(&name::SHARE_PROVISIONED_INGRESS, given.bandwidth_mibps)
            .number(&name::SHARE_PROVISIONED_EGRESS, given.bandwidth_mibps)
            .date(&name::SHARE_QUOTA_DOWNGRADE_TIME, given.downgrade_from),
    };
    let answer = burst(answer, head, share, true);
    let bursting = &share.paid_bursting;
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    let flag = |value: Option<bool>| value.map(|value| value.to_string());
    let answer = answer
        .optional(&name::SNAPSHOT_DIRECTORY, flag(share.snapshot_directory))
        .optional(&name::SMB_DIRECTORY_LEASE, flag(share.smb_directory_lease))
        .optional(&name::ACCESS_TIER_TRANSITION_STATE, transition(share, head.now))
        .optional(&name::PAID_BURSTING_ENABLED, flag(bursting.enabled))
        .optional(&name::PAID_BURSTING_MAX_IOPS, number(bursting.max_iops))
        .optional(&name::PAID_BURSTING_MAX_BANDWIDTH, number(bursting.max_bandwidth_mibps));
    // Also of a snapshot, which, unlike that of a blob, has a lease of its own.
    headers::metadata_of(headers::lease(answer, share.lease, head.now), &share.metadata)
}

/// What a share of provisioned v2 may do for a while, and when less of it may be asked for.
fn burst(answer: Answer, head: &Head, share: &Share, downgrades: bool) -> Answer {
    let given = provisioned(share).filter(|_| head.has(Since::Provisioned));
    let Some((given, burst)) = given.and_then(|mut given| given.burst.take().map(|burst| (given, burst))) else {
        return answer;
    };
    let answer = answer
        .number(&name::SHARE_INCLUDED_BURST_IOPS, burst.iops)
        .number(&name::SHARE_MAX_BURST_CREDITS, burst.credits);
    match downgrades {
        true => answer
            .date(&name::SHARE_QUOTA_DOWNGRADE_TIME, given.downgrade_from)
            .date(&name::SHARE_IOPS_DOWNGRADE_TIME, given.downgrade_from)
            .date(&name::SHARE_BANDWIDTH_DOWNGRADE_TIME, given.downgrade_from),
        false => answer,
    }
}

pub fn protocol(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Smb => "SMB",
        Protocol::Nfs => "NFS",
    }
}

/// What creating, changing and restoring a share answer; of what is provisioned since 2025-01-05.
pub fn changed_share(answer: Answer, head: &Head, share: &Share, downgrades: bool) -> Answer {
    let answer = burst(answer.etag(share.etag, share.modified), head, share, downgrades);
    match provisioned(share).filter(|_| head.has(Since::Provisioned)) {
        None => answer,
        Some(given) => answer
            .number(&name::SHARE_QUOTA, share.quota_gib.into())
            .number(&name::SHARE_PROVISIONED_IOPS, given.iops)
            .number(&name::SHARE_PROVISIONED_BANDWIDTH, given.bandwidth_mibps),
    }
}
