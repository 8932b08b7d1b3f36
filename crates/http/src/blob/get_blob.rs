//! Get Blob: whole or a range, plain or as a structured message. Small answers are one piece; large ones stream.

use http::StatusCode;
use lazuli_model::blob::{Blob, ReadBlob, Tier, Which};
use lazuli_store::{BlobAt, Store};

use crate::answer::{Answer, name};
use crate::blob::{encryption, headers};
use crate::head::Head;
use crate::operation::{AccountNeeds, Anonymous, DATES, ETAGS, IF_TAGS, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::versions::Since;
use crate::wire;
use crate::wire::digest::md5_text;
use crate::wire::range::{self, ByteRange, RangeDigest, Span};
use crate::wire::structured;

pub const SPEC: Spec = Spec {
    name: "GetBlob",
    methods: &["GET"],
    on: On::Blob,
    needs: "r",
    also: &[("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "r" }),
    anonymous: Anonymous::Blob,
    takes: ETAGS | DATES | IF_TAGS | LEASE,
    moments: true,
    ..Spec::PLAIN
};

struct Get {
    read: ReadBlob,
    range: Option<ByteRange>,
    digest: RangeDigest,
    structured: bool,
}

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let get = parse(&ask.head)?;
    let which = get.read.which;
    let named = !which.is_current();
    let at = ask.head.blob_at()?;
    let (from, to) = get.range.map_or((0, None), |range| (range.from, range.to));
    let to = to.map_or(u64::MAX, |to| to.saturating_add(1));
    let mut reader = ask.store.open_blob_range(&at, get.read, from, to).await?;
    encryption::permit_read(ask, &reader.blob)?;
    encryption::unlock(&ask.store, &at.account, encryption::customer_key(&ask.head)?, &mut reader).await?;
    let length = reader.blob.content.length;
    let span = range::span(ask, get.range, length)?;
    get.digest.permit(span)?;
    let answer = describe(ask, &reader.blob, span, named);
    // Reads decide where a blob of the smart tier is.
    if ask.settings.last_access_tracking || reader.blob.tier == Some(Tier::Smart) {
        note_access(ask.store.clone(), at.clone(), which, &reader.blob);
    }
    let answer = headers::old_snapshot(answer, &ask.head, which);
    let answer = headers::in_file_system(ask, answer, &at).await?;
    let answer = wire::headers::overrides(answer, &ask.grant.overrides);
    reader.seek(span.from, span.to);
    Ok(answer.content(reader, span.length(), get.digest, get.structured).await?)
}

fn parse(head: &Head) -> Result<Get, Refusal> {
    let range = range::requested(head)?;
    Ok(Get {
        read: ReadBlob {
            which: wire::headers::which(head)?,
            key: encryption::key_hash(head)?,
            conditions: wire::headers::conditions(head, &SPEC)?,
            lease: wire::headers::lease_id(head)?,
        },
        range,
        digest: range::digests(head, range)?,
        structured: head.opt("x-ms-structured-body", |text| structured::is_known_form(text).then_some(()))?.is_some(),
    })
}

/// Beside the answer, which does not wait for it.
fn note_access(store: Store, at: BlobAt, which: Which, blob: &Blob) {
    let blob = blob.clone();
    tokio::spawn(async move {
        if let Err(lazuli_store::Failure::Broken(fault)) = store.note_access(&at, which, &blob).await {
            tracing::warn!(?fault, "the time of a read was not kept");
        }
    });
}

fn describe(ask: &Ask, blob: &Blob, span: Span, named: bool) -> Answer {
    let head = &ask.head;
    let status = if span.partial { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let answer = headers::describe(Answer::new(status), blob, named, head.now);
    let answer = headers::last_access(answer, blob, &ask.settings);
    let answer = match head.has(Since::TierOfContent) {
        true => headers::tier_of(answer, head, blob, &ask.settings),
        false => answer,
    };
    let answer = answer.number(&name::CONTENT_LENGTH, span.length());
    let md5 = blob.headers.md5.as_ref().map(md5_text);
    if span.partial {
        answer
            .text(&name::CONTENT_RANGE, span.content_range(blob.content.length))
            .optional(&name::BLOB_CONTENT_MD5, md5)
    } else {
        answer.optional(&name::CONTENT_MD5, md5)
    }
}
