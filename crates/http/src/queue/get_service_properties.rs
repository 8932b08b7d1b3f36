//! Get Queue Service Properties.

use http::StatusCode;
use lazuli_model::service::Of;

use crate::answer::Answer;
use crate::operation::Spec;
use crate::queue::fresh;
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::service;
use crate::wire::xml;

pub const SPEC: Spec = Spec { name: "GetQueueServiceProperties", ..service::GET_PROPERTIES };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let properties = ask.store.service_properties(&ask.head.account()?, Of::Queue).await?;
    Ok(fresh(Answer::new(StatusCode::OK)).xml(xml::queue_service_properties(&properties)))
}
