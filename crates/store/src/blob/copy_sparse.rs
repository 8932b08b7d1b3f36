//! Copy Blob of a page blob or an append blob: its windows are copied, and its pieces shared; holes cost nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use lazuli_engine::Txn;
use lazuli_model::Refusal;
use lazuli_model::blob::{Blob, ContentRef, Keeping, Which};

use super::copy_blob::{Decide, holds, is_plain};
use super::get_blob::stored;
use super::put_blob::drop_pending;
use super::put_page::seen;
use super::replace::replace;
use super::{base, reader::Reader};
use crate::claims::Trash;
use crate::crypt::Lock;
use crate::keys::BlobKeys;
use crate::lending::CLAIM_SECONDS;
use crate::records::Kept;
use crate::sparse::{Copy, Described, describe};
use crate::transact::{Decided, now};
use crate::upload::{Broken, Source};
use crate::{Failure, Store};

impl Store {
    pub(super) async fn copy_sparse(
        &self,
        keys: BlobKeys,
        keeping: Keeping,
        source: &mut Reader,
        which: Which,
        lock: Option<Lock>,
        decide: Arc<Decide>,
    ) -> Result<Blob, Failure> {
        let share = is_plain(source, lock.as_ref());
        let (from, was) = (source.keys.clone(), source.blob.clone());
        let described = self
            .look(|txn| {
                // What is being written may have changed since it was opened; the copy is of what the conditions were about.
                match stored(txn, &from, which)?.filter(|blob| blob.etag == was.etag && blob.content == was.content) {
                    Some(blob) => describe(txn, &from, seen(&blob), blob.content.length),
                    None => Err(Refusal::SourceConditionNotMet.into()),
                }
            })
            .await?;
        let content = was.content;
        let ranges = match described {
            Described::TooLong => {
                return Err(Refusal::NotImplemented { what: "A copy of more than 64 GiB of pages".into() }.into());
            }
            Described::Ranges(ranges) => ranges,
            Described::Whole(copy) if share => {
                let within = from == keys;
                let runs = copy.runs();
                let since =
                    if within || runs.is_empty() { Some(self.now()) } else { self.lend(&from, &keys, &runs).await? };
                let copy = Arc::new(copy);
                if let Some(since) = since {
                    let (copy, content, at, decide) = (copy.clone(), content.clone(), keys.clone(), decide.clone());
                    let hinted = keys.clone();
                    let adopted = self
                        .transact(keys.partition(), move |txn| {
                            let late = now(txn) > since.plus_seconds(CLAIM_SECONDS);
                            if late || (within && !holds(txn, &at, &runs)?) {
                                return Ok(None);
                            }
                            adopt(txn, &at, &keeping, &copy, &content, &*decide).map(Some)
                        })
                        .await?;
                    if let Some((blob, trash)) = adopted {
                        self.hint(trash, hinted);
                        return Ok(blob);
                    }
                }
                copy.ranges()
            }
            Described::Whole(copy) => copy.ranges(),
        };
        self.copy_ranges(keys, keeping, source, (ranges, content), lock, decide).await
    }

    /// The bytes of what was written, in place of the pieces.
    async fn copy_ranges(
        &self,
        keys: BlobKeys,
        keeping: Keeping,
        source: &mut Reader,
        (ranges, content): (Vec<(u64, u64)>, ContentRef),
        lock: Option<Lock>,
        decide: Arc<Decide>,
    ) -> Result<Blob, Failure> {
        let length = ranges.iter().map(|(from, to)| to - from).sum();
        source.seek(0, 0);
        let mut covered = Covered { reader: source, ranges: ranges.iter().copied().collect(), failure: None };
        let received = self.receive_encrypted(&mut covered, Some(length), u64::MAX, false, lock).await;
        let received = match covered.failure {
            Some(failure) => return Err(failure),
            None => received?,
        };
        let copy = Copy::of_received(&ranges, &received);
        let hinted = keys.clone();
        let (blob, trash) = self
            .transact_staged(keys.partition(), received.body.into_staged(), move |txn| {
                adopt(txn, &keys, &keeping, &copy, &content, &*decide)
            })
            .await?;
        self.hint(trash, hinted);
        Ok(blob)
    }
}

fn adopt(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    keeping: &Keeping,
    copy: &Copy,
    content: &ContentRef,
    decide: &Decide,
) -> Decided<(Blob, bool)> {
    let id = txn.stamp().0;
    let old = base(txn, keys)?;
    let content = ContentRef { blocks: content.blocks, ..ContentRef::sparse(id, content.length) };
    let mut new = decide(old.as_ref(), content, now(txn))?;
    copy.write(txn, keys, id)?;
    let mut trash = Trash::default();
    replace(txn, keys, keeping, old.as_ref(), &mut new, Kept::Nothing, &mut trash)?;
    drop_pending(txn, keys, &mut trash)?;
    Ok((new, trash.write(txn, keys)))
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
