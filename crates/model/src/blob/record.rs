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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    Block,
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
