//! Operations on an account's Blob service.

use lazuli_model::AccountName;
use lazuli_model::service::{ServiceProperties, ServicePropertiesChange};

use crate::{ContainerPage, Failure, ListContainers, Store};

impl Store {
    pub async fn service_properties(&self, _account: &AccountName) -> Result<ServiceProperties, Failure> {
        todo!()
    }

    pub async fn set_service_properties(
        &self,
        _account: &AccountName,
        _change: ServicePropertiesChange,
    ) -> Result<(), Failure> {
        todo!()
    }

    pub async fn list_containers(&self, _account: &AccountName, _list: ListContainers) -> Result<ContainerPage, Failure> {
        todo!()
    }
}
