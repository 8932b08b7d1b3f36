//! Create Queue: 201, or 204 when it is there with the same metadata.

use http::StatusCode;
use lazuli_model::queue::CreateQueue;

use crate::answer::Answer;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "CreateQueue",
    methods: &["PUT"],
    on: On::Queue,
    account_sas: Some(AccountNeeds { resource: 'c', any: "cw" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let create = CreateQueue { id: (ask.ids)(), metadata: headers::metadata(&ask.head)? };
    let is_new = ask.store.create_queue(&ask.head.queue_at()?, create).await?;
    Ok(Answer::new(if is_new { StatusCode::CREATED } else { StatusCode::NO_CONTENT }))
}
