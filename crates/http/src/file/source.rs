//! What is copied from: a file or a blob of any account that is served here, named by its URL, and read only by who may read it; or
//! what another host has, where the operator allows that (`sources`).
//!
//! A path-style URL does not say its service. Its SAS may (`sr`), and otherwise the port at which this server listens.

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue, Uri};
use lazuli_model::blob::{ContentHeaders, ReadBlob};
use lazuli_model::file::{Entry, ReadFile};
use lazuli_model::{Conditions, Metadata};
use lazuli_store::{Broken, FileReader, Reader, ShareAt, Source, Store};

use crate::answer::name;
use crate::blob::encryption;
use crate::file::place;
use crate::head::{Arrival, Head, PathStyle, Query, Service, Style, Target};
use crate::operation::{By, Second};
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::{Ask, Edge};
use crate::sources::{self, Fetched, Place};
use crate::versions::Since;
use crate::wire::headers;

const URL_MAX: usize = 2048;

/// A source that may be read.
pub struct OpenedFile {
    content: Content,
    pub length: u64,
    pub headers: ContentHeaders,
    pub metadata: Metadata,
    /// Of a file: what else it is, and where.
    pub file: Option<(Entry, ShareAt)>,
}

enum Content {
    File(Box<FileReader>),
    Blob(Box<Reader>),
    Elsewhere(Box<Fetched>),
}

impl OpenedFile {
    /// Only `from..to` is read of it. Refused when it ends before that.
    pub fn narrow(&mut self, from: u64, to: u64) -> Result<(), Refusal> {
        let has_all = match &mut self.content {
            Content::File(reader) => {
                reader.seek(from, to);
                to <= self.length
            }
            Content::Blob(reader) => {
                reader.seek(from, to);
                to <= self.length
            }
            // Another host was asked for the range, and has sent no more than that.
            Content::Elsewhere(_) => to - from == self.length,
        };
        if has_all { Ok(()) } else { Err(Denied::InvalidRange.into()) }
    }
}

impl Source for OpenedFile {
    fn next(&mut self) -> std::pin::Pin<Box<dyn Future<Output = Result<Option<bytes::Bytes>, Broken>> + Send + '_>> {
        match &mut self.content {
            Content::File(reader) => Source::next(reader.as_mut()),
            Content::Blob(reader) => Source::next(reader.as_mut()),
            Content::Elsewhere(fetched) => fetched.next(),
        }
    }
}

/// Opens what `x-ms-copy-source` names. `implied`: who holds the account's key, or a token, need not prove it again for a file of
/// the same account, as Copy File has it.
pub async fn open(ask: &mut Ask, implied: bool) -> Result<OpenedFile, Failure> {
    let naming = ask.required_naming(By::CopySource)?;
    let second = naming.second;
    let uri: Option<Uri> = naming.text.parse().ok().filter(|_| naming.text.len() <= URL_MAX);
    let uri = uri.ok_or_else(|| naming.invalid())?;
    if uri.path().trim_matches('/').is_empty() {
        return Err(sources::unverified(ask, nowhere()).into());
    }
    let mut near = false;
    let opened = match sources::place(&ask.edge, &ask.head, &uri).ok_or_else(|| naming.invalid())? {
        Place::Here(known) => {
            let mut head = source_head(&ask.head, uri, known, implied)?;
            near = implied && head.account == ask.head.account && head.service == Service::File;
            let owned = near && ask.grant.owner;
            if near {
                sources::lend_token(ask, &mut head);
            }
            let (edge, store) = (ask.edge.clone(), ask.store.clone());
            read(&edge, &store, second, &head, owned).await
        }
        Place::Elsewhere => ask.edge.fetch(&ask.head, &uri).await.and_then(elsewhere),
        Place::Forbidden => Err(sources::forbidden().into()),
    };
    match opened {
        Ok(opened) => Ok(opened),
        // Rule F4.
        Err(Failure::Refused(refusal)) if near && is_absent(&refusal) => Err(Denied::ResourceNotFound.into()),
        Err(Failure::Refused(refusal)) => Err(sources::unverified(ask, refusal).into()),
        Err(broken) => Err(broken),
    }
}

/// Rule F4: of a source without a path.
fn nowhere() -> Refusal {
    Refusal::CannotVerifyCopySource {
        status: 400,
        code: "InvalidQueryParameterValue".into(),
        message: "Value for one of the query parameters specified in the request URI is invalid.".into(),
    }
}

fn is_absent(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Denied(Denied::ResourceNotFound | Denied::ShareNotFound | Denied::ParentNotFound))
}

/// A file is as long as its source, so that has to be known.
fn elsewhere(fetched: Fetched) -> Result<OpenedFile, Failure> {
    let length = fetched.length.ok_or(Refusal::MissingContentLengthHeader)?;
    let (headers, metadata) = (fetched.blob.headers.clone(), fetched.blob.metadata.clone());
    Ok(OpenedFile { content: Content::Elsewhere(Box::new(fetched)), length, headers, metadata, file: None })
}

async fn read(edge: &Edge, store: &Store, second: &Second, head: &Head, owned: bool) -> Result<OpenedFile, Failure> {
    match head.service {
        Service::File => {
            let (mut reader, at) = open_file(edge, store, second, head, owned).await?;
            let entry = reader.entry.clone();
            reader.seek(0, entry.node.length);
            Ok(OpenedFile {
                length: entry.node.length,
                headers: entry.node.headers.clone(),
                metadata: entry.node.metadata.clone(),
                file: Some((entry, at)),
                content: Content::File(Box::new(reader)),
            })
        }
        Service::Blob | Service::Dfs => {
            edge.admit_source(second, head, owned).await?;
            let read = ReadBlob {
                which: headers::which(head)?,
                conditions: Conditions::default(),
                lease: None,
                key: encryption::key_hash(head)?,
            };
            let at = head.blob_at()?;
            let mut reader = store.open_blob(&at, read).await?;
            encryption::unlock(store, &at.account, encryption::customer_key(head)?, &mut reader).await?;
            let length = reader.blob.content.length;
            reader.seek(0, length);
            Ok(OpenedFile {
                length,
                headers: reader.blob.headers.clone(),
                metadata: reader.blob.metadata.clone(),
                file: None,
                content: Content::Blob(Box::new(reader)),
            })
        }
        Service::Queue | Service::Table => Err(Refusal::InvalidUri.into()),
    }
}

/// A file that the sender of `head` may read. `owned`: a sender without credentials is the account's owner.
pub async fn open_file(
    edge: &Edge,
    store: &Store,
    second: &Second,
    head: &Head,
    owned: bool,
) -> Result<(FileReader, ShareAt), Failure> {
    edge.admit_source(second, head, owned).await?;
    let at = place::file(head)?;
    let read = ReadFile { snapshot: place::snapshot(head)?, lease: None };
    Ok((store.open_file(&at, read).await?, at.share_at()))
}

/// The request that would read the source, over the connection that there is: a source of this server is reached by no other, whatever
/// its address says.
pub fn source_head(head: &Head, uri: Uri, known: Option<Service>, implied: bool) -> Result<Head, Refusal> {
    let arrival = Arrival {
        service: service(&uri, known)?,
        secure: head.secure,
        peer: head.peer,
        now: head.now,
        wall: head.wall,
        request_id: head.request_id,
        loose: true,
    };
    let mut parts = http::Request::get(uri).body(()).map_err(|_| Refusal::InvalidUri)?.into_parts().0;
    if head.style == Style::Path && parts.uri.authority().map(|at| at.as_str()) == head.text("host") {
        parts.extensions.insert(PathStyle);
    }
    let copied = [
        ("x-ms-source-allow-trailing-dot", HeaderName::from_static("x-ms-allow-trailing-dot")),
        ("x-ms-copy-source-authorization", AUTHORIZATION),
    ];
    for (from, to) in copied {
        if let Some(value) = head.headers.get(from) {
            parts.headers.insert(to, value.clone());
        }
    }
    // Observed in 2022: Copy File asks for its source in the manner of old, to which nobody is told to authenticate.
    if !implied || head.has(Since::SourceFault) {
        let version = HeaderValue::try_from(head.version.to_string()).map_err(|_| Denied::InternalError)?;
        parts.headers.insert(name::VERSION.clone(), version);
    }
    let mut source = Head::read(parts, arrival)?;
    // Rule F5: what a signature is for has no dots at its end either.
    let keeps_dots = source.flag("x-ms-allow-trailing-dot")?;
    if let (Target::Path { path, .. }, false) = (&mut source.target, keeps_dots) {
        let steps: Vec<&str> = path.split('/').map(|step| step.trim_end_matches('.')).collect();
        *path = steps.join("/");
    }
    Ok(source)
}

/// As its SAS says, else as its address does.
pub fn service(uri: &Uri, known: Option<Service>) -> Result<Service, Refusal> {
    let query = Query::parse(uri.query().unwrap_or_default())?;
    Ok(match query.get("sr").unwrap_or_default() {
        "f" | "s" => Service::File,
        "b" | "bs" | "bv" | "c" | "d" => Service::Blob,
        _ => known.unwrap_or(Service::Blob),
    })
}
