//! Get Blob Service Properties.

use http::StatusCode;
use lazuli_model::service::Of;

use crate::answer::Answer;
use crate::operation::Spec;
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::service;
use crate::wire::xml;

pub const SPEC: Spec = Spec { name: "GetServiceProperties", ..service::GET_PROPERTIES };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let properties = ask.store.service_properties(&ask.head.account()?, Of::Blob).await?;
    Ok(Answer::new(StatusCode::OK).xml(xml::service_properties(&properties, ask.head.version)))
}
