//! Get Container Metadata.

use http::StatusCode;
use lazuli_model::container::ReadContainer;

use crate::answer::Answer;
use crate::operation::{AccountNeeds, Anonymous, LEASE, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "GetContainerMetadata",
    methods: &["GET", "HEAD"],
    on: On::Container,
    restype: Some("container"),
    comp: Some("metadata"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "r" }),
    anonymous: Anonymous::Container,
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    headers::conditions(&ask.head, &SPEC)?;
    let read = ReadContainer { lease: headers::lease_id(&ask.head)? };
    let container = ask.store.container(&ask.head.container_at()?, read).await?;
    let answer = Answer::new(StatusCode::OK).etag(container.etag, container.modified);
    Ok(headers::metadata_of(answer, &container.metadata))
}
