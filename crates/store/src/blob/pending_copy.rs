//! Copies that take their time, because their source is elsewhere: begun, kept alive, and ended in one of three ways.
//!
//! Held true: as long as a blob's copy is pending, there is a row that says so, with what it takes to fetch the source anew (`g`);
//! and one in the root, written before it and removed after it, by which a process that starts, and every gateway from time to time,
//! finds the copies that another did not finish. One that nobody takes up, and nobody renews, is ended as failed by a round.

use std::collections::BTreeMap;

use lazuli_engine::{Key, Txn};
use lazuli_model::blob::{Blob, CopyBlob, CopyStatus, Encryption, Ending, Keeping};
use lazuli_model::{AccountName, ContainerName, Refusal, Timestamp};

use super::copy_blob::adopt;
use super::long_copies::{ALIVE_SECONDS, SEIZED_AFTER_SECONDS, supersede};
use super::put_blob::drop_pending;
use super::replace::{change, replace};
use super::{base, base_to_write};
use crate::claims::{Trash, claim_staged};
use crate::feed::TrackedKeys;
use crate::keys::{self, BlobKeys};
use crate::manifest::Manifest;
use crate::records::{Fetch, Kept, LongCopy, Mark, Task, encode};
use crate::secrets::Unopened;
use crate::transact::{Decided, get, now};
use crate::{BlobAt, ContainerAt, Failure, Received, Store};

/// Rows that one look of a round goes over.
const PAGE: usize = 256;

/// A copy that is under way.
#[derive(Clone, Debug)]
pub struct Copying {
    keys: TrackedKeys,
    pub id: u128,
}

/// A copy that nobody is at, because the process that was has ended.
#[derive(Clone, Debug)]
pub struct Unfinished {
    pub copying: Copying,
    pub fetch: Fetch,
    /// Of the target.
    pub encryption: Encryption,
}

impl Store {
    /// The target, without bytes, in place of what was there. `source` is what is known of the source.
    pub async fn begin_copy(
        &self,
        at: &BlobAt,
        copy: CopyBlob,
        source: Blob,
        total: u64,
        fetch: Fetch,
    ) -> Result<(Blob, Copying), Failure> {
        let tags = copy.tags.of(&source);
        let (keys, keeping) = (self.written_keys(at).await?, self.keeping(at, &tags).await?);
        let copying = Copying { keys: keys.clone(), id: copy.id };
        let row = keys::unfinished(&keys, copy.id);
        self.transact(keys::unfinished_partition(), move |txn| {
            txn.put(row.clone(), encode(&Mark));
            Ok(())
        })
        .await?;
        let (hinted, vault, salt) = (keys.clone(), self.vault.clone(), self.vault.salt());
        let begun = self
            .transact(keys.written(), move |txn| {
                let old = base_to_write(txn, &keys)?;
                let mut new = copy.begin(old.as_ref(), &source.headers, &source.metadata, total, now(txn))?;
                let mut trash = Trash::default();
                replace(txn, &keys, &keeping, old.as_ref(), &mut new, Kept::Nothing, &mut trash)?;
                drop_pending(txn, &keys, &mut trash)?;
                supersede(txn, &keys, &mut trash)?;
                let sealed = vault.seal(txn, salt, &purpose(copy.id), &fetch);
                let task = sealed.map_or_else(|| Task::Fetch(fetch.clone()), Task::SealedFetch);
                txn.put(keys.long_copy(), encode(&LongCopy { copy: copy.id, alive: now(txn), task }));
                Ok((new, trash.write(txn, &keys)))
            })
            .await;
        match begun {
            Ok((blob, trash)) => {
                self.hint(trash, hinted);
                Ok((blob, copying))
            }
            Err(failure) => {
                self.forget_copy(&copying).await?;
                Err(failure)
            }
        }
    }

    /// Says how far the copy has come, and that somebody is at it. False when it is not under way any more.
    pub async fn renew_copy(&self, copying: &Copying, done: u64) -> Result<bool, Failure> {
        let Copying { keys, id } = copying.clone();
        self.transact(keys.written(), move |txn| {
            let Some(old) = base_to_write(txn, &keys)?.filter(|blob| is_pending(blob, id)) else {
                return Ok(false);
            };
            let mut blob = old.clone();
            if let Some(copy) = &mut blob.copy {
                copy.done = done;
            }
            change(txn, &keys, &old, &blob);
            if let Some(long_copy) = get::<LongCopy>(txn, &keys.long_copy())? {
                txn.put(keys.long_copy(), encode(&LongCopy { alive: now(txn), ..long_copy }));
            }
            Ok(true)
        })
        .await
    }

    /// The copy is whole.
    pub async fn end_copy(&self, copying: &Copying, content: Received) -> Result<Blob, Failure> {
        let Copying { keys, id } = copying.clone();
        let manifest = Manifest::of_body(&content.body, content.length, content.cipher);
        let (place, _) = content.body.place();
        let hinted = keys.clone();
        let (blob, trash) = self
            .transact_staged(keys.written(), content.body.into_staged(), move |txn| {
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
                txn.delete(keys.long_copy());
                Ok(ended)
            })
            .await?;
        self.hint(trash, hinted);
        Ok(blob)
    }

    /// The copy will not be whole, for this reason.
    pub async fn fail_copy(&self, copying: &Copying, reason: String) -> Result<(), Failure> {
        let Copying { keys, id } = copying.clone();
        self.transact(keys.written(), move |txn| fail(txn, &keys, id, &reason)).await
    }

    /// The copy has ended, however it did.
    pub async fn forget_copy(&self, copying: &Copying) -> Result<(), Failure> {
        let row = keys::unfinished(&copying.keys, copying.id);
        self.transact(keys::unfinished_partition(), move |txn| {
            txn.delete(row.clone());
            Ok(())
        })
        .await
    }

    /// The copies that are pending and that nobody is at, which are the caller's from then on. For a process that starts, before it
    /// serves: where it is alone, that is all of them. Where there are other gateways, one of them may be at it: a copy is
    /// seized only when it was not renewed for so long that its gateway must have lost it. There it is asked again and again.
    pub async fn unfinished_copies(&self) -> Result<Vec<Unfinished>, Failure> {
        let mut found = Vec::new();
        let mut from = Some(keys::column(keys::ROOT, keys::UNFINISHED));
        while let Some(next) = from {
            from = self.unfinished_from(&next, &mut found).await?;
        }
        Ok(found)
    }

    /// A page of them. Gives where to go on.
    async fn unfinished_from(&self, from: &Key, found: &mut Vec<Unfinished>) -> Result<Option<Key>, Failure> {
        let end = keys::column(keys::ROOT, keys::UNFINISHED).after_prefix();
        let rows = self.rows(from, &end, PAGE).await?;
        for (keys, id) in rows.iter().filter_map(|(row, _)| keys::read_unfinished(row)) {
            let copying = Copying { keys: keys.clone().into(), id };
            let under_way = self
                .look(&keys.partition(), |txn| {
                    let blob = base(txn, &keys)?.filter(|blob| is_pending(blob, id));
                    let long_copy = get::<LongCopy>(txn, &keys.long_copy())?.filter(|long_copy| long_copy.copy == id);
                    Ok(blob.zip(long_copy))
                })
                .await?;
            match under_way.map(|(blob, long_copy)| (blob, self.fetch_of(long_copy))) {
                Some((blob, Ok(Some(fetch)))) => {
                    let copying = Copying { keys: self.tracked_by(&fetch, copying.keys.into()).await?, ..copying };
                    if self.seize_copy(&copying).await? {
                        found.push(Unfinished { copying, fetch, encryption: blob.encryption });
                    }
                }
                // Sealed under a key file that is gone.
                Some((_, Err(_))) => {
                    self.fail_copy(&copying, LOST.to_owned()).await?;
                    self.forget_copy(&copying).await?;
                }
                // It may be about to begin, at another gateway. Rounds see to it.
                Some((_, Ok(None))) | None if self.sharing.is_some() => {}
                Some((_, Ok(None))) | None => {
                    self.forget_copy(&copying).await?;
                }
            }
        }
        Ok(rows.last().filter(|_| rows.len() == PAGE).map(|(last, _)| last.successor()))
    }
}

impl Store {
    /// A page of the rows in the root, for a round: those of copies that have ended, whose gateway died before it could say so, are
    /// forgotten. A copy's row in the root is written before the copy begins, so it is seen twice. Gives where to go on.
    pub(crate) async fn visit_unfinished(
        &self,
        from: &Key,
        seen: &mut BTreeMap<Key, Timestamp>,
        time: Timestamp,
    ) -> Result<Option<Key>, Failure> {
        let end = keys::column(keys::ROOT, keys::UNFINISHED).after_prefix();
        let rows = self.rows(from, &end, PAGE).await?;
        for (row, _) in &rows {
            let Some((keys, id)) = keys::read_unfinished(row) else { continue };
            let long_copy = self.look(&keys.partition(), |txn| get::<LongCopy>(txn, &keys.long_copy())).await?;
            if long_copy.is_some_and(|long_copy| long_copy.copy == id) {
                seen.remove(row);
            } else if seen.entry(row.clone()).or_insert(time).plus_seconds(ALIVE_SECONDS) <= time {
                self.forget_copy(&Copying { keys: keys.into(), id }).await?;
                seen.remove(row);
            }
        }
        Ok(rows.last().filter(|_| rows.len() == PAGE).map(|(last, _)| last.successor()))
    }

    /// Somebody is at the copy again, also for a round that comes by before its first byte does. False if somebody was all the time.
    async fn seize_copy(&self, copying: &Copying) -> Result<bool, Failure> {
        let (Copying { keys, id }, is_alone) = (copying.clone(), self.sharing.is_none());
        self.transact(keys.written(), move |txn| {
            let Some(long_copy) = get::<LongCopy>(txn, &keys.long_copy())?.filter(|long_copy| long_copy.copy == id)
            else {
                return Ok(false);
            };
            let is_lost = is_alone || long_copy.alive.plus_seconds(SEIZED_AFTER_SECONDS) <= now(txn);
            if is_lost {
                txn.put(keys.long_copy(), encode(&LongCopy { alive: now(txn), ..long_copy }));
            }
            Ok(is_lost)
        })
        .await
    }

    fn fetch_of(&self, long_copy: LongCopy) -> Result<Option<Fetch>, Unopened> {
        match long_copy.task {
            Task::Fetch(fetch) => Ok(Some(fetch)),
            Task::SealedFetch(sealed) => Ok(Some(self.vault.open(&purpose(long_copy.copy), &sealed)?)),
            Task::Build { .. } | Task::Follow => Ok(None),
        }
    }

    async fn tracked_by(&self, fetch: &Fetch, keys: BlobKeys) -> Result<TrackedKeys, Failure> {
        match (AccountName::parse(&fetch.account), ContainerName::parse(&fetch.container)) {
            (Ok(account), Ok(container)) => self.tracked(&ContainerAt { account, container }, keys).await,
            _ => Ok(keys.into()),
        }
    }
}

/// The source of one copy does not open as that of another.
fn purpose(copy: u128) -> Vec<u8> {
    [&b"source of a copy\0"[..], &copy.to_be_bytes()].concat()
}

pub(super) const LOST: &str = "500 InternalError \"The server stopped while it was copying.\"";

pub(super) fn fail(txn: &mut Txn<'_>, keys: &TrackedKeys, id: u128, reason: &str) -> Decided<()> {
    let blob = base_to_write(txn, keys)?;
    let failed = Ending::Failed(reason.to_owned()).decide(blob.as_ref(), id, now(txn));
    if let (Some(old), Some(failed)) = (&blob, &failed) {
        change(txn, keys, old, failed);
    }
    if get::<LongCopy>(txn, &keys.long_copy())?.is_some_and(|long_copy| long_copy.copy == id) {
        txn.delete(keys.long_copy());
    }
    Ok(())
}

fn is_pending(blob: &Blob, id: u128) -> bool {
    blob.copy.as_ref().is_some_and(|copy| copy.id == id && copy.status == CopyStatus::Pending)
}
