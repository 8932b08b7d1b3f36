//! Create Queue.

use lazuli_model::queue::{CreateQueue, Created};

use super::{QueueAt, partition, stored};
use crate::records::encode;
use crate::{Failure, Store, keys};

impl Store {
    /// True when it is new; false when it was there with the same metadata.
    pub async fn create_queue(&self, at: &QueueAt, create: CreateQueue) -> Result<bool, Failure> {
        debug_assert_ne!(create.id, keys::ROOT.0, "zero is the root's space");
        let at = at.clone();
        self.transact(partition(&at), move |txn| match create.decide(stored(txn, &at)?.as_ref())? {
            Created::New(queue) => {
                txn.put(keys::queue(&at), encode(&queue));
                Ok(true)
            }
            Created::Same => Ok(false),
        })
        .await
    }
}
