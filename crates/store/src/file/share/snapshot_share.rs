//! Snapshot Share: the epoch moves on. What was written before stays as it is for reads of the snapshot.

use lazuli_model::Timestamp;
use lazuli_model::file::{Share, SnapshotShare};

use crate::file::rows::Snapshot;
use crate::records::encode;
use crate::{Failure, ShareAt, Store};

impl Store {
    /// The snapshot's time, and the share as it keeps it.
    pub async fn snapshot_share(&self, at: &ShareAt, snapshot: SnapshotShare) -> Result<(Timestamp, Share), Failure> {
        self.change_tree(at, move |tree| {
            snapshot.permit(tree.head.snapshots.len())?;
            // Observed: a snapshot's time is a whole second. Two within one cannot have the same.
            let next = tree.head.last_snapshot.plus_seconds(1);
            let time = tree.now().whole_seconds().max(next);
            let current = tree.share()?;
            let frozen = current.frozen(snapshot.metadata.clone(), tree.now());
            let head = tree.change_head();
            let epoch = head.epoch;
            head.epoch += 1;
            head.snapshots.push(epoch);
            head.last_snapshot = time;
            tree.txn.put(tree.keys.snapshot(time), encode(&Snapshot { epoch, share: frozen.clone() }));
            Ok((time, frozen))
        })
        .await
    }
}
