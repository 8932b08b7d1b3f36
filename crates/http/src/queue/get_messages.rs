//! Get Messages.

use http::StatusCode;
use lazuli_model::queue::GetMessages;
use lazuli_store::Delivery;

use crate::answer::Answer;
use crate::head::Head;
use crate::operation::{AccountNeeds, On, Spec, When};
use crate::queue::fresh;
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::xml;

/// A read in name only: it hides what it hands out.
use super::parameters;

pub const SPEC: Spec = Spec {
    name: "GetMessages",
    methods: &["GET"],
    on: On::Messages,
    when: &[When::QueryIsNot("peekonly", "true")],
    needs: "p",
    account_sas: Some(AccountNeeds { resource: 'o', any: "p" }),
    changes: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let mut get = parse(&ask.head)?;
    if ask.plan.as_ref().is_some_and(|plan| plan.visible) {
        get.hidden_seconds = 0;
    }
    let deliveries = ask.store.get_messages(&ask.head.queue_at()?, get).await?;
    for Delivery { message, .. } in &deliveries {
        ask.touches_message(message);
    }
    Ok(fresh(Answer::new(StatusCode::OK)).xml(xml::got_messages(&deliveries)))
}

fn parse(head: &Head) -> Result<GetMessages, Refusal> {
    Ok(GetMessages {
        most: parameters::most(head.query.get("numofmessages"))?,
        hidden_seconds: parameters::hidden_by_get(head.query.get("visibilitytimeout"))?,
    })
}
