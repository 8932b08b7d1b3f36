//! Get Queue Metadata and ACL; and the record by which access is judged.

use lazuli_model::Refusal;
use lazuli_model::queue::Queue;

use super::{QueueAt, head, partition, stored};
use crate::keys::QueueKeys;
use crate::{Failure, Store};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundQueue {
    pub queue: Queue,
    /// Messages, whether they can be seen or not; those that expired count until they are collected.
    pub count: u64,
}

impl Store {
    pub async fn queue(&self, at: &QueueAt) -> Result<FoundQueue, Failure> {
        let queue = self.queue_for_access(at).await?.ok_or(Refusal::QueueNotFound)?;
        let keys = QueueKeys::new(queue.id);
        let head = self.look(&keys.partition(), |txn| head(txn, &keys)).await?;
        Ok(FoundQueue { queue, count: head.count })
    }

    /// For judging who may: the stored policies.
    pub async fn queue_for_access(&self, at: &QueueAt) -> Result<Option<Queue>, Failure> {
        self.look(&partition(at), |txn| stored(txn, at)).await
    }
}
