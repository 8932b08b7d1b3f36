//! Update Message: a body is its new text; without one only its visibility changes.

use http::StatusCode;
use lazuli_model::queue::UpdateMessage;

use super::parameters;
use crate::answer::{Answer, name};
use crate::head::Head;
use crate::operation::{AccountNeeds, Body, On, Spec};
use crate::queue::DOCUMENT_MAX;
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::xml;

pub const SPEC: Spec = Spec {
    name: "UpdateMessage",
    methods: &["PUT"],
    on: On::Message,
    needs: "u",
    account_sas: Some(AccountNeeds { resource: 'o', any: "u" }),
    body: Body::Document { most: DOCUMENT_MAX },
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let document = ask.body.document(DOCUMENT_MAX).await?;
    let update = parse(&ask.head, &document)?;
    let message = ask.store.update_message(&ask.head.queue_at()?, update).await?;
    ask.touches_message(&message);
    Ok(Answer::new(StatusCode::NO_CONTENT)
        .text(&name::POP_RECEIPT, message.receipt().to_string())
        .date(&name::TIME_NEXT_VISIBLE, message.place.visible))
}

fn parse(head: &Head, document: &[u8]) -> Result<UpdateMessage, Refusal> {
    // Rule Q1.
    let id = head.message_id()?;
    let receipt = parameters::receipt(head.query.get("popreceipt"))?;
    let hidden_seconds = parameters::hidden_by_update(head.query.get("visibilitytimeout"))?;
    let text = if document.is_empty() { None } else { Some(parameters::text(&xml::read_message(document)?)?) };
    Ok(UpdateMessage { id, receipt, hidden_seconds, text })
}
