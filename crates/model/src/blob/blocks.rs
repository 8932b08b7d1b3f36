//! Blocks: put one by one, then committed together by a list.

use crate::blob::{
    Blob, ContentRef, GetBlockList, Kind, PutBlock, PutBlockList, Search, permit_replacement,
    read::permit_read,
    write::{inherited_tier, permit_tier},
};
use crate::lease::{self, On};
use crate::{BlockId, Lease, Refusal, Timestamp};

/// Committed blocks of one blob.
pub const BLOCKS_MAX: usize = 50_000;
/// Uncommitted blocks of one name.
pub const UNCOMMITTED_BLOCKS_MAX: u64 = 100_000;

/// The uncommitted blocks that a name already has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    pub count: u64,
    /// The length of their ids; all have the same. `None` when there are none.
    pub id_length: Option<usize>,
    /// One of them has the id of the new block, which takes its place.
    pub replaces: bool,
    /// Of the name, for as long as there is no blob (rule B8).
    pub lease: Lease,
}

impl PutBlock {
    /// Whether the block may be kept, and the lease that the blocks then have. It changes nothing of the blob: not its ETag, and not its
    /// lease.
    pub fn decide(&self, current: Option<&Blob>, pending: Pending, now: Timestamp) -> Result<Lease, Refusal> {
        let held = current.map_or(pending.lease, |blob| blob.lease);
        lease::permit_write(held, self.lease, now, On::Blob)?;
        permit_blocks(current)?;
        // Only against other uncommitted blocks: a blob may be overwritten by a client whose ids have another length.
        if pending.id_length.is_some_and(|length| length != self.id.as_bytes().len()) {
            return Err(Refusal::InvalidBlobOrBlock);
        }
        if pending.count >= UNCOMMITTED_BLOCKS_MAX && !pending.replaces {
            return Err(Refusal::BlockCountExceedsLimit);
        }
        Ok(pending.lease)
    }
}

impl PutBlockList {
    /// The list's own limit, conditions and lease: what can be refused before any block is looked up. `uncommitted` is the lease of the name
    /// for as long as there is no blob (rule B8).
    pub fn permit(&self, current: Option<&Blob>, uncommitted: Lease, now: Timestamp) -> Result<Lease, Refusal> {
        if self.blocks.len() > BLOCKS_MAX {
            return Err(Refusal::BlockListTooLong);
        }
        let Some(blob) = current else {
            self.conditions.permit_replace(None)?;
            return lease::permit_write(uncommitted, self.lease, now, On::Blob);
        };
        let lease = permit_replacement(&self.conditions, self.lease, self.may_overwrite, Some(blob), now)?;
        permit_blocks(current)?;
        Ok(lease)
    }

    /// Each block of the list, found where the list says to look. A block may be named more than once.
    pub fn resolve<T>(
        &self,
        mut committed: impl FnMut(&BlockId) -> Option<T>,
        mut uncommitted: impl FnMut(&BlockId) -> Option<T>,
    ) -> Result<Vec<T>, Refusal> {
        let mut find = |(search, id): &(Search, BlockId)| match search {
            Search::Committed => committed(id),
            Search::Uncommitted => uncommitted(id),
            Search::Latest => uncommitted(id).or_else(|| committed(id)),
        };
        self.blocks.iter().map(|block| find(block).ok_or(Refusal::InvalidBlockList)).collect()
    }

    /// The blob that the list makes, with `content` the blocks it resolved to. No MD5 is computed: what the client
    /// says is kept, as Put Block List does.
    pub fn decide(
        &self,
        current: Option<&Blob>,
        uncommitted: Lease,
        content: ContentRef,
        now: Timestamp,
    ) -> Result<Blob, Refusal> {
        permit_tier(self.tier, content.length)?;
        let lease = self.permit(current, uncommitted, now)?;
        let tier = self.tier.or(inherited_tier(Kind::Block, current));
        Ok(Blob {
            created: current.map_or(now, |old| old.created),
            headers: self.headers.clone(),
            metadata: self.metadata.clone(),
            tags: self.tags.clone(),
            tier,
            tier_changed: tier.map(|_| now),
            lease,
            immutability: self.protection.policy,
            legal_hold: self.protection.legal_hold,
            encryption: self.encryption.clone(),
            ..Blob::new(Kind::Block, content, now)
        })
    }
}

impl GetBlockList {
    /// `None` when nothing but uncommitted blocks exists under the name.
    pub fn decide<'a>(
        &self,
        current: Option<&'a Blob>,
        has_uncommitted: bool,
        now: Timestamp,
    ) -> Result<Option<&'a Blob>, Refusal> {
        if current.is_none() && has_uncommitted && self.which.is_current() {
            self.conditions.permit_read(None)?;
            return Ok(None);
        }
        let blob = permit_read(current, &self.conditions, self.lease, now)?;
        permit_blocks(current)?;
        Ok(Some(blob))
    }
}

/// Only block blobs have blocks with ids ("Put Block", "Put Block List": 409).
fn permit_blocks(current: Option<&Blob>) -> Result<(), Refusal> {
    match current.map(|blob| blob.kind) {
        None | Some(Kind::Block) => Ok(()),
        Some(Kind::Page { .. } | Kind::Append { .. }) => Err(Refusal::InvalidBlobType),
    }
}
