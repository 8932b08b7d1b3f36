//! Get Block List.

use lazuli_model::BlockId;
use lazuli_model::blob::{Blob, GetBlockList, Which};

use super::blocks::Found;
use super::get_blob::stored;
use crate::keys::BlobKeys;
use crate::records::Pending;
use crate::transact::{get, now};
use crate::{BlobAt, Failure, Store};

/// What Get Block List answers.
#[derive(Clone, Debug)]
pub struct BlockLists {
    /// `None` when only uncommitted blocks exist under the name.
    pub blob: Option<Blob>,
    pub committed: Vec<(BlockId, u64)>,
    pub uncommitted: Vec<(BlockId, u64)>,
}

impl Store {
    pub async fn block_list(&self, at: &BlobAt, list: GetBlockList) -> Result<BlockLists, Failure> {
        // Long lists take several looks. They belong together if nothing was committed from the first to the last.
        loop {
            let opening = self.readers.enter();
            let (keys, blob, pending) = self.lists_at(at, &list).await?;
            let _hold = blob.as_ref().map(|blob| opening.hold(&keys, blob.content.id));
            drop(opening);
            let uncommitted = self.uncommitted(&keys, pending.as_ref().filter(|_| list.uncommitted)).await?;
            let committed = self.committed(&keys, blob.as_ref().filter(|_| list.committed)).await?;
            let epoch = |pending: Option<Pending>| pending.map(|pending| pending.epoch);
            let (_, after, pending_after) = self.lists_at(at, &list).await?;
            let content = |blob: &Option<Blob>| blob.as_ref().map(|blob| blob.content.id);
            if let Some(committed) = committed
                && content(&blob) == content(&after)
                && epoch(pending) == epoch(pending_after)
            {
                return Ok(BlockLists { blob, committed: sizes(committed), uncommitted: sorted(sizes(uncommitted)) });
            }
        }
    }

    async fn lists_at(
        &self,
        at: &BlobAt,
        list: &GetBlockList,
    ) -> Result<(BlobKeys, Option<Blob>, Option<Pending>), Failure> {
        let look = self.look_blob(at, |txn, keys| {
            let blob = stored(txn, keys, list.which)?;
            let pending: Option<Pending> = match list.which {
                Which::Current => get(txn, &keys.pending())?,
                Which::Snapshot(_) | Which::Version(_) => None, // they have no uncommitted blocks
            };
            list.decide(blob.as_ref(), pending.is_some(), now(txn))?;
            Ok((blob, pending))
        });
        let (keys, (blob, pending)) = look.await?;
        Ok((keys, blob, pending))
    }
}

fn sizes(blocks: Vec<Found>) -> Vec<(BlockId, u64)> {
    blocks.into_iter().map(|block| (block.id, block.length)).collect()
}

/// Uncommitted blocks are listed alphabetically ("Get Block List" reference): by what the client sees, which is Base64.
fn sorted(mut blocks: Vec<(BlockId, u64)>) -> Vec<(BlockId, u64)> {
    blocks.sort_by_cached_key(|(id, _)| id.to_base64());
    blocks
}
