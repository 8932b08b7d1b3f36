//! Set Directory Properties.

use http::StatusCode;
use lazuli_model::file::SetDirectoryProperties;

use crate::answer::Answer;
use crate::file::{describe, place, smb};
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "SetDirectoryProperties",
    methods: &["PUT"],
    on: On::Directory,
    restype: Some("directory"),
    comp: Some("properties"),
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable(&ask.head)?;
    let set = SetDirectoryProperties { smb: smb::properties(&ask.head)?, posix: smb::posix(&ask.head)? };
    let entry = ask.store.set_directory_properties(&at, set).await?;
    Ok(describe::written(Answer::new(StatusCode::OK), &ask.head, &entry))
}
