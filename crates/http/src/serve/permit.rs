//! What an account refuses whatever the request is: how it is reached, what its kind does not have, and what only the service may write.

use std::net::IpAddr;

use lazuli_model::account::Transport;
use lazuli_model::analytics::LOGS;
use lazuli_model::feed::permit_change;
use lazuli_model::service::Of;

use super::Edge;
use crate::head::{Head, Service, Target};
use crate::operation::Spec;
use crate::refusal::{Denied, Failure, Refusal};
use crate::{blob, table};

impl Edge {
    /// Whether the account may be reached in this way at all: over this transport, from this address, for this service.
    pub(super) async fn permit_reach(&self, transport: Transport, peer: IpAddr, head: &Head) -> Result<(), Failure> {
        self.accounts.learn(&head.account, &self.store).await?;
        let Some(account) = self.accounts.get(&head.account) else { return Ok(()) };
        let settings = account.settings();
        settings.permit_transport(&head.account, transport)?;
        settings.permit_network(peer)?;
        let of = match head.service {
            Service::Blob | Service::Dfs => Of::Blob,
            Service::Queue => Of::Queue,
            Service::Table => Of::Table,
            Service::File => Of::File,
        };
        // Azure's account has no such host; a server that has all of them on one says that nothing is there.
        if settings.kind.serves(of) { Ok(()) } else { Err(Refusal::InvalidUri.into()) }
    }

    /// Whether the account is of a kind that has what the operation makes. Headers that the kind passes over are taken away.
    pub(super) fn permit_kind(&self, spec: &Spec, head: &mut Head) -> Result<(), Refusal> {
        let Some(account) = self.accounts.get(&head.account) else { return Ok(()) };
        let kind = account.settings().kind;
        spec.makes.map_or(Ok(()), |made| kind.permit_blob(made))?;
        if !kind.has_tags() {
            head.headers.remove("x-ms-tags");
            head.headers.remove("x-ms-if-tags");
        }
        Ok(())
    }
}

/// What may be written in a container that is the destination of object replication, besides deleting ("Object replication for block blobs":
/// writes are 409, deletes are permitted, and so is Set Blob Tier). A lease, and what protects a version, is nothing that is replicated.
const ON_REPLICAS: [&str; 4] = ["tier", "lease", "immutabilityPolicies", "legalhold"];

impl Edge {
    /// Nobody but the service writes the blobs of a destination.
    pub(super) fn permit_replica(&self, spec: &Spec, head: &Head) -> Result<(), Refusal> {
        let Target::Blob { container, .. } = &head.target else { return Ok(()) };
        let Some(account) = self.accounts.get(&head.account) else { return Ok(()) };
        let Some(policies) = &account.settings().replication else { return Ok(()) };
        let deletes = spec.name == blob::delete_blob::SPEC.name;
        let may = deletes || spec.comp.is_some_and(|comp| ON_REPLICAS.contains(&comp));
        match spec.writes() && !may && policies.is_destination(account.name(), container) {
            true => Err(Denied::BlobOperationNotSupported.into()),
            false => Ok(()),
        }
    }
}

/// Only the service itself writes logs and metrics. Logs and rows can be deleted ("Storage Analytics": nobody can delete `$logs`, or a table).
pub(super) fn analytics(spec: &Spec, head: &Head) -> Result<(), Refusal> {
    let is_own = match &head.target {
        Target::Container(container) | Target::Blob { container, .. } => *container == LOGS,
        Target::Table(target) => target.table().is_some_and(|name| name.starts_with('$')),
        Target::Service | Target::Queue(_) | Target::Messages(_) | Target::Message { .. } => false,
        Target::Share(_) | Target::Path { .. } => false,
    };
    let deletes = [blob::delete_blob::SPEC.name, table::delete_entity::SPEC.name].contains(&spec.name);
    if !is_own || !spec.writes() || deletes {
        return Ok(());
    }
    Err(match spec.name == blob::create_container::SPEC.name {
        true => Denied::ContainerAlreadyExists,
        false => Denied::InsufficientAccountPermissions,
    }
    .into())
}

/// Only the service itself writes the change feed.
pub(super) fn feed(spec: &Spec, head: &Head) -> Result<(), Refusal> {
    let container = match &head.target {
        Target::Container(container) | Target::Blob { container, .. } => container,
        Target::Service | Target::Queue(_) | Target::Messages(_) | Target::Message { .. } => return Ok(()),
        Target::Share(_) | Target::Path { .. } | Target::Table(_) => return Ok(()),
    };
    if !spec.writes() {
        return Ok(());
    }
    Ok(permit_change(container, spec.name == blob::create_container::SPEC.name)?)
}
