//! Where copies may come from. What this server stores itself is read from its store, and never over the network; any other host
//! only if the operator has named it, so that nobody can use this server to reach into a network that they are not in.
//!
//! Blobs and files have these rules in common; `blob::copy_source` and `file::source` read what is here.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    AUTHORIZATION, HOST, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE, RANGE,
};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use lazuli_model::blob::{Blob, ContentHeaders, ContentRef, Kind};
use lazuli_model::file::Node;
use lazuli_model::{Metadata, Timestamp};
use lazuli_store::{Broken, Fetch, FileReader, Source};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::answer::name;
use crate::blob::get_blob;
use crate::client::{Dial, exchange};
use crate::file::get_file;
use crate::head::{Head, Query, Service, account_in_host};
use crate::operation::{By, Second};
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::{Ask, Edge};
use crate::status;
use crate::versions::Since;
use crate::wire::digest::parse_kept_md5;
use crate::wire::range::{ByteRange, Span};

/// The source of every copy: it is read.
pub const COPY_SOURCE: Second = Second { by: By::CopySource, judged_as: &[&get_blob::SPEC, &get_file::SPEC] };

/// Where a source is, seen from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In this server, of that service if its address tells.
    Here(Option<Service>),
    Elsewhere,
    Forbidden,
}

/// What is known of places besides the request's own.
#[derive(Clone)]
pub struct Sources {
    /// Hosts with ports at which this server listens, and for what.
    pub own: Vec<(String, Service)>,
    /// Hosts that may be fetched from: `example.com`, `*.example.com`, with a port if it is not the scheme's.
    pub allowed: Vec<String>,
    pub dial: Option<Dial>,
    fetches: Arc<Semaphore>,
}

/// Fetches under way at a time. A request that wants one more is told that the server is busy.
const FETCHES_MAX: usize = 16;

/// How long another host may take to connect and to begin its answer, and how long it may pause in it.
const PATIENCE: Duration = Duration::from_secs(30);

impl Sources {
    pub fn new(own: Vec<(String, Service)>, allowed: Vec<String>, dial: Option<Dial>) -> Self {
        Self { own, allowed, dial, fetches: Arc::new(Semaphore::new(FETCHES_MAX)) }
    }
}

impl Default for Sources {
    fn default() -> Self {
        Self::new(Vec::new(), Vec::new(), None)
    }
}

/// A source whose bytes have to come in: from another host, or from a file of this server on their way into a blob.
pub struct Fetched {
    /// What is known of it, as a record.
    pub blob: Blob,
    /// If it said.
    pub length: Option<u64>,
    pub etag: Option<String>,
    body: Body,
}

enum Body {
    Wire { incoming: Incoming, _permit: OwnedSemaphorePermit },
    File(Box<FileReader>),
}

impl Fetched {
    /// `range` of a file, or all of it.
    pub fn of_file(mut reader: FileReader, range: Option<ByteRange>) -> Result<Self, Refusal> {
        let length = reader.entry.node.length;
        let span = range.map_or(Ok(Span::whole(length)), |range| range.within(length))?;
        reader.seek(span.from, span.to);
        let blob = describe_file(&reader.entry.node);
        Ok(Self { etag: None, length: Some(span.length()), blob, body: Body::File(Box::new(reader)) })
    }
}

impl Source for Fetched {
    fn next(&mut self) -> std::pin::Pin<Box<dyn Future<Output = Result<Option<Bytes>, Broken>> + Send + '_>> {
        match &mut self.body {
            Body::Wire { incoming, .. } => Box::pin(piece(incoming)),
            Body::File(reader) => Source::next(reader.as_mut()),
        }
    }
}

async fn piece(incoming: &mut Incoming) -> Result<Option<Bytes>, Broken> {
    loop {
        let frame = tokio::time::timeout(PATIENCE, incoming.frame()).await.map_err(|_| Broken::HungUp)?;
        match frame {
            None => return Ok(None),
            Some(Err(_)) => return Err(Broken::HungUp),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(bytes) if !bytes.is_empty() => return Ok(Some(bytes)),
                Ok(_) | Err(_) => {}
            },
        }
    }
}

/// The address as a copy shows it later: all but the signature (observed), however its name is spelt.
pub fn shown(url: &str) -> String {
    let Some((path, query)) = url.split_once('?') else { return url.to_owned() };
    let is_signature = |pair: &&str| Query::parse(pair).map_or(true, |pair| pair.raw("sig").is_some());
    let kept: Vec<&str> = query.split('&').filter(|pair| !is_signature(pair)).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

/// A request with a bearer token need not show another one for a source of the same account. A source with a credential of its own keeps it.
pub fn lend_token(ask: &Ask, source: &mut Head) {
    let named = source.query.get("sig").is_some() || source.text("authorization").is_some();
    let token = ask.head.headers.get(http::header::AUTHORIZATION).filter(|_| ask.grant.principal.is_some());
    if let Some(token) = token.filter(|_| !named && source.account == ask.head.account) {
        source.headers.insert(http::header::AUTHORIZATION, token.clone());
    }
}

/// CannotVerifyCopySource: the source's own answer becomes this request's. Newer versions name its code too.
pub fn unverified(ask: &mut Ask, refusal: Refusal) -> Refusal {
    let (status, code, message) = if let Refusal::CannotVerifyCopySource { status, code, message } = refusal {
        (status, code, message)
    } else {
        let said = status::of(&refusal);
        (said.status, said.code.into(), said.message)
    };
    if ask.head.lacks(Since::SourceFault) {
        return Refusal::CannotVerifyCopySource { status, code: "".into(), message };
    }
    ask.beside.insert(name::COPY_SOURCE_STATUS_CODE.clone(), HeaderValue::from(status));
    if let Ok(code) = HeaderValue::from_str(&code) {
        ask.beside.insert(name::COPY_SOURCE_ERROR_CODE.clone(), code);
    }
    Refusal::CannotVerifyCopySource { status, code, message }
}

/// `None` when the address is none.
pub fn place(edge: &Edge, outer: &Head, uri: &Uri) -> Option<Place> {
    let authority = uri.authority()?;
    uri.scheme_str().filter(|scheme| *scheme == "http" || *scheme == "https")?;
    let sources = edge.sources();
    let is_at = |name: &String| matches(name, authority.host(), authority.port_u16());
    let in_host = account_in_host(authority.host());
    if outer.text("host").is_some_and(|host| host.eq_ignore_ascii_case(authority.as_str())) {
        return Some(Place::Here(Some(in_host.map_or(outer.service, |(_, service)| service))));
    }
    if let Some((_, service)) = sources.own.iter().find(|(name, _)| is_at(name)) {
        return Some(Place::Here(Some(*service)));
    }
    if sources.allowed.iter().any(is_at) || allowed_by_account(edge, &outer.account, authority) {
        return Some(Place::Elsewhere);
    }
    let served = in_host.filter(|(name, _)| edge.accounts().get(name).is_some());
    Some(served.map_or(Place::Forbidden, |(_, service)| Place::Here(Some(service))))
}

/// Whether the account's own setting `copy-sources` names the host.
fn allowed_by_account(edge: &Edge, account: &str, at: &Authority) -> bool {
    let named = match at.port_u16() {
        Some(port) => format!("{}:{port}", at.host()),
        None => at.host().to_owned(),
    };
    edge.accounts().get(account).is_some_and(|account| account.settings().may_copy_from(&named))
}

/// What is said of a source at a [`Place::Forbidden`].
pub fn forbidden() -> Refusal {
    Refusal::CannotVerifyCopySource {
        status: 403,
        code: "AuthorizationFailure".into(),
        message: "This server does not fetch copy sources from that host. Its operator can allow it.".into(),
    }
}

/// `host`, `host:port`, or `*.host` with or without a port.
fn matches(pattern: &str, host: &str, port: Option<u16>) -> bool {
    let (name, wanted) = match pattern.rsplit_once(':') {
        Some((name, digits)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            (name, digits.parse().ok())
        }
        _ => (pattern, None),
    };
    if wanted != port {
        return false;
    }
    match name.strip_prefix("*.") {
        None => host.eq_ignore_ascii_case(name),
        Some(parent) => {
            let host = host.to_ascii_lowercase();
            host.strip_suffix(&parent.to_ascii_lowercase()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        }
    }
}

impl Edge {
    /// Asks another host for a source. It is not followed to where it redirects: that host may not be allowed.
    pub(crate) async fn fetch(&self, outer: &Head, uri: &Uri) -> Result<Fetched, Failure> {
        let sources = self.sources();
        let dial = sources.dial.as_ref().ok_or_else(forbidden)?;
        let permit = sources.fetches.clone().try_acquire_owned().map_err(|_| Denied::ServerBusy)?;
        let range = outer.opt("x-ms-source-range", ByteRange::parse)?;
        self.request(dial, uri, ask(outer, uri)?, range, permit).await
    }

    /// Asks for a source that was asked for before, if the operator still allows it, and if it has not changed.
    pub(crate) async fn fetch_again(&self, fetch: &Fetch) -> Result<Fetched, Failure> {
        let sources = self.sources();
        let uri: Uri = fetch.url.parse().map_err(|_| Refusal::InvalidUri)?;
        self.accounts().learn(&fetch.account, self.store()).await?;
        let allowed = uri.authority().is_some_and(|at| {
            sources.allowed.iter().any(|name| matches(name, at.host(), at.port_u16()))
                || allowed_by_account(self, &fetch.account, at)
        });
        let dial = sources.dial.as_ref().filter(|_| allowed).ok_or(Denied::AuthorizationFailure)?;
        let permit = sources.fetches.clone().acquire_owned().await.map_err(|_| Denied::ServerBusy)?;
        let authorization = fetch.authorization.as_deref();
        let headers = [
            (AUTHORIZATION, authorization),
            (HeaderName::from_static("x-ms-version"), authorization.and(fetch.version.as_deref())),
            (IF_MATCH, fetch.etag.as_deref()),
        ];
        self.request(dial, &uri, get(&uri, headers)?, None, permit).await
    }

    async fn request(
        &self,
        dial: &Dial,
        uri: &Uri,
        request: Request<Empty<Bytes>>,
        range: Option<ByteRange>,
        permit: OwnedSemaphorePermit,
    ) -> Result<Fetched, Failure> {
        let asking = exchange(dial, uri, request);
        let response = tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| Err("no answer in time".into()));
        let response = response.map_err(|error| {
            tracing::info!(%error, host = uri.host(), "a copy source could not be reached");
            cannot_verify(500, "InternalError", "Could not verify the copy source within the specified time.")
        })?;
        if !response.status().is_success() {
            return Err(refused(&response).into());
        }
        let length =
            response.headers().get(http::header::CONTENT_LENGTH).and_then(|text| text.to_str().ok()?.parse().ok());
        if !is_as_asked(range, response.status(), length) {
            return Err(cannot_verify(
                416,
                "InvalidRange",
                "The copy source did not send the range that was asked for.",
            )
            .into());
        }
        let etag = response.headers().get(http::header::ETAG).and_then(|text| text.to_str().ok()).map(str::to_owned);
        let blob = describe(response.headers(), self.store().now());
        Ok(Fetched { blob, length, etag, body: Body::Wire { incoming: response.into_body(), _permit: permit } })
    }
}

fn ask(outer: &Head, uri: &Uri) -> Result<Request<Empty<Bytes>>, Refusal> {
    let token = outer.text("x-ms-copy-source-authorization");
    let headers = [
        (AUTHORIZATION, token),
        (HeaderName::from_static("x-ms-version"), token.and(outer.text("x-ms-version"))),
        // Files are read by token only for a reason that is given.
        (HeaderName::from_static("x-ms-file-request-intent"), token.and(outer.text("x-ms-file-request-intent"))),
        (RANGE, outer.text("x-ms-source-range")),
        (IF_MATCH, outer.text("x-ms-source-if-match")),
        (IF_NONE_MATCH, outer.text("x-ms-source-if-none-match")),
        (IF_MODIFIED_SINCE, outer.text("x-ms-source-if-modified-since")),
        (IF_UNMODIFIED_SINCE, outer.text("x-ms-source-if-unmodified-since")),
    ];
    get(uri, headers)
}

fn get<const N: usize>(uri: &Uri, headers: [(HeaderName, Option<&str>); N]) -> Result<Request<Empty<Bytes>>, Refusal> {
    let mut request = Request::new(Empty::new());
    *request.method_mut() = Method::GET;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse().map_err(|_| Refusal::InvalidUri)?;
    let host = (HOST, uri.authority().map(|authority| authority.as_str()));
    for (name, text) in headers.into_iter().chain([host]) {
        if let Some(value) = text.and_then(|text| HeaderValue::from_str(text).ok()) {
            request.headers_mut().insert(name, value);
        }
    }
    Ok(request)
}

/// A host may pass over a range and send everything; that will do only if everything was asked for.
fn is_as_asked(range: Option<ByteRange>, status: StatusCode, length: Option<u64>) -> bool {
    match range {
        None => true,
        Some(_) if status == StatusCode::PARTIAL_CONTENT => true,
        Some(ByteRange { from, to }) => {
            from == 0 && to.is_none_or(|to| length.is_some_and(|length| length <= to.saturating_add(1)))
        }
    }
}

fn refused(response: &Response<Incoming>) -> Refusal {
    let code = response.headers().get("x-ms-error-code").and_then(|code| code.to_str().ok());
    let code = code.unwrap_or("CannotVerifyCopySource").to_owned();
    let message = response.status().canonical_reason().unwrap_or("The copy source was refused.");
    let status = match response.status() {
        StatusCode::NOT_MODIFIED => 304,
        status if status.is_redirection() => 400,
        status => status.as_u16(),
    };
    Refusal::CannotVerifyCopySource { status, code: code.into(), message: message.to_owned().into() }
}

fn cannot_verify(status: u16, code: &'static str, message: &'static str) -> Refusal {
    Refusal::CannotVerifyCopySource { status, code: code.into(), message: message.into() }
}

/// What a copy keeps of the headers of its source.
fn describe(headers: &HeaderMap, now: Timestamp) -> Blob {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let pairs = headers.iter().filter_map(|(name, value)| {
        let name = name.as_str().strip_prefix("x-ms-meta-")?;
        Some((name.to_owned(), value.to_str().ok()?.to_owned()))
    });
    let headers = ContentHeaders {
        content_type: text("content-type"),
        encoding: text("content-encoding"),
        language: text("content-language"),
        md5: text("content-md5").and_then(|text| parse_kept_md5(&text).ok()),
        cache_control: text("cache-control"),
        disposition: text("content-disposition"),
    };
    let metadata = Metadata::new(pairs.collect()).unwrap_or_default();
    Blob { headers, metadata, ..Blob::new(Kind::Block, ContentRef::EMPTY, now) }
}

/// What a blob keeps of the file that it was copied from.
fn describe_file(node: &Node) -> Blob {
    let (headers, metadata) = (node.headers.clone(), node.metadata.clone());
    Blob { headers, metadata, etag: node.etag, ..Blob::new(Kind::Block, ContentRef::EMPTY, node.modified) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As observed.
    #[test]
    fn the_signature_is_not_shown() {
        let plain = "https://a.blob.core.windows.net/c/b";
        let table = [
            (plain.to_owned(), plain.to_owned()),
            (format!("{plain}?sig=x%3D"), plain.to_owned()),
            (
                format!("{plain}?se=1%3A0&sp=r&sv=2023-08-03&sr=b&sig=x%3D"),
                format!("{plain}?se=1%3A0&sp=r&sv=2023-08-03&sr=b"),
            ),
            (format!("{plain}?Sig=x&snapshot=2"), format!("{plain}?snapshot=2")),
            // L3: as the server reads it, not as it is written.
            (format!("{plain}?%73ig=x&sp=r"), format!("{plain}?sp=r")),
            (format!("{plain}?sp=r&s%49%67=x"), format!("{plain}?sp=r")),
            (format!("{plain}?sp=r&SIG=x&sig=y&sig"), format!("{plain}?sp=r")),
        ];
        for (url, expected) in table {
            assert_eq!(shown(&url), expected);
        }
    }

    #[test]
    fn patterns_name_hosts_and_nothing_else() {
        let table = [
            ("example.com", "Example.com", None, true),
            ("example.com", "example.com", Some(8080), false),
            ("example.com:8080", "example.com", Some(8080), true),
            ("example.com", "evil-example.com", None, false),
            ("*.example.com", "a.b.example.com", None, true),
            ("*.example.com", "example.com", None, false),
            ("*.example.com", "evilexample.com", None, false),
            ("*.example.com:81", "a.example.com", Some(81), true),
            ("[::1]:10000", "[::1]", Some(10000), true),
        ];
        for (pattern, host, port, expected) in table {
            assert_eq!(matches(pattern, host, port), expected, "{pattern} {host} {port:?}");
        }
    }
}
