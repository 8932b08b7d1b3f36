//! What is stored of a share, and of a file or directory: everything but bytes, names and open handles.

use serde::{Deserialize, Serialize};

use crate::access::StoredPolicy;
use crate::blob::ContentHeaders;
use crate::file::{Attributes, PermissionKey};
use crate::{ETag, Lease, Metadata, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    pub etag: ETag,
    pub modified: Timestamp,
    pub quota_gib: u32,
    pub tier: ShareTier,
    pub tier_changed: Timestamp,
    /// Which tier it had before that, unless it was made with this one.
    pub tier_before: Option<ShareTier>,
    pub protocol: Protocol,
    /// NFS shares only.
    pub root_squash: Option<RootSquash>,
    pub snapshot_directory: Option<bool>,
    pub smb_directory_lease: Option<bool>,
    pub paid_bursting: PaidBursting,
    pub provisioned_iops: Option<u64>,
    pub provisioned_bandwidth_mibps: Option<u64>,
    pub metadata: Metadata,
    pub policies: Vec<StoredPolicy>,
    pub lease: Lease,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShareTier {
    TransactionOptimized,
    Hot,
    Cool,
    Premium,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    Smb,
    Nfs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RootSquash {
    NoRootSquash,
    RootSquash,
    AllSquash,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaidBursting {
    pub enabled: Option<bool>,
    pub max_iops: Option<u64>,
    pub max_bandwidth_mibps: Option<u64>,
}

/// Which file or directory, for as long as it lives, wherever it is moved. Zero is the root of the share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileId(pub u64);

impl FileId {
    pub const ROOT: FileId = FileId(0);

    /// As the service shows it. Observed: the root is 0, and the others count up in odd numbers from 0x20003, each written with
    /// its bits in reverse.
    pub fn shown(self) -> u64 {
        match self {
            FileId::ROOT => 0,
            FileId(number) => (0x2_0001 + 2 * number).reverse_bits(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    Directory,
    File,
    Symlink,
}

/// A file, a directory or a symbolic link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    pub id: FileId,
    /// Where it was last put. A file with hard links has other names too.
    pub parent: FileId,
    pub name: String,
    pub kind: Kind,
    pub etag: ETag,
    pub modified: Timestamp,
    pub smb: Smb,
    pub posix: Option<Posix>,
    pub metadata: Metadata,
    pub headers: ContentHeaders,
    pub length: u64,
    /// Which content is its own; zero while nothing was ever written.
    pub content: u64,
    /// The epoch in which the content began: no earlier snapshot can see it.
    pub content_since: u64,
    /// The epoch at which it is written. It moves on with the first write after a snapshot that still exists.
    pub content_epoch: u64,
    pub links: u32,
    /// The text of a symbolic link.
    pub target: Option<String>,
    pub copied: Option<CopiedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Smb {
    pub attributes: Attributes,
    pub created: Timestamp,
    pub written: Timestamp,
    pub changed: Timestamp,
    pub permission: PermissionKey,
}

/// What NFS shares have in place of attributes and permissions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posix {
    /// Twelve bits.
    pub mode: u16,
    pub owner: u32,
    pub group: u32,
}

/// The copy that made a file what it is. Copies are done when they are answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedFile {
    pub id: u128,
    pub source: String,
    pub length: u64,
    pub completed: Timestamp,
}

/// What is answered about a file or a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub node: Node,
    /// By the path that was asked for.
    pub parent: FileId,
    pub lease: Lease,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_shown_as_observed() {
        let observed = [0, 13835128424026341376, 11529285414812647424, 16140971433240035328];
        assert_eq!([0, 1, 2, 3].map(|number| FileId(number).shown()), observed);
    }
}
