//! Set Blob Service Properties. A section that is left out keeps its value.

use lazuli_model::access::PublicAccess;
use lazuli_model::container::CreateContainer;
use lazuli_model::service::Of;
use lazuli_model::{ContainerName, Metadata};
use lazuli_store::ContainerAt;

use crate::answer::Answer;
use crate::operation::Spec;
use crate::refusal::{Denied, Failure};
use crate::serve::{Ask, website};
use crate::service;
use crate::wire::xml;

pub const SPEC: Spec = Spec { name: "SetServiceProperties", ..service::SET_PROPERTIES };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let change = service::change(ask, xml::read_service_properties).await?;
    if change.static_website.as_ref().is_some_and(|site| site.enabled) {
        make_web(ask).await?;
    }
    service::set_properties(ask, Of::Blob, change).await
}

/// The container of a static website comes with it, as in Azure. One that is there already stays as it is.
async fn make_web(ask: &Ask) -> Result<(), Failure> {
    let at = ContainerAt { account: ask.head.account()?, container: ContainerName::parse(website::CONTAINER)? };
    let create =
        CreateContainer { id: (ask.ids)(), scope: None, metadata: Metadata::default(), public: PublicAccess::Off };
    match ask.store.create_container(&at, create).await {
        Ok(_) | Err(lazuli_store::Failure::Refused(Denied::ContainerAlreadyExists)) => Ok(()),
        Err(failure) => Err(failure.into()),
    }
}
