//! Peek Messages: what can be seen, without touching it.

use lazuli_model::queue::{Pick, pick};

use super::{Delivery, QueueAt, head, text, visible};
use crate::transact::now;
use crate::{Failure, Store};

/// Rows that are looked at together, once some turned out to have expired.
const BATCH: usize = 256;

impl Store {
    pub async fn peek_messages(&self, at: &QueueAt, most: u32) -> Result<Vec<Delivery>, Failure> {
        let keys = self.queue_keys(at).await?;
        self.look(&keys.partition(), |txn| {
            let now = now(txn);
            let mut from = head(txn, &keys)?.first;
            let mut limit = most as usize;
            let mut seen = Vec::new();
            loop {
                let rows = visible(txn, &keys, from, now, limit)?;
                let ended = rows.len() < limit;
                for (stored, tail) in rows {
                    from = super::get_messages::next(stored.message.place);
                    match pick(most, seen.len(), &stored.message, now) {
                        Pick::Take => {
                            let text = text(txn, &keys, &stored, tail)?;
                            seen.push(Delivery { message: stored.message, text });
                        }
                        Pick::Expired | Pick::Enough => {}
                    }
                }
                if ended || seen.len() == most as usize {
                    return Ok(seen);
                }
                limit = BATCH;
            }
        })
        .await
    }
}
