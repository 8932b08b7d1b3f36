//! Get Queue Metadata, and about how many messages there are.

use http::StatusCode;

use crate::answer::{Answer, name};
use crate::operation::{AccountNeeds, On, Spec};
use crate::queue::fresh;
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "GetQueueMetadata",
    methods: &["GET", "HEAD"],
    on: On::Queue,
    comp: Some("metadata"),
    needs: "r",
    account_sas: Some(AccountNeeds { resource: 'c', any: "r" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let found = ask.store.queue(&ask.head.queue_at()?).await?;
    let answer = fresh(Answer::new(StatusCode::OK)).number(&name::APPROXIMATE_MESSAGES_COUNT, found.count);
    Ok(headers::metadata_of(answer, &found.queue.metadata))
}
