//! Put Block List: the atomic commit of blocks, up to 50,000 of them.
//!
//! The blocks are read and the new manifest is made before the transaction, which then only makes sure that nothing
//! has changed since (the content's id and the pending record, which every Put Block touches), and writes the chunks.
//! Under a name where others keep putting blocks that may never hold; after a few attempts the transaction reads for itself.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::Txn;
use lazuli_model::blob::{Blob, Keeping, PutBlockList, Search};
use lazuli_model::lake::Right;
use lazuli_model::{BlockId, Lease, Refusal, Timestamp};

use super::blocks::{Found, all_committed, all_uncommitted};
use super::replace::{outlives, replace};
use super::{base, base_to_write};
use crate::claims::{Trash, raise};
use crate::feed::TrackedKeys;
use crate::keys::BlobKeys;
use crate::lake::Address;
use crate::manifest::Manifest;
use crate::records::{Entry, Garbage, Kept, Pending, Run, Start};
use crate::transact::{Decided, get, now};
use crate::witness::{holder, saw};
use crate::{BlobAt, Failure, Sighted, Store};

const ATTEMPTS: usize = 4;

impl Store {
    pub async fn put_block_list(&self, at: &BlobAt, put: PutBlockList) -> Result<Blob, Failure> {
        let keeping = self.keeping(at, &put.tags).await?;
        let put = Arc::new(put);
        for _ in 0..ATTEMPTS {
            let (keys, address, seen) = self.lists_before(at, &put).await?;
            let uncommitted = self.uncommitted(&keys, seen.pending.as_ref()).await?;
            let consulted = seen.blob.as_ref().filter(|_| consults_committed(&put, &uncommitted));
            let Some(committed) = self.committed(&keys, consulted).await? else {
                continue;
            };
            // A block that is missing may have been missed: refuse only when what was read was all there was.
            let plan = Plan::new(&put, &uncommitted, &committed).map(Arc::new);
            if let Some(blob) = self.commit_blocks(address, keeping, put.clone(), seen, plan).await? {
                return Ok(blob);
            }
        }
        let address = self.address(at).await?;
        let applied = self.transact(address.written(), move |txn| {
            let keys = address.make(txn)?;
            read_and_apply(txn, &keys, &keeping, &put)
        });
        let (blob, trash) = applied.await?;
        self.hint_left(trash);
        Ok(blob)
    }

    async fn lists_before(&self, at: &BlobAt, put: &PutBlockList) -> Result<(BlobKeys, Address, Seen), Failure> {
        let look = self.look_blob_by(at, Right::Traverse, |txn, keys| {
            let seen = Seen { blob: base(txn, keys)?, pending: get(txn, &keys.pending())? };
            seen.permit(put, now(txn))?;
            Ok(seen)
        });
        let (keys, seen) = look.await?;
        Ok((keys, self.address(at).await?, seen))
    }

    /// `None` when what was seen is so no more.
    async fn commit_blocks(
        &self,
        address: Address,
        keeping: Keeping,
        put: Arc<PutBlockList>,
        seen: Seen,
        plan: Result<Arc<Plan>, Refusal>,
    ) -> Result<Option<Blob>, Failure> {
        let committed = self
            .transact(address.written(), move |txn| {
                let keys = address.make(txn)?;
                let current = Seen { blob: base_to_write(txn, &keys)?, pending: get(txn, &keys.pending())? };
                if !current.has_the_blocks_of(&seen) {
                    return Ok(None);
                }
                current.permit(&put, now(txn))?;
                let plan = plan.as_ref().map_err(Refusal::clone)?;
                apply(txn, &keys, &keeping, &put, current, plan).map(Some)
            })
            .await?;
        Ok(committed.map(|(blob, trash)| {
            self.hint_left(trash);
            blob
        }))
    }
}

/// What the blocks to be committed hang on.
struct Seen {
    blob: Option<Blob>,
    pending: Option<Pending>,
}

impl Seen {
    /// Of the blocks, for as long as there is no blob.
    fn lease(&self) -> Lease {
        self.pending.as_ref().map_or(Lease::Available, |pending| pending.lease)
    }

    fn permit(&self, put: &PutBlockList, now: Timestamp) -> Result<Lease, Refusal> {
        let permitted = put.permit(self.blob.as_ref(), self.lease(), now);
        if permitted.is_err() && self.blob.is_none() {
            saw(Sighted::Entry(holder(self.lease(), now)));
        }
        permitted
    }

    fn has_the_blocks_of(&self, other: &Seen) -> bool {
        let content = |seen: &Seen| seen.blob.as_ref().map(|blob| blob.content.id);
        content(self) == content(other) && self.pending == other.pending
    }
}

fn consults_committed(put: &PutBlockList, uncommitted: &[Found]) -> bool {
    let pending: HashSet<&BlockId> = uncommitted.iter().map(|block| &block.id).collect();
    put.blocks.iter().any(|(search, id)| match search {
        Search::Committed => true,
        Search::Latest => !pending.contains(id),
        Search::Uncommitted => false,
    })
}

/// The blob, and where garbage was left.
type Applied = (Blob, Option<BlobKeys>);

fn read_and_apply(txn: &mut Txn<'_>, keys: &TrackedKeys, keeping: &Keeping, put: &PutBlockList) -> Decided<Applied> {
    let current = Seen { blob: base_to_write(txn, keys)?, pending: get(txn, &keys.pending())? };
    current.permit(put, now(txn))?;
    let uncommitted = all_uncommitted(txn, keys, current.pending.as_ref())?;
    let committed = all_committed(txn, keys, current.blob.as_ref())?;
    apply(txn, keys, keeping, put, current, &Plan::new(put, &uncommitted, &committed)?)
}

fn apply(
    txn: &mut Txn<'_>,
    keys: &TrackedKeys,
    keeping: &Keeping,
    put: &PutBlockList,
    current: Seen,
    plan: &Plan,
) -> Decided<Applied> {
    plan.permit_encryption(put, &current)?;
    let content = plan.manifest.content(txn.stamp().0);
    let mut new = put.decide(current.blob.as_ref(), current.lease(), content, now(txn))?;
    let mut trash = Trash::default();
    if let Some(old) = &current.blob
        && outlives(txn, keys, keeping, old)?
    {
        raise(txn, keys, &plan.reused)?;
    }
    replace(txn, keys, keeping, current.blob.as_ref(), &mut new, plan.kept_committed.clone(), &mut trash)?;
    if let Some(pending) = &current.pending {
        txn.delete(keys.pending());
        trash.0.push(Garbage::Epoch { epoch: pending.epoch, kept: plan.kept_uncommitted.clone() });
    }
    plan.manifest.write(txn, keys, &new.content);
    Ok((new, trash.leave(txn, keys)))
}

/// What the list comes to: the manifest, and which pieces it takes over from where.
struct Plan {
    manifest: Manifest,
    kept_uncommitted: Kept,
    kept_committed: Kept,
    /// Pieces of the committed list that are in the new one too.
    reused: Vec<Run>,
    takes_committed: bool,
    takes_uncommitted: bool,
}

impl Plan {
    fn new(put: &PutBlockList, uncommitted: &[Found], committed: &[Found]) -> Result<Self, Refusal> {
        let pending = by_id(uncommitted);
        let current = by_id(committed);
        let blocks = put.resolve(|id| current.get(id).copied(), |id| pending.get(id).copied())?;
        let takes_committed = blocks.iter().any(|block| block.committed);
        let takes_uncommitted = blocks.iter().any(|block| !block.committed);
        let mut used: HashSet<Start> = HashSet::new();
        let entries: Vec<(Entry, Bytes)> = blocks.into_iter().map(|block| entry(block, &mut used)).collect();
        let (kept_uncommitted, _) = handed_over(uncommitted, &used);
        let (kept_committed, reused) = handed_over(committed, &used);
        let manifest = Manifest::of_blocks(entries);
        Ok(Self { manifest, kept_uncommitted, kept_committed, reused, takes_committed, takes_uncommitted })
    }

    /// What becomes one blob is encrypted in one way.
    fn permit_encryption(&self, put: &PutBlockList, current: &Seen) -> Result<(), Refusal> {
        if let (Some(pending), true) = (&current.pending, self.takes_uncommitted) {
            pending.encryption.permit_write(&put.encryption)?;
        }
        match &current.blob {
            Some(blob) if self.takes_committed => blob.encryption.permit_write(&put.encryption),
            Some(_) | None => Ok(()),
        }
    }
}

/// The first block of each id: a committed list may have an id twice.
fn by_id(blocks: &[Found]) -> HashMap<&BlockId, &Found> {
    blocks.iter().rev().map(|block| (&block.id, block)).collect()
}

/// An entry of the new manifest; it holds the pieces unless an entry before it does.
fn entry(block: &Found, used: &mut HashSet<Start>) -> (Entry, Bytes) {
    let mut holds = true;
    for run in block.place.runs() {
        holds = used.insert(run.start()) && holds;
    }
    let (id, place) = (Some(block.id.clone()), block.place.clone());
    let entry = Entry { id, length: block.length, holds, place, cipher: block.cipher };
    (entry, block.inline.clone())
}

/// Of the pieces that `blocks` hold, which are used in the new list, said in both ways.
fn handed_over(blocks: &[Found], used: &HashSet<Start>) -> (Kept, Vec<Run>) {
    let held = blocks.iter().filter(|block| block.holds).flat_map(|block| block.place.runs());
    let (kept, dropped): (Vec<Run>, Vec<Run>) = held.partition(|run| used.contains(&run.start()));
    let starts = |runs: &[Run]| runs.iter().map(Run::start).collect();
    (Kept::of(starts(&kept), starts(&dropped)), kept)
}
