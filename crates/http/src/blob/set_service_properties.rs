//! Set Blob Service Properties. A section that is left out keeps its value.

use http::StatusCode;
use lazuli_model::access::PublicAccess;
use lazuli_model::container::CreateContainer;
use lazuli_model::service::Of;
use lazuli_model::{ContainerName, Metadata, Refusal};
use lazuli_store::{ContainerAt, Failure};

use crate::answer::Answer;
use crate::operation::{AccountNeeds, Body, On, Spec};
use crate::serve::{Ask, website};
use crate::wire::xml;

const DOCUMENT_MAX: u64 = 256 << 10;

pub const SPEC: Spec = Spec {
    name: "SetServiceProperties",
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
    let change = xml::read_service_properties(&document)?;
    if change.static_website.as_ref().is_some_and(|site| site.enabled) {
        make_web(ask).await?;
    }
    ask.store.set_service_properties(&ask.head.account()?, Of::Blob, change).await?;
    Ok(Answer::new(StatusCode::ACCEPTED))
}

/// The container of a static website comes with it, as in Azure. One that is there already stays as it is.
async fn make_web(ask: &Ask) -> Result<(), Failure> {
    let at = ContainerAt { account: ask.head.account()?, container: ContainerName::parse(website::CONTAINER)? };
    let create =
        CreateContainer { id: (ask.ids)(), scope: None, metadata: Metadata::default(), public: PublicAccess::Off };
    match ask.store.create_container(&at, create).await {
        Ok(_) | Err(Failure::Refused(Refusal::ContainerAlreadyExists)) => Ok(()),
        Err(failure) => Err(failure),
    }
}
