//! Get File: whole or a range, plain or as a structured message. Small answers are one piece; large ones stream.

use http::StatusCode;
use lazuli_model::file::{Entry, ReadFile};

use crate::answer::{Answer, name};
use crate::file::{describe, place};
use crate::head::Head;
use crate::operation::{AccountNeeds, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;
use crate::wire::range::{self, ByteRange, RangeDigest, Span};
use crate::wire::structured;

pub const SPEC: Spec = Spec {
    name: "GetFile",
    methods: &["GET"],
    on: On::File,
    needs: "r",
    account_sas: Some(AccountNeeds { resource: 'o', any: "r" }),
    takes: LEASE,
    ..Spec::PLAIN
};

struct Get {
    read: ReadFile,
    range: Option<ByteRange>,
    digest: RangeDigest,
    structured: bool,
}

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::file(&ask.head)?;
    let get = parse(&ask.head)?;
    // Locks are in the way of the bytes that are asked for, and of no others.
    let (from, to) =
        get.range.map_or((0, u64::MAX), |range| (range.from, range.to.map_or(u64::MAX, |to| to.saturating_add(1))));
    let mut reader = ask.store.open_file_range(&at, get.read, from, to).await?;
    let length = reader.entry.node.length;
    let span = range::span(ask, get.range, length)?;
    get.digest.permit(span)?;
    let answer = describe(&ask.head, &reader.entry, span, get.read.snapshot.is_some());
    let answer = headers::overrides(answer, &ask.grant.overrides);
    reader.seek(span.from, span.to);
    // Of a file, no CRC-64 is told.
    let digest = RangeDigest { crc64: false, ..get.digest };
    Ok(answer.content(reader, span.length(), digest, get.structured).await?)
}

fn parse(head: &Head) -> Result<Get, Refusal> {
    let range = range::requested(head)?;
    Ok(Get {
        read: ReadFile { snapshot: place::snapshot(head)?, lease: headers::lease_id(head)? },
        range,
        digest: range::digests(head, range)?,
        structured: head.opt("x-ms-structured-body", |text| structured::is_known_form(text).then_some(()))?.is_some(),
    })
}

fn describe(head: &Head, file: &Entry, span: Span, snapshot: bool) -> Answer {
    let status = if span.partial { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let answer = describe::file(Answer::new(status), head, file, snapshot)
        .constant(&name::ACCEPT_RANGES, "bytes")
        .number(&name::CONTENT_LENGTH, span.length());
    if span.partial {
        answer
            .text(&name::CONTENT_RANGE, span.content_range(file.node.length))
            .optional(&name::FILE_CONTENT_MD5, describe::md5(file))
    } else {
        answer.optional(&name::CONTENT_MD5, describe::md5(file))
    }
}
