//! Restore Container.

use http::StatusCode;
use lazuli_model::container::deleted::DeletionVersion;

use crate::answer::Answer;
use crate::head::Target;
use crate::operation::{AccountNeeds, By, On, Second, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec =
    Spec { seconds: &[Second { by: By::DeletedContainerName, judged_as: &[&RESTORED] }], ..RESTORED };

const RESTORED: Spec = Spec {
    name: "RestoreContainer",
    methods: &["PUT"],
    on: On::Container,
    restype: Some("container"),
    comp: Some("undelete"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "w" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    headers::conditions(&ask.head, &SPEC)?;
    let at = ask.head.container_at()?;
    // A container comes back under its own name; to another one, the service no longer restores.
    let naming = ask.required_naming(By::DeletedContainerName)?;
    if naming.text != at.container.as_str() {
        return Err(naming.invalid().into());
    }
    ask.permit_second(naming.second, Target::Container(naming.text.to_owned()), "").await?;
    let version = ask.head.required("x-ms-deleted-container-version", DeletionVersion::parse)?;
    ask.store.restore_container(&at, version).await?;
    Ok(Answer::new(StatusCode::CREATED))
}
