//! Abort Copy Blob.

use http::StatusCode;
use lazuli_model::blob::AbortCopyBlob;

use crate::answer::Answer;
use crate::head::{Head, read_guid};
use crate::operation::{AccountNeeds, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "AbortCopyBlob",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("copy"),
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    let abort = parse(&ask.head)?;
    ask.store.abort_copy(&at, abort).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT))
}

fn parse(head: &Head) -> Result<AbortCopyBlob, Refusal> {
    headers::conditions(head, &SPEC)?;
    head.required("x-ms-copy-action", |text| text.eq_ignore_ascii_case("abort").then_some(()))?;
    let missing = Refusal::MissingRequiredQueryParameter { name: "copyid".into() };
    let id = head.query.get("copyid").ok_or(missing)?;
    // What is no id of ours is the id of no copy.
    let id = read_guid(id).unwrap_or_default();
    Ok(AbortCopyBlob { id, lease: headers::lease_id(head)? })
}
