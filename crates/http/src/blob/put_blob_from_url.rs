//! Put Blob From URL: Put Blob, with a body that is read from a source instead of the request.

use http::StatusCode;
use lazuli_model::blob::{Blob, ContentHeaders, CopyTags, Family, PutBlob};

use crate::answer::{Answer, name};
use crate::blob::copy_source::{self, From};
use crate::blob::{encryption, headers, put_blob};
use crate::head::Head;
use crate::operation::{Body, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::sources;
use crate::wire::{self, content};

pub const SPEC: Spec = Spec {
    name: "PutBlobFromURL",
    when: &[When::Header("x-ms-copy-source"), When::Header("x-ms-blob-type")],
    body: Body::None,
    seconds: &[sources::COPY_SOURCE],
    ..put_blob::SPEC
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    // Only block blobs are made in one piece.
    ask.head.required("x-ms-blob-type", |text| text.eq_ignore_ascii_case("BlockBlob").then_some(()))?;
    let asked = put_blob::parse(ask, encryption::settle(ask).await?)?;
    let conditions = asked.conditions.clone();
    let of_target = |failure| copy_source::of_target(&conditions, failure);
    let tags = copy_source::tags(&ask.head)?;
    let claimed = copy_source::claimed(&ask.head)?;
    let opened = copy_source::open(ask, Family::FromUrl, false, tags == CopyTags::OfSource).await?;
    let (blob, digests) = match opened.from {
        From::Here { mut reader, .. } => {
            let span = copy_source::span(ask, None, reader.blob.content.length, put_blob::CONTENT_MAX)?;
            let digests = content::of_source(ask, &mut reader, span, claimed, true).await?;
            let put = complete(&ask.head, asked, &tags, &reader.blob)?;
            let made = ask.store.put_blob_from(&at, put, digests.md5, *reader, encryption::lock(ask)).await;
            (made.map_err(of_target)?, digests)
        }
        From::Streamed(mut fetched) => {
            let (received, digests) =
                content::streamed(ask, &mut fetched, put_blob::CONTENT_MAX, claimed, true).await?;
            let put = complete(&ask.head, asked, &tags, &fetched.blob)?;
            (*ask.store.put_blob(&at, put, received).await.map_err(of_target)?, digests)
        }
    };
    let answer = headers::written(Answer::new(StatusCode::CREATED), &blob);
    let answer = encryption::describe(answer, &blob.encryption);
    Ok(digests.answer(answer.constant(&name::REQUEST_SERVER_ENCRYPTED, "true"), &ask.head, false))
}

/// What the request does not say comes from the source, unless `x-ms-copy-source-blob-properties` is false.
fn complete(head: &Head, asked: PutBlob, tags: &CopyTags, source: &Blob) -> Result<PutBlob, Refusal> {
    let tags = tags.of(source);
    let copies =
        head.text("x-ms-copy-source-blob-properties").is_none() || head.flag("x-ms-copy-source-blob-properties")?;
    let sent = headers::content_headers(head)?;
    if !copies {
        let content_type = sent.content_type.or(Some(wire::headers::DEFAULT_TYPE.to_owned()));
        return Ok(PutBlob { headers: ContentHeaders { content_type, ..sent }, tags, ..asked });
    }
    let of = &source.headers;
    let merged = ContentHeaders {
        content_type: sent.content_type.or_else(|| of.content_type.clone()),
        encoding: sent.encoding.or_else(|| of.encoding.clone()),
        language: sent.language.or_else(|| of.language.clone()),
        md5: sent.md5,
        cache_control: sent.cache_control.or_else(|| of.cache_control.clone()),
        disposition: sent.disposition.or_else(|| of.disposition.clone()),
    };
    let metadata = if asked.metadata.is_empty() { source.metadata.clone() } else { asked.metadata.clone() };
    Ok(PutBlob { headers: merged, metadata, tags, ..asked })
}
