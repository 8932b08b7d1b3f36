//! The record of a blob: everything but its bytes.

use serde::{Deserialize, Serialize};

use crate::replication::Replication;
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
    /// A version that another has taken the place of.
    pub previous: bool,
    /// Deleted softly: it can still be brought back.
    pub deleted: Option<Deleted>,
    /// On its way back from the archive.
    pub rehydrating: Option<Rehydrating>,
    /// The copy that made it, or is making it.
    pub copy: Option<Copied>,
    pub immutability: Option<Immutability>,
    /// `None` when nobody ever said; what was set once is shown ever after (observed).
    pub legal_hold: Option<bool>,
    pub expires: Option<Timestamp>,
    pub encryption: Encryption,
    /// The last read that was written down, where the account keeps track of them.
    pub accessed: Option<Timestamp>,
    /// Of what is replicated, and of what was made so. Boxed, since most have none.
    pub replication: Option<Box<Replication>>,
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
            previous: false,
            deleted: None,
            rehydrating: None,
            copy: None,
            immutability: None,
            legal_hold: None,
            expires: None,
            encryption: Encryption::Service,
            accessed: None,
            replication: None,
        }
    }

    /// The blob as it is at `now`: gone when it has expired, in its new tier when its way back from the archive is over.
    /// A stored record does not tick; both are ways of looking. What is protected does not expire.
    pub fn at(mut self, now: Timestamp) -> Option<Self> {
        if self.is_expired(now) {
            return None;
        }
        if let Some(back) = self.rehydrating.filter(|back| back.until <= now) {
            (self.tier, self.tier_changed, self.rehydrating) = (Some(back.to), Some(back.until), None);
        }
        Some(self)
    }

    /// Whether its time is over. What is protected stays until the protection ends.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now) && self.permit_mutable(now).is_ok()
    }

    /// When it was last read or written, as far as is kept.
    pub fn last_access(&self) -> Timestamp {
        self.accessed.map_or(self.modified, |accessed| accessed.max(self.modified))
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
    /// From then on it is in its new tier.
    pub until: Timestamp,
}

/// In the order of their rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
    /// Of an incremental copy itself, and not of its snapshots: what it follows.
    pub follows: Option<Follows>,
}

/// The source that an incremental copy belongs to for good, and how far it has followed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follows {
    /// The id of the source's container.
    pub container: u128,
    pub blob: String,
    /// Of the source's content: another one means that the source was put anew.
    pub content: u64,
    /// The snapshot that was copied last, and the epoch at which it sees the content.
    pub snapshot: Timestamp,
    pub epoch: u64,
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encryption {
    #[default]
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
    /// Of a page blob.
    Premium(Premium),
}

/// What a page blob is provisioned for, in the order of their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Premium {
    P4,
    P6,
    P10,
    P15,
    P20,
    P30,
    P40,
    P50,
    P60,
    P70,
    P80,
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
