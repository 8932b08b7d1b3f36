//! Put Message.

use bytes::Bytes;
use lazuli_model::queue::{Message, PutMessage};

use super::{QueueAt, head, put_head, write};
use crate::records::Head;
use crate::transact::now;
use crate::{Failure, Store};

impl Store {
    pub async fn put_message(&self, at: &QueueAt, put: PutMessage) -> Result<Message, Failure> {
        let keys = self.queue_keys(at).await?;
        let text = Bytes::copy_from_slice(put.text.as_bytes());
        self.transact(keys.partition(), move |txn| {
            let message = put.decide(now(txn));
            let head = head(txn, &keys)?;
            put_head(txn, &keys, Head { count: head.count + 1, ..head });
            write(txn, &keys, message.clone(), &text);
            Ok(message)
        })
        .await
    }
}
