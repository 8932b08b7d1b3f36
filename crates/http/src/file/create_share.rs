//! Create Share.

use http::StatusCode;
use lazuli_model::file::CreateShare;
use lazuli_store::Failure;

use crate::answer::Answer;
use crate::blob::headers;
use crate::file::{describe, place, settings};
use crate::operation::{AccountNeeds, On, Spec};
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "CreateShare",
    methods: &["PUT"],
    on: On::Share,
    restype: Some("share"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "cw" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_share(&ask.head)?;
    let create = CreateShare {
        id: (ask.ids)(),
        metadata: headers::metadata(&ask.head)?,
        settings: settings::settings(&ask.head)?,
        protocol: settings::protocol(&ask.head)?,
    };
    let share = ask.store.create_share(&at, create).await?;
    Ok(describe::changed_share(Answer::new(StatusCode::CREATED), &ask.head, &share))
}
