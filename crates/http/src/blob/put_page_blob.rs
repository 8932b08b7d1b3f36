//! Put Blob, for page blobs: a length and a sequence number, and no bytes.

use http::StatusCode;
use lazuli_model::account::BlobType;
use lazuli_model::blob::{PAGE, PAGE_BLOB_MAX, SEQUENCE_MAX};

use crate::answer::{Answer, name};
use crate::blob::{encryption, headers, put_blob};
use crate::head::Head;
use crate::operation::{Body, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "PutPageBlob",
    when: &[When::HeaderIs("x-ms-blob-type", "PageBlob"), When::NoHeader("x-ms-copy-source")],
    body: Body::None,
    makes: Some(BlobType::Page),
    ..put_blob::SPEC
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    let put = put_blob::parse(ask, encryption::settle(ask).await?)?;
    let length = ask.head.required("x-ms-blob-content-length", read_length)?;
    let sequence = ask.head.opt("x-ms-blob-sequence-number", read_sequence)?.unwrap_or(0);
    without_body(&ask.head)?;
    let blob = ask.store.create_page_blob(&at, put, length, sequence).await?;
    let answer = headers::written(Answer::new(StatusCode::CREATED), &blob);
    let answer = encryption::describe(answer, &blob.encryption);
    Ok(answer.constant(&name::REQUEST_SERVER_ENCRYPTED, "true"))
}

/// Whole pages, at most 8 TiB.
pub fn read_length(text: &str) -> Option<u64> {
    text.parse().ok().filter(|length: &u64| length.is_multiple_of(PAGE) && *length <= PAGE_BLOB_MAX)
}

pub fn read_sequence(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number| *number <= SEQUENCE_MAX)
}

/// A body would have nowhere to go.
pub fn without_body(head: &Head) -> Result<(), Refusal> {
    head.opt("content-length", |text| (text == "0").then_some(())).map(drop)
}
