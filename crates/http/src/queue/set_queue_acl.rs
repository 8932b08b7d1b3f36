//! Set Queue ACL: the stored policies, all replaced at once.

use http::StatusCode;

use crate::answer::Answer;
use crate::operation::{Body, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::xml;

const DOCUMENT_MAX: u64 = 64 << 10;

pub const SPEC: Spec = Spec {
    name: "SetQueueAcl",
    methods: &["PUT"],
    on: On::Queue,
    comp: Some("acl"),
    body: Body::Document { most: DOCUMENT_MAX },
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let document = ask.body.document(DOCUMENT_MAX).await?;
    let policies = xml::read_signed_identifiers(&document, xml::letters::QUEUE)?;
    ask.store.set_queue_acl(&ask.head.queue_at()?, policies).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT))
}
