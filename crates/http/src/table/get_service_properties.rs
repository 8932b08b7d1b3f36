//! Get Table Service Properties.

use http::StatusCode;
use lazuli_model::service::Of;

use crate::answer::Answer;
use crate::operation::Spec;
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::service;
use crate::wire::xml;

pub const SPEC: Spec = Spec { name: "GetTableServiceProperties", ..service::GET_PROPERTIES };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let properties = ask.store.service_properties(&ask.head.account()?, Of::Table).await?;
    Ok(Answer::new(StatusCode::OK).xml(xml::queue_service_properties(&properties)))
}
