//! Set Share Properties.

use http::StatusCode;
use lazuli_model::file::SetShareProperties;

use crate::answer::Answer;
use crate::file::{describe, place, settings};
use crate::operation::{AccountNeeds, LEASE, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "SetShareProperties",
    methods: &["PUT"],
    on: On::Share,
    restype: Some("share"),
    comp: Some("properties"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "w" }),
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_share(&ask.head)?;
    let set = SetShareProperties { settings: settings::settings(&ask.head)?, lease: headers::lease_id(&ask.head)? };
    let share = ask.store.set_share_properties(&at, set).await?;
    Ok(describe::changed_share(Answer::new(StatusCode::OK), &ask.head, &share, true))
}
