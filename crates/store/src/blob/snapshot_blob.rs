//! Snapshot Blob: the record is copied, the content shared.

use lazuli_model::blob::{Blob, SnapshotBlob, Which};
use lazuli_model::feed::Event;
use lazuli_model::lake::Right;
use lazuli_model::{Refusal, Tags, Timestamp};

use super::base_to_write;
use super::replace::{change, revise};
use crate::claims::share;
use crate::feed::note;
use crate::records::encode;
use crate::transact::now;
use crate::{BlobAt, Failure, Store};

impl Store {
    /// The snapshot's time, and the base blob it was taken of. Where versions are kept, that becomes another one.
    pub async fn snapshot_blob(&self, at: &BlobAt, snapshot: SnapshotBlob) -> Result<(Timestamp, Blob), Failure> {
        let (address, keeping) = (self.address(at).await?, self.keeping(at, &Tags::NONE).await?);
        self.transact(address.written(), move |txn| {
            let keys = address.find(txn, Right::Write)?;
            let current = base_to_write(txn, &keys)?;
            let copy = snapshot.decide(current.as_ref(), now(txn))?;
            let current = current.ok_or(Refusal::BlobNotFound)?;
            let content = share(txn, &keys, &copy.content)?;
            let mut next = Blob { content, ..current.clone() };
            // Stamps never repeat within a partition, so neither do the times of snapshots.
            txn.put(keys.snapshot(now(txn)), encode(&copy));
            let time = now(txn);
            note(txn, &keys, Which::Current, || Some(Event::snapshot(&copy, time)));
            if keeping.versions {
                let current = next.clone();
                revise(txn, &keys, &keeping, &current, &mut next)?;
            } else if next.content.is_sparse() {
                change(txn, &keys, &current, &next);
            }
            Ok((now(txn), next))
        })
        .await
    }
}
