//! Create Container: a name gets a space of its own, never used before.

use lazuli_model::container::{Container, CreateContainer};

use super::stored;
use crate::records::encode;
use crate::transact::now;
use crate::{ContainerAt, Failure, Store, keys};

impl Store {
    pub async fn create_container(&self, at: &ContainerAt, create: CreateContainer) -> Result<Container, Failure> {
        debug_assert_ne!(create.id, keys::ROOT.0, "zero is the root's space");
        let at = at.clone();
        let hierarchical = self.account_settings(&at.account).await?.hierarchical_namespace;
        let created = self.transact(keys::container_partition(&at), move |txn| {
            let container = create.decide(stored(txn, &at)?.as_ref(), now(txn))?.as_file_system(hierarchical);
            txn.put(keys::container(at.account.as_str(), at.container.as_str()), encode(&container));
            Ok(container)
        });
        let container = created.await?;
        if container.hierarchical {
            self.create_root(container.id).await?;
        }
        Ok(container)
    }
}
