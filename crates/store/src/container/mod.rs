//! Operations on containers: one file each.

use lazuli_model::container::*;
use lazuli_model::lease;

use crate::{BlobPage, ContainerAt, Failure, ListBlobs, Store};

impl Store {
    pub async fn create_container(&self, _at: &ContainerAt, _create: CreateContainer) -> Result<Container, Failure> {
        todo!()
    }

    /// For Get Container Properties, Metadata and ACL.
    pub async fn container(&self, _at: &ContainerAt, _read: ReadContainer) -> Result<Container, Failure> {
        todo!()
    }

    pub async fn set_container_metadata(&self, _at: &ContainerAt, _set: SetContainerMetadata) -> Result<Container, Failure> {
        todo!()
    }

    pub async fn set_container_acl(&self, _at: &ContainerAt, _set: SetContainerAcl) -> Result<Container, Failure> {
        todo!()
    }

    pub async fn delete_container(&self, _at: &ContainerAt, _delete: DeleteContainer) -> Result<(), Failure> {
        todo!()
    }

    pub async fn lease_container(&self, _at: &ContainerAt, _lease: LeaseContainer) -> Result<(Container, lease::Outcome), Failure> {
        todo!()
    }

    pub async fn list_blobs(&self, _at: &ContainerAt, _list: ListBlobs) -> Result<BlobPage, Failure> {
        todo!()
    }
}
