//! Get Container Properties.

use http::StatusCode;
use lazuli_model::Timestamp;
use lazuli_model::container::{Container, ReadContainer};

use crate::answer::{Answer, name};
use crate::blob::create_container::public_access_of;
use crate::blob::encryption;
use crate::head::Head;
use crate::operation::{AccountNeeds, Anonymous, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "GetContainerProperties",
    methods: &["GET", "HEAD"],
    on: On::Container,
    restype: Some("container"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "r" }),
    anonymous: Anonymous::Container,
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let read = parse(&ask.head)?;
    let container = ask.store.container(&ask.head.container_at()?, read).await?;
    Ok(answer(&container, ask.settings.immutability, ask.head.now))
}

fn parse(head: &Head) -> Result<ReadContainer, Refusal> {
    headers::conditions(head, &SPEC)?;
    Ok(ReadContainer { lease: headers::lease_id(head)? })
}

fn answer(container: &Container, immutability: bool, now: Timestamp) -> Answer {
    let (scope, deny) = encryption::shown(container.scope.as_ref());
    let answer = Answer::new(StatusCode::OK)
        .etag(container.etag, container.modified)
        .constant(&name::HAS_IMMUTABILITY_POLICY, "false")
        .constant(&name::HAS_LEGAL_HOLD, "false")
        .constant(&name::IMMUTABLE_STORAGE_WITH_VERSIONING, if immutability { "true" } else { "false" })
        .text(&name::DEFAULT_ENCRYPTION_SCOPE, scope)
        .constant(&name::DENY_ENCRYPTION_SCOPE_OVERRIDE, deny);
    let answer = headers::lease(answer, container.lease, now);
    headers::metadata_of(public_access_of(answer, container.public), &container.metadata)
}
