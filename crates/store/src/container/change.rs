//! Set Container Metadata, Set Container ACL, Lease Container: the record changes and nothing else.

use lazuli_model::container::{Container, LeaseContainer, SetContainerAcl, SetContainerMetadata};
use lazuli_model::{Refusal, Timestamp, lease};

use super::stored;
use crate::records::encode;
use crate::transact::now;
use crate::{ContainerAt, Failure, Store, keys};

impl Store {
    pub async fn set_container_metadata(
        &self,
        at: &ContainerAt,
        set: SetContainerMetadata,
    ) -> Result<Container, Failure> {
        let (container, ()) =
            self.change_container(at, move |current, now| Ok((set.decide(current, now)?, ()))).await?;
        Ok(container)
    }

    pub async fn set_container_acl(&self, at: &ContainerAt, set: SetContainerAcl) -> Result<Container, Failure> {
        let (container, ()) =
            self.change_container(at, move |current, now| Ok((set.decide(current, now)?, ()))).await?;
        Ok(container)
    }

    pub async fn lease_container(
        &self,
        at: &ContainerAt,
        lease: LeaseContainer,
    ) -> Result<(Container, lease::Outcome), Failure> {
        self.change_container(at, move |current, now| lease.decide(current, now)).await
    }

    async fn change_container<T: Send + 'static>(
        &self,
        at: &ContainerAt,
        decide: impl Fn(Option<&Container>, Timestamp) -> Result<(Container, T), Refusal> + Send + 'static,
    ) -> Result<(Container, T), Failure> {
        let at = at.clone();
        self.transact(keys::container_partition(&at), move |txn| {
            let (container, answer) = decide(stored(txn, &at)?.as_ref(), now(txn))?;
            txn.put(keys::container(at.account.as_str(), at.container.as_str()), encode(&container));
            Ok((container, answer))
        })
        .await
    }
}
