//! Storage analytics: what is to be written of each request is gathered here, in memory and within bounds, and written by [`Edge::flush_analytics`].
//!
//! Held true: where nobody asks for it, a request costs one look at a flag; what is gathered never grows beyond [`LINES_MAX`], and what does not fit is
//! counted and left out, because logs are best effort and requests are not.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use http::{HeaderMap, Method, StatusCode};
use lazuli_model::analytics::{Authentication, Class, LogLine, MetricsSpan, Sort, Switches, Tally, service_name};
use lazuli_model::service::Of;
use lazuli_model::{AccountName, Timestamp};
use lazuli_store::{Failure, Log, Store};

use crate::head::{Head, Target, guid};
use crate::operation::Spec;

/// Bytes of lines that wait to be written.
const LINES_MAX: usize = 8 << 20;
/// Longer ones are cut: a line is for reading.
const TEXT_MAX: usize = 2048;

#[derive(Debug, Default)]
pub struct Analytics {
    is_on: AtomicBool,
    switches: RwLock<HashMap<(String, &'static str), Arc<Switches>>>,
    gathered: Mutex<Gathered>,
    left_out: AtomicU64,
}

#[derive(Debug, Default)]
struct Gathered {
    logs: BTreeMap<LogOf, Lines>,
    bytes: usize,
    rows: BTreeMap<RowsOf, BTreeMap<String, Tally>>,
}

/// The account, the service, the hour and the format of a log.
type LogOf = (AccountName, &'static str, Timestamp, String);
/// The account, the service, and the hour or minute of rows.
type RowsOf = (AccountName, &'static str, (MetricsSpan, Timestamp));

#[derive(Debug)]
struct Lines {
    of: Of,
    first: Timestamp,
    last: Timestamp,
    sorts: BTreeSet<Sort>,
    text: String,
}

/// A request whose service is asked for something: what the head says, before it is handed on.
pub(crate) struct Noted {
    switches: Arc<Switches>,
    account: AccountName,
    of: Of,
    authentication: Authentication,
    method: Method,
    start: Timestamp,
    url: String,
    key: String,
    request_id: String,
    requester: String,
    version: String,
    head_bytes: u64,
    content_length: u64,
    md5: String,
    conditions: String,
    user_agent: String,
    referrer: String,
    client_request_id: String,
}

/// What came of it.
pub(crate) struct Came<'a> {
    pub spec: Option<&'static Spec>,
    pub status: StatusCode,
    pub code: &'a str,
    pub micros: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub headers: &'a HeaderMap,
}

impl Analytics {
    /// Takes what every service asks for, in place of what was known.
    fn learn(&self, all: Vec<(AccountName, Of, Switches)>) {
        let known: HashMap<_, _> = all
            .into_iter()
            .map(|(account, of, switches)| ((account.as_str().to_owned(), service_name(of)), Arc::new(switches)))
            .collect();
        self.is_on.store(!known.is_empty(), Relaxed);
        *self.switches.write().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// `None` where nobody wants to know. Boxed: it would be part of every request's future.
    pub(crate) fn note(&self, head: &Head, peer: SocketAddr) -> Option<Box<Noted>> {
        if !self.is_on.load(Relaxed) {
            return None;
        }
        let of = head.service.properties()?;
        let account = head.account().ok()?;
        let known = self.switches.read().unwrap_or_else(PoisonError::into_inner);
        let switches = known.get(&(head.account.clone(), service_name(of)))?.clone();
        Some(Box::new(Noted::of(head, account, of, switches, peer)))
    }

    pub(crate) fn count(&self, noted: &Noted, came: &Came<'_>) {
        let class = Class::of(came.status.as_u16(), came.code);
        let operation = came.spec.map_or("Unknown", |spec| spec.name);
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let spans = [(MetricsSpan::Hour, &noted.switches.hour), (MetricsSpan::Minute, &noted.switches.minute)];
        for (span, metrics) in spans.into_iter().filter(|(_, metrics)| metrics.enabled) {
            let of = (noted.account.clone(), service_name(noted.of), (span, span.begin(noted.start)));
            let rows = gathered.rows.entry(of).or_default();
            let milliseconds = came.micros as f64 / 1000.0;
            let mut add = |row: &str| {
                let tally = rows.entry(row.to_owned()).or_default();
                tally.count(
                    class,
                    noted.authentication,
                    milliseconds,
                    noted.head_bytes + came.bytes_in,
                    came.bytes_out,
                );
            };
            add("user;All");
            if metrics.include_apis == Some(true) {
                add(&format!("user;{operation}"));
            }
        }
        let sort = sort(came.spec, &noted.method);
        let is_wanted =
            noted.switches.logs(noted.of, sort) && class.is_logged(noted.authentication, came.status.as_u16());
        if !is_wanted {
            return;
        }
        let line = noted.line(operation, class, came);
        if gathered.bytes + line.len() > LINES_MAX {
            self.left_out.fetch_add(1, Relaxed);
            return;
        }
        gathered.bytes += line.len();
        let hour = MetricsSpan::Hour.begin(noted.start);
        let of = (noted.account.clone(), service_name(noted.of), hour, noted.switches.logging.version.clone());
        let (of_service, start) = (noted.of, noted.start);
        let lines = gathered.logs.entry(of).or_insert_with(|| Lines {
            of: of_service,
            first: start,
            last: start,
            sorts: BTreeSet::new(),
            text: String::new(),
        });
        lines.last = lines.last.max(start);
        lines.sorts.insert(sort);
        lines.text.push_str(&line);
    }

    fn take(&self) -> Gathered {
        std::mem::take(&mut *self.gathered.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks again for what services ask for.
    pub(crate) async fn refresh(&self, store: &Store) -> Result<(), Failure> {
        self.learn(store.analytics_switches().await?);
        Ok(())
    }

    /// Writes what was gathered. What could not be written is lost, and told by the failure.
    pub(crate) async fn flush(&self, store: &Store) -> Result<(), Failure> {
        let left_out = self.left_out.swap(0, Relaxed);
        if left_out > 0 {
            tracing::warn!(left_out, "requests came faster than their logs could be written");
        }
        let gathered = self.take();
        for ((account, _, _, version), lines) in gathered.logs {
            let sorts = lines.sorts.iter().map(|sort| sort.name()).collect::<Vec<_>>().join(",");
            let Lines { of, first, last, sorts: _, text } = lines;
            store.write_log(&account, &Log { of, first, last, version, sorts, lines: text }).await?;
        }
        for ((account, service, at), rows) in gathered.rows {
            let of = [Of::Blob, Of::Queue, Of::Table, Of::File].into_iter().find(|of| service_name(*of) == service);
            if let Some(of) = of {
                store.add_metrics(&account, of, at, rows.into_iter().collect()).await?;
            }
        }
        Ok(())
    }
}

/// What a request is to the switches of logging: by its method, unless its operation says otherwise.
fn sort(spec: Option<&'static Spec>, method: &Method) -> Sort {
    match spec {
        Some(spec) if !spec.writes() => Sort::Read,
        Some(spec) if spec.name.starts_with("Delete") || spec.name == "ClearMessages" => Sort::Delete,
        Some(_) => Sort::Write,
        None if *method == Method::DELETE => Sort::Delete,
        None if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) => Sort::Read,
        None => Sort::Write,
    }
}

impl Noted {
    fn of(head: &Head, account: AccountName, of: Of, switches: Arc<Switches>, peer: SocketAddr) -> Self {
        let text = |name: &str| cut(head.text(name).unwrap_or_default());
        let scheme = if head.secure { "https" } else { "http" };
        let conditions = ["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"];
        let conditions = conditions.iter().filter_map(|name| Some(format!("{name}={}", head.text(name)?)));
        Self {
            switches,
            account,
            of,
            authentication: authentication(head),
            method: head.method.clone(),
            start: head.now,
            url: cut(&format!("{scheme}://{}{}{}", text("host"), head.raw_path, shown_query(head))),
            key: cut(&object_key(head)),
            request_id: guid(head.request_id),
            requester: peer.to_string(),
            version: if head.version_sent { head.version.to_string() } else { String::new() },
            head_bytes: head.headers.iter().map(|(name, value)| (name.as_str().len() + value.len() + 4) as u64).sum(),
            content_length: head.text("content-length").and_then(|text| text.parse().ok()).unwrap_or(0),
            md5: text("content-md5"),
            conditions: cut(&conditions.collect::<Vec<_>>().join(";")),
            user_agent: text("user-agent"),
            referrer: text("referer"),
            client_request_id: text("x-ms-client-request-id"),
        }
    }

    fn line(&self, operation: &str, class: Class, came: &Came<'_>) -> String {
        let header = |name: &str| came.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let head_bytes = came.headers.iter().map(|(name, value)| (name.as_str().len() + value.len() + 4) as u64).sum();
        let line = LogLine {
            start: self.start,
            operation,
            class,
            status: came.status.as_u16(),
            end_to_end_ms: came.micros / 1000,
            server_ms: came.micros / 1000,
            authentication: self.authentication,
            account: self.account.as_str(),
            of: self.of,
            url: &self.url,
            key: &self.key,
            request_id: &self.request_id,
            requester: &self.requester,
            version: &self.version,
            request_head_bytes: self.head_bytes,
            request_bytes: came.bytes_in,
            answer_head_bytes: head_bytes,
            answer_bytes: came.bytes_out,
            content_length: self.content_length,
            request_md5: &self.md5,
            answer_md5: header("content-md5"),
            etag: header("etag").trim_matches('"'),
            modified: Timestamp::parse_http(header("last-modified")),
            conditions: &self.conditions,
            user_agent: &self.user_agent,
            referrer: &self.referrer,
            client_request_id: &self.client_request_id,
        };
        let mut text = String::with_capacity(512);
        line.write(&self.switches.logging.version, &mut text);
        text
    }
}

fn authentication(head: &Head) -> Authentication {
    match head.text("authorization") {
        Some(text) if text.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer ")) => {
            Authentication::Bearer
        }
        Some(_) => Authentication::Key,
        None if head.query.get("sig").is_some() => Authentication::Sas,
        None => Authentication::Anonymous,
    }
}

/// As it was sent, but for the signature.
fn shown_query(head: &Head) -> String {
    let pairs: Vec<String> = head
        .query
        .iter()
        .map(|(name, value)| match name.eq_ignore_ascii_case("sig") {
            true => format!("{name}=XXXXX"),
            false => format!("{name}={value}"),
        })
        .collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

/// `/account/container/blob`
fn object_key(head: &Head) -> String {
    let account = &head.account;
    match &head.target {
        Target::Service => format!("/{account}/"),
        Target::Container(name) | Target::Queue(name) | Target::Messages(name) | Target::Share(name) => {
            format!("/{account}/{name}")
        }
        Target::Blob { container, blob } => format!("/{account}/{container}/{blob}"),
        Target::Message { queue, id } => format!("/{account}/{queue}/{id}"),
        Target::Path { share, path } => format!("/{account}/{share}/{path}"),
        Target::Table(target) => format!("/{account}/{}", target.table().unwrap_or_default()),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_MAX) {
        None => text.to_owned(),
        Some((end, _)) => text[..end].to_owned(),
    }
}
