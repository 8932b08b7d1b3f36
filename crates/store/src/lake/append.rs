//! Append and Flush. What is appended waits as blocks do, under its position; a flush lays it into the file's content, which is sparse: it
//! costs what was appended, and nothing of what was there before is written again.

use bytes::Bytes;
use lazuli_engine::Txn;
use lazuli_model::blob::{Blob, ContentRef};
use lazuli_model::lake::{AppendData, FlushData, Right};
use lazuli_model::{BlockId, Lease, Refusal};

use super::create_path::is_folder;
use super::{Address, PathAt, tree};
use crate::blob::{CLEARED_AT_ONCE, FoundBlock, all_uncommitted, base, base_to_write, touch};
use crate::claims::{Trash, claim_staged, lower, release};
use crate::feed::TrackedKeys;
use crate::keys::{BlobKeys, Located, TreeKeys};
use crate::manifest::Loaded;
use crate::records::{Block, Garbage, Kept, Pending, Place, encode, encode_with_tail};
use crate::sparse::{Editor, Fill, Seen, windows_of};
use crate::transact::{Decided, get, now};
use crate::upload::Body;
use crate::{Failure, Received, Store};

/// Inline bytes that wait under one path; beyond this, small pieces go to extents.
const INLINE_BUDGET: u64 = 4 << 20;
/// Pieces that wait under one path.
const PIECES_MAX: u32 = 100_000;
/// What the id of such a block begins with: position and stamp follow.
const APPENDED: u8 = 0xa5;

/// What a write answers: the record, and whether the lease was renewed, if that was asked for.
pub type Appended = (Blob, Option<bool>);

impl Store {
    pub async fn append_data(&self, at: &PathAt, append: AppendData, content: Received) -> Result<Appended, Failure> {
        let address = self.path_address(at).await?;
        let body = self.within_budget(&address, content.body, content.length).await?;
        let (place, tail) = body.place();
        let (length, cipher) = (content.length, content.cipher);
        self.shorten(&address, &append).await?;
        let (answer, trash) = self
            .transact_staged(address.written(), body.into_staged(), move |txn| {
                let keys = address.find(txn, Right::ReadWrite)?;
                let (blob, is_directory) = current(txn, &keys)?;
                let seen = blob.as_ref().map(|blob| (blob, is_directory));
                let (next, renewed) = append.decide(seen, now(txn))?;
                put_piece(txn, &keys, append.position, length, place.clone(), &tail, cipher)?;
                let Some(flush) = &append.flush else {
                    if blob.as_ref().is_some_and(|blob| blob.lease != next.lease) {
                        touch(txn, &keys, &next);
                    }
                    return Ok(((next, renewed), None));
                };
                commit(txn, &keys, flush, blob.as_ref(), is_directory)
            })
            .await?;
        self.hint_left(trash);
        Ok(answer)
    }

    /// What an append that flushes cuts off, if that is more than one transaction takes: see [`shortened`].
    async fn shorten(&self, address: &Address, append: &AppendData) -> Result<(), Failure> {
        let Some(length) = append.flush.as_ref().map(|flush| flush.position) else { return Ok(()) };
        loop {
            let partition = address.partition();
            let old = self.look(&partition, |txn| {
                let keys = address.find(txn, Right::ReadWrite)?;
                Ok(base(txn, &keys)?.map(|blob| blob.content))
            });
            if !old.await?.is_some_and(|old| is_cut_in_steps(&old, length)) {
                return Ok(());
            }
            let (address, append) = (address.clone(), append.clone());
            let (done, trash) = self
                .transact(address.written(), move |txn| {
                    let keys = address.find(txn, Right::ReadWrite)?;
                    let (blob, is_directory) = current(txn, &keys)?;
                    append.decide(blob.as_ref().map(|blob| (blob, is_directory)), now(txn))?;
                    let old = blob.ok_or(Refusal::BlobNotFound)?.content;
                    let mut trash = Trash::default();
                    Ok((shortened(txn, &keys, &old, length, &mut trash)?, trash.leave(txn, &keys)))
                })
                .await?;
            self.hint_left(trash);
            if done {
                return Ok(());
            }
        }
    }

    pub async fn flush_data(&self, at: &PathAt, flush: FlushData) -> Result<Appended, Failure> {
        let address = self.path_address(at).await?;
        loop {
            let (address, flush) = (address.clone(), flush.clone());
            let (answer, trash) = self
                .transact(address.written(), move |txn| {
                    let keys = address.find(txn, Right::ReadWrite)?;
                    let (blob, is_directory) = current(txn, &keys)?;
                    if let Some(left) = cut_step(txn, &keys, &flush, blob.as_ref(), is_directory)? {
                        return Ok((None, left));
                    }
                    let (answer, left) = commit(txn, &keys, &flush, blob.as_ref(), is_directory)?;
                    Ok((Some(answer), left))
                })
                .await?;
            self.hint_left(trash);
            if let Some(answer) = answer {
                return Ok(answer);
            }
        }
    }

    async fn within_budget(&self, address: &Address, body: Body, length: u64) -> Result<Body, Failure> {
        let Body::Inline(bytes) = body else { return Ok(body) };
        let pending: Option<Pending> = self
            .look(&address.partition(), |txn| {
                let keys = address.find(txn, Right::Traverse)?;
                get(txn, &keys.pending())
            })
            .await?;
        match pending.is_some_and(|pending| pending.inline + length > INLINE_BUDGET) {
            true => Ok(Body::Staged(self.stage_inline(bytes).await?)),
            false => Ok(Body::Inline(bytes)),
        }
    }
}

/// The record, and whether it is a directory's.
fn current(txn: &mut Txn<'_>, keys: &TrackedKeys) -> Decided<(Option<Blob>, bool)> {
    let blob = base_to_write(txn, keys)?;
    let is_directory = match (keys.located(), &blob) {
        (Located::Node(id), Some(_)) => tree::node(txn, &TreeKeys { space: keys.space }, id)?.is_directory,
        (Located::Flat(_), Some(blob)) => is_folder(blob),
        (_, None) => false,
    };
    Ok((blob, is_directory))
}

fn put_piece(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    position: u64,
    length: u64,
    place: Place,
    tail: &Bytes,
    cipher: crate::crypt::Cipher,
) -> Decided<()> {
    let before: Option<Pending> = get(txn, &keys.pending())?;
    let stamp = txn.stamp().0;
    let id = BlockId::from_bytes([&[APPENDED], &position.to_be_bytes()[..], &stamp.to_be_bytes()].concat());
    let inline = if place.runs().is_empty() { length } else { 0 };
    claim_staged(txn, keys, place.runs());
    let pending = match before {
        Some(before) if before.count >= PIECES_MAX => return Err(Refusal::BlockCountExceedsLimit.into()),
        Some(before) => {
            Pending { count: before.count + 1, inline: before.inline + inline, touched: now(txn), ..before }
        }
        None => Pending {
            epoch: stamp,
            count: 1,
            inline,
            id_length: id.as_bytes().len() as u32,
            touched: now(txn),
            encryption: Default::default(),
            lease: Lease::Available,
        },
    };
    let block = Block { id: id.clone(), length, place, cipher };
    txn.put(keys.block(pending.epoch, &id), encode_with_tail(&block, std::slice::from_ref(tail)));
    txn.put(keys.pending(), encode(&pending));
    Ok(())
}

/// Something that was appended.
struct Piece {
    position: u64,
    stamp: u64,
    block: FoundBlock,
}

/// What waits to be flushed, in the order in which it came: what came later lies over what came before.
fn appended(txn: &mut Txn<'_>, keys: &BlobKeys, pending: Option<&Pending>) -> Decided<Vec<Piece>> {
    let mut pieces: Vec<Piece> = Vec::new();
    for block in all_uncommitted(txn, keys, pending)? {
        let Some((APPENDED, rest)) = block.id.as_bytes().split_first().map(|(first, rest)| (*first, rest)) else {
            continue; // a block of the Blob API
        };
        let number =
            |from: usize| rest.get(from..from + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes);
        if let (Some(position), Some(stamp)) = (number(0), number(8)) {
            pieces.push(Piece { position, stamp, block });
        }
    }
    pieces.sort_by_key(|piece| piece.stamp);
    Ok(pieces)
}

fn commit(
    txn: &mut Txn<'_>,
    keys: &TrackedKeys,
    flush: &FlushData,
    current: Option<&Blob>,
    is_directory: bool,
) -> Decided<(Appended, Option<BlobKeys>)> {
    let pending: Option<Pending> = get(txn, &keys.pending())?;
    let pieces = appended(txn, keys, pending.as_ref())?;
    let extents: Vec<(u64, u64)> = pieces.iter().map(|piece| (piece.position, piece.block.length)).collect();
    let seen = current.map(|blob| (blob, is_directory));
    let flushed = flush.decide(seen, &extents, now(txn))?;
    let (mut blob, old) = (flushed.blob, current.ok_or(Refusal::BlobNotFound)?);
    let mut trash = Trash::default();
    let used: Vec<&Piece> = pieces.iter().filter(|piece| piece.position < flush.position).collect();
    blob.content = lay(txn, keys, &old.content, &used, flush.position, &mut trash)?;
    touch(txn, keys, &blob);
    if let Some(pending) = pending {
        match flush.retain {
            true => retain(txn, keys, pending, &pieces, flush.position, &mut trash)?,
            false => {
                txn.delete(keys.pending());
                trash.0.push(Garbage::Epoch { epoch: pending.epoch, kept: Kept::Nothing });
            }
        }
    }
    Ok(((blob, flushed.renewed), trash.leave(txn, keys)))
}

/// Whether so much lies between `length` and the end that it is cleared in steps.
fn is_cut_in_steps(old: &ContentRef, length: u64) -> bool {
    old.is_sparse() && windows_of(length, old.length) > CLEARED_AT_ONCE
}

/// Clears some of what lies beyond `length`, if it is much. True when it is little, or none is left. The record is changed by the last
/// step only: until then the file has its old length, with zeros at the end.
fn shortened(txn: &mut Txn<'_>, keys: &BlobKeys, old: &ContentRef, length: u64, trash: &mut Trash) -> Decided<bool> {
    if !is_cut_in_steps(old, length) {
        return Ok(true);
    }
    let mut editor = Editor::new(keys, Seen { content: old.id, epoch: old.epoch });
    let next = editor.clear(txn, length, old.length, CLEARED_AT_ONCE)?;
    editor.finish(trash);
    Ok(next.is_none())
}

/// A step of a flush that cuts off much, and what it left to the sweeper; `None` when there is no more of it.
fn cut_step(
    txn: &mut Txn<'_>,
    keys: &TrackedKeys,
    flush: &FlushData,
    current: Option<&Blob>,
    is_directory: bool,
) -> Decided<Option<Option<BlobKeys>>> {
    let Some(old) = current.filter(|blob| is_cut_in_steps(&blob.content, flush.position)) else { return Ok(None) };
    // It cuts off, so it does not matter what was appended.
    flush.decide(Some((old, is_directory)), &[], now(txn))?;
    let mut trash = Trash::default();
    let done = shortened(txn, keys, &old.content, flush.position, &mut trash)?;
    if done && trash.0.is_empty() {
        return Ok(None);
    }
    Ok(Some(trash.leave(txn, keys)))
}

/// The content with `pieces` in their places, cut off at `length`.
fn lay(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    old: &ContentRef,
    pieces: &[&Piece],
    length: u64,
    trash: &mut Trash,
) -> Decided<ContentRef> {
    if pieces.is_empty() && length == old.length {
        return Ok(old.clone());
    }
    let content = if old.is_sparse() { old.clone() } else { ContentRef::sparse(txn.stamp().0, 0) };
    let mut editor = Editor::new(keys, Seen { content: content.id, epoch: content.epoch });
    if !old.is_sparse() {
        adopt_manifest(txn, keys, old, &mut editor)?;
    }
    for piece in pieces {
        let FoundBlock { length, place, inline, cipher, .. } = &piece.block;
        editor.adopt(txn, piece.position, &Fill::of_block(*length, place.clone(), inline.clone(), *cipher))?;
    }
    // What lies beyond the end is no part of the file, also if it grows again.
    let beyond = pieces.iter().map(|piece| piece.position + piece.block.length).chain([old.length]).max();
    if let Some(beyond) = beyond.filter(|beyond| *beyond > length) {
        editor.clear_whole(txn, length, beyond)?;
    }
    editor.finish(trash);
    if !old.is_sparse() {
        release(txn, keys, old, Kept::Nothing, trash)?;
    }
    Ok(ContentRef { length, ..content })
}

/// What Put Blob or Put Block List wrote, as part of a content that can grow.
fn adopt_manifest(txn: &mut Txn<'_>, keys: &BlobKeys, old: &ContentRef, editor: &mut Editor<'_>) -> Decided<()> {
    for start in &old.starts {
        let bytes = txn.get(&keys.chunk(old.id, *start))?;
        let bytes = bytes.ok_or_else(|| lazuli_engine::Fault::Corrupt("a chunk of a file is missing".into()))?;
        for part in Loaded::decode(*start, &bytes)?.parts {
            let entry = part.entry;
            editor.adopt(txn, part.start, &Fill::of_block(entry.length, entry.place, part.inline, entry.cipher))?;
        }
    }
    Ok(())
}

/// What was appended beyond the position goes on waiting.
fn retain(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    pending: Pending,
    pieces: &[Piece],
    position: u64,
    trash: &mut Trash,
) -> Decided<()> {
    let (mut count, mut inline, mut loose) = (0, 0, Vec::new());
    for piece in pieces {
        let block = &piece.block;
        if piece.position + block.length > position {
            count += 1;
            inline += if block.place.runs().is_empty() { block.length } else { 0 };
            continue;
        }
        txn.delete(keys.block(pending.epoch, &block.id));
        for run in block.place.runs() {
            if lower(txn, keys, run)? {
                loose.push(*run);
            }
        }
    }
    if !loose.is_empty() {
        trash.0.push(Garbage::Pieces(loose));
    }
    match count {
        0 => txn.delete(keys.pending()),
        _ => txn.put(keys.pending(), encode(&Pending { count, inline, ..pending })),
    }
    Ok(())
}
