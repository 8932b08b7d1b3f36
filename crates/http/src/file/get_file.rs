//! Get File: whole or a range, plain or as a structured message. Small answers are one piece; large ones stream.

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, StatusCode};
use lazuli_model::Refusal;
use lazuli_model::file::{Entry, ReadFile};
use lazuli_store::{Failure, FileReader};

use crate::answer::{Answer, Payload, name};
use crate::blob::headers;
use crate::file::{describe, place};
use crate::head::Head;
use crate::operation::{AccountNeeds, LEASE, On, Spec};
use crate::serve::Ask;
use crate::wire::digest::md5_text;
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

/// Up to here an answer is read before it is begun: one write, and a fault is still an honest 500.
const WHOLE_MAX: u64 = 256 << 10;

struct Get {
    read: ReadFile,
    range: Option<ByteRange>,
    digest: RangeDigest,
    structured: bool,
}

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::file(&ask.head)?;
    let get = parse(&ask.head)?;
    let mut reader = ask.store.open_file(&at, get.read).await?;
    let length = reader.entry.node.length;
    let span = match get.range {
        None => Span::whole(length),
        Some(range) => range.within(length).inspect_err(|_| {
            if let Ok(value) = HeaderValue::try_from(range::unsatisfied(length)) {
                ask.beside.insert(name::CONTENT_RANGE.clone(), value);
            }
        })?,
    };
    get.digest.permit(span)?;
    let answer = describe(&ask.head, &reader.entry, span, get.read.snapshot.is_some());
    let answer = headers::overrides(answer, &ask.grant.overrides);
    reader.seek(span.from, span.to);
    if get.structured {
        return Ok(framed(answer, reader, span));
    }
    if get.digest.any() || span.length() <= WHOLE_MAX {
        let bytes = whole(&mut reader, span.length()).await?;
        return Ok(digested(answer, bytes, get.digest));
    }
    Ok(Answer { payload: Payload::stream(reader, span.length()), ..answer })
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

/// All of a small answer. Most come in one piece, which is not copied.
async fn whole(reader: &mut FileReader, length: u64) -> Result<Bytes, Failure> {
    let Some(first) = reader.next().await? else { return Ok(Bytes::new()) };
    if first.len() as u64 >= length {
        return Ok(first);
    }
    let mut bytes = BytesMut::with_capacity(length as usize);
    bytes.extend_from_slice(&first);
    while let Some(piece) = reader.next().await? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.freeze())
}

fn digested(answer: Answer, bytes: Bytes, digest: RangeDigest) -> Answer {
    use md5::Digest as _;
    let md5 = digest.md5.then(|| md5_text(md5::Md5::digest(&bytes)));
    Answer { payload: Payload::Whole(bytes), ..answer.optional(&name::CONTENT_MD5, md5) }
}

fn framed(answer: Answer, reader: FileReader, span: Span) -> Answer {
    let payload = Payload::framed(reader, span.length());
    let answer = answer
        .number(&name::CONTENT_LENGTH, payload.length())
        .constant(&name::STRUCTURED_BODY, structured::FORM)
        .number(&name::STRUCTURED_CONTENT_LENGTH, span.length());
    Answer { payload, ..answer }
}
