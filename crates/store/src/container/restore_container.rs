//! Restore Container: a container that was deleted softly comes back under its name, with all that is in its space.

use lazuli_model::Refusal;
use lazuli_model::container::Container;
use lazuli_model::container::deleted::{DeletionVersion, restore};

use super::stored;
use crate::records::{DeletedContainer, encode};
use crate::transact::{get, now};
use crate::{ContainerAt, Failure, Store, keys};

impl Store {
    pub async fn restore_container(&self, at: &ContainerAt, version: DeletionVersion) -> Result<Container, Failure> {
        let at = at.clone();
        self.transact(keys::container_partition(&at), move |txn| {
            let row = keys::deleted_container(&at, version.0);
            let gone: Option<DeletedContainer> = get(txn, &row)?;
            let gone = gone.filter(|gone| gone.is_there(now(txn))).ok_or(Refusal::ContainerNotFound)?;
            let container = restore(stored(txn, &at)?.as_ref(), &gone.container, now(txn))?;
            txn.put(row, encode(&DeletedContainer { restored: Some(now(txn)), ..gone }));
            txn.put(keys::container(at.account.as_str(), at.container.as_str()), encode(&container));
            Ok(container)
        })
        .await
    }
}
