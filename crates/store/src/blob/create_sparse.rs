//! Put Blob, for page blobs and append blobs: a record with room for what is to come, and not one byte.

use lazuli_engine::Txn;
use lazuli_model::blob::{Blob, Keeping, PutBlob};

use super::base_to_write;
use super::put_blob::drop_pending;
use super::replace::replace;
use crate::claims::Trash;
use crate::feed::TrackedKeys;
use crate::keys::BlobKeys;
use crate::records::Kept;
use crate::transact::{Decided, now};
use crate::{BlobAt, Failure, Store};

impl Store {
    pub async fn create_page_blob(
        &self,
        at: &BlobAt,
        put: PutBlob,
        length: u64,
        sequence: u64,
    ) -> Result<Blob, Failure> {
        let keeping = self.keeping(at, &put.tags).await?;
        self.create_sparse(at, keeping, move |txn, old| {
            Ok(put.decide_pages(old, txn.stamp().0, length, sequence, now(txn))?)
        })
        .await
    }

    pub async fn create_append_blob(&self, at: &BlobAt, put: PutBlob) -> Result<Blob, Failure> {
        let keeping = self.keeping(at, &put.tags).await?;
        self.create_sparse(at, keeping, move |txn, old| Ok(put.decide_append(old, txn.stamp().0, now(txn))?)).await
    }

    async fn create_sparse(
        &self,
        at: &BlobAt,
        keeping: Keeping,
        decide: impl Fn(&Txn<'_>, Option<&Blob>) -> Decided<Blob> + Send + 'static,
    ) -> Result<Blob, Failure> {
        let address = self.address(at).await?;
        let (blob, trash) = self
            .transact(address.written(), move |txn| {
                let keys = address.make(txn)?;
                let old = base_to_write(txn, &keys)?;
                let new = decide(txn, old.as_ref())?;
                put_in_place(txn, &keys, &keeping, old.as_ref(), new)
            })
            .await?;
        self.hint_left(trash);
        Ok(blob)
    }
}

fn put_in_place(
    txn: &mut Txn<'_>,
    keys: &TrackedKeys,
    keeping: &Keeping,
    old: Option<&Blob>,
    mut new: Blob,
) -> Decided<(Blob, Option<BlobKeys>)> {
    let mut trash = Trash::default();
    replace(txn, keys, keeping, old, &mut new, Kept::Nothing, &mut trash)?;
    drop_pending(txn, keys, &mut trash)?;
    Ok((new, trash.leave(txn, keys)))
}
