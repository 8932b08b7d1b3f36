//! Put Blob, for append blobs: they begin empty.

use http::StatusCode;
use lazuli_model::account::BlobType;

use crate::answer::{Answer, name};
use crate::blob::{encryption, headers, put_blob, put_page_blob};
use crate::operation::{Body, Spec, When};
use crate::refusal::Failure;
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "PutAppendBlob",
    when: &[When::HeaderIs("x-ms-blob-type", "AppendBlob"), When::NoHeader("x-ms-copy-source")],
    body: Body::None,
    makes: Some(BlobType::Append),
    ..put_blob::SPEC
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    let put = put_blob::parse(ask, encryption::settle(ask).await?)?;
    put_page_blob::without_body(&ask.head)?;
    let blob = ask.store.create_append_blob(&at, put).await?;
    let answer = headers::written(Answer::new(StatusCode::CREATED), &blob);
    let answer = encryption::describe(answer, &blob.encryption);
    Ok(answer.constant(&name::REQUEST_SERVER_ENCRYPTED, "true"))
}
