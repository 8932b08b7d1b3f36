//! Delete Container.

use http::StatusCode;
use lazuli_model::container::DeleteContainer;

use crate::answer::Answer;
use crate::head::Head;
use crate::operation::{AccountNeeds, DATES, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "DeleteContainer",
    methods: &["DELETE"],
    on: On::Container,
    restype: Some("container"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "d" }),
    takes: DATES | LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let delete = parse(&ask.head)?;
    ask.store.delete_container(&ask.head.container_at()?, delete).await?;
    Ok(Answer::new(StatusCode::ACCEPTED))
}

fn parse(head: &Head) -> Result<DeleteContainer, Refusal> {
    Ok(DeleteContainer { conditions: headers::conditions(head, &SPEC)?, lease: headers::lease_id(head)? })
}
