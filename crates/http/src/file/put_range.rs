//! Put Range: writes bytes, or clears them to zeros.

use http::StatusCode;
use lazuli_model::file::{ClearRange, Entry, PutRange, SetTime};

use crate::answer::{Answer, name};
use crate::file::{RANGE_MAX, place, smb};
use crate::head::Head;
use crate::operation::{AccountNeeds, Body, LEASE, On, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::versions::Since;
use crate::wire::digest::md5_text;
use crate::wire::range::{self, ByteRange};
use crate::wire::structured;
use crate::wire::{content, headers};

pub const UPDATE: Spec = Spec {
    name: "PutRange",
    methods: &["PUT"],
    on: On::File,
    comp: Some("range"),
    when: &[When::HeaderIs("x-ms-write", "update"), When::NoHeader("x-ms-copy-source")],
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    body: Body::Content { most: RANGE_MAX },
    takes: LEASE,
    ..Spec::PLAIN
};

pub const CLEAR: Spec =
    Spec { name: "ClearRange", when: &[When::HeaderIs("x-ms-write", "clear")], body: Body::None, ..UPDATE };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_file(&ask.head)?;
    let span = span(&ask.head)?;
    let (written, lease) = (written(&ask.head)?, headers::lease_id(&ask.head)?);
    if ask.spec.name == CLEAR.name {
        let clear = ClearRange { from: span.0, to: span.1, written, lease };
        let file = ask.store.clear_range(&at, clear).await?;
        return Ok(answer(&ask.head, &file));
    }
    let (received, digests) = content::take(ask, RANGE_MAX, true).await?;
    if received.length != span.1 - span.0 {
        return Err(wrong_range(&ask.head).into());
    }
    let file = ask.store.put_range(&at, PutRange { from: span.0, written, lease }, received).await?;
    let answer = answer(&ask.head, &file)
        .optional(&name::CONTENT_MD5, digests.md5.map(md5_text))
        .constant(&name::REQUEST_SERVER_ENCRYPTED, "true");
    Ok(if digests.structured { answer.constant(&name::STRUCTURED_BODY, structured::FORM) } else { answer })
}

/// Both ends must be said.
pub fn span(head: &Head) -> Result<(u64, u64), Refusal> {
    let range = range::requested(head)?.ok_or(Refusal::MissingRequiredHeader { header: "x-ms-range".into() })?;
    match range {
        ByteRange { from, to: Some(to) } if to < u64::MAX => Ok((from, to + 1)),
        ByteRange { .. } => Err(wrong_range(head)),
    }
}

fn wrong_range(head: &Head) -> Refusal {
    let name = if head.text("x-ms-range").is_some() { "x-ms-range" } else { "range" };
    let value = head.text(name).unwrap_or_default().to_owned();
    Refusal::InvalidHeaderValue { header: name.into(), value }
}

/// `x-ms-file-last-write-time`: `now` unless it is to be preserved.
pub fn written(head: &Head) -> Result<SetTime, Refusal> {
    let read = |text: &str| smb::time(text).filter(|time| matches!(time, SetTime::Now | SetTime::Preserve));
    Ok(head.opt("x-ms-file-last-write-time", read)?.unwrap_or(SetTime::Now))
}

pub fn answer(head: &Head, file: &Entry) -> Answer {
    let node = &file.node;
    let answer = Answer::new(StatusCode::CREATED).etag(node.etag, node.modified);
    if head.lacks(Since::SmbOptional) {
        return answer;
    }
    answer.text(&name::FILE_LAST_WRITE_TIME, node.smb.written.to_iso())
}
