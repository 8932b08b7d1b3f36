//! Set Queue Metadata: all of it at once.

use http::StatusCode;

use crate::answer::Answer;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "SetQueueMetadata",
    methods: &["PUT"],
    on: On::Queue,
    comp: Some("metadata"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "w" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let metadata = headers::metadata(&ask.head)?;
    ask.store.set_queue_metadata(&ask.head.queue_at()?, metadata).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT))
}
