//! Get Table ACL. No SAS gives it, and to a token there is no such thing (observed): who may is for the owner to see.

use http::StatusCode;

use crate::answer::Answer;
use crate::operation::{On, Spec};
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::Ask;
use crate::wire::xml;

pub const SPEC: Spec =
    Spec { name: "GetTableAcl", methods: &["GET", "HEAD"], on: On::Entities, comp: Some("acl"), ..Spec::PLAIN };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    not_by_token(ask)?;
    let table = ask.store.table(&ask.head.table_at()?).await?.ok_or(Denied::ResourceNotFound)?;
    Ok(Answer::new(StatusCode::OK).xml(xml::acl(&table.policies)))
}

/// Policies are for signatures with the account's key, so only its holder has to do with them.
pub fn not_by_token(ask: &Ask) -> Result<(), Refusal> {
    if ask.grant.principal.is_some() { Err(Denied::ResourceNotFound.into()) } else { Ok(()) }
}
