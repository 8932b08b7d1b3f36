//! Set Container Metadata.

use http::StatusCode;
use lazuli_model::container::SetContainerMetadata;

use crate::answer::Answer;
use crate::head::Head;
use crate::operation::{AccountNeeds, IF_MODIFIED_SINCE, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "SetContainerMetadata",
    methods: &["PUT"],
    on: On::Container,
    restype: Some("container"),
    comp: Some("metadata"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "w" }),
    takes: IF_MODIFIED_SINCE | LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let set = parse(&ask.head)?;
    let container = ask.store.set_container_metadata(&ask.head.container_at()?, set).await?;
    Ok(Answer::new(StatusCode::OK).etag(container.etag, container.modified))
}

fn parse(head: &Head) -> Result<SetContainerMetadata, Refusal> {
    Ok(SetContainerMetadata {
        metadata: headers::metadata(head)?,
        conditions: headers::conditions(head, &SPEC)?,
        lease: headers::lease_id(head)?,
    })
}
