//! The record of a blob: everything but its bytes.

use serde::{Deserialize, Serialize};

use crate::{ETag, Lease, Metadata, Tags, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    pub kind: Kind,
    pub etag: ETag,
    pub modified: Timestamp,
    pub created: Timestamp,
    pub content: ContentRef,
    pub headers: ContentHeaders,
    pub metadata: Metadata,
    pub tags: Tags,
    /// What the client asked for; `None` is the account's default, which Azure reports as inferred.
    pub tier: Option<Tier>,
    pub tier_changed: Option<Timestamp>,
    pub lease: Lease,
    /// The id of this version, where versions are kept.
    pub version: Option<Timestamp>,
    /// Deleted softly: it can still be brought back.
    pub deleted: Option<Deleted>,
    /// On its way back from the archive.
    pub rehydrating: Option<Rehydrating>,
    /// The copy that made it, or is making it.
    pub copy: Option<Copied>,
    pub immutability: Option<Immutability>,
    pub legal_hold: bool,
    pub expires: Option<Timestamp>,
    pub encryption: Encryption,
}

impl Blob {
    /// A blob as it begins: with nothing but its kind, its content and its time.
    pub fn new(kind: Kind, content: ContentRef, now: Timestamp) -> Self {
        Self {
            kind,
            etag: ETag::of(now),
            modified: now,
            created: now,
            content,
            headers: ContentHeaders::default(),
            metadata: Metadata::default(),
            tags: Tags::default(),
            tier: None,
            tier_changed: None,
            lease: Lease::Available,
            version: None,
            deleted: None,
            rehydrating: None,
            copy: None,
            immutability: None,
            legal_hold: false,
            expires: None,
            encryption: Encryption::Service,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    Block,
    Page { sequence: u64 },
    Append { sealed: bool },
}

/// Which of the things under one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Which {
    #[default]
    Current,
    Snapshot(Timestamp),
    Version(Timestamp),
}

impl Which {
    /// The snapshot, or the blob itself.
    pub fn snapshot(time: Option<Timestamp>) -> Self {
        time.map_or(Which::Current, Which::Snapshot)
    }

    pub fn is_current(self) -> bool {
        match self {
            Which::Current => true,
            Which::Snapshot(_) | Which::Version(_) => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {
    pub at: Timestamp,
    /// When nobody can bring it back any more.
    pub until: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rehydrating {
    pub to: Tier,
    pub priority: Priority,
    pub since: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Priority {
    Standard,
    High,
}

/// What is remembered of a copy into this blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    pub id: u128,
    /// As the client named it, without its signature.
    pub source: String,
    pub status: CopyStatus,
    pub done: u64,
    pub total: u64,
    /// When it ended, however it did.
    pub completed: Option<Timestamp>,
    pub description: Option<String>,
    pub incremental: bool,
    /// The snapshot that an incremental copy made.
    pub snapshot: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CopyStatus {
    Pending,
    Success,
    Aborted,
    Failed,
}

/// Not to be changed or deleted before a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Immutability {
    pub until: Timestamp,
    /// A locked policy can be made longer, never shorter, and never taken away.
    pub locked: bool,
}

/// By whose key the content is encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encryption {
    Service,
    /// By a key that comes with each request and is not kept; this is its SHA-256.
    Customer([u8; 32]),
    Scope(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tier {
    Hot,
    Cool,
    Cold,
    Archive,
    Smart,
}

/// The blob's bytes by reference. Shared, unchanged, by a blob and its snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentRef {
    /// The stamp of the write that made it, unique in its partition. Zero is "no content rows" (an empty blob).
    pub id: u64,
    pub length: u64,
    /// The offset at which each manifest chunk begins, ascending, so that a range finds its chunk without a scan.
    pub starts: Vec<u64>,
    /// Committed blocks; 0 when it was put in one piece.
    pub blocks: u32,
    /// Of a sparse content (pages, appended blocks), which can change in place: the epoch at which this record sees it. Zero for
    /// one that never changes.
    pub epoch: u64,
}

impl ContentRef {
    /// Of a blob without bytes.
    pub const EMPTY: Self = Self { id: 0, length: 0, starts: Vec::new(), blocks: 0, epoch: 0 };

    /// A sparse content with nothing written in it.
    pub const fn sparse(id: u64, length: u64) -> Self {
        Self { id, length, starts: Vec::new(), blocks: 0, epoch: 1 }
    }

    pub fn is_sparse(&self) -> bool {
        self.epoch > 0
    }
}

/// The HTTP headers that a blob remembers and repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentHeaders {
    pub content_type: Option<String>,
    pub encoding: Option<String>,
    pub language: Option<String>,
    /// What the client says, or the MD5 that the service computed. Only its Base64 is checked when it is set by itself, not its
    /// length (observed).
    pub md5: Option<Vec<u8>>,
    pub cache_control: Option<String>,
    pub disposition: Option<String>,
}
