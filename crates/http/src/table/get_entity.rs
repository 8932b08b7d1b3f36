//! Query Entities, by both keys: one entity.

use http::StatusCode;

use super::access::may_see;
use super::answers::{fresh, one};
use super::ask as asked;
use super::format::Format;
use crate::answer::{Answer, name};
use crate::head::Head;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::page::endpoint;

pub const SPEC: Spec = Spec {
    name: "GetEntity",
    methods: &["GET"],
    on: On::Entity,
    needs: "r",
    account_sas: Some(AccountNeeds { resource: 'o', any: "r" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    answer(ask, &ask.head).await
}

/// `head` may be another request than the one that `ask` came with: a batch can hold one query.
pub async fn answer(ask: &Ask, head: &Head) -> Result<Answer, Failure> {
    let format = Format::wanted(head)?;
    let table = ask.store.open_table(&head.table_at()?).await?;
    let key = asked::key(head, &table.name)?;
    asked::refuse_options(head)?;
    asked::select(head)?;
    may_see(&ask.grant, &table.name, &key)?;
    asked::check_key(&key)?;
    let found = ask.store.entity(&table, &key).await?;
    let entity = found.see(Vec::new())?;
    let (kind, text) = one(head, &endpoint(head), format, &table.name, &entity);
    Ok(fresh(StatusCode::OK).text(&name::ETAG, entity.tag().to_string()).json(kind, text))
}
