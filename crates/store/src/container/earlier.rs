//! Records of containers as earlier versions wrote them.

use lazuli_model::access::{PublicAccess, StoredPolicy};
use lazuli_model::blob::{ContainerScope, Deleted};
use lazuli_model::container::Container;
use lazuli_model::{ETag, Lease, Metadata, Timestamp};
use serde::{Deserialize, Serialize};

use crate::records::DeletedContainer;

/// [`Container`] in its first version: there were no hierarchies.
#[derive(Serialize, Deserialize)]
pub struct FlatContainer {
    id: u128,
    scope: Option<ContainerScope>,
    etag: ETag,
    modified: Timestamp,
    metadata: Metadata,
    public: PublicAccess,
    policies: Vec<StoredPolicy>,
    lease: Lease,
}

impl From<FlatContainer> for Container {
    fn from(before: FlatContainer) -> Self {
        let FlatContainer { id, scope, etag, modified, metadata, public, policies, lease } = before;
        Self { id, hierarchical: false, scope, etag, modified, metadata, public, policies, lease }
    }
}

/// [`DeletedContainer`] in its first version.
#[derive(Serialize, Deserialize)]
pub struct DeletedFlatContainer {
    container: FlatContainer,
    deleted: Deleted,
    restored: Option<Timestamp>,
}

impl From<DeletedFlatContainer> for DeletedContainer {
    fn from(before: DeletedFlatContainer) -> Self {
        let DeletedFlatContainer { container, deleted, restored } = before;
        Self { container: container.into(), deleted, restored }
    }
}
