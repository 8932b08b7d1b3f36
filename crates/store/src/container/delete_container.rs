//! Delete Container: one record goes, and with it the way to everything in its space, which the sweeper then empties.

use lazuli_engine::Space;
use lazuli_model::Refusal;
use lazuli_model::container::DeleteContainer;

use super::{partition, stored};
use crate::records::{DeadSpace, encode};
use crate::transact::now;
use crate::{ContainerAt, Failure, Store, keys};

impl Store {
    pub async fn delete_container(&self, at: &ContainerAt, delete: DeleteContainer) -> Result<(), Failure> {
        self.permit_unguarded(at).await?;
        let at = at.clone();
        let space = self
            .transact(partition(&at), move |txn| {
                let current = stored(txn, &at)?;
                delete.decide(current.as_ref(), now(txn))?;
                let space = Space(current.ok_or(Refusal::ContainerNotFound)?.id);
                txn.delete(keys::container(at.account.as_str(), at.container.as_str()));
                let dead = DeadSpace { partition: keys::container_row(&at).to_vec(), emptied: None };
                txn.put(keys::dead_space(space), encode(&dead));
                Ok(space)
            })
            .await?;
        self.sweep.hint_space(space);
        Ok(())
    }
}
