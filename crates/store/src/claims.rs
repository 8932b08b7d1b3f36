//! The reference counts of pieces, and what becomes of a content without references. All within one partition's transaction.
//!
//! Held true: a piece that a chunk or a block names has a claim with as many holders as there are contents and blocks
//! naming it, less those that a garbage record still has to drop or says were handed over.

use lazuli_engine::content::{PIECE_MAX, Piece};
use lazuli_engine::{Key, Txn};
use lazuli_model::blob::ContentRef;

use crate::keys::{self, BlobKeys};
use crate::records::{Claim, Count, Dead, Epochs, Garbage, Kept, Run, decode, encode};
use crate::sparse::Forgetting;
use crate::transact::{Decided, get};
use crate::upload::INLINE_MAX;

/// The piece that a row claims, if that is what the row does: for the check that all content is there.
pub fn claimed(key: &Key, value: &[u8]) -> Option<Piece> {
    if key.column() != keys::CLAIMS {
        return None;
    }
    let (extent, offset, _) = keys::read_claim(key)?;
    let Claim { length, seal, holders: _ } = decode(value).ok()?;
    Some(Piece { extent, offset, length, seal })
}

/// Claims pieces that were staged for this transaction: nobody can hold them yet.
pub(crate) fn claim_staged(txn: &mut Txn<'_>, keys: &BlobKeys, runs: &[Run]) {
    for run in runs {
        assert!(run.length > 0 && run.length <= PIECE_MAX, "a staged piece has bytes, and no more than fit");
        let claim = Claim { length: run.length, seal: run.seal, holders: 1 };
        txn.put(keys.claim(&run.piece()), encode(&claim));
    }
}

/// One more content holds these.
pub(crate) fn raise(txn: &mut Txn<'_>, keys: &BlobKeys, runs: &[Run]) -> Decided<()> {
    for run in runs {
        let key = keys.claim(&run.piece());
        let held: Option<Claim> = get(txn, &key)?;
        let holders = held.map_or(0, |claim| claim.holders) + 1;
        txn.put(key, encode(&Claim { length: run.length, seal: run.seal, holders }));
    }
    Ok(())
}

/// One holder less. True when it was the last: the piece may be given back once this is durable.
pub(crate) fn lower(txn: &mut Txn<'_>, keys: &BlobKeys, run: &Run) -> Decided<bool> {
    let key = keys.claim(&run.piece());
    match get::<Claim>(txn, &key)? {
        Some(claim) if claim.holders > 1 => {
            txn.put(key, encode(&Claim { holders: claim.holders - 1, ..claim }));
            Ok(false)
        }
        Some(_) => {
            txn.delete(key);
            Ok(true)
        }
        // Never so by what is held true above; giving back what may be in use is the worse mistake.
        None => {
            tracing::error!(?run, "a piece without a claim was let go; its bytes stay");
            Ok(false)
        }
    }
}

/// One more record (a snapshot) shares `content`. Gives what the record that goes on being written to has from now on: the
/// same, but at the next epoch if it is sparse. The caller writes that record too, if it differs.
#[must_use = "a sparse content goes on at another epoch"]
pub(crate) fn share(txn: &mut Txn<'_>, keys: &BlobKeys, content: &ContentRef) -> Decided<ContentRef> {
    if content.is_sparse() {
        return share_sparse(txn, keys, content);
    }
    if content.id != 0 {
        let count = get::<Count>(txn, &keys.shared(content.id))?.map_or(1, |count| count.0);
        txn.put(keys.shared(content.id), encode(&Count(count + 1)));
    }
    Ok(content.clone())
}

fn share_sparse(txn: &mut Txn<'_>, keys: &BlobKeys, content: &ContentRef) -> Decided<ContentRef> {
    let key = keys.shared(content.id);
    let mut epochs = get::<Epochs>(txn, &key)?.map_or_else(|| vec![content.epoch], |epochs| epochs.0);
    let next = epochs.last().map_or(content.epoch, |last| *last.max(&content.epoch)) + 1;
    assert!(next > content.epoch, "the one that goes on being written to has the greatest epoch");
    epochs.push(next);
    debug_assert!(epochs.is_sorted_by(|one, next| one < next), "epochs of a content are in order, each once");
    txn.put(key, encode(&Epochs(epochs)));
    Ok(ContentRef { epoch: next, ..content.clone() })
}

/// One record less sees a sparse content. What only it saw is garbage; the last one leaves all of it.
fn release_sparse(txn: &mut Txn<'_>, keys: &BlobKeys, content: &ContentRef, trash: &mut Trash) -> Decided<()> {
    let key = keys.shared(content.id);
    let Some(Epochs(mut epochs)) = get(txn, &key)? else {
        trash.0.push(Garbage::Sparse(Forgetting::all(content.id)));
        return Ok(());
    };
    let until = epochs.last().copied().unwrap_or(content.epoch);
    epochs.retain(|epoch| *epoch != content.epoch);
    if epochs.len() > 1 {
        txn.put(key, encode(&Epochs(epochs.clone())));
    } else {
        txn.delete(key);
    }
    trash.0.push(Garbage::Sparse(Forgetting { content: content.id, until, visible: epochs, from: 0 }));
    Ok(())
}

/// Whether a record besides the one at hand has `content`.
pub(crate) fn is_shared(txn: &mut Txn<'_>, keys: &BlobKeys, content: &ContentRef) -> Decided<bool> {
    // The row says how many in one way or another; that it is there says that there are several.
    Ok(content.id != 0 && txn.get(&keys.shared(content.id))?.is_some())
}

/// One record less has `content`. The last one leaves garbage, of which `kept` went over to another content.
pub(crate) fn release(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    content: &ContentRef,
    kept: Kept,
    trash: &mut Trash,
) -> Decided<()> {
    if content.is_sparse() {
        return release_sparse(txn, keys, content, trash);
    }
    if content.id == 0 {
        return Ok(());
    }
    match get::<Count>(txn, &keys.shared(content.id))? {
        Some(Count(count)) if count > 2 => txn.put(keys.shared(content.id), encode(&Count(count - 1))),
        Some(_) => txn.delete(keys.shared(content.id)),
        // Put in one piece and small: it is one inline chunk, gone at once.
        None if content.blocks == 0 && content.length <= INLINE_MAX => txn.delete(keys.chunk(content.id, 0)),
        None => trash.0.push(Garbage::Content { id: content.id, kept }),
    }
    Ok(())
}

/// What a transaction leaves to be collected.
#[derive(Default)]
pub(crate) struct Trash(pub Vec<Garbage>);

impl Trash {
    /// Writes it down; the keys it is under when there was any, for the sweeper to hear of ([`crate::Store::hint_left`]).
    pub fn leave(self, txn: &mut Txn<'_>, keys: &BlobKeys) -> Option<BlobKeys> {
        self.write(txn, keys).then(|| keys.clone())
    }

    /// Writes it down; true when there was any, and the sweeper should hear of it.
    pub fn write(self, txn: &mut Txn<'_>, keys: &BlobKeys) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let stamp = txn.stamp().0;
        txn.put(keys.garbage(stamp), encode(&Dead(self.0)));
        true
    }
}
