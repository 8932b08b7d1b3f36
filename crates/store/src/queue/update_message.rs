//! Update Message: its holder hides it for longer, or shows it again, and may change its text.

use bytes::Bytes;
use lazuli_model::queue::{Message, UpdateMessage};

use super::{QueueAt, at_place, remove, write, write_row};
use crate::records::Stored;
use crate::transact::now;
use crate::{Failure, Store};

impl Store {
    pub async fn update_message(&self, at: &QueueAt, update: UpdateMessage) -> Result<Message, Failure> {
        let keys = self.queue_keys(at).await?;
        let text = update.text.as_ref().map(|text| Bytes::copy_from_slice(text.as_bytes()));
        self.transact(keys.partition(), move |txn| {
            let current = at_place(txn, &keys, update.receipt.place)?;
            let message = update.decide(current.as_ref().map(|(stored, _)| &stored.message), now(txn))?;
            if let Some((stored, tail)) = current {
                match &text {
                    Some(text) => {
                        remove(txn, &keys, &stored);
                        write(txn, &keys, message.clone(), text);
                    }
                    None => {
                        txn.delete(keys.message(stored.message.place));
                        write_row(txn, &keys, &Stored { message: message.clone(), inline: stored.inline }, tail);
                    }
                }
            }
            Ok(message)
        })
        .await
    }
}
