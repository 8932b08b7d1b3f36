//! Containers: their record, and what each operation makes of it.

use serde::{Deserialize, Serialize};

use crate::access::{PublicAccess, StoredPolicy};
use crate::lease::Action;
use crate::{Conditions, ETag, Lease, LeaseId, Metadata, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// The incarnation: a container created again under the same name is another space.
    pub id: u128,
    pub etag: ETag,
    pub modified: Timestamp,
    pub metadata: Metadata,
    pub public: PublicAccess,
    pub policies: Vec<StoredPolicy>,
    pub lease: Lease,
}

#[derive(Clone, Debug)]
pub struct CreateContainer {
    pub id: u128,
    pub metadata: Metadata,
    pub public: PublicAccess,
}

/// Get Container Properties, Metadata, ACL: a lease id, if sent, must be right.
#[derive(Clone, Debug, Default)]
pub struct ReadContainer {
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Debug)]
pub struct SetContainerMetadata {
    pub metadata: Metadata,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Debug)]
pub struct SetContainerAcl {
    pub public: PublicAccess,
    pub policies: Vec<StoredPolicy>,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Debug)]
pub struct DeleteContainer {
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Debug)]
pub struct LeaseContainer {
    pub action: Action,
    pub conditions: Conditions,
}
