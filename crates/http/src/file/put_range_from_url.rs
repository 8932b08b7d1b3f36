//! Put Range from URL: writes what is read from a file or a blob.

use lazuli_model::file::PutRange;

use crate::answer::{Answer, name};
use crate::file::{RANGE_MAX, place, put_range, source};
use crate::head::Head;
use crate::operation::{AccountNeeds, LEASE, On, Spec, When};
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::Ask;
use crate::sources;
use crate::wire::digest::{crc64_text, parse_crc64};
use crate::wire::headers;
use crate::wire::range::ByteRange;

pub const SPEC: Spec = Spec {
    name: "PutRangeFromUrl",
    methods: &["PUT"],
    on: On::File,
    comp: Some("range"),
    when: &[When::HeaderIs("x-ms-write", "update"), When::Header("x-ms-copy-source")],
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    takes: LEASE,
    seconds: &[sources::COPY_SOURCE],
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_file(&ask.head)?;
    let (from, to) = put_range::span(&ask.head)?;
    let (source_from, source_to) = source_span(&ask.head)?;
    if to - from != source_to - source_from {
        return Err(wrong(&ask.head, "x-ms-source-range").into());
    }
    if to - from > RANGE_MAX {
        return Err(Denied::RequestBodyTooLarge { limit: RANGE_MAX }.into());
    }
    let put = PutRange { from, written: put_range::written(&ask.head)?, lease: headers::lease_id(&ask.head)? };
    let mut opened = source::open(ask, false).await?;
    if opened.narrow(source_from, source_to).is_err() {
        return Err(sources::unverified(ask, too_short()).into());
    }
    let received = ask.store.receive(&mut opened, Some(to - from), RANGE_MAX, false).await?;
    check(&ask.head, received.crc64)?;
    let crc64 = received.crc64;
    let file = ask.store.put_range(&at, put, received).await?;
    Ok(put_range::answer(&ask.head, &file)
        .text(&name::CONTENT_CRC64, crc64_text(crc64))
        .constant(&name::REQUEST_SERVER_ENCRYPTED, "true"))
}

fn source_span(head: &Head) -> Result<(u64, u64), Refusal> {
    let range = head.required("x-ms-source-range", ByteRange::parse)?;
    match range {
        ByteRange { from, to: Some(to) } if to < u64::MAX => Ok((from, to + 1)),
        ByteRange { .. } => Err(wrong(head, "x-ms-source-range")),
    }
}

/// Rule F14.
fn too_short() -> Refusal {
    Refusal::CannotVerifyCopySource {
        status: 409,
        code: "InvalidRange".into(),
        message: "The source request body for copy source does not match requested length to write on target.".into(),
    }
}

fn wrong(head: &Head, header: &'static str) -> Refusal {
    Refusal::InvalidHeaderValue { header: header.into(), value: head.text(header).unwrap_or_default().to_owned() }
}

/// What the client says of the source's bytes.
fn check(head: &Head, crc64: u64) -> Result<(), Refusal> {
    if let Some(user) = head.opt("x-ms-source-content-crc64", parse_crc64)?.filter(|user| *user != crc64) {
        return Err(Denied::Crc64Mismatch { user: crc64_text(user), server: crc64_text(crc64) }.into());
    }
    let matching = head.opt("x-ms-source-if-match-crc64", parse_crc64)?;
    let differing = head.opt("x-ms-source-if-none-match-crc64", parse_crc64)?;
    if matching.is_some_and(|asked| asked != crc64) || differing == Some(crc64) {
        return Err(Denied::ConditionNotMet.into());
    }
    Ok(())
}
