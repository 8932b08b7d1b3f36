//! Delete Message: final, for the client that has the receipt.

use lazuli_model::queue::DeleteMessage;

use super::{QueueAt, at_place, fewer, head, put_head, remove};
use crate::records::Head;
use crate::transact::now;
use crate::{Failure, Store};

impl Store {
    pub async fn delete_message(&self, at: &QueueAt, delete: DeleteMessage) -> Result<(), Failure> {
        let keys = self.queue_keys(at).await?;
        self.transact(keys.partition(), move |txn| {
            let current = at_place(txn, &keys, delete.receipt.place)?;
            delete.decide(current.as_ref().map(|(stored, _)| &stored.message), now(txn))?;
            if let Some((stored, _)) = current {
                remove(txn, &keys, &stored);
                let head = head(txn, &keys)?;
                put_head(txn, &keys, Head { count: fewer(head.count, 1), ..head });
            }
            Ok(())
        })
        .await
    }
}
