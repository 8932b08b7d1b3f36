//! List Paths: what is in a directory, or all below it.

use http::StatusCode;
use lazuli_model::Timestamp;
use lazuli_model::blob::Encryption;
use lazuli_model::lake::LakePath;
use lazuli_store::{ListPaths, PathAt, PathItem, PathPage};
use serde_json::{Map, Value};

use super::headers as own;
use crate::answer::{Answer, name};
use crate::head::Head;
use crate::operation::{AccountNeeds, On, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::versions::Since;

const MOST: usize = 5000;

pub const SPEC: Spec = Spec {
    name: "ListPaths",
    methods: &["GET"],
    on: On::Container,
    when: &[When::QueryIs("resource", "filesystem")],
    needs: "l",
    account_sas: Some(AccountNeeds { resource: 'c', any: "l" }),
    lake: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let head = &ask.head;
    let recursive = head.query.get("recursive").is_some();
    if !recursive {
        return Err(Refusal::MissingRequiredQueryParameter { name: "recursive".into() }.into());
    }
    own::flag(head, "upn")?;
    let most = head.query_opt("maxResults", |text| text.parse::<usize>().ok().filter(|most| *most > 0))?;
    let text = |name: &str| head.query.get(name).filter(|text| !text.is_empty()).map(str::to_owned);
    let list = ListPaths {
        recursive: own::flag(head, "recursive")?,
        continuation: text("continuation"),
        begin_from: text("beginFrom"),
        most: most.unwrap_or(MOST).min(MOST),
    };
    if let Some(value) = list.begin_from.clone().filter(|path| !list.recursive && path.contains('/')) {
        let (name, reason) = ("beginFrom".into(), "a list that is not recursive begins at a name".into());
        return Err(Refusal::InvalidQueryParameterValue { name, value, reason }.into());
    }
    let root = own::path_at(head)?;
    let at = PathAt { path: LakePath::parse(head.query.get("directory").unwrap_or_default())?, ..root };
    let page = ask.store.list_paths(&at, list).await?;
    let answer = Answer::new(StatusCode::OK).optional(&name::CONTINUATION, page.next.clone());
    Ok(answer.json("application/json;charset=utf-8", document(head, &page)))
}

fn document(head: &Head, page: &PathPage) -> String {
    let paths: Vec<Value> = page.items.iter().map(|item| Value::Object(entry(head, item))).collect();
    format!("{{\"paths\":{}}}\n", Value::Array(paths))
}

/// All are texts; members are in ordinal order.
fn entry(head: &Head, item: &PathItem) -> Map<String, Value> {
    let mut all = Map::new();
    let mut put = |name: &str, value: String| drop(all.insert(name.to_owned(), Value::String(value)));
    let (blob, node) = (&item.blob, item.node.as_ref());
    if let Some(context) = node.and_then(|node| node.context.clone()) {
        put("EncryptionContext", context);
    }
    if let Encryption::Scope(scope) = &blob.encryption {
        put("EncryptionScope", scope.clone());
    }
    put("contentLength", blob.content.length.to_string());
    if head.has(Since::PathCreated) {
        put("creationTime", if node.is_some() { windows(blob.created) } else { blob.created.to_http() });
    }
    put("etag", blob.etag.to_string().trim_matches('"').to_owned());
    if node.is_some() && head.has(Since::PathExpiry) {
        put("expiryTime", blob.expires.map_or_else(|| "0".to_owned(), windows));
    }
    if let Some(node) = node {
        put("group", node.access.group.clone());
    }
    if item.is_directory {
        put("isDirectory", "true".to_owned());
    }
    put("lastModified", blob.modified.to_http());
    put("name", item.path.clone());
    if let Some(node) = node {
        put("owner", node.access.owner.clone());
        put("permissions", node.access.permissions());
    }
    all
}

/// Ticks since 1601.
fn windows(time: Timestamp) -> String {
    time.ticks().saturating_sub(Timestamp::WINDOWS_EPOCH.ticks()).to_string()
}
