//! What a request says before its body: read once, here. Names are decoded but not yet judged, because Azure
//! authenticates first and finds fault with names afterwards.

mod client_habits;
mod headers;
mod proof_cache;
mod query;

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use http::header::HeaderName;
use http::{HeaderMap, Method};
use lazuli_model::service::Of;
use lazuli_model::{AccountName, BlobName, ContainerName, QueueName, Timestamp, Version};
use lazuli_store::{BlobAt, ContainerAt, QueueAt};

use crate::refusal::{Denied, Refusal};

pub use headers::Headers;
pub use proof_cache::{ProofCache, ProvenQuery};
pub use query::Query;

/// Which of Azure Storage's services a listener or a host name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    Blob,
    Queue,
    Table,
    File,
    Dfs,
}

impl Service {
    /// Whose properties apply. Data Lake is another way into the Blob service.
    pub fn properties(self) -> Option<Of> {
        match self {
            Service::Blob | Service::Dfs => Some(Of::Blob),
            Service::Queue => Some(Of::Queue),
            Service::Table => Some(Of::Table),
            Service::File => Some(Of::File),
        }
    }
}

/// Where the account's name stands: `http://127.0.0.1:10000/account/…` or `http://account.blob.example/…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Path,
    Host,
}

/// In a request's extensions: the account is in the path, whatever the host is called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathStyle;

/// In a request's extensions: the clocks of this server were moved ahead by so many ticks, for a rehearsal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved(pub u64);

/// What the path names, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Service,
    Container(String),
    Blob {
        container: String,
        blob: String,
    },
    Queue(String),
    /// `queue/messages`
    Messages(String),
    /// `queue/messages/id`
    Message {
        queue: String,
        id: String,
    },
    Share(String),
    /// A directory or a file of a share; the empty path is the share's root.
    Path {
        share: String,
        path: String,
    },
    Table(crate::table::Target),
}

impl Target {
    /// The container, queue, table or share that it is or is in.
    pub fn within(&self) -> Option<&str> {
        match self {
            Target::Service => None,
            Target::Container(name) | Target::Blob { container: name, .. } => Some(name),
            Target::Queue(name) | Target::Messages(name) | Target::Message { queue: name, .. } => Some(name),
            Target::Share(name) | Target::Path { share: name, .. } => Some(name),
            Target::Table(target) => target.table(),
        }
    }
}

/// What the connection knows of a request.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub service: Service,
    pub secure: bool,
    pub peer: IpAddr,
    /// The engine's time, which everything stored is judged by.
    pub now: Timestamp,
    /// The wall clock's, which credentials are judged by.
    pub wall: Timestamp,
    pub request_id: u128,
    /// Accept a version that is no date.
    pub loose: bool,
}

/// A request without its body.
#[derive(Clone, Debug)]
pub struct Head {
    pub method: Method,
    /// It was sent by PUT, with `X-HTTP-Method-Override: PATCH`: Java's own client, which Hadoop has, knows no PATCH. Signatures are over PUT.
    pub tunnelled: bool,
    /// As sent, percent-encoded, without the query: what signatures are over.
    pub raw_path: String,
    pub query: Arc<ProvenQuery>,
    pub headers: Headers,
    pub account: String,
    pub style: Style,
    pub secondary: bool,
    pub target: Target,
    pub service: Service,
    /// `x-ms-version`; with a SAS `api-version`, then `sv`; else the oldest.
    pub version: Version,
    /// Whether the client said which version; if not, the account's default applies.
    pub version_sent: bool,
    pub secure: bool,
    pub peer: IpAddr,
    pub now: Timestamp,
    pub wall: Timestamp,
    /// What the machine's own clock shows, by which clients date their requests. Before `wall` if the clocks were moved.
    pub machine: Timestamp,
    pub request_id: u128,
    /// Metadata names that were written with capitals, without their prefix.
    pub spelt: Vec<String>,
    /// Whether the account has a hierarchical namespace. False until somebody has looked.
    pub hierarchical: bool,
}

impl Head {
    pub fn read(parts: http::request::Parts, arrival: Arrival) -> Result<Self, Refusal> {
        Self::read_with(parts, arrival, |text| Ok(Arc::new(Query::parse(text)?.into())))
    }

    /// Of a connection that may have asked with the same query before.
    pub fn read_again(parts: http::request::Parts, arrival: Arrival, proofs: &ProofCache) -> Result<Self, Refusal> {
        Self::read_with(parts, arrival, |text| proofs.query(text))
    }

    fn read_with(
        parts: http::request::Parts,
        arrival: Arrival,
        read_query: impl FnOnce(&str) -> Result<Arc<ProvenQuery>, Refusal>,
    ) -> Result<Self, Refusal> {
        if let Some((name, value)) =
            parts.headers.iter().find(|(_, value)| std::str::from_utf8(value.as_bytes()).is_err())
        {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            return Err(Refusal::InvalidHeaderValue { header: Cow::Owned(name.as_str().to_owned()), value });
        }
        // RFC 9112, 3.2: which of the two would count?
        if let Some(second) = parts.headers.get_all(http::header::HOST).iter().nth(1) {
            let value = String::from_utf8_lossy(second.as_bytes()).into_owned();
            return Err(Refusal::InvalidHeaderValue { header: "Host".into(), value });
        }
        let moved = parts.extensions.get::<Moved>().map_or(0, |moved| moved.0);
        let raw_path = parts.uri.path().to_owned();
        let query = read_query(parts.uri.query().unwrap_or_default())?;
        let place = client_habits::with_account(place(&parts, &raw_path, arrival.service), &parts, &raw_path, &query);
        let target = match place.service {
            Service::Queue => queue_target(place.rest)?,
            Service::File => file_target(place.rest, &query)?,
            Service::Table => crate::table::target(place.rest)?,
            Service::Blob => target(place.rest, &query)?,
            Service::Dfs => lake_target(place.rest)?,
        };
        let account = decode(place.account)?;
        let (style, secondary, service) = (place.style, place.secondary, place.service);
        let version = version(&parts.headers, &query, arrival.loose)?;
        let tunnelled = client_habits::is_tunnelled(&parts, service);
        Ok(Self {
            method: if tunnelled { Method::PATCH } else { parts.method },
            tunnelled,
            account,
            style,
            secondary,
            service,
            target,
            query,
            version: version.unwrap_or(Version::OLDEST),
            version_sent: version.is_some(),
            headers: parts.headers.into(),
            secure: arrival.secure,
            peer: arrival.peer,
            now: arrival.now,
            wall: arrival.wall,
            machine: Timestamp::from_ticks(arrival.wall.ticks().saturating_sub(moved)),
            request_id: arrival.request_id,
            spelt: Vec::new(),
            hierarchical: false,
            raw_path,
        })
    }

    /// A header's value. Empty is absent: Python and AzCopy send empty headers and mean nothing by them.
    pub fn text(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name)?;
        std::str::from_utf8(value.as_bytes()).ok().map(str::trim).filter(|value| !value.is_empty())
    }

    /// Whether there is such a header, with a value.
    pub fn says(&self, name: &str) -> bool {
        self.headers.says(name)
    }

    /// A header that may be absent but must not be wrong.
    pub fn opt<T>(&self, name: &'static str, parse: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, Refusal> {
        self.text(name)
            .map(|text| {
                parse(text).ok_or_else(|| Refusal::InvalidHeaderValue { header: name.into(), value: text.to_owned() })
            })
            .transpose()
    }

    /// A header that must be there, and right.
    pub fn required<T>(&self, name: &'static str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, Refusal> {
        self.opt(name, parse)?.ok_or(Refusal::MissingRequiredHeader { header: name.into() })
    }

    /// `true` or `false` in any case: Python writes `True`.
    pub fn flag(&self, name: &'static str) -> Result<bool, Refusal> {
        let read = |text: &str| match text.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        };
        Ok(self.opt(name, read)?.unwrap_or(false))
    }

    /// A query parameter that may be absent but must not be wrong.
    pub fn query_opt<T>(
        &self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Refusal> {
        self.query
            .get(name)
            .map(|text| {
                parse(text).ok_or_else(|| Refusal::InvalidQueryParameterValue {
                    name: name.into(),
                    value: text.to_owned(),
                    reason: "".into(),
                })
            })
            .transpose()
    }

    /// Rule A13: how far the secondary has come is asked for there.
    pub fn permit_stats(&self) -> Result<(), Refusal> {
        let (name, value, reason) = ("comp".into(), "stats".to_owned(), "".into());
        if self.secondary { Ok(()) } else { Err(Refusal::InvalidQueryParameterValue { name, value, reason }) }
    }

    pub fn account(&self) -> Result<AccountName, Refusal> {
        Ok(AccountName::parse(&self.account)?)
    }

    pub fn container_at(&self) -> Result<ContainerAt, Refusal> {
        match &self.target {
            Target::Container(container) | Target::Blob { container, .. } => {
                Ok(ContainerAt { account: self.account()?, container: ContainerName::parse(container)? })
            }
            Target::Service | Target::Queue(_) | Target::Messages(_) | Target::Message { .. } => {
                Err(Refusal::InvalidUri)
            }
            Target::Share(_) | Target::Path { .. } => Err(Refusal::InvalidUri),
            Target::Table(_) => Err(Refusal::InvalidUri),
        }
    }

    pub fn blob_at(&self) -> Result<BlobAt, Refusal> {
        match &self.target {
            Target::Blob { container, blob } => Ok(BlobAt {
                account: self.account()?,
                container: ContainerName::parse(container)?,
                blob: BlobName::parse(blob)?,
            }),
            Target::Service | Target::Container(_) => Err(Refusal::InvalidUri),
            Target::Queue(_) | Target::Messages(_) | Target::Message { .. } => Err(Refusal::InvalidUri),
            Target::Share(_) | Target::Path { .. } => Err(Refusal::InvalidUri),
            Target::Table(_) => Err(Refusal::InvalidUri),
        }
    }

    pub fn queue_at(&self) -> Result<QueueAt, Refusal> {
        match &self.target {
            Target::Queue(queue) | Target::Messages(queue) | Target::Message { queue, .. } => {
                Ok(QueueAt { account: self.account()?, queue: QueueName::parse(queue)? })
            }
            Target::Service | Target::Container(_) | Target::Blob { .. } | Target::Table(_) => Err(Refusal::InvalidUri),
            Target::Share(_) | Target::Path { .. } => Err(Refusal::InvalidUri),
        }
    }

    /// The message's id. What is no GUID names no message.
    pub fn message_id(&self) -> Result<u128, Refusal> {
        match &self.target {
            Target::Message { id, .. } => read_guid(id).ok_or(Denied::MessageNotFound.into()),
            Target::Service | Target::Container(_) | Target::Blob { .. } => Err(Refusal::InvalidUri),
            Target::Queue(_) | Target::Messages(_) | Target::Table(_) => Err(Refusal::InvalidUri),
            Target::Share(_) | Target::Path { .. } => Err(Refusal::InvalidUri),
        }
    }
}

struct Place<'a> {
    account: &'a str,
    style: Style,
    secondary: bool,
    service: Service,
    /// The path behind the account, without its leading slash.
    rest: &'a str,
}

fn place<'a>(parts: &'a http::request::Parts, path: &'a str, listener: Service) -> Place<'a> {
    let host = parts
        .uri
        .authority()
        .map(|authority| authority.as_str())
        .or_else(|| parts.headers.get(http::header::HOST).and_then(|host| host.to_str().ok()))
        .unwrap_or_default();
    let path = path.strip_prefix('/').unwrap_or(path);
    let host_names_account = parts.extensions.get::<PathStyle>().is_none();
    if let Some((name, service)) = account_in_host(host).filter(|_| host_names_account) {
        let (account, secondary) = primary_name(name);
        return Place { account, style: Style::Host, secondary, service, rest: path };
    }
    let (name, rest) = path.split_once('/').unwrap_or((path, ""));
    let (account, secondary) = primary_name(name);
    Place { account, style: Style::Path, secondary, service: listener, rest }
}

/// `account.blob.…`, or `account.z01.blob.…` as accounts with DNS zones have it.
pub(crate) fn account_in_host(host: &str) -> Option<(&str, Service)> {
    let mut labels = host.split('.');
    let name = labels.next().filter(|name| !name.is_empty())?;
    let service = labels.take(2).find_map(service_label)?;
    Some((name, service))
}

fn service_label(label: &str) -> Option<Service> {
    match label {
        "blob" => Some(Service::Blob),
        "queue" => Some(Service::Queue),
        "table" => Some(Service::Table),
        "file" => Some(Service::File),
        "dfs" => Some(Service::Dfs),
        _ => None,
    }
}

fn primary_name(name: &str) -> (&str, bool) {
    let name = name.strip_suffix("-ipv6").or_else(|| name.strip_suffix("-dualstack")).unwrap_or(name);
    match name.strip_suffix("-secondary") {
        Some(primary) => (primary, true),
        None => (name, false),
    }
}

/// A single segment is a container when `restype` says so, and otherwise a blob in `$root`.
fn target(rest: &str, query: &Query) -> Result<Target, Refusal> {
    match rest.split_once('/') {
        None if rest.is_empty() => Ok(Target::Service),
        // A call of the Data Lake API: it has no `$root`.
        None if ["resource", "action"].iter().any(|name| query.get(name).is_some()) => lake_target(rest),
        None if query.get("restype").is_none() => Ok(in_root(blob_name(rest)?)),
        None => Ok(Target::Container(decode(rest)?)),
        Some((container, "")) => Ok(Target::Container(decode(container)?)),
        Some((container, blob)) => Ok(Target::Blob { container: decode(container)?, blob: blob_name(blob)? }),
    }
}

/// A single segment is a file system. Separators may be encoded, as some clients have them.
fn lake_target(rest: &str) -> Result<Target, Refusal> {
    let rest = blob_name(rest)?;
    let (container, path) = rest.split_once('/').unwrap_or((&rest, ""));
    Ok(match (container, path.trim_matches('/')) {
        ("", _) => Target::Service,
        (container, "") => Target::Container(container.to_owned()),
        (container, _) => Target::Blob { container: container.to_owned(), blob: path.to_owned() },
    })
}

/// Names in `$root` have no separators. AzCopy encodes them all where the host is a name and the account is in the path: it takes the
/// account for the container.
fn in_root(name: String) -> Target {
    match name.split_once('/').filter(|(container, blob)| !container.is_empty() && !blob.is_empty()) {
        Some((container, blob)) => Target::Blob { container: container.to_owned(), blob: blob.to_owned() },
        None => Target::Blob { container: "$root".to_owned(), blob: name },
    }
}

/// Rules B18 and A2: a backslash in the name of a blob is a slash.
fn blob_name(text: &str) -> Result<String, Refusal> {
    Ok(decode(text)?.replace('\\', "/"))
}

fn queue_target(rest: &str) -> Result<Target, Refusal> {
    let Some((queue, rest)) = rest.split_once('/').filter(|(_, rest)| !rest.is_empty()) else {
        let queue = decode(rest.strip_suffix('/').unwrap_or(rest))?;
        return Ok(if queue.is_empty() { Target::Service } else { Target::Queue(queue) });
    };
    let (messages, id) = rest.split_once('/').unwrap_or((rest, ""));
    match (messages.eq_ignore_ascii_case("messages"), id) {
        (true, "") => Ok(Target::Messages(decode(queue)?)),
        (true, id) => Ok(Target::Message { queue: decode(queue)?, id: decode(id)? }),
        (false, _) => Err(Refusal::InvalidUri),
    }
}

/// A single segment is a share when `restype` says so, and otherwise the share's root directory. Separators may be encoded, as
/// AzCopy has them.
fn file_target(rest: &str, query: &Query) -> Result<Target, Refusal> {
    let rest = decode(rest)?;
    let (share, path) = rest.split_once('/').unwrap_or((&rest, ""));
    let path = path.trim_end_matches('/');
    let names_share = query.get("restype").is_some_and(|restype| restype.eq_ignore_ascii_case("share"));
    match (share, path) {
        ("", "") => Ok(Target::Service),
        (share, "") if names_share => Ok(Target::Share(share.to_owned())),
        (share, path) => Ok(Target::Path { share: share.to_owned(), path: path.to_owned() }),
    }
}

fn version(headers: &HeaderMap, query: &Query, loose: bool) -> Result<Option<Version>, Refusal> {
    let header =
        headers.get("x-ms-version").and_then(|value| value.to_str().ok()).map(str::trim).filter(|v| !v.is_empty());
    if let Some(text) = header {
        return match Version::parse(text) {
            Some(version) => Ok(Some(version)),
            None if loose => Ok(Some(Version::NEWEST)),
            None => Err(Refusal::InvalidHeaderValue { header: "x-ms-version".into(), value: text.to_owned() }),
        };
    }
    // Only a SAS may say the version in the query; elsewhere `sv` means nothing.
    let sas = query.get("sig").and(query.get("sv"));
    match query.get("api-version").or(sas) {
        None => Ok(None),
        Some(text) => Version::parse(text).map(Some).ok_or_else(|| Refusal::InvalidQueryParameterValue {
            name: "api-version".into(),
            value: text.to_owned(),
            reason: "".into(),
        }),
    }
}

pub(crate) fn decode(text: &str) -> Result<String, Refusal> {
    if !text.as_bytes().contains(&b'%') {
        return Ok(text.to_owned());
    }
    percent_encoding::percent_decode_str(text).decode_utf8().map(Cow::into_owned).map_err(|_| Refusal::InvalidUri)
}

/// A GUID as Azure prints one.
pub fn guid(id: u128) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(36);
    for (at, byte) in id.to_be_bytes().into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push(DIGITS[usize::from(byte >> 4)].into());
        text.push(DIGITS[usize::from(byte & 15)].into());
    }
    text
}

pub(crate) fn read_guid(text: &str) -> Option<u128> {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    let well_formed = lengths == [8, 4, 4, 4, 12] && text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    well_formed.then(|| u128::from_str_radix(&text.replace('-', ""), 16).ok())?
}

/// Metadata headers, in the order they were sent: `x-ms-meta-<name>`.
pub fn metadata_name(name: &HeaderName) -> Option<&str> {
    name.as_str().strip_prefix("x-ms-meta-")
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn read(uri: &str, headers: &[(&str, &str)]) -> Result<Head, Refusal> {
        let mut request = http::Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let arrival = Arrival {
            service: Service::Blob,
            secure: false,
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            now: Timestamp::from_ticks(0),
            wall: Timestamp::from_ticks(0),
            request_id: 0,
            loose: false,
        };
        Head::read(request.body(()).unwrap().into_parts().0, arrival)
    }

    #[test]
    fn addresses() {
        let blob = |container: &str, blob: &str| Target::Blob { container: container.into(), blob: blob.into() };
        let container = |name: &str| Target::Container(name.into());
        let table = [
            ("127.0.0.1:10000", "/acc/c/b", Style::Path, "acc", false, blob("c", "b")),
            ("localhost", "/acc-secondary/c/b", Style::Path, "acc", true, blob("c", "b")),
            ("[::1]:10000", "/acc", Style::Path, "acc", false, Target::Service),
            ("storage.example.com", "/acc/", Style::Path, "acc", false, Target::Service),
            ("acc.blob.localhost:10000", "/c/b", Style::Host, "acc", false, blob("c", "b")),
            ("acc-secondary.blob.core.windows.net", "/", Style::Host, "acc", true, Target::Service),
            ("acc.z13.blob.storage.azure.net", "/c?restype=container", Style::Host, "acc", false, container("c")),
            ("acc-dualstack.blob.core.windows.net", "/c/", Style::Host, "acc", false, container("c")),
            ("acc.blob.localhost", "/b", Style::Host, "acc", false, blob("$root", "b")),
            ("127.0.0.1", "/acc/b", Style::Path, "acc", false, blob("$root", "b")),
            ("127.0.0.1", "/acc/c?restype=container", Style::Path, "acc", false, container("c")),
            ("127.0.0.1", "/acc/c/d%2Fe%20f/g", Style::Path, "acc", false, blob("c", "d/e f/g")),
            ("localhost", "/acc/c%2Fd%2Fe", Style::Path, "acc", false, blob("c", "d/e")),
            ("127.0.0.1", "/acc/c/a+b", Style::Path, "acc", false, blob("c", "a+b")),
            ("127.0.0.1", "/acc/c//x", Style::Path, "acc", false, blob("c", "/x")),
            ("127.0.0.1", "/acc/c/d%5Ce%5cf", Style::Path, "acc", false, blob("c", "d/e/f")),
        ];
        for (host, uri, style, account, secondary, target) in table {
            let head = read(uri, &[("host", host)]).unwrap();
            let seen = (head.style, head.account.as_str(), head.secondary, head.target);
            assert_eq!(seen, (style, account, secondary, target), "{host}{uri}");
        }
    }

    #[test]
    fn addresses_of_shares() {
        let share = |name: &str| Target::Share(name.into());
        let path = |share: &str, path: &str| Target::Path { share: share.into(), path: path.into() };
        let rename = ("x-ms-file-rename-source", "http://127.0.0.1:10003/acc/s/old");
        let signed = |account: &str| ("authorization", format!("SharedKey {account}:AAAA"));
        let table = [
            ("/acc", None, Target::Service),
            ("/acc/", None, Target::Service),
            ("/acc/s?restype=share", None, share("s")),
            ("/acc/s/?restype=share&comp=acl", None, share("s")),
            ("/acc/s?restype=directory&comp=list", None, path("s", "")),
            ("/acc/s?comp=listhandles", None, path("s", "")),
            ("/acc/s/d/f.txt", None, path("s", "d/f.txt")),
            ("/acc/s/d/", None, path("s", "d")),
            // AzCopy encodes what divides.
            ("/acc/s%2Fd%2Ff%20g", None, path("s", "d/f g")),
            ("/acc/s/dots...", None, path("s", "dots...")),
            // JavaScript forgets the account.
            ("/s/new?comp=rename", Some("acc"), path("s", "new")),
            ("/acc/s/new?comp=rename", Some("acc"), path("s", "new")),
        ];
        for (uri, rename_by, target) in table {
            let (name, value) = signed(rename_by.unwrap_or_default());
            let headers = [("host", "127.0.0.1:10003"), rename, (name, value.as_str())];
            let headers = if rename_by.is_some() { &headers[..] } else { &headers[..1] };
            let mut request = http::Request::builder().uri(uri);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let arrival = Arrival {
                service: Service::File,
                secure: false,
                peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
                now: Timestamp::from_ticks(0),
                wall: Timestamp::from_ticks(0),
                request_id: 0,
                loose: false,
            };
            let head = Head::read(request.body(()).unwrap().into_parts().0, arrival).unwrap();
            assert_eq!((head.account.as_str(), head.target), ("acc", target), "{uri}");
        }
    }

    #[test]
    fn addresses_of_queues() {
        let queue = |name: &str| Target::Queue(name.into());
        let messages = |name: &str| Target::Messages(name.into());
        let message = |name: &str, id: &str| Target::Message { queue: name.into(), id: id.into() };
        let table = [
            ("/", Target::Service),
            ("/q", queue("q")),
            ("/q/", queue("q")),
            ("/%E5%95%8A", queue("啊")),
            ("/q/messages", messages("q")),
            ("/q/messages/", messages("q")),
            ("/q/messages/a%2Fb", message("q", "a/b")),
            ("/q/messages?restype=container", messages("q")),
        ];
        for (uri, target) in table {
            let head = read(uri, &[("host", "acc.queue.localhost")]).unwrap();
            assert_eq!((head.service, head.target), (Service::Queue, target), "{uri}");
        }
        assert_eq!(read("/q/other", &[("host", "acc.queue.localhost")]).err(), Some(Refusal::InvalidUri));
        let id = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef;
        assert_eq!(read_guid(&guid(id)), Some(id));
        for bad in ["", "x", "0123456789abcdef0123456789abcdef", "+1234567-89ab-cdef-0123-456789abcdef"] {
            assert_eq!(read_guid(bad), None, "{bad}");
        }
    }

    #[test]
    fn versions() {
        let sas = "sv=2020-02-10&sig=x";
        let table = [
            ("", Some("2021-08-06"), "2021-08-06"),
            ("", Some("2099-01-01"), "2099-01-01"),
            ("", Some("yesterday"), "refused"),
            ("", None, "unsaid"),
            (sas, None, "2020-02-10"),
            (sas, Some("2021-08-06"), "2021-08-06"),
            ("api-version=2019-02-02&sv=2020-02-10&sig=x", None, "2019-02-02"),
            ("sv=2020-02-10", None, "unsaid"),
        ];
        for (query, header, expected) in table {
            let headers: Vec<_> = header.map(|header| ("x-ms-version", header)).into_iter().collect();
            let seen = match read(&format!("/a/c/b?{query}"), &headers) {
                Err(_) => "refused".to_owned(),
                Ok(head) if head.version_sent => head.version.to_string(),
                Ok(_) => "unsaid".to_owned(),
            };
            assert_eq!(seen, expected, "{query} {header:?}");
        }
    }

    #[test]
    fn a_guid_has_five_groups() {
        assert_eq!(guid(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef), "01234567-89ab-cdef-0123-456789abcdef");
    }
}
