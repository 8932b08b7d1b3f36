//! Insert Entity; and what all changes of one entity have in common.

use std::sync::Arc;

use super::access::may_change;
use super::answers::changed;
use super::format::Format;
use super::{DOCUMENT_MAX, ask as asked};
use crate::answer::{Answer, name};
use crate::operation::{AccountNeeds, Body, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::page::endpoint;

pub const SPEC: Spec = Spec {
    name: "InsertEntity",
    methods: &["POST"],
    on: On::Entities,
    needs: "a",
    account_sas: Some(AccountNeeds { resource: 'o', any: "a" }),
    body: Body::Document { most: DOCUMENT_MAX },
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    change(ask).await
}

/// One change of one entity: the method says which.
pub async fn change(ask: &mut Ask) -> Result<Answer, Failure> {
    let format = Format::wanted(&ask.head)?;
    let table = asked::open(ask).await?;
    let body = ask.body.document(DOCUMENT_MAX).await?;
    let change = Arc::new(asked::change(&ask.head, &table.name, &body)?);
    if let Err(refusal) = may_change(&ask.grant, &ask.head.account, &table.name, &change) {
        ask.beside.insert(name::CACHE_CONTROL.clone(), http::HeaderValue::from_static("no-cache"));
        return Err(refusal.into());
    }
    ask.touches_entities(table.name.as_str(), [&*change]);
    let after = ask.store.change_entity(&table, change.clone()).await?;
    Ok(changed(&ask.head, &endpoint(&ask.head), || format, &table.name, &change, &after).answer())
}
