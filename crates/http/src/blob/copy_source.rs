//! `x-ms-copy-source`: where a copy comes from, who may read it there, and in which words it is refused.
//!
//! Held true: a source in this server is read under the rights that it was named with (its own SAS, a token, public access), as
//! if its address were asked for; the account's key, or a token, opens the account's own sources to Copy Blob alone (observed). What is
//! elsewhere is fetched only where the operator allows it (`sources`).

use http::{HeaderMap, HeaderValue, Method, Uri};
use lazuli_model::blob::{CopySource, CopyTags, Family, Kind, Which};
use lazuli_model::conditions::Match;
use lazuli_model::tags::TagCondition;
use lazuli_model::{Conditions, Timestamp};
use lazuli_store::Reader;

use crate::auth::Grant;
use crate::blob::{encryption, headers};
use crate::file;
use crate::head::{Head, Query, Service};
use crate::operation::{By, Second};
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::{Ask, Naming};
use crate::sources::{self, Fetched};
use crate::wire;
use crate::wire::digest::{Claimed, parse_crc64, parse_md5};
use crate::wire::range::{ByteRange, Span};

/// A source that may be read.
pub struct Opened {
    /// As [`sources::shown`].
    pub url: String,
    /// Read with a SAS or a token, and not as anybody may read it.
    pub authorized: bool,
    pub from: From,
}

pub enum From {
    /// A blob of this server: its content can be shared.
    Here { reader: Box<Reader>, which: Which },
    /// From another host, or a file: its bytes have to be moved. If a range was asked for, they are no more than that.
    Streamed(Box<Fetched>),
}

impl From {
    /// The type of what is copied.
    pub fn kind(&self) -> Kind {
        match self {
            From::Here { reader, .. } => reader.blob.kind,
            From::Streamed(fetched) => fetched.blob.kind,
        }
    }
}

/// Finds the source and opens it. `tags` is whether its tags are wanted too.
pub async fn open(ask: &mut Ask, family: Family, rehydrates: bool, tags: bool) -> Result<Opened, Failure> {
    let Naming { text, second } = ask.required_naming(By::CopySource)?;
    let url = text.to_owned();
    if url.len() > 2048 {
        return Err(invalid(&url).into());
    }
    let uri: Uri = url.parse().map_err(|_| invalid(&url))?;
    let conditions = conditions(&ask.head)?;
    let from = match sources::place(&ask.edge, &ask.head, &uri).ok_or_else(|| invalid(&url))? {
        sources::Place::Here(known) => match file::source::service(&uri, known)? {
            Service::File => file_here(ask, second, family, uri, conditions).await,
            Service::Blob | Service::Dfs | Service::Queue | Service::Table => {
                let wanted = Wanted { family, conditions, rehydrates, tags };
                here(ask, second, uri, wanted).await
            }
        },
        sources::Place::Elsewhere => {
            let fetched = ask.edge.fetch(&ask.head, &uri).await;
            fetched.map(|fetched| From::Streamed(Box::new(fetched))).map_err(Fault::Verify)
        }
        sources::Place::Forbidden => Err(Fault::Verify(sources::forbidden().into())),
    };
    match from {
        Ok(from) => {
            let is_signed = uri_has_signature(&url);
            let authorized = is_signed || ask.head.text("x-ms-copy-source-authorization").is_some();
            Ok(Opened { url: sources::shown(&url), authorized, from })
        }
        Err(Fault::Request(refusal)) => Err(refusal.into()),
        Err(Fault::Verify(failure)) => Err(cannot_verify(ask, failure)),
    }
}

fn uri_has_signature(url: &str) -> bool {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    Query::parse(query).is_ok_and(|query| query.raw("sig").is_some())
}

/// Rule B1, where the target is written as a body would be.
pub fn of_target(conditions: &Conditions, failure: lazuli_store::Failure) -> Failure {
    match failure {
        lazuli_store::Failure::Refused(denied) => conditions.of_target(denied).into(),
        lazuli_store::Failure::Broken(fault) => fault.into(),
    }
}

/// Whose fault it is that there is no source.
enum Fault {
    /// The request's: said as it is.
    Request(Refusal),
    /// The source's: passed on as CannotVerifyCopySource.
    Verify(Failure),
}

/// `foreign`: the source is of another account, or read by another right than the request's.
fn passed_on(family: Family, foreign: bool, failure: Failure) -> Fault {
    match (family, failure) {
        (
            Family::Copy,
            Failure::Refused(refusal @ Refusal::Denied(Denied::SourceConditionNotMet | Denied::ConditionNotMet)),
        ) => Fault::Request(refusal),
        // Rule A19.
        (Family::Copy, failure) if foreign => Fault::Verify(failure),
        // Copy Blob finds its own account's source as it finds its target; what it may not read, it cannot verify.
        (Family::Copy, Failure::Refused(refusal)) => Fault::Request(refusal),
        (Family::FromUrl, Failure::Refused(refusal @ Refusal::Denied(Denied::SourceConditionNotMet))) => {
            Fault::Request(refusal)
        }
        (Family::Copy | Family::Incremental | Family::FromUrl | Family::InPlace, failure) => Fault::Verify(failure),
    }
}

fn invalid(url: &str) -> Refusal {
    Refusal::InvalidHeaderValue { header: "x-ms-copy-source".into(), value: url.to_owned() }
}

/// How a source is wanted.
struct Wanted {
    family: Family,
    conditions: Conditions,
    rehydrates: bool,
    tags: bool,
}

async fn here(ask: &Ask, second: &Second, uri: Uri, wanted: Wanted) -> Result<From, Fault> {
    let Wanted { family, conditions, rehydrates, tags } = wanted;
    let mut head = head(ask, uri).map_err(|refusal| Fault::Verify(refusal.into()))?;
    let at = head.blob_at().map_err(|refusal| Fault::Verify(refusal.into()))?;
    let which = wire::headers::which(&head).map_err(|refusal| Fault::Verify(refusal.into()))?;
    let foreign = is_signed(&head) || head.account != ask.head.account;
    let grant = admit(ask, second, &mut head, family).await.map_err(Fault::Verify)?;
    let passed_on = |failure: Failure| passed_on(family, foreign, failure);
    let wants_tags = tags || conditions.if_tags.is_some();
    if wants_tags && !grant.owner && !grant.letters.has('t') {
        return Err(Fault::Verify(Denied::AuthorizationPermissionMismatch.into()));
    }
    let key = encryption::source_key(&ask.head).map_err(Fault::Request)?;
    let hash = key.as_ref().map(|key| key.hash());
    let source = CopySource { which, conditions, family, rehydrates, key: hash };
    let mut reader = ask.store.open_source(&at, &source).await.map_err(|failure| passed_on(failure.into()))?;
    encryption::permit_read(ask, &reader.blob).map_err(Fault::Request)?;
    encryption::unlock(&ask.store, &at.account, key, &mut reader).await.map_err(Fault::Verify)?;
    Ok(From::Here { reader: Box::new(reader), which })
}

/// A file of this server is read as its address would be, and judged as a blob would be that says the same.
async fn file_here(
    ask: &Ask,
    second: &Second,
    family: Family,
    uri: Uri,
    conditions: Conditions,
) -> Result<From, Fault> {
    let verify = |refusal: Refusal| Fault::Verify(refusal.into());
    let mut head = file::source::source_head(&ask.head, uri, Some(Service::File), false).map_err(verify)?;
    if finds_its_own(family) {
        sources::lend_token(ask, &mut head);
    }
    let owned = finds_its_own(family) && ask.grant.owner && head.account == ask.head.account;
    let opened = file::source::open_file(&ask.edge, &ask.store, second, &head, owned).await;
    let (reader, _) = opened.map_err(Fault::Verify)?;
    let range = range(&ask.head).map_err(Fault::Request)?;
    let fetched = Fetched::of_file(reader, range).map_err(verify)?;
    let key = encryption::source_key(&ask.head).map_err(Fault::Request)?.map(|key| key.hash());
    let source = CopySource { which: Which::Current, conditions, family, rehydrates: false, key };
    match source.decide(Some(&fetched.blob), ask.head.now) {
        Ok(_) => Ok(From::Streamed(Box::new(fetched))),
        Err(refusal) => Err(passed_on(family, false, refusal.into())),
    }
}

/// What a client would send to read the source itself, over the connection that it has: a source of this server is reached by no other,
/// whatever its address says.
fn head(ask: &Ask, uri: Uri) -> Result<Head, Refusal> {
    let mut sent = HeaderMap::new();
    if let Some(host) = uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok()) {
        sent.insert(http::header::HOST, host);
    }
    let token = ask.head.text("x-ms-copy-source-authorization").and_then(|text| HeaderValue::from_str(text).ok());
    if let Some(token) = token {
        sent.insert(http::header::AUTHORIZATION, token);
    }
    ask.edge.inner_head(&ask.head, Method::GET, uri, sent)
}

/// Whether the rights of the request open the account's own sources.
fn finds_its_own(family: Family) -> bool {
    match family {
        Family::Copy | Family::Incremental => true,
        Family::FromUrl | Family::InPlace => false,
    }
}

fn is_signed(source: &Head) -> bool {
    source.query.get("sig").is_some() || source.text("authorization").is_some()
}

async fn admit(ask: &Ask, second: &Second, source: &mut Head, family: Family) -> Result<Grant, Failure> {
    let owned = finds_its_own(family) && ask.grant.owner && source.account == ask.head.account;
    if finds_its_own(family) {
        sources::lend_token(ask, source);
    }
    ask.edge.admit_source(second, source, owned).await
}

fn cannot_verify(ask: &mut Ask, failure: Failure) -> Failure {
    match failure {
        Failure::Broken(fault) => Failure::Broken(fault),
        Failure::Refused(refusal) => sources::unverified(ask, refusal).into(),
    }
}

/// Appended blocks and pages say less of what went wrong (observed).
pub fn unsaid(failure: Failure) -> Failure {
    match failure {
        Failure::Refused(Refusal::CannotVerifyCopySource { status, code, .. }) => {
            let message = "Could not verify the copy source within the specified time.".into();
            Refusal::CannotVerifyCopySource { status, code, message }.into()
        }
        Failure::Refused(Refusal::Denied(Denied::Md5Mismatch { .. })) => {
            Denied::Md5Mismatch { user: String::new(), server: String::new() }.into()
        }
        Failure::Refused(_) | Failure::Broken(_) => failure,
    }
}

/// `x-ms-source-if-*`
fn conditions(head: &Head) -> Result<Conditions, Refusal> {
    Ok(Conditions {
        if_match: head.text("x-ms-source-if-match").map(Match::parse),
        if_none_match: head.text("x-ms-source-if-none-match").map(Match::parse),
        if_modified_since: head.opt("x-ms-source-if-modified-since", Timestamp::parse_http)?,
        if_unmodified_since: head.opt("x-ms-source-if-unmodified-since", Timestamp::parse_http)?,
        if_tags: head.text("x-ms-source-if-tags").map(TagCondition::parse).transpose()?,
    })
}

/// `x-ms-copy-source-tag-option` and `x-ms-tags`.
pub fn tags(head: &Head) -> Result<CopyTags, Refusal> {
    let copies = head.opt("x-ms-copy-source-tag-option", |text| match text.to_ascii_lowercase().as_str() {
        "copy" => Some(true),
        "replace" => Some(false),
        _ => None,
    })?;
    match (copies, head.text("x-ms-tags")) {
        (Some(true), Some(_)) => Err(Refusal::BothUserTagsAndSourceTagsCopyPresent),
        (Some(true), None) => Ok(CopyTags::OfSource),
        (Some(false) | None, _) => Ok(CopyTags::These(headers::tags(head)?)),
    }
}

/// `x-ms-source-range`, or all of it.
pub fn range(head: &Head) -> Result<Option<ByteRange>, Refusal> {
    head.opt("x-ms-source-range", ByteRange::parse)
}

/// The bytes that are asked for; beyond the end of the source there are none.
pub fn span(ask: &mut Ask, range: Option<ByteRange>, length: u64, most: u64) -> Result<Span, Failure> {
    let span = match range {
        None => Ok(Span::whole(length)),
        Some(range) => range.within(length),
    };
    let span = span.map_err(|refusal| cannot_verify(ask, refusal.into()))?;
    if span.length() > most { Err(too_large(ask)) } else { Ok(span) }
}

pub fn too_large(ask: &mut Ask) -> Failure {
    let refusal = Refusal::CannotVerifyCopySource {
        status: 409,
        code: "RequestBodyTooLarge".into(),
        message:
            "The source request entity body for copy source is too large and exceeds the maximum permissible limit."
                .into(),
    };
    cannot_verify(ask, refusal.into())
}

/// `x-ms-source-content-md5` and `-crc64`, in the place of a body's digests.
pub fn claimed(head: &Head) -> Result<Claimed, Refusal> {
    let claimed = Claimed {
        transfer_md5: head.text("x-ms-source-content-md5").map(parse_md5).transpose()?,
        blob_md5: None,
        crc64: head.opt("x-ms-source-content-crc64", parse_crc64)?,
    };
    if claimed.transfer_md5.is_some() && claimed.crc64.is_some() {
        return Err(Refusal::BothCrc64AndMd5HeaderPresent);
    }
    Ok(claimed)
}
