//! Get Share Properties, also of a snapshot.

use http::StatusCode;
use lazuli_model::file::ReadShare;

use crate::answer::Answer;
use crate::file::{describe, place};
use crate::head::Head;
use crate::operation::{AccountNeeds, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "GetShareProperties",
    methods: &["GET", "HEAD"],
    on: On::Share,
    restype: Some("share"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "r" }),
    takes: LEASE,
    ..Spec::PLAIN
};

/// What the reads of a share ask for.
pub fn parse(head: &Head) -> Result<ReadShare, Refusal> {
    Ok(ReadShare { snapshot: place::snapshot(head)?, lease: headers::lease_id(head)? })
}

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let share = ask.store.share(&place::share(&ask.head)?, parse(&ask.head)?).await?;
    Ok(describe::share(Answer::new(StatusCode::OK), &ask.head, &share))
}
