//! Get Blob Service Properties.

use http::StatusCode;
use lazuli_model::service::Of;
use lazuli_store::Failure;

use crate::answer::Answer;
use crate::operation::{AccountNeeds, On, Spec};
use crate::serve::Ask;
use crate::wire::xml;

pub const SPEC: Spec = Spec {
    name: "GetServiceProperties",
    methods: &["GET"],
    on: On::Service,
    restype: Some("service"),
    comp: Some("properties"),
    account_sas: Some(AccountNeeds { resource: 's', any: "r" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let properties = ask.store.service_properties(&ask.head.account()?, Of::Blob).await?;
    Ok(Answer::new(StatusCode::OK).xml(xml::service_properties(&properties, ask.head.version)))
}
