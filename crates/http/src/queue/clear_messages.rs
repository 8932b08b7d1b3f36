//! Clear Messages.

use http::StatusCode;

use crate::answer::Answer;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "ClearMessages",
    methods: &["DELETE"],
    on: On::Messages,
    needs: "p",
    account_sas: Some(AccountNeeds { resource: 'o', any: "d" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    ask.store.clear_messages(&ask.head.queue_at()?, (ask.ids)()).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT))
}
