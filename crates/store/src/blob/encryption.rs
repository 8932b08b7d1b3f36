//! In what scope a container encrypts what is put into it.

use lazuli_model::Refusal;
use lazuli_model::blob::ContainerScope;

use crate::records::decode_container_scope;
use crate::{ContainerAt, Failure, Store, keys};

impl Store {
    pub async fn container_scope(&self, at: &ContainerAt) -> Result<Option<ContainerScope>, Failure> {
        let key = keys::container(at.account.as_str(), at.container.as_str());
        let bytes = self.look(&keys::container_partition(at), |txn| Ok(txn.get(&key)?)).await?;
        Ok(decode_container_scope(&bytes.ok_or(Refusal::ContainerNotFound)?)?)
    }
}
