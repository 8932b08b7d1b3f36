//! What every service has: its properties, and the statistics of its secondary.

use http::StatusCode;
use lazuli_model::service::{Of, ServicePropertiesChange};

use crate::answer::Answer;
use crate::operation::{AccountNeeds, Body, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::xml;

const DOCUMENT_MAX: u64 = 256 << 10;

pub const GET_PROPERTIES: Spec = Spec {
    methods: &["GET"],
    on: On::Service,
    restype: Some("service"),
    comp: Some("properties"),
    account_sas: Some(AccountNeeds { resource: 's', any: "r" }),
    ..Spec::PLAIN
};

pub const SET_PROPERTIES: Spec = Spec {
    methods: &["PUT"],
    account_sas: Some(AccountNeeds { resource: 's', any: "w" }),
    body: Body::Document { most: DOCUMENT_MAX },
    ..GET_PROPERTIES
};

pub const GET_STATS: Spec = Spec { comp: Some("stats"), ..GET_PROPERTIES };

/// How a service reads the document of its properties.
pub type ReadProperties = fn(&[u8]) -> Result<ServicePropertiesChange, Refusal>;

/// What a request wants to be changed. A section that is left out keeps its value.
pub async fn change(ask: &mut Ask, read: ReadProperties) -> Result<ServicePropertiesChange, Failure> {
    Ok(read(&ask.body.document(DOCUMENT_MAX).await?)?)
}

pub async fn set_properties(ask: &Ask, of: Of, change: ServicePropertiesChange) -> Result<Answer, Failure> {
    ask.store.set_service_properties(&ask.head.account()?, of, change).await?;
    ask.edge.refresh_analytics().await?;
    Ok(Answer::new(StatusCode::ACCEPTED))
}

/// Answered at the secondary endpoint. There is one place, and it is in step with itself.
pub fn stats(ask: &Ask) -> Result<Answer, Failure> {
    ask.head.permit_stats()?;
    Ok(Answer::new(StatusCode::OK).xml(xml::service_stats(ask.settings.geo_replication, ask.head.now)))
}
