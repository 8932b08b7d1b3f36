//! Delete File.

use http::StatusCode;

use crate::answer::{Answer, name};
use crate::file::place;
use crate::operation::{AccountNeeds, LEASE, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "DeleteFile",
    methods: &["DELETE"],
    on: On::File,
    needs: "d",
    account_sas: Some(AccountNeeds { resource: 'o', any: "d" }),
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_file(&ask.head)?;
    let links = ask.store.delete_file(&at, headers::lease_id(&ask.head)?).await?;
    let answer = Answer::new(StatusCode::ACCEPTED);
    // Of a file that had one name there is nothing to count.
    Ok(if links == 0 { answer } else { answer.number(&name::LINK_COUNT, links.into()) })
}
