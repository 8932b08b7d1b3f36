//! Clear Messages: the queue gets a new space, and the sweeper collects the old one, so that the call costs the same whatever
//! there was. What others do meanwhile in the old space happens before, as far as anyone can tell.

use lazuli_engine::Space;
use lazuli_model::Refusal;
use lazuli_model::queue::Queue;

use super::{QueueAt, partition, stored};
use crate::records::encode;
use crate::sweep::bury;
use crate::{Failure, Store, keys};

impl Store {
    /// `id` is that of a space never used before.
    pub async fn clear_messages(&self, at: &QueueAt, id: u128) -> Result<(), Failure> {
        let at = at.clone();
        let space = self
            .transact(partition(&at), move |txn| {
                let queue = stored(txn, &at)?.ok_or(Refusal::QueueNotFound)?;
                let space = Space(queue.id);
                txn.put(keys::queue(&at), encode(&Queue { id, ..queue }));
                bury(txn, &partition(&at), space);
                Ok(space)
            })
            .await?;
        self.sweep.hint_space(space);
        Ok(())
    }
}
