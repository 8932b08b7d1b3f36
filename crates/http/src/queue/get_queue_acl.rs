//! Get Queue ACL. No SAS gives it: who may is for the owner to see.

use http::StatusCode;

use crate::answer::Answer;
use crate::operation::{On, Spec};
use crate::queue::fresh;
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::xml;

pub const SPEC: Spec =
    Spec { name: "GetQueueAcl", methods: &["GET", "HEAD"], on: On::Queue, comp: Some("acl"), ..Spec::PLAIN };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let found = ask.store.queue(&ask.head.queue_at()?).await?;
    Ok(fresh(Answer::new(StatusCode::OK)).xml(xml::acl(&found.queue.policies)))
}
