//! The headers that operations on paths share.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::blob::{ContentHeaders, PutBlob};
use lazuli_model::lake::{CreatePath, LakePath, LeaseStep, Node};
use lazuli_model::lease::Length;
use lazuli_model::{ContainerName, LeaseId, Metadata};
use lazuli_store::{BlobItem, PathAt};

use crate::answer::{Answer, name};
use crate::head::{Head, Target};
use crate::refusal::Refusal;
use crate::versions::Since;
use crate::wire::digest::parse_kept_md5;
use crate::wire::headers::DEFAULT_TYPE;

const FOLDER: &str = "hdi_isfolder";

/// The path of the URL; a file system without one is its root directory.
pub fn path_at(head: &Head) -> Result<PathAt, Refusal> {
    let (container, path) = match &head.target {
        Target::Container(container) => (container, ""),
        Target::Blob { container, blob } => (container, blob.as_str()),
        Target::Service | Target::Queue(_) | Target::Messages(_) | Target::Message { .. } => {
            return Err(Refusal::InvalidUri);
        }
        Target::Share(_) | Target::Path { .. } | Target::Table(_) => return Err(Refusal::InvalidUri),
    };
    let container = ContainerName::parse(container)?;
    Ok(PathAt { account: head.account()?, container, path: LakePath::parse(path)? })
}

/// A text that is kept with a path, and shown by every list of it, of at most so many bytes.
pub fn kept_text(head: &Head, header: &'static str, most: usize) -> Result<Option<String>, Refusal> {
    match head.text(header) {
        Some(text) if text.len() > most => {
            Err(Refusal::InvalidHeaderValue { header: header.into(), value: text.to_owned() })
        }
        text => Ok(text.map(str::to_owned)),
    }
}

/// Who owns a path: object ids, `$superuser`, or what a client takes for one. As long as in an access control list.
pub const PRINCIPAL_MAX: usize = 256;
/// "Path - Create": of `x-ms-encryption-context`.
pub const CONTEXT_MAX: usize = 1024;

/// `x-ms-properties: name=base64(value),…`
pub fn properties(head: &Head) -> Result<Option<Metadata>, Refusal> {
    let Some(text) = head.text("x-ms-properties") else { return Ok(None) };
    let invalid = || Refusal::InvalidHeaderValue { header: "x-ms-properties".into(), value: text.to_owned() };
    let mut pairs = Vec::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or_else(invalid)?;
        let value = STANDARD.decode(value).map_err(|_| invalid())?;
        pairs.push((name.trim().to_owned(), String::from_utf8(value).map_err(|_| invalid())?));
    }
    pairs.retain(|(name, _)| !name.eq_ignore_ascii_case(FOLDER));
    Ok(Some(Metadata::new(pairs)?))
}

pub fn properties_text(metadata: &Metadata) -> Option<String> {
    let pairs: Vec<String> =
        metadata.iter().map(|(name, value)| format!("{name}={}", STANDARD.encode(value))).collect();
    (!pairs.is_empty()).then(|| pairs.join(","))
}

/// `x-ms-content-type` and its kin.
pub fn content_headers(head: &Head) -> Result<ContentHeaders, Refusal> {
    let text = |name: &str| head.text(name).map(str::to_owned);
    Ok(ContentHeaders {
        content_type: text("x-ms-content-type"),
        encoding: text("x-ms-content-encoding"),
        language: text("x-ms-content-language"),
        md5: head.text("x-ms-content-md5").map(parse_kept_md5).transpose()?,
        cache_control: text("x-ms-cache-control"),
        disposition: text("x-ms-content-disposition"),
    })
}

/// Of what is made.
pub fn new_headers(head: &Head) -> Result<ContentHeaders, Refusal> {
    let sent = content_headers(head)?;
    Ok(ContentHeaders { content_type: sent.content_type.or(Some(DEFAULT_TYPE.to_owned())), ..sent })
}

/// `x-ms-lease-action` of append and flush.
pub fn lease_step(head: &Head) -> Result<Option<LeaseStep>, Refusal> {
    let Some(action) = head.text("x-ms-lease-action") else { return Ok(None) };
    let acquired = || -> Result<(LeaseId, Length), Refusal> {
        let proposed = head.required("x-ms-proposed-lease-id", LeaseId::parse)?;
        Ok((proposed, head.required("x-ms-lease-duration", Length::parse)?))
    };
    match action.to_ascii_lowercase().as_str() {
        "acquire" => acquired().map(|(proposed, length)| Some(LeaseStep::Acquire { proposed, length })),
        "acquire-release" => acquired().map(|(proposed, length)| Some(LeaseStep::AcquireRelease { proposed, length })),
        "auto-renew" => Ok(Some(LeaseStep::AutoRenew)),
        "release" => Ok(Some(LeaseStep::Release)),
        _ => Err(Refusal::InvalidHeaderValue { header: "x-ms-lease-action".into(), value: action.to_owned() }),
    }
}

pub fn renewed(answer: Answer, renewed: Option<bool>) -> Answer {
    match renewed {
        None => answer,
        Some(renewed) => answer.constant(&name::LEASE_RENEWED, if renewed { "true" } else { "false" }),
    }
}

/// `true` or `false` in the query, in any case.
pub fn flag(head: &Head, name: &'static str) -> Result<bool, Refusal> {
    let flag = head.query_opt(name, |text| match text.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    })?;
    Ok(flag.unwrap_or(false))
}

/// What reads of a file system's blobs say besides (observed).
pub fn describe_node(answer: Answer, head: &Head, node: &Node) -> Answer {
    let answer = match head.has(Since::PathOwners) {
        false => answer,
        true => read_access(answer, head, node),
    };
    let answer = match head.has(Since::ResourceType) {
        true => answer.constant(&name::RESOURCE_TYPE, resource_type(node)),
        false => answer,
    };
    let answer = answer.optional(&name::ENCRYPTION_CONTEXT, node.context.clone());
    if node.is_directory { answer.constant(&name::META_IS_FOLDER, "true") } else { answer }
}

pub fn owners(answer: Answer, node: &Node) -> Answer {
    answer
        .text(&name::OWNER, node.access.owner.clone())
        .text(&name::GROUP, node.access.group.clone())
        .text(&name::PERMISSIONS, node.access.permissions())
}

/// Who may, as reads tell it.
pub fn read_access(answer: Answer, head: &Head, node: &Node) -> Answer {
    let answer = owners(answer, node);
    if head.has(Since::PathAcl) { answer.text(&name::ACL, node.access.acl().to_string()) } else { answer }
}

pub fn resource_type(node: &Node) -> &'static str {
    if node.is_directory { "directory" } else { "file" }
}

/// Of a listing.
pub fn is_directory(item: &BlobItem) -> bool {
    item.node.as_ref().is_some_and(|node| node.is_directory)
}

/// Whether the metadata of a blob say that it stands for a directory.
pub fn says_folder(metadata: &Metadata) -> bool {
    metadata.get(FOLDER).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// A directory that is put as a blob.
pub fn directory_of(put: PutBlob) -> CreatePath {
    let own = put.metadata.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(FOLDER));
    let pairs = own.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    CreatePath {
        headers: put.headers,
        metadata: Metadata::new(pairs).unwrap_or_default(),
        encryption: put.encryption,
        conditions: put.conditions,
        lease: put.lease,
        may_overwrite: put.may_overwrite,
        ..CreatePath::plain(true)
    }
}

/// What a directory's metadata say that it is.
pub fn folder_metadata(metadata: &Metadata) -> Metadata {
    let own = metadata.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(FOLDER));
    let pairs = own.chain([(FOLDER, "true")]).map(|(name, value)| (name.to_owned(), value.to_owned()));
    Metadata::new(pairs.collect()).unwrap_or_default()
}
