//! Restore Container.

use http::StatusCode;
use lazuli_model::Refusal;
use lazuli_model::container::deleted::DeletionVersion;
use lazuli_store::Failure;

use crate::answer::Answer;
use crate::blob::headers;
use crate::head::Head;
use crate::operation::{AccountNeeds, On, Spec};
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "RestoreContainer",
    methods: &["PUT"],
    on: On::Container,
    restype: Some("container"),
    comp: Some("undelete"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "w" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let version = parse(&ask.head)?;
    ask.store.restore_container(&ask.head.container_at()?, version).await?;
    Ok(Answer::new(StatusCode::CREATED))
}

/// A container comes back under its own name; to another one, the service no longer restores.
fn parse(head: &Head) -> Result<DeletionVersion, Refusal> {
    headers::conditions(head, &SPEC)?;
    let own = head.container_at()?.container;
    head.required("x-ms-deleted-container-name", |name| (name == own.as_str()).then_some(()))?;
    head.required("x-ms-deleted-container-version", DeletionVersion::parse)
}
