//! What an account refuses whatever the request is: how it is reached, what its kind does not have, and what only the service may write.

use std::net::IpAddr;

use lazuli_model::Refusal;
use lazuli_model::account::Transport;
use lazuli_model::feed::CONTAINER;
use lazuli_model::service::Of;
use lazuli_store::Failure;

use super::Edge;
use crate::blob;
use crate::head::{Head, Service, Target};
use crate::operation::Spec;

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

/// Only the service itself writes the change feed.
pub(super) fn feed(spec: &Spec, head: &Head) -> Result<(), Refusal> {
    let container = match &head.target {
        Target::Container(container) | Target::Blob { container, .. } => container,
        Target::Service | Target::Queue(_) | Target::Messages(_) | Target::Message { .. } => return Ok(()),
        Target::Share(_) | Target::Path { .. } | Target::Table(_) => return Ok(()),
    };
    if *container != CONTAINER || !spec.writes() {
        return Ok(());
    }
    Err(match spec.name == blob::create_container::SPEC.name {
        true => Refusal::ContainerAlreadyExists,
        false => Refusal::InsufficientAccountPermissions,
    })
}
