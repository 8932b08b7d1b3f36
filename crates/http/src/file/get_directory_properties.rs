//! Get Directory Properties, also of the root and of a snapshot.

use http::StatusCode;

use crate::answer::{Answer, name};
use crate::file::{describe, place};
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "GetDirectoryProperties",
    methods: &["GET", "HEAD"],
    on: On::Directory,
    restype: Some("directory"),
    needs: "r",
    account_sas: Some(AccountNeeds { resource: 'o', any: "r" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let entry = ask.store.directory(&place::any(&ask.head)?, place::snapshot(&ask.head)?).await?;
    let answer = describe::entry(Answer::new(StatusCode::OK), &ask.head, &entry);
    // Rule F8.
    let is_encrypted = if entry.node.is_fresh_root() { "false" } else { "true" };
    let answer = answer.constant(&name::SERVER_ENCRYPTED, is_encrypted);
    Ok(headers::metadata_of(answer, &entry.node.metadata))
}
