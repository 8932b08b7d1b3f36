//! Copies that take their time, because their source is elsewhere: begun, kept alive, and ended in one of three ways.
//!
//! Held true: as long as a blob's copy is pending, there is a row that says so (`j`). Whoever makes the copy renews it; one that
//! nobody renews has lost its maker with a process that died, and a round ends it as failed. The client then copies anew.

use lazuli_engine::{Key, Txn};
use lazuli_model::blob::{Blob, CopyBlob, CopyStatus, Ending, Keeping};
use lazuli_model::{Refusal, Timestamp};

use super::base;
use super::copy_blob::adopt;
use super::put_blob::drop_pending;
use super::replace::{change, replace};
use crate::claims::{Trash, claim_staged};
use crate::keys::{self, BlobKeys};
use crate::manifest::Manifest;
use crate::records::{Errand, Kept, decode, encode};
use crate::transact::{Decided, get, now};
use crate::{BlobAt, Failure, Received, Store};

/// A copy that was not renewed for this long has nobody any more.
const ALIVE_SECONDS: u64 = 10 * 60;

/// Rows that one look of a round goes over.
const PAGE: usize = 256;

impl Store {
    /// The target, without bytes, in place of what was there. `source` is what is known of the source.
    pub async fn begin_copy(&self, at: &BlobAt, copy: CopyBlob, source: Blob, total: u64) -> Result<Blob, Failure> {
        let tags = copy.tags.of(&source);
        let (keys, keeping) = (self.blob_keys(at).await?, self.keeping(at, &tags).await?);
        let hinted = keys.clone();
        let (blob, trash) = self
            .transact(keys.partition(), move |txn| {
                let old = base(txn, &keys)?;
                let mut new = copy.begin(old.as_ref(), &source.headers, &source.metadata, total, now(txn))?;
                let mut trash = Trash::default();
                replace(txn, &keys, &keeping, old.as_ref(), &mut new, Kept::Nothing, &mut trash)?;
                drop_pending(txn, &keys, &mut trash)?;
                txn.put(keys.errand(), encode(&Errand { copy: copy.id, alive: now(txn) }));
                Ok((new, trash.write(txn, &keys)))
            })
            .await?;
        self.hint(trash, hinted);
        Ok(blob)
    }

    /// Says how far the copy has come, and that somebody is at it. False when it is not under way any more.
    pub async fn renew_copy(&self, at: &BlobAt, id: u128, done: u64) -> Result<bool, Failure> {
        let keys = self.blob_keys(at).await?;
        self.transact(keys.partition(), move |txn| {
            let Some(old) = base(txn, &keys)?.filter(|blob| is_pending(blob, id)) else {
                return Ok(false);
            };
            let mut blob = old.clone();
            if let Some(copy) = &mut blob.copy {
                copy.done = done;
            }
            change(txn, &keys, &old, &blob);
            txn.put(keys.errand(), encode(&Errand { copy: id, alive: now(txn) }));
            Ok(true)
        })
        .await
    }

    /// The copy is whole.
    pub async fn end_copy(&self, at: &BlobAt, id: u128, content: Received) -> Result<Blob, Failure> {
        let keys = self.blob_keys(at).await?;
        let manifest = Manifest::of_body(&content.body, content.length, content.nonce);
        let (place, _) = content.body.place();
        let hinted = keys.clone();
        let (blob, trash) = self
            .transact_staged(keys.partition(), content.body.into_staged(), move |txn| {
                let ended = adopt(
                    txn,
                    &keys,
                    &Keeping::NOTHING, // what it takes the place of is its own beginning
                    &manifest,
                    |old, content, now| {
                        Ending::Success(content).decide(old, id, now).ok_or(Refusal::NoPendingCopyOperation)
                    },
                    |txn| {
                        claim_staged(txn, &keys, place.runs());
                        Ok(())
                    },
                )?;
                txn.delete(keys.errand());
                Ok(ended)
            })
            .await?;
        self.hint(trash, hinted);
        Ok(blob)
    }

    /// The copy will not be whole, for this reason.
    pub async fn fail_copy(&self, at: &BlobAt, id: u128, reason: String) -> Result<(), Failure> {
        let keys = self.blob_keys(at).await?;
        self.transact(keys.partition(), move |txn| fail(txn, &keys, id, &reason)).await
    }

    /// A page of a container's errands, for a round: those that nobody is at any more are ended. Gives where to go on.
    pub(crate) async fn visit_errands(&self, from: &Key, next: &Key, time: Timestamp) -> Result<Option<Key>, Failure> {
        let space = from.space();
        let end = keys::column(space, keys::ERRANDS).after_prefix();
        let rows = self.look(|txn| Ok(txn.scan(from, &end, PAGE)?)).await?;
        for (key, bytes) in &rows {
            let errand: Errand = decode(bytes)?;
            if errand.alive.plus_seconds(ALIVE_SECONDS) <= time {
                let keys = self.told_in_round(next, BlobKeys::of(space, keys::name_of(key))).await?;
                self.transact(keys.partition(), move |txn| {
                    let lost = get::<Errand>(txn, &keys.errand())?
                        .filter(|errand| errand.alive.plus_seconds(ALIVE_SECONDS) <= now(txn));
                    match lost {
                        Some(errand) => fail(txn, &keys, errand.copy, LOST),
                        None => Ok(()),
                    }
                })
                .await?;
            }
        }
        Ok(rows.last().filter(|_| rows.len() == PAGE).map(|(last, _)| last.successor()))
    }
}

const LOST: &str = "500 InternalError \"The server stopped while it was copying.\"";

fn fail(txn: &mut Txn<'_>, keys: &BlobKeys, id: u128, reason: &str) -> Decided<()> {
    let blob = base(txn, keys)?;
    let failed = Ending::Failed(reason.to_owned()).decide(blob.as_ref(), id, now(txn));
    if let (Some(old), Some(failed)) = (&blob, &failed) {
        change(txn, keys, old, failed);
    }
    if get::<Errand>(txn, &keys.errand())?.is_some_and(|errand| errand.copy == id) {
        txn.delete(keys.errand());
    }
    Ok(())
}

fn is_pending(blob: &Blob, id: u128) -> bool {
    blob.copy.as_ref().is_some_and(|copy| copy.id == id && copy.status == CopyStatus::Pending)
}
