//! Delete Queue.

use http::StatusCode;

use crate::answer::Answer;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "DeleteQueue",
    methods: &["DELETE"],
    on: On::Queue,
    account_sas: Some(AccountNeeds { resource: 'c', any: "d" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    ask.store.delete_queue(&ask.head.queue_at()?).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT))
}
