//! Peek Messages.

use http::StatusCode;

use super::parameters;
use crate::answer::Answer;
use crate::operation::{AccountNeeds, On, Spec, When};
use crate::queue::fresh;
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::xml;

pub const SPEC: Spec = Spec {
    name: "PeekMessages",
    methods: &["GET"],
    on: On::Messages,
    when: &[When::QueryIs("peekonly", "true")],
    needs: "r",
    account_sas: Some(AccountNeeds { resource: 'o', any: "r" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let most = parameters::most(ask.head.query.get("numofmessages"))?;
    let seen = ask.store.peek_messages(&ask.head.queue_at()?, most).await?;
    Ok(fresh(Answer::new(StatusCode::OK)).xml(xml::peeked_messages(&seen)))
}
