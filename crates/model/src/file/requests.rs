//! What each operation asks for, parsed.

use crate::access::StoredPolicy;
use crate::blob::ContentHeaders;
use crate::file::{Attributes, FilePath, Format, PaidBursting, PermissionKey, Posix, Protocol, RootSquash, ShareTier};
use crate::lease::Action;
use crate::{LeaseId, Metadata, Timestamp};

#[derive(Clone, Debug)]
pub struct CreateShare {
    /// The incarnation, never used before.
    pub id: u128,
    pub metadata: Metadata,
    pub settings: ShareSettings,
    pub protocol: Protocol,
}

/// What Create Share and Set Share Properties can set; what is `None` is the default, or stays as it is.
#[derive(Clone, Debug, Default)]
pub struct ShareSettings {
    pub quota_gib: Option<u32>,
    pub tier: Option<ShareTier>,
    pub root_squash: Option<RootSquash>,
    pub snapshot_directory: Option<bool>,
    pub smb_directory_lease: Option<bool>,
    pub paid_bursting: PaidBursting,
    pub provisioned_iops: Option<u64>,
    pub provisioned_bandwidth_mibps: Option<u64>,
}

/// Get Share Properties, Metadata, ACL and Stats.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadShare {
    pub snapshot: Option<Timestamp>,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Debug)]
pub struct SetShareProperties {
    pub settings: ShareSettings,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Debug)]
pub struct SetShareMetadata {
    pub metadata: Metadata,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Debug)]
pub struct SetShareAcl {
    pub policies: Vec<StoredPolicy>,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Copy, Debug)]
pub struct LeaseShare {
    pub snapshot: Option<Timestamp>,
    pub action: Action,
}

#[derive(Clone, Copy, Debug)]
pub struct DeleteShare {
    pub snapshot: Option<Timestamp>,
    pub snapshots: Option<DeleteShareSnapshots>,
    pub lease: Option<LeaseId>,
    /// How long the account keeps deleted shares, if it does.
    pub retention_days: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteShareSnapshots {
    Include,
    IncludeLeased,
}

#[derive(Clone, Debug)]
pub struct SnapshotShare {
    /// Replaces the copied metadata when given.
    pub metadata: Option<Metadata>,
}

/// A time to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTime {
    Now,
    Preserve,
    At(Timestamp),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetAttributes {
    Preserve,
    To(Attributes),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetPermission {
    /// From the parent directory.
    Inherit,
    Preserve,
    Text {
        text: String,
        format: Format,
    },
    Key(PermissionKey),
}

/// What a request says about SMB properties. What is `None` is the default of the operation: `now`, `none` and `inherit` when
/// something is created, `preserve` when it is changed or moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetSmb {
    pub attributes: Option<SetAttributes>,
    pub created: Option<SetTime>,
    pub written: Option<SetTime>,
    pub changed: Option<SetTime>,
    pub permission: Option<SetPermission>,
    /// `x-ms-file-property-semantics: Restore`: something new gets what is said and no more, as from a backup.
    pub restore: bool,
}

/// `x-ms-mode`, `x-ms-owner`, `x-ms-group`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetPosix {
    pub mode: Option<u16>,
    pub owner: Option<u32>,
    pub group: Option<u32>,
}

impl SetPosix {
    /// What `current` becomes. Nothing, when nothing was ever said.
    pub fn apply(&self, current: Option<&Posix>, mode: u16) -> Option<Posix> {
        if current.is_none() && *self == SetPosix::default() {
            return None;
        }
        let current = current.cloned().unwrap_or(Posix { mode, owner: 0, group: 0 });
        Some(Posix {
            mode: self.mode.unwrap_or(current.mode),
            owner: self.owner.unwrap_or(current.owner),
            group: self.group.unwrap_or(current.group),
        })
    }
}

#[derive(Clone, Debug, Default)]
pub struct CreateDirectory {
    pub smb: SetSmb,
    pub posix: SetPosix,
    pub metadata: Metadata,
}

#[derive(Clone, Debug, Default)]
pub struct SetDirectoryProperties {
    pub smb: SetSmb,
    pub posix: SetPosix,
}

#[derive(Clone, Debug)]
pub struct CreateFile {
    pub length: u64,
    pub headers: ContentHeaders,
    pub smb: SetSmb,
    pub posix: SetPosix,
    pub metadata: Metadata,
    pub lease: Option<LeaseId>,
    /// False when the caller may create but not overwrite (a SAS with `c` and no `w`).
    pub may_overwrite: bool,
}

impl CreateFile {
    /// A file with nothing in it, and nothing said about it.
    pub fn empty() -> Self {
        Self {
            length: 0,
            headers: ContentHeaders::default(),
            smb: SetSmb::default(),
            posix: SetPosix::default(),
            metadata: Metadata::default(),
            lease: None,
            may_overwrite: true,
        }
    }
}

/// Get File, Get File Properties, Get File Metadata.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadFile {
    pub snapshot: Option<Timestamp>,
    pub lease: Option<LeaseId>,
}

/// Set File Properties.
#[derive(Clone, Debug, Default)]
pub struct SetFileProperties {
    /// `x-ms-content-length`.
    pub length: Option<u64>,
    /// All of them are replaced; `None` leaves them as they are.
    pub headers: Option<ContentHeaders>,
    pub smb: SetSmb,
    pub posix: SetPosix,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Debug)]
pub struct SetFileMetadata {
    pub metadata: Metadata,
    pub lease: Option<LeaseId>,
}

/// Put Range, with `x-ms-write: update`. The range's length is the body's.
#[derive(Clone, Copy, Debug)]
pub struct PutRange {
    pub from: u64,
    /// `now` unless said otherwise.
    pub written: SetTime,
    pub lease: Option<LeaseId>,
}

/// Put Range, with `x-ms-write: clear`.
#[derive(Clone, Copy, Debug)]
pub struct ClearRange {
    pub from: u64,
    /// Exclusive.
    pub to: u64,
    pub written: SetTime,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Copy, Debug)]
pub struct ListRanges {
    pub snapshot: Option<Timestamp>,
    /// Only what changed since this snapshot.
    pub since: Option<Timestamp>,
    /// `x-ms-file-support-rename`: compare with what the file was then, though its path was another.
    pub support_rename: bool,
    pub from: u64,
    /// Exclusive.
    pub to: u64,
    /// In a page, if there are pages.
    pub most: Option<u32>,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRange {
    pub from: u64,
    /// Exclusive.
    pub to: u64,
    pub cleared: bool,
}

/// Rename File and Rename Directory: the destination is in the URL, the source is here.
#[derive(Clone, Debug)]
pub struct Rename {
    /// In the same share.
    pub source: FilePath,
    pub directory: bool,
    pub replace: bool,
    pub ignore_read_only: bool,
    pub source_lease: Option<LeaseId>,
    pub destination_lease: Option<LeaseId>,
    pub smb: SetSmb,
    /// Replaces the metadata when given.
    pub metadata: Option<Metadata>,
    /// `x-ms-content-type`.
    pub content_type: Option<String>,
}

/// Copy File. Times and attributes that are `None` are `now` and `none`.
#[derive(Clone, Debug)]
pub struct CopyFile {
    /// `x-ms-copy-id`.
    pub id: u128,
    pub source: String,
    /// Content headers of the source, which the copy keeps.
    pub headers: ContentHeaders,
    /// What the request said, or that of the source.
    pub metadata: Metadata,
    /// `source` has been looked up: it is `At` and `To` and `Text` here.
    pub smb: SetSmb,
    pub posix: SetPosix,
    pub ignore_read_only: bool,
    pub set_archive: bool,
    pub lease: Option<LeaseId>,
    pub may_overwrite: bool,
}

#[derive(Clone, Debug)]
pub struct CreateSymbolicLink {
    pub target: String,
    pub smb: SetSmb,
    pub posix: SetPosix,
    pub metadata: Metadata,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Debug)]
pub struct CreateHardLink {
    /// In the same share.
    pub target: FilePath,
    pub lease: Option<LeaseId>,
}

/// Which handles to close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseHandles {
    All,
    One(u64),
}
