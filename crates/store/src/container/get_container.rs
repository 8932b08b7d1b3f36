//! Get Container Properties, Metadata and ACL; and the record by which access is judged.

use lazuli_model::Refusal;
use lazuli_model::container::{Container, ReadContainer};

use super::stored;
use crate::transact::now;
use crate::{ContainerAt, Failure, Store, keys};

impl Store {
    /// For Get Container Properties, Metadata and ACL.
    pub async fn container(&self, at: &ContainerAt, read: ReadContainer) -> Result<Container, Failure> {
        self.look(&keys::container_partition(at), |txn| {
            let container = stored(txn, at)?;
            read.decide(container.as_ref(), now(txn))?;
            Ok(container.ok_or(Refusal::ContainerNotFound)?)
        })
        .await
    }

    /// For judging who may: public access and stored policies, whatever the container's lease.
    pub async fn container_for_access(&self, at: &ContainerAt) -> Result<Option<Container>, Failure> {
        self.look(&keys::container_partition(at), |txn| stored(txn, at)).await
    }
}
