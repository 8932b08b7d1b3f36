//! Append Block and Append Blob Seal. An append costs its own bytes: the record stays small, and so do the rows it touches.

use lazuli_model::blob::{AppendBlock, Blob, SealBlob};
use lazuli_model::lake::Right;

use super::base_to_write;
use super::put_page::seen;
use super::replace::touch;
use crate::claims::Trash;
use crate::sparse::{Editor, Fill};
use crate::transact::now;
use crate::{BlobAt, Failure, Received, Store};

impl Store {
    /// Where the block begins, and the blob that has it.
    pub async fn append_block(
        &self,
        at: &BlobAt,
        append: AppendBlock,
        content: Received,
    ) -> Result<(u64, Blob), Failure> {
        let address = self.address(at).await?;
        let fill = Fill::of(&content);
        let (partition, length) = (address.partition(), content.length);
        let (offset, blob, trash) = self
            .transact_staged(partition, content.body.into_staged(), move |txn| {
                let keys = address.find(txn, Right::Write)?;
                let blob = append.decide(base_to_write(txn, &keys)?.as_ref(), length, now(txn))?;
                let offset = blob.content.length - length;
                let (mut editor, mut trash) = (Editor::new(&keys, seen(&blob)), Trash::default());
                editor.write(txn, offset, &fill)?;
                editor.finish(&mut trash);
                touch(txn, &keys, &blob);
                Ok((offset, blob, trash.leave(txn, &keys)))
            })
            .await?;
        self.hint_left(trash);
        Ok((offset, blob))
    }

    pub async fn seal_blob(&self, at: &BlobAt, seal: SealBlob) -> Result<Blob, Failure> {
        let (blob, ()) = self.change_blob(at, move |blob, now| Ok((seal.decide(blob, now)?, ()))).await?;
        Ok(blob)
    }
}
