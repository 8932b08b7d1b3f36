//! Set Queue Metadata, Set Queue ACL: the record changes and nothing else. The last writer wins.

use lazuli_model::access::StoredPolicy;
use lazuli_model::queue::Queue;
use lazuli_model::{Metadata, Refusal};

use super::{QueueAt, partition, stored};
use crate::records::encode;
use crate::{Failure, Store, keys};

impl Store {
    pub async fn set_queue_metadata(&self, at: &QueueAt, metadata: Metadata) -> Result<(), Failure> {
        self.change_queue(at, move |queue| Queue { metadata: metadata.clone(), ..queue }).await
    }

    pub async fn set_queue_acl(&self, at: &QueueAt, policies: Vec<StoredPolicy>) -> Result<(), Failure> {
        self.change_queue(at, move |queue| Queue { policies: policies.clone(), ..queue }).await
    }

    async fn change_queue(
        &self,
        at: &QueueAt,
        change: impl Fn(Queue) -> Queue + Send + 'static,
    ) -> Result<(), Failure> {
        let at = at.clone();
        self.transact(partition(&at), move |txn| {
            let queue = stored(txn, &at)?.ok_or(Refusal::QueueNotFound)?;
            txn.put(keys::queue(&at), encode(&change(queue)));
            Ok(())
        })
        .await
    }
}
