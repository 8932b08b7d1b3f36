//! Entity Group Transaction: one change set, whose operations all happen or none; or one query.
//!
//! The answer is 202 also when an operation was refused; its one part then says which and why.

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderName, StatusCode, header};
use lazuli_model::TableName;
use lazuli_model::roles::Action;
use lazuli_model::table::{Change, Changed, OPERATIONS_MAX, Refused, check_count};
use lazuli_store::{OpenTable, TableAt};

use super::access::{has_role, may_change};
use super::answers::{Prefer, Told, changed, fresh, prefer};
use super::errors::{error, is_of_the_state};
use super::format::{Format, Level};
use super::status::invalid;
use super::target::Target;
use super::{DOCUMENT_MAX, ask as asked, continuation, get_entity, query_entities, target};
use crate::answer::{Answer, Payload, name};
use crate::head::{self, Head, Query, Style, guid};
use crate::operation::{AccountNeeds, Body, On, Spec};
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::Ask;
use crate::status;
use crate::wire::multipart::{Inner, Part, boundary, sections};
use crate::wire::page::endpoint;

pub const SPEC: Spec = Spec {
    name: "EntityGroupTransaction",
    methods: &["POST"],
    on: On::Batch,
    needs: "raud",
    account_sas: Some(AccountNeeds { resource: 'o', any: "raud" }),
    body: Body::Document { most: DOCUMENT_MAX },
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let body = ask.body.document(DOCUMENT_MAX).await?;
    let outer = ask.head.text("content-type").and_then(boundary).ok_or_else(|| Refusal::from(invalid()))?;
    let outer = parts(&body, outer)?;
    let [only] = outer.as_slice() else { return Err(Failure::Refused(invalid().into())) };
    match boundary(only.kind) {
        Some(boundary) => change_set(ask, &parts(only.content, boundary)?).await,
        None => query(ask, only).await,
    }
}

fn parts<'a>(body: &'a [u8], boundary: &str) -> Result<Vec<Part<'a>>, Refusal> {
    let sections = sections(body, boundary, usize::MAX).ok_or_else(invalid)?;
    sections.into_iter().map(|section| Ok(Part::read(section).ok_or_else(invalid)?)).collect()
}

/// The request of a part, which must say that it has one.
fn request<'a>(part: &Part<'a>) -> Result<Inner<'a>, Refusal> {
    const HTTP: &str = "application/http";
    let is_http = part.kind.get(..HTTP.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(HTTP));
    Ok(part.request().filter(|_| is_http).ok_or_else(invalid)?)
}

/// An operation of a change set.
struct Operation<'a> {
    head: Head,
    body: &'a [u8],
}

async fn change_set(ask: &Ask, parts: &[Part<'_>]) -> Result<Answer, Failure> {
    // More than there may be are refused by their number; more than that need not be read for it.
    let parts = parts.iter().take(2 * OPERATIONS_MAX);
    let operations = parts.map(|part| operation(&ask.head, request(part)?)).collect::<Result<Vec<_>, Refusal>>()?;
    if operations.is_empty() {
        return Err(Failure::Refused(invalid().into()));
    }
    match apply(ask, &operations).await {
        Ok((table, done)) => Ok(told(ask, &operations, &done, &table)),
        Err(Failure::Refused(Refusal::InBatch { index, refusal })) => {
            ask.refused_for(index, &refusal);
            Ok(refused(ask, &operations, index, *refusal))
        }
        Err(failure) => Err(failure),
    }
}

/// The changes, and what each left behind.
struct Done {
    changes: Arc<Vec<Change>>,
    after: Vec<Changed>,
}

async fn apply(ask: &Ask, operations: &[Operation<'_>]) -> Result<(TableName, Done), Failure> {
    let table = open(ask, operations).await?;
    // What can be said of all of them is said before any is looked at.
    check_count(operations.len())?;
    let mut changes = Vec::with_capacity(operations.len());
    for (index, operation) in operations.iter().enumerate() {
        let change = asked::change(&operation.head, &table.name, operation.body);
        let change = change.map_err(|refusal| in_batch(index, refusal))?;
        may_change(&ask.grant, &ask.head.account, &table.name, &change)?;
        changes.push(change);
    }
    let changes = Arc::new(changes);
    ask.touches_entities(table.name.as_str(), changes.iter());
    let after = ask.store.change_entities(&table, changes.clone()).await?;
    Ok((table.name, Done { changes, after }))
}

/// The table that all operations are about.
async fn open(ask: &Ask, operations: &[Operation<'_>]) -> Result<OpenTable, Failure> {
    let mut at: Option<TableAt> = None;
    let mut last = None;
    for (index, operation) in operations.iter().enumerate() {
        let name = operation.head.table_target().ok().and_then(Target::table);
        // Only storage analytics writes its tables.
        let may = matches!(operation.head.method, http::Method::GET | http::Method::DELETE);
        if name.is_some_and(|name| name.starts_with('$')) && !may {
            return Err(in_batch(index, Denied::InsufficientAccountPermissions.into()));
        }
        // All but the first are of the same table, and written alike.
        if name.is_some() && name == last {
            continue;
        }
        last = name;
        let next = operation.head.table_at().map_err(|refusal| in_batch(index, refusal))?;
        match &at {
            Some(at) if at.table.folded() != next.table.folded() => {
                return Err(in_batch(index, Refused::CommandsInBatchActOnDifferentPartitions.into()));
            }
            Some(_) => {}
            None => at = Some(next),
        }
    }
    let at = at.ok_or_else(|| Failure::Refused(invalid().into()))?;
    ask.store.open_table(&at).await.map_err(first_in_batch)
}

fn first_in_batch(failure: lazuli_store::Failure) -> Failure {
    match Failure::from(failure) {
        Failure::Refused(refusal) => in_batch(0, refusal),
        Failure::Broken(fault) => Failure::Broken(fault),
    }
}

fn in_batch(index: usize, refusal: Refusal) -> Failure {
    Failure::Refused(Refusal::InBatch { index, refusal: Box::new(refusal) })
}

/// A request within a batch as if it had come by itself; who sends it was settled for all.
fn operation<'a>(outer: &Head, inner: Inner<'a>) -> Result<Operation<'a>, Refusal> {
    let (path, query) = inner.url.split_once('?').unwrap_or((inner.url, ""));
    let path = match path.split_once("://") {
        Some((_, rest)) => rest.split_once('/').map_or("", |(_, path)| path),
        None => path.trim_start_matches('/'),
    };
    let path = match (outer.style, path.split_once('/')) {
        (Style::Path, Some((account, rest))) if account == outer.account => rest,
        (Style::Path | Style::Host, _) => path,
    };
    let mut headers = inner.headers;
    if let Some(host) = outer.headers.get(header::HOST) {
        headers.insert(header::HOST, host.clone());
    }
    let target = target::target(path)?;
    if !matches!(&target, head::Target::Table(Target::Entities(_) | Target::Entity { .. })) {
        return Err(invalid().into());
    }
    let head = Head {
        hierarchical: false,
        method: inner.method,
        tunnelled: false,
        query: Arc::new(Query::parse(query)?.into()),
        headers: headers.into(),
        target,
        // What was signed is the outer request.
        raw_path: String::new(),
        spelt: Vec::new(),
        account: outer.account.clone(),
        style: outer.style,
        secondary: outer.secondary,
        service: outer.service,
        version: outer.version,
        version_sent: outer.version_sent,
        secure: outer.secure,
        peer: outer.peer,
        now: outer.now,
        wall: outer.wall,
        machine: outer.machine,
        request_id: outer.request_id,
    };
    Ok(Operation { head, body: inner.body })
}

async fn query(ask: &Ask, part: &Part<'_>) -> Result<Answer, Failure> {
    let operation = operation(&ask.head, request(part)?)?;
    if operation.head.method != http::Method::GET {
        return Err(Failure::Refused(invalid().into()));
    }
    if !ask.grant.letters.has('r') {
        return Err(Denied::AuthorizationPermissionMismatch.into());
    }
    has_role(&ask.grant, &ask.head.account, &operation.head.table_at()?.table, Action::EntityRead)?;
    let outcome = match operation.head.table_target()? {
        Target::Entity { .. } => get_entity::answer(ask, &operation.head).await,
        Target::Entities(_) | Target::Tables | Target::Table(_) | Target::Batch => {
            query_entities::answer(ask, &operation.head).await
        }
    };
    let answer = match outcome {
        Ok(answer) => answer,
        Err(Failure::Refused(refusal)) => failed(ask, &operation.head, &refusal, None),
        Err(failure) => return Err(failure),
    };
    let id = guid((ask.ids)());
    let mut out = String::with_capacity(512);
    let _ = write!(out, "--batchresponse_{id}\r\n");
    write_part(&mut out, &operation.head, "3.0;", answer);
    let _ = write!(out, "--batchresponse_{id}--\r\n");
    Ok(multipart(&id, out))
}

fn told(ask: &Ask, operations: &[Operation<'_>], done: &Done, table: &TableName) -> Answer {
    let endpoint = endpoint(&ask.head);
    in_change_set(ask, |out, set| {
        out.reserve(operations.len() * 640);
        for (operation, (change, after)) in operations.iter().zip(done.changes.iter().zip(&done.after)) {
            let head = &operation.head;
            let format = || Format::wanted(head).unwrap_or(Format::Json(Level::Minimal));
            ["--changesetresponse_", set, "\r\n"].into_iter().for_each(|part| out.push_str(part));
            write_change(out, head, changed(head, &endpoint, format, table, change, after));
        }
    })
}

fn refused(ask: &Ask, operations: &[Operation<'_>], index: usize, refusal: Refusal) -> Answer {
    let Some(operation) = operations.get(index) else { return fresh(StatusCode::INTERNAL_SERVER_ERROR) };
    // The only operation of a change set is told what it would be told by itself, once it was looked into (observed).
    let numbered = operations.len() > 1 || !is_of_the_state(&Failure::Refused(refusal.clone()));
    in_change_set(ask, |out, set| {
        let _ = write!(out, "--changesetresponse_{set}\r\n");
        let answer = failed(ask, &operation.head, &refusal, numbered.then_some(index));
        write_part(out, &operation.head, "3.0;", answer);
    })
}

/// A refusal as a part.
fn failed(ask: &Ask, head: &Head, refusal: &Refusal, index: Option<usize>) -> Answer {
    let mut said = status::of(refusal);
    if let Some(index) = index {
        said.message = format!("{index}:{}", said.message).into();
    }
    let code = StatusCode::from_u16(said.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut answer = fresh(code);
    if !is_of_the_state(&Failure::Refused(refusal.clone())) {
        answer.headers.remove(&name::CACHE_CONTROL);
    }
    if prefer(head) == Some(Prefer::NoContent) {
        answer = answer.constant(&name::PREFERENCE_APPLIED, Prefer::NoContent.applied());
    }
    let level = match Format::wanted(head) {
        Ok(Format::Json(level)) => level,
        Ok(Format::Atom) | Err(_) => Level::Minimal,
    };
    answer.json(level.content_type(), error(&said, &guid(ask.head.request_id), ask.head.now))
}

fn in_change_set(ask: &Ask, inside: impl FnOnce(&mut String, &str)) -> Answer {
    let (batch, set) = (guid((ask.ids)()), guid((ask.ids)()));
    let mut out = String::with_capacity(1024);
    let _ = write!(out, "--batchresponse_{batch}\r\n");
    let _ = write!(out, "Content-Type: multipart/mixed; boundary=changesetresponse_{set}\r\n\r\n");
    inside(&mut out, &set);
    let _ = write!(out, "--changesetresponse_{set}--\r\n--batchresponse_{batch}--\r\n");
    multipart(&batch, out)
}

fn multipart(id: &str, body: String) -> Answer {
    let mut answer =
        fresh(StatusCode::ACCEPTED).text(&name::CONTENT_TYPE, format!("multipart/mixed; boundary=batchresponse_{id}"));
    answer.payload = Payload::Whole(Bytes::from(body));
    answer
}

/// Headers of a part, as the service spells and orders them.
static HEADERS: [(&str, &HeaderName); 10] = [
    ("X-Content-Type-Options", &name::CONTENT_TYPE_OPTIONS),
    ("Cache-Control", &name::CACHE_CONTROL),
    ("Preference-Applied", &name::PREFERENCE_APPLIED),
    ("DataServiceVersion", &name::DATA_SERVICE_VERSION),
    ("Content-Type", &name::CONTENT_TYPE),
    ("Location", &name::LOCATION),
    ("DataServiceId", &name::DATA_SERVICE_ID),
    ("ETag", &name::ETAG),
    ("x-ms-continuation-NextPartitionKey", &continuation::NEXT_PARTITION),
    ("x-ms-continuation-NextRowKey", &continuation::NEXT_ROW),
];
static CONTENT_ID: HeaderName = HeaderName::from_static("content-id");

fn write_part(out: &mut String, head: &Head, version: &'static str, answer: Answer) {
    let answer = answer.constant(&name::DATA_SERVICE_VERSION, version);
    begin(out, answer.status);
    for (spelt, name) in HEADERS {
        line(out, spelt, answer.headers.get(name).and_then(|value| value.to_str().ok()));
    }
    let body = match &answer.payload {
        Payload::Whole(body) => String::from_utf8_lossy(body),
        Payload::Empty | Payload::Stream(_) | Payload::Produced(_) | Payload::Cut(..) => "".into(),
    };
    end(out, head, &body);
}

/// The same of a change: there may be a hundred, so they do not become answers first.
fn write_change(out: &mut String, head: &Head, told: Told) {
    begin(out, told.status);
    out.push_str("X-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n");
    line(out, "Preference-Applied", told.preference.map(Prefer::applied));
    line(out, "DataServiceVersion", Some(if head.method == http::Method::POST { "3.0;" } else { "1.0;" }));
    line(out, "Content-Type", told.content.as_ref().map(|(kind, _)| *kind));
    line(out, "Location", told.place.as_deref());
    line(out, "DataServiceId", told.id());
    if let Some(tag) = told.tag {
        out.push_str("ETag: ");
        tag.write(out);
        out.push_str("\r\n");
    }
    end(out, head, told.content.as_ref().map_or("", |(_, text)| text));
}

fn begin(out: &mut String, status: StatusCode) {
    out.push_str("Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 ");
    [status.as_str(), " ", status.canonical_reason().unwrap_or_default(), "\r\n"]
        .into_iter()
        .for_each(|part| out.push_str(part));
}

fn end(out: &mut String, head: &Head, body: &str) {
    line(out, "Content-ID", head.headers.get(&CONTENT_ID).and_then(|value| value.to_str().ok()));
    ["\r\n", body, "\r\n"].into_iter().for_each(|part| out.push_str(part));
}

fn line(out: &mut String, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        [name, ": ", value, "\r\n"].into_iter().for_each(|part| out.push_str(part));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_of_a_type_that_headers_can_say() {
        let of =
            |kind: &str| format!("--b\r\nContent-Type: {kind}\r\n\r\nGET http://a/t() HTTP/1.1\r\n\r\n\r\n--b--\r\n");
        for (kind, is_read, is_request) in [
            ("application/http", true, true),
            ("Application/HTTP; x=y", true, true),
            ("text/plain", true, false),
            ("application/http; x=\u{e9}", true, false),
            ("application/http; x=\u{1}", false, false),
        ] {
            let body = of(kind);
            let parts = parts(body.as_bytes(), "b");
            assert_eq!(parts.is_ok(), is_read, "{kind:?}");
            assert_eq!(parts.is_ok_and(|parts| request(&parts[0]).is_ok()), is_request, "{kind:?}");
        }
    }
}
