//! Put Message.

use http::StatusCode;
use lazuli_model::queue::PutMessage;

use super::parameters;
use crate::answer::Answer;
use crate::head::Head;
use crate::operation::{AccountNeeds, Body, On, Spec};
use crate::queue::DOCUMENT_MAX;
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::versions::Since;
use crate::wire::xml;

pub const SPEC: Spec = Spec {
    name: "PutMessage",
    methods: &["POST"],
    on: On::Messages,
    needs: "a",
    account_sas: Some(AccountNeeds { resource: 'o', any: "a" }),
    body: Body::Document { most: DOCUMENT_MAX },
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let document = ask.body.document(DOCUMENT_MAX).await?;
    let put = parse(&ask.head, &document, (ask.ids)())?;
    let message = ask.store.put_message(&ask.head.queue_at()?, put).await?;
    ask.touches_message(&message);
    let answer = Answer::new(StatusCode::CREATED);
    Ok(if ask.head.lacks(Since::MessageTold) { answer } else { answer.xml(xml::put_message(&message)) })
}

fn parse(head: &Head, document: &[u8], id: u128) -> Result<PutMessage, Refusal> {
    let (hidden, lives) = (head.query.get("visibilitytimeout"), head.query.get("messagettl"));
    let (hidden_seconds, lives_seconds) = parameters::put(hidden, lives, head.version)?;
    Ok(PutMessage { id, text: parameters::text(&xml::read_message(document)?)?, hidden_seconds, lives_seconds })
}
