//! Get Symbolic Link: where it points to.

use http::StatusCode;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::answer::{Answer, name};
use crate::file::place;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "GetSymbolicLink",
    methods: &["GET", "HEAD"],
    on: On::File,
    restype: Some("symboliclink"),
    needs: "r",
    account_sas: Some(AccountNeeds { resource: 'o', any: "r" }),
    ..Spec::PLAIN
};

const IN_LINK: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let entry = ask.store.symbolic_link(&place::file(&ask.head)?, place::snapshot(&ask.head)?).await?;
    let target = entry.node.target.unwrap_or_default();
    let answer = Answer::new(StatusCode::OK).etag(entry.node.etag, entry.node.modified);
    Ok(answer.text(&name::LINK_TEXT, utf8_percent_encode(&target, IN_LINK).to_string()))
}
