//! What requests about entities have in common: the entity they carry, the tag they expect, and how they want to be answered.

use lazuli_model::table::{Action, Change, Expect, Key, Place, Refused, Tag, Value, check};
use lazuli_model::{TableName, Version};
use lazuli_store::OpenTable;

use super::format::Format;
use super::selection::Selection;
use super::target::Target;
use super::{atom, json};
use crate::head::Head;
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;

/// Since then an update without a tag is an upsert.
const UPSERTS: Version = Version::new(2011, 8, 18);

/// An entity as a client wrote it down.
#[derive(Debug, Default)]
pub struct Sent {
    pub partition: Option<String>,
    pub row: Option<String>,
    pub properties: Vec<(String, Value)>,
}

impl Sent {
    /// `None` is null. The timestamp is the service's to set.
    pub fn take(&mut self, name: &str, value: Option<Value>) -> Result<(), Refusal> {
        let slot = match name {
            "PartitionKey" => &mut self.partition,
            "RowKey" => &mut self.row,
            "Timestamp" => return Ok(()),
            _ => {
                self.properties.extend(value.map(|value| (name.to_owned(), value)));
                return Ok(());
            }
        };
        match value {
            None => Ok(()),
            Some(Value::String(text)) => {
                *slot = Some(text);
                Ok(())
            }
            Some(_) => Err(Refused::PrimaryKeyPropertyIsInvalidType.into()),
        }
    }
}

pub fn read_entity(head: &Head, body: &[u8]) -> Result<Sent, Refusal> {
    match Format::sent(head, body)? {
        Format::Json(_) => json::read_entity(body),
        Format::Atom => atom::read_entity(body),
    }
}

/// `If-Match`, with one tag or `*`.
pub fn expect(head: &Head) -> Result<Option<Expect>, Refusal> {
    if head.text("if-none-match").is_some() {
        let message = "If-None-Match HTTP headers cannot be specified for PUT or DELETE requests.";
        return Err(Refused::InvalidInput(message.into()).into());
    }
    let Some(text) = head.text("if-match") else { return Ok(None) };
    // Rule A14: entities have weak tags.
    let inside = text.strip_prefix("W/\"").and_then(|rest| rest.strip_suffix('"'));
    let one = inside.is_some_and(|inside| !inside.contains('"'));
    match text {
        "*" => Ok(Some(Expect::Any)),
        _ if one => Ok(Some(Expect::Tag(Tag::parse(text)))),
        _ => {
            let message = format!(
                "The etag value '{text}' specified in one of the request headers is not valid. Please make sure only \
                 one etag value is specified and is valid."
            );
            Err(Refused::InvalidInput(message.into()).into())
        }
    }
}

fn missing_tag() -> Refusal {
    Refusal::MissingRequiredHeader { header: "If-Match".into() }
}

/// Where an update or a merge may land.
fn place(head: &Head) -> Result<Place, Refusal> {
    match expect(head)? {
        Some(expect) => Ok(Place::Found(expect)),
        None if head.version < UPSERTS && head.version_sent => Err(missing_tag()),
        None => Ok(Place::Anywhere),
    }
}

/// The key that the URI names.
pub fn key(head: &Head, table: &TableName) -> Result<Key, Refusal> {
    match head.table_target()? {
        Target::Entity { key: Some(key), .. } => Ok(key.clone()),
        Target::Entity { key: None, .. } | Target::Entities(_) | Target::Tables | Target::Table(_) | Target::Batch => {
            let resource = format!("{}.{}", head.account, table.as_str());
            Err(Refusal::NumberOfKeys { resource })
        }
    }
}

/// The change that a request asks for, by its method.
pub fn change(head: &Head, table: &TableName, body: &[u8]) -> Result<Change, Refusal> {
    match head.method.as_str() {
        "POST" => {
            let sent = read_entity(head, body)?;
            let (Some(partition), Some(row)) = (sent.partition, sent.row) else {
                return Err(Refused::PropertiesNeedValue.into());
            };
            Ok(Change { key: Key::new(partition, row), action: Action::Insert(sent.properties) })
        }
        "PUT" => {
            let (key, place) = (key(head, table)?, place(head)?);
            Ok(Change { key, action: Action::Replace(place, read_entity(head, body)?.properties) })
        }
        "PATCH" | "MERGE" => {
            let (key, place) = (key(head, table)?, place(head)?);
            Ok(Change { key, action: Action::Merge(place, read_entity(head, body)?.properties) })
        }
        "DELETE" => {
            let key = key(head, table)?;
            let expect = expect(head)?.ok_or_else(missing_tag)?;
            Ok(Change { key, action: Action::Delete(expect) })
        }
        _ => Err(Refusal::MethodNotAllowed),
    }
}

/// The table of the URI. It is looked for before anything else about the request is (observed).
pub async fn open(ask: &Ask) -> Result<OpenTable, Failure> {
    let at = ask.head.table_at()?;
    Ok(ask.store.open_table(&at).await?)
}

/// Rule T4: `/table/Tables` is nowhere.
pub fn refuse_tables_of_a_table(head: &Head) -> Result<(), Refusal> {
    let last = head.raw_path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_nested = last.eq_ignore_ascii_case("tables") || last.eq_ignore_ascii_case("tables()");
    match head.table_target()? {
        Target::Entities(_) if is_nested => Err(Refused::NotImplemented.into()),
        Target::Entities(_) | Target::Entity { .. } | Target::Tables | Target::Table(_) | Target::Batch => Ok(()),
    }
}

/// What `$select` names; `None` is all.
pub fn select(head: &Head) -> Result<Option<Selection>, Refusal> {
    head.query.get("$select").map_or(Ok(None), Selection::read)
}

/// Query options of OData that this service has not, here or in Azure.
pub fn refuse_options(head: &Head) -> Result<(), Refusal> {
    let known = ["$filter", "$top", "$select", "$format"];
    let unknown = head.query.iter().any(|(name, _)| name.starts_with('$') && !known.contains(&name));
    if unknown { Err(Refused::NotImplemented.into()) } else { Ok(()) }
}

/// `$top`: at most a page.
pub fn top(head: &Head) -> Result<usize, Refusal> {
    const PAGE_MAX: usize = 1000;
    let Some(text) = head.query.get("$top") else { return Ok(PAGE_MAX) };
    match text.parse::<usize>() {
        // Rule A15: none, if that is what is wanted.
        Ok(most @ 0..=PAGE_MAX) => Ok(most),
        Ok(_) => Err(super::status::invalid().into()),
        Err(_) => Err(Refused::InvalidInput(format!("Incorrect format for $top argument '{text}'.").into()).into()),
    }
}

/// Whether keys can be an entity's at all.
pub fn check_key(key: &Key) -> Result<(), Refusal> {
    Ok(check(key, &[])?)
}
