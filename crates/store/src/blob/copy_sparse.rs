//! Copy Blob of a page blob or an append blob: its windows are copied, and its pieces shared; holes cost nothing.
//!
//! One with more windows than a transaction takes is copied in steps, into a content that no record has yet, and the last step
//! gives it to the blob; so nobody sees half a copy. A LongCopy row names that content meanwhile, so that the sweeper finds it if it is abandoned.

use std::collections::VecDeque;
use std::sync::Arc;

use lazuli_engine::Txn;
use lazuli_engine::content::Staged;
use lazuli_model::blob::{Blob, ContentRef, Keeping, Which};
use lazuli_model::feed::Event;
use lazuli_model::{Refusal, Timestamp};

use super::copy_blob::{Decide, holds};
use super::get_blob::stored;
use super::long_copies::{drop_build, is_at, supersede};
use super::put_blob::drop_pending;
use super::put_page::seen;
use super::replace::replace;
use super::{base_to_write, reader::Reader};
use crate::claims::{Trash, share};
use crate::crypt::Lock;
use crate::feed::{TrackedKeys, note};
use crate::keys::BlobKeys;
use crate::records::{Kept, LongCopy, Run, Task, encode};
use crate::shared_pieces::CLAIM_SECONDS;
use crate::sparse::{Copy, Described, Wanted, describe};
use crate::transact::{Decided, now};
use crate::upload::{Broken, Source};
use crate::{Failure, Store};

/// A page blob or an append blob that is copied from.
pub(super) struct Origin<'a> {
    pub reader: &'a mut Reader,
    pub which: Which,
    /// Its pieces may be shared.
    pub share: bool,
    pub lock: Option<Lock>,
}

impl Store {
    pub(super) async fn copy_sparse(
        &self,
        keys: TrackedKeys,
        keeping: Keeping,
        mut origin: Origin<'_>,
        id: u128,
        decide: Arc<Decide>,
    ) -> Result<Blob, Failure> {
        let (mut from, mut built) = (0, None);
        loop {
            let part = self.part_of(&mut origin, 0, from).await?;
            let next = part.next;
            let wrote = self.copy_part(&keys, keeping, &mut origin, part, (id, built), &decide).await;
            match (wrote, next, built) {
                (Ok((_, Some(blob))), _, _) => return Ok(blob),
                (Ok((content, None)), Some(next), _) => (built, from) = (Some(content), next),
                (Ok((_, None)), None, _) => return Err(Refusal::OperationTimedOut.into()),
                (Err(failure), _, None) => return Err(failure),
                (Err(failure), _, Some(_)) => {
                    self.transact(keys.partition(), move |txn| drop_build(txn, &keys, id)).await?;
                    return Err(failure);
                }
            }
        }
    }

    /// The next part of a source, as long as it is what the conditions were about.
    pub(super) async fn part_of(&self, origin: &mut Origin<'_>, since: u64, from: u64) -> Result<Described, Failure> {
        let (keys, was, which) = (origin.reader.keys.clone(), origin.reader.blob.clone(), origin.which);
        let (most, length, sealed) = (self.copied_at_once, was.content.length, origin.share);
        self.look(&keys.partition(), |txn| {
            let blob = stored(txn, &keys, which)?;
            match blob.filter(|blob| blob.etag == was.etag && blob.content == was.content) {
                Some(blob) => describe(txn, &keys, seen(&blob), Wanted { since, from, most, length, sealed }),
                None => Err(Refusal::SourceConditionNotMet.into()),
            }
        })
        .await
    }

    /// What one transaction can write of it: shared pieces, or, the second time it is asked, bytes.
    pub(super) async fn ready(
        &self,
        keys: &BlobKeys,
        origin: &mut Origin<'_>,
        part: &mut Described,
    ) -> Result<(Ready, Option<Staged>), Failure> {
        let from = &origin.reader.keys;
        if let Some(copy) = part.shared.take().filter(|_| origin.share) {
            let (runs, within) = (copy.runs(), from == keys);
            let since = if within || runs.is_empty() { Some(self.now()) } else { self.lend(from, keys, &runs).await? };
            if let Some(since) = since {
                return Ok((Ready { copy: copy.into(), lent: Some((since, within.then_some(runs))) }, None));
            }
        }
        let length = part.ranges.iter().map(|(from, to)| to - from).sum();
        origin.reader.seek(0, 0);
        let lock = origin.lock.as_mut().map(Lock::part);
        let ranges = part.ranges.iter().copied().collect();
        let mut covered = Covered { reader: origin.reader, ranges, failure: None };
        let received = self.receive_encrypted(&mut covered, Some(length), u64::MAX, false, lock).await;
        let received = match covered.failure {
            Some(failure) => return Err(failure),
            None => received?,
        };
        let copy = Copy::of_received(&part.ranges, &received);
        Ok((Ready { copy: copy.into(), lent: None }, received.body.into_staged()))
    }

    /// Writes a part; the last one makes the blob. Gives the content, and the blob if that is whole.
    async fn copy_part(
        &self,
        keys: &TrackedKeys,
        keeping: Keeping,
        origin: &mut Origin<'_>,
        mut part: Described,
        (id, built): (u128, Option<u64>),
        decide: &Arc<Decide>,
    ) -> Result<(u64, Option<Blob>), Failure> {
        let source = origin.reader.blob.content.clone();
        let last = part.next.is_none();
        loop {
            let (ready, staged) = self.ready(keys, origin, &mut part).await?;
            let (own, source, decide) = (keys.clone(), source.clone(), decide.clone());
            let wrote = self.transact_staged(keys.partition(), staged, move |txn| {
                if ready.is_late(txn, &own)? {
                    return Ok(None);
                }
                let mut trash = Trash::default();
                let content = match built {
                    Some(content) if is_at(txn, &own, id, &Task::Build { content })? => content,
                    Some(_) => return Err(Refusal::OperationTimedOut.into()),
                    None => txn.stamp().0,
                };
                ready.copy.write(txn, &own, content)?;
                let blob = if last {
                    if built.is_some() {
                        txn.delete(own.long_copy());
                    }
                    let content = ContentRef { blocks: source.blocks, ..ContentRef::sparse(content, source.length) };
                    Some(adopt(txn, &own, &keeping, content, &*decide, &mut trash)?)
                } else {
                    if built.is_none() {
                        supersede(txn, &own, &mut trash)?;
                    }
                    let long_copy = LongCopy { copy: id, alive: now(txn), task: Task::Build { content } };
                    txn.put(own.long_copy(), encode(&long_copy));
                    None
                };
                Ok(Some((content, blob, trash.write(txn, &own))))
            });
            if let Some((content, blob, trash)) = wrote.await? {
                self.hint(trash, keys.clone());
                return Ok((content, blob));
            }
        }
    }
}

/// What a transaction can write.
#[derive(Clone)]
pub(super) struct Ready {
    pub copy: Arc<Copy>,
    /// Since when it is lent; within one partition, what has to be held there still.
    lent: Option<(Timestamp, Option<Vec<Run>>)>,
}

impl Ready {
    /// It was lent for too long, or is not to be had any more.
    pub fn is_late(&self, txn: &mut Txn<'_>, keys: &BlobKeys) -> Decided<bool> {
        let Some((since, within)) = &self.lent else { return Ok(false) };
        let held = match within {
            Some(runs) => holds(txn, keys, runs)?,
            None => true,
        };
        Ok(now(txn) > since.plus_seconds(CLAIM_SECONDS) || !held)
    }
}

fn adopt(
    txn: &mut Txn<'_>,
    keys: &TrackedKeys,
    keeping: &Keeping,
    content: ContentRef,
    decide: &Decide,
    trash: &mut Trash,
) -> Decided<Blob> {
    let old = base_to_write(txn, keys)?;
    let mut new = decide(old.as_ref(), content, now(txn))?;
    if new.follows().is_some() {
        new.content = leave_snapshot(txn, keys, &new)?;
    }
    replace(txn, keys, keeping, old.as_ref(), &mut new, Kept::Nothing, trash)?;
    drop_pending(txn, keys, trash)?;
    Ok(new)
}

/// The snapshot of an incremental copy that has come to where its source was. Gives the content that the copy goes on with.
pub(super) fn leave_snapshot(txn: &mut Txn<'_>, keys: &TrackedKeys, blob: &Blob) -> Decided<ContentRef> {
    let (time, copy) = (now(txn), blob.as_copied_snapshot());
    note(txn, keys, Which::Current, || Some(Event::snapshot(&copy, time)));
    txn.put(keys.snapshot(time), encode(&copy));
    share(txn, keys, &blob.content)
}

/// Ranges of a blob, one after another.
struct Covered<'a> {
    reader: &'a mut Reader,
    ranges: VecDeque<(u64, u64)>,
    failure: Option<Failure>,
}

impl Source for Covered<'_> {
    fn next(&mut self) -> lazuli_engine::BoxFuture<'_, Result<Option<bytes::Bytes>, Broken>> {
        Box::pin(async {
            loop {
                match self.reader.next().await {
                    Ok(Some(bytes)) => return Ok(Some(bytes)),
                    Ok(None) => match self.ranges.pop_front() {
                        Some((from, to)) => self.reader.seek(from, to),
                        None => return Ok(None),
                    },
                    Err(failure) => {
                        self.failure = Some(failure);
                        return Err(Broken::HungUp);
                    }
                }
            }
        })
    }
}
