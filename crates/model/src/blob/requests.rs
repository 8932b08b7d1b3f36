//! What each operation asks for, parsed. Their `decide` functions are in `write.rs`, `blocks.rs`, `read.rs` and
//! `change.rs`.

use crate::blob::{ContentHeaders, Encryption, Protection, Tier, TierConditions, Which};
use crate::lease::Action;
use crate::{BlockId, Conditions, LeaseId, Metadata, Tags};

#[derive(Clone, Debug)]
pub struct PutBlob {
    pub headers: ContentHeaders,
    pub metadata: Metadata,
    pub tags: Tags,
    pub tier: Option<Tier>,
    pub protection: Protection,
    pub encryption: Encryption,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
    /// False when the caller may create but not overwrite (a SAS with `c` and no `w`).
    pub may_overwrite: bool,
}

#[derive(Clone, Debug)]
pub struct PutBlock {
    pub id: BlockId,
    pub encryption: Encryption,
    pub lease: Option<LeaseId>,
}

/// Where Put Block List looks for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    Committed,
    Uncommitted,
    Latest,
}

#[derive(Clone, Debug)]
pub struct PutBlockList {
    pub blocks: Vec<(Search, BlockId)>,
    pub headers: ContentHeaders,
    pub metadata: Metadata,
    pub tags: Tags,
    pub tier: Option<Tier>,
    pub protection: Protection,
    pub encryption: Encryption,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
    pub may_overwrite: bool,
}

#[derive(Clone, Debug)]
pub struct GetBlockList {
    pub which: Which,
    pub committed: bool,
    pub uncommitted: bool,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

/// Get Blob, Get Blob Properties, Get Blob Metadata.
#[derive(Clone, Debug, Default)]
pub struct ReadBlob {
    pub which: Which,
    /// The SHA-256 of the customer's key, if one was sent.
    pub key: Option<[u8; 32]>,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Debug)]
pub struct SetBlobProperties {
    pub headers: ContentHeaders,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Debug)]
pub struct SetBlobMetadata {
    pub metadata: Metadata,
    pub encryption: Encryption,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteSnapshots {
    Include,
    Only,
}

#[derive(Clone, Debug)]
pub struct DeleteBlob {
    pub which: Which,
    /// For good, of what was deleted softly before (`deletetype=permanent`).
    pub permanent: bool,
    pub snapshots: Option<DeleteSnapshots>,
    pub tier: TierConditions,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Debug)]
pub struct SnapshotBlob {
    /// Replaces the copied metadata when given.
    pub metadata: Option<Metadata>,
    pub encryption: Encryption,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Debug)]
pub struct LeaseBlob {
    pub action: Action,
    pub conditions: Conditions,
}

/// Get Blob Tags.
#[derive(Clone, Debug)]
pub struct GetBlobTags {
    pub which: Which,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Debug)]
pub struct SetBlobTags {
    pub which: Which,
    pub tags: Tags,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}
