//! Query Entities: a page of what `$filter` wants.

use http::StatusCode;
use lazuli_model::TableName;
use lazuli_model::table::{Filter, Key, Sight};
use lazuli_store::{EntityPage, QueryEntities};

use super::access::granted;
use super::answers::{feed, fresh};
use super::format::Format;
use super::{ask as asked, atom, continuation, json, links};
use crate::answer::Answer;
use crate::auth::Grant;
use crate::head::Head;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::page::endpoint;

/// After so many bytes a page ends. The store's own limit is of what is stored; written, names that nobody has, types and escapes
/// come to that.
const ANSWER_BYTES_MAX: usize = 8 << 20;

const LONG_ANSWER: usize = 1 << 20;

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
    asked::refuse_tables_of_a_table(head)?;
    let table = ask.store.open_table(&head.table_at()?).await?;
    let query = parse(head, &ask.grant, &table.name)?;
    let page = ask.store.query_entities(&table, &query).await?;
    // What many entities lack of many names is long to write.
    let names = head.query.get("$select").map_or(0, str::len);
    if names * page.items.len() <= LONG_ANSWER {
        return told(head, format, &table.name, &page);
    }
    let (head, table) = (head.clone(), table.name.clone());
    ask.edge.workers().run_if(true, move || told(&head, format, &table, &page)).await?
}

fn parse(head: &Head, grant: &Grant, table: &TableName) -> Result<QueryEntities, Refusal> {
    asked::refuse_options(head)?;
    asked::select(head)?;
    Ok(QueryEntities {
        filter: head.query.get("$filter").map(Filter::parse).transpose()?,
        most: asked::top(head)?,
        from: continuation::entity(head)?,
        within: granted(grant, table)?,
    })
}

fn told(head: &Head, format: Format, table: &TableName, page: &EntityPage) -> Result<Answer, Failure> {
    let (endpoint, select) = (endpoint(head), asked::select(head)?);
    let table = table.as_str();
    // The first entity that is not on this page.
    let mut cut = None;
    let mut read = Ok(());
    let (kind, text) = match format {
        Format::Json(level) => {
            let account = head.account.as_str();
            let writing = json::JsonWriting { level, endpoint: &endpoint, account, table, select: select.as_ref() };
            let metadata = links::metadata(head, table, false);
            let text = writing.list(&metadata, page.items.len(), |items| {
                read = page.each(|entity| {
                    cut = is_full(items.length()).then(|| key_of(entity));
                    if cut.is_none() {
                        writing.entity(items.another(), None, entity);
                    }
                    cut.is_none()
                });
            });
            (level.content_type(), text)
        }
        Format::Atom => {
            let writing = feed(head, &endpoint, table, select.as_ref());
            let text = writing.feed(|out| {
                read = page.each(|entity| {
                    cut = is_full(out.len()).then(|| key_of(entity));
                    if cut.is_none() {
                        out.push_str("<entry");
                        crate::wire::xml::attribute(out, "m:etag", &entity.tag().to_string());
                        out.push('>');
                        writing.entity(out, entity);
                        out.push_str("</entry>");
                    }
                    cut.is_none()
                });
            });
            (atom::CONTENT_TYPE_FEED, text)
        }
    };
    read?;
    let next = cut.as_ref().or(page.next.as_ref());
    Ok(continuation::tell_entity(fresh(StatusCode::OK), next).json(kind, text))
}

fn is_full(bytes: usize) -> bool {
    bytes >= ANSWER_BYTES_MAX
}

fn key_of(entity: &Sight<'_>) -> Key {
    Key::new(entity.partition, entity.row)
}
