//! Create Table.

use lazuli_model::TableName;
use lazuli_model::table::{CreateTable, Refused};
use lazuli_store::TableAt;

use super::answers::TableDocument;
use super::format::Format;
use super::{DOCUMENT_MAX, answers, atom, json, links};
use crate::answer::{Answer, name};
use crate::head::Head;
use crate::operation::{AccountNeeds, Body, On, Spec};
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::Ask;
use crate::wire::page::endpoint;

pub const SPEC: Spec = Spec {
    name: "CreateTable",
    methods: &["POST"],
    on: On::Tables,
    account_sas: Some(AccountNeeds { resource: 'c', any: "cw" }),
    body: Body::Document { most: DOCUMENT_MAX },
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let format = Format::wanted(&ask.head)?;
    let body = ask.body.document(DOCUMENT_MAX).await?;
    let table = parse(&ask.head, &body);
    // A name that comes in a body is judged when the service is at work already (observed).
    ask.beside.insert(name::CACHE_CONTROL.clone(), http::HeaderValue::from_static("no-cache"));
    let at = TableAt { account: ask.head.account()?, table: table? };
    ask.store.create_table(&at, CreateTable { id: (ask.ids)(), name: at.table.clone() }).await?;
    let name = at.table.as_str();
    let place = format!("{}{}", endpoint(&ask.head), links::table(name));
    Ok(answers::created(&ask.head, place, None, || one(&ask.head, format, name)).answer())
}

fn parse(head: &Head, body: &[u8]) -> Result<TableName, Refusal> {
    let name = match Format::sent(head, body)? {
        Format::Json(_) => json::read_table(body)?,
        Format::Atom => atom::read_table(body)?,
    };
    let name = TableName::parse(&name.ok_or(Refused::PropertiesNeedValue)?)?;
    // Only storage analytics makes those.
    if name.is_of_metrics() { Err(Denied::InvalidResourceName.into()) } else { Ok(name) }
}

/// One table as a document.
pub fn one(head: &Head, format: Format, table: &str) -> TableDocument {
    let endpoint = endpoint(head);
    let mut out = String::with_capacity(256);
    match format {
        Format::Json(level) => {
            let account = head.account.as_str();
            let writing = json::JsonWriting { level, endpoint: &endpoint, account, table: "Tables", select: None };
            writing.table(&mut out, Some(&links::metadata(head, "Tables", true)), table);
            (level.content_type(), out)
        }
        Format::Atom => {
            let writing = answers::feed(head, &endpoint, "Tables", None);
            (atom::CONTENT_TYPE_ENTRY, writing.document("entry", |out| writing.table_entry(out, table)))
        }
    }
}
