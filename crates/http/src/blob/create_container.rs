//! Create Container.

use http::StatusCode;
use lazuli_model::access::PublicAccess;
use lazuli_model::container::CreateContainer;

use crate::answer::{Answer, name};
use crate::blob::encryption;
use crate::head::Head;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "CreateContainer",
    methods: &["PUT"],
    on: On::Container,
    restype: Some("container"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "cw" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let create = parse(ask, (ask.ids)())?;
    let made = ask.store.create_container(&ask.head.container_at()?, create).await?;
    Ok(Answer::new(StatusCode::CREATED).etag(made.etag, made.modified))
}

fn parse(ask: &Ask, id: u128) -> Result<CreateContainer, Refusal> {
    let head = &ask.head;
    headers::conditions(head, &SPEC)?;
    let scope = encryption::of_container(ask)?;
    Ok(CreateContainer { id, scope, metadata: headers::metadata(head)?, public: permitted_access(ask)? })
}

/// What a request asks for, where the account lets containers be opened at all ("Remediate anonymous read access").
pub fn permitted_access(ask: &Ask) -> Result<PublicAccess, Refusal> {
    match public_access(&ask.head)? {
        PublicAccess::Container | PublicAccess::Blob if !ask.settings.public_access => {
            Err(Denied::PublicAccessNotPermitted.into())
        }
        access @ (PublicAccess::Container | PublicAccess::Blob | PublicAccess::Off) => Ok(access),
    }
}

fn public_access(head: &Head) -> Result<PublicAccess, Refusal> {
    let access = head.opt("x-ms-blob-public-access", |text| match text.to_ascii_lowercase().as_str() {
        "container" => Some(PublicAccess::Container),
        "blob" => Some(PublicAccess::Blob),
        // Azure's portal says so; the reference leaves the header out.
        "none" => Some(PublicAccess::Off),
        _ => None,
    })?;
    Ok(access.unwrap_or_default())
}

pub fn public_access_of(answer: Answer, access: PublicAccess) -> Answer {
    match access {
        PublicAccess::Off => answer,
        PublicAccess::Blob => answer.constant(&name::BLOB_PUBLIC_ACCESS, "blob"),
        PublicAccess::Container => answer.constant(&name::BLOB_PUBLIC_ACCESS, "container"),
    }
}
