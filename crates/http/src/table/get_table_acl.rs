//! Get Table ACL. No SAS gives it: who may is for the owner to see.

use http::StatusCode;
use lazuli_model::Refusal;
use lazuli_store::Failure;

use crate::answer::Answer;
use crate::operation::{On, Spec};
use crate::serve::Ask;
use crate::wire::xml;

pub const SPEC: Spec =
    Spec { name: "GetTableAcl", methods: &["GET", "HEAD"], on: On::Entities, comp: Some("acl"), ..Spec::PLAIN };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let table = ask.store.table(&ask.head.table_at()?).await?.ok_or(Refusal::ResourceNotFound)?;
    Ok(Answer::new(StatusCode::OK).xml(xml::acl(&table.policies)))
}
