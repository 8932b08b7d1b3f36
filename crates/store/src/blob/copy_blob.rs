//! Copy Blob, Copy Blob From URL and Put Blob From URL, from a blob that is stored here: the manifest is copied, and the pieces
//! are shared (`shared_pieces`). Bytes are copied only where they cannot be shared.
//!
//! A copy within one partition (a snapshot or a version over its base) shares the content itself, as a snapshot does.

use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::Txn;
use lazuli_model::blob::{Blob, ContentRef, CopyBlob, Keeping, PutBlob, Which};
use lazuli_model::{Refusal, Tags, Timestamp};

use super::get_blob::stored;
use super::put_blob::drop_pending;
use super::replace::replace;
use super::{base, base_to_write, reader::Reader};
use crate::claims::{Trash, claim_staged, raise, share};
use crate::crypt::Lock;
use crate::feed::TrackedKeys;
use crate::keys::BlobKeys;
use crate::manifest::{Loaded, Manifest};
use crate::records::{Claim, Entry, Kept, Run};
use crate::shared_pieces::CLAIM_SECONDS;
use crate::transact::{Decided, get, now};
use crate::upload::INLINE_MAX;
use crate::{BlobAt, Failure, Received, Store};

/// Beyond this, claims are too many for one transaction, and the bytes are copied: a blob of several terabytes.
const RUNS_MAX: usize = 100_000;

/// A lent content is lent anew if it was not claimed in time; then its bytes are copied.
const ATTEMPTS: usize = 2;

/// What the new record is, given the one before and its content.
pub(crate) type Decide = dyn Fn(Option<&Blob>, ContentRef, Timestamp) -> Result<Blob, Refusal> + Send + Sync;

impl Store {
    /// All of `source`, which was opened as `which`, in place of what is at `at`.
    pub async fn copy_blob(
        &self,
        at: &BlobAt,
        copy: CopyBlob,
        mut source: Reader,
        which: Which,
        lock: Option<Lock>,
    ) -> Result<Blob, Failure> {
        let (id, tags) = (copy.id, copy.tags.of(&source.blob));
        let (keys, keeping) = (self.written_keys(at).await?, self.keeping(at, &tags).await?);
        let from = source.blob.clone();
        self.look(&keys.partition(), |txn| Ok(copy.permit(base(txn, &keys)?.as_ref(), from.kind, now(txn))?)).await?;
        let decide: Arc<Decide> = Arc::new(move |old, content, now| copy.decide(old, &from, content, now));
        if source.blob.content.is_sparse() {
            let share = may_share(&source, lock.as_ref());
            let origin = super::copy_sparse::Origin { reader: &mut source, which, share, lock };
            return self.copy_sparse(keys, keeping, origin, id, decide).await;
        }
        if source.keys == *keys
            && may_share(&source, lock.as_ref())
            && let Some(blob) = self.share_within(&keys, keeping, &Origin::of(&source), which, decide.clone()).await?
        {
            return Ok(blob);
        }
        self.copy_content(keys, keeping, &mut source, true, lock, decide).await
    }

    /// The same for Put Blob From URL: one piece, whatever blocks the source is made of. `md5` is the content's, if it is known.
    pub async fn put_blob_from(
        &self,
        at: &BlobAt,
        put: PutBlob,
        md5: Option<[u8; 16]>,
        mut source: Reader,
        lock: Option<Lock>,
    ) -> Result<Blob, Failure> {
        let (keys, keeping) = (self.written_keys(at).await?, self.keeping(at, &put.tags).await?);
        self.look(&keys.partition(), |txn| Ok(put.permit(base(txn, &keys)?.as_ref(), now(txn))?)).await?;
        let decide: Arc<Decide> = Arc::new(move |old, content, now| put.decide(old, content, md5, now));
        self.copy_content(keys, keeping, &mut source, false, lock, decide).await
    }

    /// The same by replication, which no client asked for.
    pub(crate) async fn copy_replica(
        &self,
        at: &BlobAt,
        mut source: Reader,
        tags: &Tags,
        decide: Arc<Decide>,
    ) -> Result<Blob, Failure> {
        let (keys, keeping) = (self.written_keys(at).await?, self.keeping(at, tags).await?);
        self.copy_content(keys, keeping, &mut source, true, None, decide).await
    }

    /// Of a source elsewhere, whose bytes have been received; `source` is what is known of it.
    pub async fn copy_received(
        &self,
        at: &BlobAt,
        copy: CopyBlob,
        source: Blob,
        content: Received,
    ) -> Result<Blob, Failure> {
        let tags = copy.tags.of(&source);
        let (keys, keeping) = (self.written_keys(at).await?, self.keeping(at, &tags).await?);
        let decide: Arc<Decide> = Arc::new(move |old, content, now| copy.decide(old, &source, content, now));
        self.adopt_received(&keys, keeping, content, decide).await
    }

    async fn copy_content(
        &self,
        keys: TrackedKeys,
        keeping: Keeping,
        source: &mut Reader,
        with_blocks: bool,
        lock: Option<Lock>,
        decide: Arc<Decide>,
    ) -> Result<Blob, Failure> {
        let origin = Origin::of(source);
        let length = origin.content.length;
        let plain = may_share(source, lock.as_ref()) && !origin.content.is_sparse();
        if plain && (length > INLINE_MAX || (with_blocks && origin.content.blocks > 0)) {
            for _ in 0..ATTEMPTS {
                let Some(lent) = self.borrow(&origin, &keys, with_blocks).await? else { break };
                if let Some(blob) = self.adopt_lent(&keys, keeping, lent, decide.clone()).await? {
                    return Ok(blob);
                }
            }
        }
        let received = self.receive_from(source, 0, length, false, lock).await?;
        self.adopt_received(&keys, keeping, received, decide).await
    }

    /// The source's manifest, with its pieces lent to `to`; `None` when they cannot be.
    async fn borrow(&self, source: &Origin, to: &BlobKeys, with_blocks: bool) -> Result<Option<Lent>, Failure> {
        let Some((manifest, runs)) = self.manifest_of(source, with_blocks).await? else {
            return Ok(None);
        };
        if runs.len() > RUNS_MAX {
            return Ok(None);
        }
        // Nobody is lent what is inline, nor what the partition holds already.
        let within = source.keys == *to;
        let since =
            if runs.is_empty() || within { Some(self.now()) } else { self.lend(&source.keys, to, &runs).await? };
        Ok(since.map(|since| Lent { manifest, runs, since, within }))
    }

    /// The chunks of a source, as they are or without blocks, and the pieces that they hold. `None` when it was deleted meanwhile.
    async fn manifest_of(&self, source: &Origin, with_blocks: bool) -> Result<Option<(Manifest, Vec<Run>)>, Failure> {
        let content = &source.content;
        let (mut chunks, mut runs, mut entries) = (Vec::new(), Vec::new(), Vec::<(Entry, Bytes)>::new());
        for start in &content.starts {
            let key = source.keys.chunk(content.id, *start);
            let Some(bytes) = self.look(&source.keys.partition(), |txn| Ok(txn.get(&key)?)).await? else {
                return Ok(None);
            };
            for part in Loaded::decode(*start, &bytes)?.parts {
                if part.entry.holds {
                    runs.extend_from_slice(part.entry.place.runs());
                }
                if !with_blocks {
                    entries.push((Entry { id: None, ..part.entry }, part.inline));
                }
            }
            if with_blocks {
                chunks.push((*start, bytes));
            }
        }
        let manifest = if with_blocks {
            Manifest { chunks, length: content.length, blocks: content.blocks }
        } else {
            Manifest { blocks: 0, ..Manifest::of_blocks(entries) }
        };
        Ok(Some((manifest, runs)))
    }

    /// `None` when the claims would come too late, or the partition does not hold the pieces any more.
    async fn adopt_lent(
        &self,
        keys: &TrackedKeys,
        keeping: Keeping,
        lent: Lent,
        decide: Arc<Decide>,
    ) -> Result<Option<Blob>, Failure> {
        let (hinted, keys) = (keys.clone(), keys.clone());
        let adopted = self
            .transact(keys.written(), move |txn| {
                if now(txn) > lent.since.plus_seconds(CLAIM_SECONDS) || (lent.within && !holds(txn, &keys, &lent.runs)?)
                {
                    return Ok(None);
                }
                let adopted =
                    adopt(txn, &keys, &keeping, &lent.manifest, &*decide, |txn| raise(txn, &keys, &lent.runs))?;
                Ok(Some(adopted))
            })
            .await?;
        Ok(adopted.map(|(blob, trash)| {
            self.hint(trash, hinted);
            blob
        }))
    }

    async fn adopt_received(
        &self,
        keys: &TrackedKeys,
        keeping: Keeping,
        content: Received,
        decide: Arc<Decide>,
    ) -> Result<Blob, Failure> {
        let manifest = Manifest::of_body(&content.body, content.length, content.cipher);
        let (place, _) = content.body.place();
        let (hinted, keys) = (keys.clone(), keys.clone());
        let (blob, trash) = self
            .transact_staged(keys.written(), content.body.into_staged(), move |txn| {
                adopt(txn, &keys, &keeping, &manifest, &*decide, |txn| {
                    claim_staged(txn, &keys, place.runs());
                    Ok(())
                })
            })
            .await?;
        self.hint(trash, hinted);
        Ok(blob)
    }

    /// The content itself becomes the base's as well; `None` if the source is not what it was.
    async fn share_within(
        &self,
        keys: &TrackedKeys,
        keeping: Keeping,
        source: &Origin,
        which: Which,
        decide: Arc<Decide>,
    ) -> Result<Option<Blob>, Failure> {
        let content = source.content.clone();
        let (hinted, keys) = (keys.clone(), keys.clone());
        let shared = self
            .transact(keys.written(), move |txn| {
                let there = stored(txn, &keys, which)?.is_some_and(|source| source.content == content);
                if !there || content.is_sparse() {
                    return Ok(None);
                }
                let old = base_to_write(txn, &keys)?;
                let mut new = decide(old.as_ref(), share(txn, &keys, &content)?, now(txn))?;
                let mut trash = Trash::default();
                replace(txn, &keys, &keeping, old.as_ref(), &mut new, Kept::Nothing, &mut trash)?;
                drop_pending(txn, &keys, &mut trash)?;
                Ok(Some((new, trash.write(txn, &keys))))
            })
            .await?;
        Ok(shared.map(|(blob, trash)| {
            self.hint(trash, hinted);
            blob
        }))
    }
}

/// Whether the bytes can stay as they are: not encrypted, or by the key that the copy has too.
pub(super) fn may_share(source: &Reader, lock: Option<&Lock>) -> bool {
    match (source.key(), lock) {
        (None, None) => true,
        (Some(key), Some(lock)) => lock.is_by(key),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// What of a source is not its bytes.
struct Origin {
    keys: BlobKeys,
    content: ContentRef,
}

impl Origin {
    fn of(source: &Reader) -> Self {
        Self { keys: source.keys.clone(), content: source.blob.content.clone() }
    }
}

struct Lent {
    manifest: Manifest,
    runs: Vec<Run>,
    since: Timestamp,
    /// Source and target are one partition.
    within: bool,
}

pub(super) fn holds(txn: &mut Txn<'_>, keys: &BlobKeys, runs: &[Run]) -> Decided<bool> {
    for run in runs {
        if get::<Claim>(txn, &keys.claim(&run.piece()))?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) fn adopt(
    txn: &mut Txn<'_>,
    keys: &TrackedKeys,
    keeping: &Keeping,
    manifest: &Manifest,
    decide: impl Fn(Option<&Blob>, ContentRef, Timestamp) -> Result<Blob, Refusal>,
    claim: impl Fn(&mut Txn<'_>) -> Decided<()>,
) -> Decided<(Blob, bool)> {
    let old = base_to_write(txn, keys)?;
    let mut new = decide(old.as_ref(), manifest.content(txn.stamp().0), now(txn))?;
    manifest.write(txn, keys, &new.content);
    claim(txn)?;
    let mut trash = Trash::default();
    replace(txn, keys, keeping, old.as_ref(), &mut new, Kept::Nothing, &mut trash)?;
    drop_pending(txn, keys, &mut trash)?;
    Ok((new, trash.write(txn, keys)))
}
