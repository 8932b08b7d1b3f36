//! Create Table.

use lazuli_model::table::{CreateTable, Refused};
use lazuli_model::{Refusal, TableName};
use lazuli_store::{Failure, TableAt};

use super::answers::Document;
use super::format::Format;
use super::{DOCUMENT_MAX, answers, atom, json, links};
use crate::answer::{Answer, name};
use crate::blob::page::endpoint;
use crate::head::Head;
use crate::operation::{AccountNeeds, Body, On, Spec};
use crate::serve::Ask;

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
    TableName::parse(&name.ok_or(Refused::PropertiesNeedValue)?)
}

/// One table as a document.
pub fn one(head: &Head, format: Format, table: &str) -> Document {
    let endpoint = endpoint(head);
    let mut out = String::with_capacity(256);
    match format {
        Format::Json(level) => {
            let account = head.account.as_str();
            let writing = json::Writing { level, endpoint: &endpoint, account, table: "Tables", select: None };
            writing.table(&mut out, Some(&links::metadata(head, "Tables", true)), table);
            (level.content_type(), out)
        }
        Format::Atom => {
            let writing = answers::feed(head, &endpoint, "Tables", None);
            (atom::CONTENT_TYPE_ENTRY, writing.document("entry", |out| writing.table_entry(out, table)))
        }
    }
}
