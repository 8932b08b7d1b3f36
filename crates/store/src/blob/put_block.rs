//! Put Block: an uncommitted block under a name, in place of the one with the same id.

use lazuli_engine::Txn;
use lazuli_model::blob::{Encryption, PutBlock};
use lazuli_model::lake::Right;
use lazuli_model::{Lease, Timestamp};

use super::base_to_write;
use crate::claims::{Trash, claim_staged, lower};
use crate::keys::BlobKeys;
use crate::records::{Block, Garbage, Pending, Place, Run, decode_with_tail, encode, encode_with_tail};
use crate::transact::{Decided, get, now};
use crate::upload::Body;
use crate::witness::{Found, holder, saw};
use crate::{BlobAt, Failure, Received, Store};

/// Inline bytes of uncommitted blocks of one blob: they all pass through the one transaction that commits them. Beyond
/// this, small blocks go to extents too.
const INLINE_BUDGET: u64 = 4 << 20;

impl Store {
    pub async fn put_block(&self, at: &BlobAt, put: PutBlock, content: Received) -> Result<(), Failure> {
        let address = self.address_in(self.home(&at.container_at()).await?, at)?;
        let pending: Option<Pending> = self
            .look(&address.partition(), |txn| {
                let keys = address.find(txn, Right::Traverse)?;
                get(txn, &keys.pending())
            })
            .await?;
        let inline = pending.map_or(0, |pending| pending.inline);
        let body = match content.body {
            Body::Inline(bytes) if inline + content.length > INLINE_BUDGET => {
                Body::Staged(self.stage_inline(bytes).await?)
            }
            Body::Inline(_) | Body::Staged(_) => content.body,
        };
        let (place, tail) = body.place();
        let block = Block { id: put.id.clone(), length: content.length, place, cipher: content.cipher };
        let bytes = encode_with_tail(&block, &[tail]);
        let trash = self
            .transact_staged(address.written(), body.into_staged(), move |txn| {
                let keys = address.make(txn)?;
                let blob = base_to_write(txn, &keys)?;
                let before: Option<Pending> = get(txn, &keys.pending())?;
                let epoch = before.as_ref().map_or(txn.stamp().0, |pending| pending.epoch);
                let key = keys.block(epoch, &put.id);
                let old = match before {
                    Some(_) => txn.get(&key)?.map(|bytes| decode_with_tail::<Block>(&bytes)).transpose()?,
                    None => None,
                };
                let old = old.map(|(old, _)| old);
                if let (None, Some(pending)) = (&blob, &before) {
                    saw(Found::Entry(holder(pending.lease, now(txn))));
                }
                let lease = put.decide(blob.as_ref(), seen(before.as_ref(), old.is_some()), now(txn))?;
                if let Some(before) = &before {
                    before.encryption.permit_write(&put.encryption)?;
                }
                let mut trash = Trash::default();
                if let Some(old) = &old {
                    let_go(txn, &keys, old, &mut trash)?;
                }
                txn.put(key, bytes.clone());
                claim_staged(txn, &keys, block.place.runs());
                txn.put(
                    keys.pending(),
                    encode(&Pending {
                        lease,
                        ..after(before, epoch, (&block, &put.encryption), old.as_ref(), now(txn))
                    }),
                );
                Ok(trash.leave(txn, &keys))
            })
            .await?;
        self.hint_left(trash);
        Ok(())
    }
}

/// What the rules want to know of the blocks that are there.
fn seen(pending: Option<&Pending>, replaces: bool) -> lazuli_model::blob::Pending {
    lazuli_model::blob::Pending {
        count: pending.map_or(0, |pending| pending.count.into()),
        id_length: pending.map(|pending| pending.id_length as usize),
        replaces,
        lease: pending.map_or(Lease::Available, |pending| pending.lease),
    }
}

fn after(
    before: Option<Pending>,
    epoch: u64,
    (block, encryption): (&Block, &Encryption),
    old: Option<&Block>,
    now: Timestamp,
) -> Pending {
    let (count, inline) = before.map_or((0, 0), |pending| (pending.count, pending.inline));
    Pending {
        epoch,
        count: count + u32::from(old.is_none()),
        // On a cluster both may have been read at different moments; what is decided on that is decided again.
        inline: (inline + inline_length(block)).saturating_sub(old.map_or(0, inline_length)),
        id_length: block.id.as_bytes().len() as u32,
        touched: now,
        encryption: encryption.clone(),
        lease: Lease::Available,
    }
}

/// The pieces of a replaced block lose their holder.
fn let_go(txn: &mut Txn<'_>, keys: &BlobKeys, old: &Block, trash: &mut Trash) -> Decided<()> {
    let mut loose: Vec<Run> = Vec::new();
    for run in old.place.runs() {
        if lower(txn, keys, run)? {
            loose.push(*run);
        }
    }
    if !loose.is_empty() {
        trash.0.push(Garbage::Pieces(loose));
    }
    Ok(())
}

fn inline_length(block: &Block) -> u64 {
    match block.place {
        Place::Inline => block.length,
        Place::Pieces(_) => 0,
    }
}
