//! Containers: their record, and what each operation makes of it.
//!
//! Order of refusals: absent, conditions, lease. Only Delete Container needs the lease's id; elsewhere an id may be
//! left out, and must be right if it is sent.

pub mod deleted;

use serde::{Deserialize, Serialize};

use crate::access::{PublicAccess, StoredPolicy};
use crate::blob::ContainerScope;
use crate::conditions::Seen;
use crate::lease::{self, Action, On, Outcome};
use crate::{Conditions, ETag, Lease, LeaseId, Metadata, Refusal, Tags, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// The incarnation: a container created again under the same name is another space.
    pub id: u128,
    /// Whether it is a file system: its blobs are files in directories, and it is one partition. Right behind the id, so that both are
    /// read without the rest.
    pub hierarchical: bool,
    /// In what scope its blobs are encrypted when nobody says. Before the rest, for the same reason.
    pub scope: Option<ContainerScope>,
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
    pub scope: Option<ContainerScope>,
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

impl Container {
    fn seen(&self) -> Seen<'_> {
        static NO_TAGS: Tags = Tags::NONE;
        Seen { etag: self.etag, modified: self.modified, tags: &NO_TAGS }
    }

    /// The same container after a change that shows in its ETag. The lease stays as it is: it guards deletion only,
    /// and an expired one can be renewed whatever was written.
    fn changed(&self, now: Timestamp) -> Container {
        Container { etag: ETag::of(now), modified: now, ..self.clone() }
    }
}

/// What must be there for every operation but Create Container.
fn existing(current: Option<&Container>) -> Result<&Container, Refusal> {
    current.ok_or(Refusal::ContainerNotFound)
}

impl CreateContainer {
    pub fn decide(&self, current: Option<&Container>, now: Timestamp) -> Result<Container, Refusal> {
        match current {
            Some(_) => Err(Refusal::ContainerAlreadyExists),
            None => Ok(Container {
                id: self.id,
                hierarchical: false,
                scope: self.scope.clone(),
                etag: ETag::of(now),
                modified: now,
                metadata: self.metadata.clone(),
                public: self.public,
                policies: Vec::new(),
                lease: Lease::Available,
            }),
        }
    }
}

impl Container {
    /// The same as a file system, in an account with a hierarchical namespace.
    pub fn as_file_system(self, hierarchical: bool) -> Self {
        Self { hierarchical, ..self }
    }
}

impl ReadContainer {
    pub fn decide<'a>(&self, current: Option<&'a Container>, now: Timestamp) -> Result<&'a Container, Refusal> {
        let current = existing(current)?;
        lease::permit_read(current.lease, self.lease, now, On::Container)?;
        Ok(current)
    }
}

impl SetContainerMetadata {
    pub fn decide(&self, current: Option<&Container>, now: Timestamp) -> Result<Container, Refusal> {
        let current = existing(current)?;
        self.conditions.permit_write(Some(current.seen()))?;
        lease::permit_read(current.lease, self.lease, now, On::Container)?;
        Ok(Container { metadata: self.metadata.clone(), ..current.changed(now) })
    }
}

impl SetContainerAcl {
    pub fn decide(&self, current: Option<&Container>, now: Timestamp) -> Result<Container, Refusal> {
        let current = existing(current)?;
        self.conditions.permit_write(Some(current.seen()))?;
        lease::permit_read(current.lease, self.lease, now, On::Container)?;
        Ok(Container { public: self.public, policies: self.policies.clone(), ..current.changed(now) })
    }
}

impl DeleteContainer {
    /// The one operation that a container's lease forbids to others.
    pub fn decide(&self, current: Option<&Container>, now: Timestamp) -> Result<(), Refusal> {
        let current = existing(current)?;
        self.conditions.permit_write(Some(current.seen()))?;
        lease::permit_write(current.lease, self.lease, now, On::Container)?;
        Ok(())
    }
}

impl LeaseContainer {
    /// A lease changes neither the ETag nor the date.
    pub fn decide(&self, current: Option<&Container>, now: Timestamp) -> Result<(Container, Outcome), Refusal> {
        let current = existing(current)?;
        self.conditions.permit_write(Some(current.seen()))?;
        let outcome = lease::act(current.lease, self.action, now)?;
        Ok((Container { lease: outcome.lease, ..current.clone() }, outcome))
    }
}

#[cfg(test)]
mod tests;
