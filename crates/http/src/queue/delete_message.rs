//! Delete Message.

use http::StatusCode;
use lazuli_model::queue::DeleteMessage;

use super::parameters;
use crate::answer::Answer;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "DeleteMessage",
    methods: &["DELETE"],
    on: On::Message,
    needs: "p",
    account_sas: Some(AccountNeeds { resource: 'o', any: "p" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    // Rule Q1: what names no message is not found, whatever its receipt looks like.
    let id = ask.head.message_id()?;
    let delete = DeleteMessage { id, receipt: parameters::receipt(ask.head.query.get("popreceipt"))? };
    ask.store.delete_message(&ask.head.queue_at()?, delete).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT))
}
