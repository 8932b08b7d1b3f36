//! Query Tables.

use http::StatusCode;
use lazuli_model::table::Filter;
use lazuli_store::QueryTables;

use super::answers::{feed, fresh};
use super::format::Format;
use super::{ask as asked, atom, continuation, json, links};
use crate::answer::Answer;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::page::endpoint;

pub const SPEC: Spec = Spec {
    name: "QueryTables",
    methods: &["GET"],
    on: On::Tables,
    account_sas: Some(AccountNeeds { resource: 'c', any: "l" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let head = &ask.head;
    let format = Format::wanted(head)?;
    asked::refuse_options(head)?;
    let query = QueryTables {
        filter: head.query.get("$filter").map(Filter::parse).transpose()?,
        most: asked::top(head)?,
        from: continuation::table(head)?,
    };
    let page = ask.store.query_tables(&head.account()?, &query).await?;
    let answer = continuation::tell_table(fresh(StatusCode::OK), page.next.as_deref());
    let endpoint = endpoint(head);
    Ok(match format {
        Format::Json(level) => {
            let account = head.account.as_str();
            let writing = json::JsonWriting { level, endpoint: &endpoint, account, table: "Tables", select: None };
            let metadata = links::metadata(head, "Tables", false);
            answer.json(
                level.content_type(),
                writing.list(&metadata, page.names.len(), |items| {
                    page.names.iter().for_each(|name| writing.table(items.another(), None, name));
                }),
            )
        }
        Format::Atom => {
            let writing = feed(head, &endpoint, "Tables", None);
            let text = writing.feed(|out| {
                for name in &page.names {
                    out.push_str("<entry>");
                    writing.table_entry(out, name);
                    out.push_str("</entry>");
                }
            });
            answer.json(atom::CONTENT_TYPE_FEED, text)
        }
    })
}
