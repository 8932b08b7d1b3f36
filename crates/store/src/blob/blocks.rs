//! The blocks of a blob, read page by page: those that wait to be committed, and those that are.

use bytes::Bytes;
use lazuli_engine::{Key, Txn};
use lazuli_model::BlockId;
use lazuli_model::blob::Blob;

use crate::crypt::Cipher;
use crate::keys::BlobKeys;
use crate::manifest::Loaded;
use crate::records::{Block, Entry, Pending, Place, decode_with_tail};
use crate::transact::Decided;
use crate::{Failure, Store};

/// Rows per look: enough to be fast, few enough to let others run in between.
const PAGE: usize = 1000;

/// A block, wherever it was found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub id: BlockId,
    pub length: u64,
    pub place: Place,
    pub inline: Bytes,
    /// Whether its list holds the pieces by this entry.
    pub holds: bool,
    pub cipher: Cipher,
    pub committed: bool,
}

/// A page of uncommitted blocks, and where the next one begins.
pub(super) fn uncommitted_page(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    from: &Key,
    epoch: u64,
) -> Decided<(Vec<Found>, Option<Key>)> {
    let rows = txn.scan(from, &keys.blocks(epoch).after_prefix(), PAGE)?;
    let next = if rows.len() == PAGE { rows.last().map(|(key, _)| key.successor()) } else { None };
    let blocks = rows.iter().map(|(_, bytes)| {
        let (block, inline) = decode_with_tail::<Block>(bytes)?;
        let Block { id, length, place, cipher } = block;
        Ok(Found { id, length, place, inline, holds: true, cipher, committed: false })
    });
    Ok((blocks.collect::<Decided<_>>()?, next))
}

/// The committed blocks of one chunk. What Put Blob wrote in one piece has no id, and is no block.
pub(super) fn committed_page(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    content: u64,
    start: u64,
) -> Decided<Option<Vec<Found>>> {
    let Some(bytes) = txn.get(&keys.chunk(content, start))? else {
        return Ok(None);
    };
    let parts = Loaded::decode(start, &bytes)?.parts.into_iter();
    let blocks = parts.filter_map(|part| {
        let Entry { id, length, holds, place, cipher } = part.entry;
        id.map(|id| Found { id, length, place, inline: part.inline, holds, cipher, committed: true })
    });
    Ok(Some(blocks.collect()))
}

pub(super) fn all_uncommitted(txn: &mut Txn<'_>, keys: &BlobKeys, pending: Option<&Pending>) -> Decided<Vec<Found>> {
    let mut blocks = Vec::new();
    let mut from = pending.map(|pending| (pending.epoch, keys.blocks(pending.epoch)));
    while let Some((epoch, key)) = from {
        let (page, next) = uncommitted_page(txn, keys, &key, epoch)?;
        blocks.extend(page);
        from = next.map(|next| (epoch, next));
    }
    Ok(blocks)
}

pub(super) fn all_committed(txn: &mut Txn<'_>, keys: &BlobKeys, blob: Option<&Blob>) -> Decided<Vec<Found>> {
    let mut blocks = Vec::new();
    for (content, start) in chunks(blob) {
        blocks.extend(committed_page(txn, keys, content, start)?.unwrap_or_default());
    }
    Ok(blocks)
}

impl Store {
    /// The same as [`all_uncommitted`], in several looks: the caller makes sure that `pending` has not changed.
    pub(super) async fn uncommitted(&self, keys: &BlobKeys, pending: Option<&Pending>) -> Result<Vec<Found>, Failure> {
        let mut blocks = Vec::new();
        let mut from = pending.map(|pending| (pending.epoch, keys.blocks(pending.epoch)));
        while let Some((epoch, key)) = from {
            let (page, next) = self.look(&keys.partition(), |txn| uncommitted_page(txn, keys, &key, epoch)).await?;
            blocks.extend(page);
            from = next.map(|next| (epoch, next));
        }
        Ok(blocks)
    }

    /// The same as [`all_committed`], in several looks; `None` when the content went away in between.
    pub(super) async fn committed(&self, keys: &BlobKeys, blob: Option<&Blob>) -> Result<Option<Vec<Found>>, Failure> {
        let mut blocks = Vec::new();
        for (content, start) in chunks(blob) {
            match self.look(&keys.partition(), |txn| committed_page(txn, keys, content, start)).await? {
                Some(page) => blocks.extend(page),
                None => return Ok(None),
            }
        }
        Ok(Some(blocks))
    }
}

/// The content id and the start of each chunk that may have blocks.
fn chunks(blob: Option<&Blob>) -> impl Iterator<Item = (u64, u64)> {
    let content = blob.map(|blob| &blob.content).filter(|content| content.blocks > 0);
    content.into_iter().flat_map(|content| content.starts.iter().map(|start| (content.id, *start)))
}
