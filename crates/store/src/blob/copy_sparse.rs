//! A copy of a page blob or an append blob: what is written in the source is read once, and put into windows of a content of
//! the copy's own. Holes cost nothing.

use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::BoxFuture;
use lazuli_model::blob::{Blob, ContentRef, Kind, Which};
use lazuli_model::{Refusal, Timestamp};

use super::base;
use super::get_blob::stored;
use super::put_blob::drop_pending;
use super::put_page::seen;
use super::reader::Reader;
use super::replace::replace;
use crate::claims::Trash;
use crate::crypt::Lock;
use crate::keys::BlobKeys;
use crate::records::Kept;
use crate::sparse::{Editor, Fill, Stretch, ranges};
use crate::transact::now;
use crate::upload::{Broken, Source};
use crate::{Failure, Range, Store};

/// Windows per look at what is written.
const WINDOWS: usize = 1024;

impl Store {
    #[allow(dead_code, reason = "for the copies")]
    /// `source` was opened as `which`. `decide` makes the new record, given the one before and its content.
    pub(super) async fn copy_sparse(
        &self,
        keys: BlobKeys,
        source: &mut Reader,
        which: Which,
        lock: Option<Lock>,
        decide: Arc<dyn Fn(Option<&Blob>, ContentRef, Timestamp) -> Result<Blob, Refusal> + Send + Sync>,
    ) -> Result<Blob, Failure> {
        let (origin, from) = (source.keys.clone(), source.blob.clone());
        let written = Arc::new(self.written(&origin, &from).await?);
        let total = written.iter().map(|range| range.end - range.start).sum();
        let mut bytes = Parts { reader: source, ranges: &written, next: 0, failure: None };
        let received = self.receive_encrypted(&mut bytes, Some(total), u64::MAX, false, lock).await;
        if let Some(failure) = bytes.failure {
            return Err(failure);
        }
        let received = received?;
        self.permit_unchanged(&origin, &from, which).await?;
        let content = from.content;
        let fill = Fill::of(&received);
        let (partition, hinted) = (keys.partition(), keys.clone());
        let (blob, trash) = self
            .transact_staged(partition, received.body.into_staged(), move |txn| {
                let old = base(txn, &keys)?;
                let content =
                    ContentRef { blocks: content.blocks, ..ContentRef::sparse(txn.stamp().0, content.length) };
                let new = decide(old.as_ref(), content, now(txn))?;
                let (mut editor, mut trash) = (Editor::new(&keys, seen(&new)), Trash::default());
                editor.scatter(txn, &written, &fill);
                editor.finish(&mut trash);
                replace(txn, &keys, old.as_ref(), &new, Kept::Nothing, &mut trash)?;
                drop_pending(txn, &keys, &mut trash)?;
                Ok((new, trash.write(txn, &keys)))
            })
            .await?;
        self.hint(trash, hinted);
        Ok(blob)
    }

    /// What is written in the source, as far as it goes.
    async fn written(&self, keys: &BlobKeys, source: &Blob) -> Result<Vec<Range>, Failure> {
        let (mut all, mut next): (Vec<Range>, _) = (Vec::new(), Some(0));
        while let Some(from) = next {
            let stretch = Stretch { from, to: source.content.length, most: WINDOWS };
            let (page, rest) = self.look(|txn| ranges(txn, keys, seen(source), stretch)).await?;
            all.extend(page);
            next = rest;
        }
        Ok(all)
    }

    /// Pages that were written meanwhile may be in the copy or not, so there is none ("Copy Blob": a source that changes fails
    /// the copy). What was appended lies behind what was copied.
    async fn permit_unchanged(&self, keys: &BlobKeys, source: &Blob, which: Which) -> Result<(), Failure> {
        let current = self.look(|txn| stored(txn, keys, which)).await?;
        match (source.kind, current) {
            (Kind::Page { .. }, Some(current)) if current.etag != source.etag => {
                Err(Refusal::SourceConditionNotMet.into())
            }
            (Kind::Page { .. } | Kind::Append { .. } | Kind::Block, _) => Ok(()),
        }
    }
}

/// The bytes of some ranges, one behind the other.
struct Parts<'a> {
    reader: &'a mut Reader,
    ranges: &'a [Range],
    next: usize,
    failure: Option<Failure>,
}

impl Source for Parts<'_> {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Broken>> {
        Box::pin(async {
            loop {
                match self.reader.next().await {
                    Ok(Some(bytes)) => return Ok(Some(bytes)),
                    Ok(None) => {}
                    Err(failure) => {
                        self.failure = Some(failure);
                        return Err(Broken::HungUp);
                    }
                }
                let Some(range) = self.ranges.get(self.next) else { return Ok(None) };
                self.reader.seek(range.start, range.end);
                self.next += 1;
            }
        })
    }
}
