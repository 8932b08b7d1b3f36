//! Append Block.

use http::StatusCode;
use lazuli_model::blob::{AppendBlock, Blob, Encryption};
use lazuli_model::conditions::Match;
use lazuli_model::{ETag, Timestamp};

use crate::answer::{Answer, name};
use crate::blob::encryption;
use crate::head::Head;
use crate::operation::{AccountNeeds, Body, DATES, ETAGS, IF_TAGS, LEASE, On, Spec, When};
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::Ask;
use crate::versions;
use crate::wire::{content, headers};

pub const BLOCK_MAX: u64 = versions::APPEND_BLOCK_MAX;

pub const SPEC: Spec = Spec {
    name: "AppendBlock",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("appendblock"),
    when: &[When::NoHeader("x-ms-copy-source")],
    needs: "aw",
    also: &[("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "aw" }),
    body: Body::Content { most: BLOCK_MAX },
    takes: ETAGS | DATES | IF_TAGS | LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    let append = parse(&ask.head, &SPEC, encryption::settle(ask).await?)?;
    permit_tags(append.conditions.if_match.as_ref())?;
    let (received, digests) = content::take(ask, versions::append_block_max(ask.head.version), false).await?;
    if received.length == 0 {
        return Err(Refusal::InvalidHeaderValue { header: "Content-Length".into(), value: "0".into() }.into());
    }
    let (offset, blob) = ask.store.append_block(&at, append, received).await?;
    Ok(digests.answer(answer(&blob, offset), &ask.head, false))
}

/// The conditions and the lease, which Append Block From URL has too.
pub fn parse(head: &Head, spec: &Spec, encryption: Encryption) -> Result<AppendBlock, Refusal> {
    Ok(AppendBlock {
        position: head.opt("x-ms-blob-condition-appendpos", |text| text.parse().ok())?,
        most: head.opt("x-ms-blob-condition-maxsize", |text| text.parse().ok())?,
        encryption,
        conditions: headers::conditions(head, spec)?,
        lease: headers::lease_id(head)?,
    })
}

/// Observed: an If-Match whose tag, read as a time, is before 1601 (where Windows begins to count) is out of range, here alone.
fn permit_tags(tags: Option<&Match>) -> Result<(), Refusal> {
    let first = ETag::of(Timestamp::WINDOWS_EPOCH);
    let is_early = |tag: &Option<ETag>| tag.is_some_and(|tag| tag < first);
    match tags {
        Some(Match::OneOf(tags)) if tags.iter().any(is_early) => Err(Denied::OutOfRangeInput.into()),
        Some(Match::OneOf(_) | Match::Any) | None => Ok(()),
    }
}

/// What both forms of Append Block say.
pub fn answer(blob: &Blob, offset: u64) -> Answer {
    encryption::describe(Answer::new(StatusCode::CREATED), &blob.encryption)
        .etag(blob.etag, blob.modified)
        .number(&name::BLOB_APPEND_OFFSET, offset)
        .number(&name::BLOB_COMMITTED_BLOCK_COUNT, blob.content.blocks.into())
        .constant(&name::REQUEST_SERVER_ENCRYPTED, "true")
}
