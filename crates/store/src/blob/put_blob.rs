//! Put Blob: new content under a name, in place of all that was there but the snapshots and the lease.

use lazuli_engine::Txn;
use lazuli_model::blob::{Blob, PutBlob};

use super::base_to_write;
use super::replace::replace;
use crate::claims::{Trash, claim_staged};
use crate::keys::BlobKeys;
use crate::manifest::Manifest;
use crate::records::{Garbage, Kept, Pending};
use crate::transact::{Decided, get, now};
use crate::{BlobAt, Failure, Received, Store};

impl Store {
    pub async fn put_blob(&self, at: &BlobAt, put: PutBlob, content: Received) -> Result<Box<Blob>, Failure> {
        let (address, keeping) = (self.address(at).await?, self.keeping(at, &put.tags).await?);
        let manifest = Manifest::of_body(&content.body, content.length, content.cipher);
        let ((place, _), md5) = (content.body.place(), content.md5);
        let target = address.written();
        let (blob, trash) = self
            .transact_staged(target, content.body.into_staged(), move |txn| {
                let keys = address.make(txn)?;
                let old = base_to_write(txn, &keys)?;
                let mut new = put.decide(old.as_ref(), manifest.content(txn.stamp().0), md5, now(txn))?;
                manifest.write(txn, &keys, &new.content);
                claim_staged(txn, &keys, place.runs());
                let mut trash = Trash::default();
                replace(txn, &keys, &keeping, old.as_ref(), &mut new, Kept::Nothing, &mut trash)?;
                drop_pending(txn, &keys, &mut trash)?;
                Ok((Box::new(new), trash.leave(txn, &keys)))
            })
            .await?;
        self.hint_left(trash);
        Ok(blob)
    }
}

/// Forgets all uncommitted blocks.
pub(crate) fn drop_pending(txn: &mut Txn<'_>, keys: &BlobKeys, trash: &mut Trash) -> Decided<()> {
    if let Some(pending) = get::<Pending>(txn, &keys.pending())? {
        txn.delete(keys.pending());
        trash.0.push(Garbage::Epoch { epoch: pending.epoch, kept: Kept::Nothing });
    }
    Ok(())
}
