//! The headers and parameters that all services share: read into values once, written as Azure writes them.

use lazuli_model::blob::Which;
use lazuli_model::conditions::Match;
use lazuli_model::tags::TagCondition;
use lazuli_model::{Conditions, ETag, Lease, LeaseId, Metadata, Timestamp};

use crate::answer::{Answer, name};
use crate::auth::Overrides;
use crate::head::{Head, metadata_name};
use crate::operation::{IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_TAGS, IF_UNMODIFIED_SINCE, Spec};
use crate::refusal::Refusal;

/// What content is when nobody says.
pub const DEFAULT_TYPE: &str = "application/octet-stream";

/// The conditions that `spec` takes. One that it does not take is refused: a condition ignored is a promise broken.
pub fn conditions(head: &Head, spec: &Spec) -> Result<Conditions, Refusal> {
    let takes = |flag: u8, header: &str| match head.text(header) {
        Some(_) if spec.takes & flag == 0 => Err(Refusal::ConditionHeadersNotSupported),
        text => Ok(text),
    };
    let date = |flag: u8, header: &'static str| {
        takes(flag, header)?.map_or(Ok(None), |_| head.opt(header, Timestamp::parse_http))
    };
    let conditions = Conditions {
        if_match: takes(IF_MATCH, "if-match")?.map(|_| etags(head, "if-match")),
        if_none_match: takes(IF_NONE_MATCH, "if-none-match")?.map(|_| etags(head, "if-none-match")),
        if_modified_since: date(IF_MODIFIED_SINCE, "if-modified-since")?,
        if_unmodified_since: date(IF_UNMODIFIED_SINCE, "if-unmodified-since")?,
        if_tags: takes(IF_TAGS, "x-ms-if-tags")?.map(TagCondition::parse).transpose()?,
    };
    if spec.writes() {
        conditions.permit_together()?;
    }
    Ok(conditions)
}

/// Of Get and Set Blob Tags: the conditions about the blob have names of their own there, since 2026-02-06 (azure-rest-api-specs#34844).
pub fn conditions_of_tags(head: &Head, spec: &Spec) -> Result<Conditions, Refusal> {
    let plain = conditions(head, spec)?;
    let tags = |name: &str| head.text(name).map(Match::parse);
    let date = |name: &'static str| head.opt(name, Timestamp::parse_http);
    let all = Conditions {
        if_match: tags("x-ms-blob-if-match").or(plain.if_match),
        if_none_match: tags("x-ms-blob-if-none-match").or(plain.if_none_match),
        if_modified_since: date("x-ms-blob-if-modified-since")?.or(plain.if_modified_since),
        if_unmodified_since: date("x-ms-blob-if-unmodified-since")?.or(plain.if_unmodified_since),
        if_tags: plain.if_tags,
    };
    if spec.writes() {
        all.permit_together()?;
    }
    Ok(all)
}

/// `*`, or a list of tags. A client may split the list over several lines.
fn etags(head: &Head, header: &str) -> Match {
    let lines = head.headers.get_all(header).iter().filter_map(|value| value.to_str().ok());
    let tags: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).filter(|tag| !tag.is_empty()).collect();
    if tags.contains(&"*") { Match::Any } else { Match::OneOf(tags.into_iter().map(ETag::parse).collect()) }
}

pub fn lease_id(head: &Head) -> Result<Option<LeaseId>, Refusal> {
    head.opt("x-ms-lease-id", LeaseId::parse)
}

pub fn metadata(head: &Head) -> Result<Metadata, Refusal> {
    let pairs = head.headers.iter().filter_map(|(header, value)| {
        let name = metadata_name(header)?;
        let name = head.spelt.iter().find(|spelt| spelt.eq_ignore_ascii_case(name)).map_or(name, String::as_str);
        Some((name.to_owned(), String::from_utf8_lossy(value.as_bytes()).trim().to_owned()))
    });
    Ok(Metadata::new(pairs.collect())?)
}

/// The blob itself, or the snapshot or version that the query names. Both at once is refused.
pub fn which(head: &Head) -> Result<Which, Refusal> {
    let snapshot = head.query_opt("snapshot", Timestamp::parse_iso)?;
    let version = head.query_opt("versionid", Timestamp::parse_iso)?;
    match (snapshot, version) {
        (None, None) => Ok(Which::Current),
        (Some(time), None) => Ok(Which::Snapshot(time)),
        (None, Some(time)) => Ok(Which::Version(time)),
        // Rule B11.
        (Some(_), Some(_)) => Err(Refusal::MutuallyExclusiveQueryParameters),
    }
}

pub fn lease(answer: Answer, lease: Lease, now: Timestamp) -> Answer {
    let shown = lease.shown(now);
    let answer = answer.constant(&name::LEASE_STATUS, shown.status).constant(&name::LEASE_STATE, shown.state);
    match shown.duration {
        None => answer,
        Some(duration) => answer.constant(&name::LEASE_DURATION, duration),
    }
}

pub fn metadata_of(mut answer: Answer, metadata: &Metadata) -> Answer {
    for (name, value) in metadata.iter() {
        let spelt = format!("x-ms-meta-{name}");
        let header = http::HeaderName::try_from(&spelt);
        if let (Ok(header), Ok(value)) = (header, http::HeaderValue::try_from(value)) {
            answer.headers.insert(header, value);
        }
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            answer.spelt.push(spelt);
        }
    }
    answer
}

/// What a SAS says the answer's headers are (`rscc` and its kin).
pub fn overrides(answer: Answer, overrides: &Overrides) -> Answer {
    answer
        .optional(&name::CACHE_CONTROL, overrides.cache_control.as_deref())
        .optional(&name::CONTENT_DISPOSITION, overrides.content_disposition.as_deref())
        .optional(&name::CONTENT_ENCODING, overrides.content_encoding.as_deref())
        .optional(&name::CONTENT_LANGUAGE, overrides.content_language.as_deref())
        .optional(&name::CONTENT_TYPE, overrides.content_type.as_deref())
}
