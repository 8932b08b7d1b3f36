//! Set File Service Properties. A section that is left out keeps its value.

use http::StatusCode;
use lazuli_model::service::Of;
use lazuli_store::Failure;

use crate::answer::Answer;
use crate::operation::{AccountNeeds, Body, On, Spec};
use crate::serve::Ask;
use crate::wire::xml;

const DOCUMENT_MAX: u64 = 256 << 10;

pub const SPEC: Spec = Spec {
    name: "SetFileServiceProperties",
    methods: &["PUT"],
    on: On::Service,
    restype: Some("service"),
    comp: Some("properties"),
    account_sas: Some(AccountNeeds { resource: 's', any: "w" }),
    body: Body::Document { most: DOCUMENT_MAX },
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let document = ask.body.document(DOCUMENT_MAX).await?;
    let change = xml::read_file_service_properties(&document)?;
    ask.store.set_service_properties(&ask.head.account()?, Of::File, change).await?;
    Ok(Answer::new(StatusCode::ACCEPTED))
}
