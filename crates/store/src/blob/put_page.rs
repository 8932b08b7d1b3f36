//! Put Page: writes pages, or clears them.

use lazuli_model::blob::{Blob, PutPage};
use lazuli_model::lake::Right;

use super::base_to_write;
use super::replace::touch;
use crate::claims::Trash;
use crate::sparse::{Editor, Fill, Seen};
use crate::transact::now;
use crate::{BlobAt, Failure, Received, Store};

/// Windows that one transaction clears. Beyond this much that was written, a clear takes several.
pub(crate) const CLEARED_AT_ONCE: usize = 1024;

impl Store {
    /// `content` is as long as the pages.
    pub async fn put_page(&self, at: &BlobAt, put: PutPage, content: Received) -> Result<Blob, Failure> {
        let address = self.address(at).await?;
        let fill = Fill::of(&content);
        let partition = address.partition();
        let (blob, trash) = self
            .transact_staged(partition, content.body.into_staged(), move |txn| {
                let keys = address.find(txn, Right::Write)?;
                let blob = put.decide(base_to_write(txn, &keys)?.as_ref(), now(txn))?;
                let (mut editor, mut trash) = (Editor::new(&keys, seen(&blob)), Trash::default());
                editor.write(txn, put.pages.from, &fill)?;
                editor.finish(&mut trash);
                touch(txn, &keys, &blob);
                Ok((blob, trash.leave(txn, &keys)))
            })
            .await?;
        self.hint_left(trash);
        Ok(blob)
    }

    /// Each step is atomic and within the conditions; the last one changes the record.
    pub async fn clear_pages(&self, at: &BlobAt, put: PutPage) -> Result<Blob, Failure> {
        let mut from = put.pages.from;
        loop {
            let (address, put) = (self.address(at).await?, put.clone());
            let partition = address.partition();
            let (blob, next, trash) = self
                .transact(partition, move |txn| {
                    let keys = address.find(txn, Right::Write)?;
                    let blob = put.decide(base_to_write(txn, &keys)?.as_ref(), now(txn))?;
                    let (mut editor, mut trash) = (Editor::new(&keys, seen(&blob)), Trash::default());
                    let next = editor.clear(txn, from, put.pages.to, CLEARED_AT_ONCE)?;
                    editor.finish(&mut trash);
                    if next.is_none() {
                        touch(txn, &keys, &blob);
                    }
                    Ok((blob, next, trash.leave(txn, &keys)))
                })
                .await?;
            self.hint_left(trash);
            match next {
                Some(next) => from = next,
                None => return Ok(blob),
            }
        }
    }
}

/// The content that a record of pages or appended blocks sees, and writes.
pub(super) fn seen(blob: &Blob) -> Seen {
    Seen { content: blob.content.id, epoch: blob.content.epoch }
}
