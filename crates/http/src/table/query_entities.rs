//! Query Entities: a page of what `$filter` wants.

use http::StatusCode;
use lazuli_model::table::Filter;
use lazuli_model::{Refusal, TableName};
use lazuli_store::{EntityPage, Failure, QueryEntities};

use super::access::granted;
use super::answers::{feed, fresh};
use super::format::Format;
use super::{ask as asked, atom, continuation, json, links};
use crate::answer::Answer;
use crate::auth::Grant;
use crate::blob::page::endpoint;
use crate::head::Head;
use crate::operation::{AccountNeeds, On, Spec};
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "QueryEntities",
    methods: &["GET"],
    on: On::Entities,
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
    let query = parse(head, &ask.grant, &table.name)?;
    let page = ask.store.query_entities(&table, &query).await?;
    told(head, format, &table.name, &page)
}

fn parse(head: &Head, grant: &Grant, table: &TableName) -> Result<QueryEntities, Refusal> {
    asked::refuse_options(head)?;
    Ok(QueryEntities {
        filter: head.query.get("$filter").map(Filter::parse).transpose()?,
        most: asked::top(head)?,
        from: continuation::entity(head)?,
        within: granted(grant, table)?,
    })
}

fn told(head: &Head, format: Format, table: &TableName, page: &EntityPage) -> Result<Answer, Failure> {
    let answer = continuation::tell_entity(fresh(StatusCode::OK), page.next.as_ref());
    let (endpoint, select) = (endpoint(head), asked::select(head));
    let table = table.as_str();
    match format {
        Format::Json(level) => {
            let account = head.account.as_str();
            let writing = json::Writing { level, endpoint: &endpoint, account, table, select: select.as_deref() };
            let metadata = links::metadata(head, table, false);
            let mut read = Ok(());
            let text = writing.list(&metadata, page.items.len(), |items| {
                read = page.each(|entity| writing.entity(items.another(), None, entity));
            });
            read.map(|()| answer.json(level.content_type(), text))
        }
        Format::Atom => {
            let writing = feed(head, &endpoint, table, select.as_deref());
            let mut read = Ok(());
            let text = writing.feed(|out| {
                read = page.each(|entity| {
                    out.push_str("<entry");
                    crate::wire::xml::attribute(out, "m:etag", &entity.tag().to_string());
                    out.push('>');
                    writing.entity(out, entity);
                    out.push_str("</entry>");
                });
            });
            read.map(|()| answer.json(atom::CONTENT_TYPE_FEED, text))
        }
    }
}
