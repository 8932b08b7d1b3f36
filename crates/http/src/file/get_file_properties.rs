//! Get File Properties.

use http::StatusCode;
use lazuli_model::file::ReadFile;

use crate::answer::{Answer, name};
use crate::file::{describe, place};
use crate::head::Head;
use crate::operation::{AccountNeeds, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "GetFileProperties",
    methods: &["HEAD"],
    on: On::File,
    needs: "r",
    account_sas: Some(AccountNeeds { resource: 'o', any: "r" }),
    takes: LEASE,
    ..Spec::PLAIN
};

pub fn parse(head: &Head) -> Result<ReadFile, Refusal> {
    Ok(ReadFile { snapshot: place::snapshot(head)?, lease: headers::lease_id(head)? })
}

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::file(&ask.head)?;
    let read = parse(&ask.head)?;
    let file = ask.store.file(&at, read).await?;
    let answer = describe::file(Answer::new(StatusCode::OK), &ask.head, &file, read.snapshot.is_some())
        .number(&name::CONTENT_LENGTH, file.node.length)
        .optional(&name::CONTENT_MD5, describe::md5(&file));
    Ok(headers::overrides(answer, &ask.grant.overrides))
}
