//! Restore Share: brings a deleted share back, if the account keeps them.

use http::StatusCode;
use lazuli_model::file::ShareName;
use lazuli_store::Failure;

use crate::answer::Answer;
use crate::file::{describe, place};
use crate::operation::{AccountNeeds, On, Spec};
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "RestoreShare",
    methods: &["PUT"],
    on: On::Share,
    restype: Some("share"),
    comp: Some("undelete"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "w" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_share(&ask.head)?;
    let deleted = ask.head.required("x-ms-deleted-share-name", |text| ShareName::parse(text).ok())?;
    let version = ask.head.required("x-ms-deleted-share-version", |text| Some(text.to_owned()))?;
    let share = ask.store.restore_share(&at, &deleted, &version).await?;
    Ok(describe::changed_share(Answer::new(StatusCode::CREATED), &ask.head, &share))
}
