//! Put Block From URL: a block whose bytes are those of a source, or of a part of one.

use http::StatusCode;
use lazuli_model::blob::Family;

use crate::answer::{Answer, name};
use crate::blob::copy_source::{self, From};
use crate::blob::{encryption, put_block};
use crate::operation::{Body, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::sources;
use crate::wire::content;

pub const SPEC: Spec = Spec {
    name: "PutBlockFromURL",
    when: &[When::Header("x-ms-copy-source")],
    body: Body::None,
    seconds: &[sources::COPY_SOURCE],
    ..put_block::SPEC
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    let put = put_block::parse(&ask.head, encryption::settle(ask).await?)?;
    let encrypted = put.encryption.clone();
    let claimed = copy_source::claimed(&ask.head)?;
    let range = copy_source::range(&ask.head)?;
    let opened = copy_source::open(ask, Family::FromUrl, false, false).await?;
    let (received, digests) = match opened.from {
        From::Here { mut reader, .. } => {
            let span = copy_source::span(ask, range, reader.blob.content.length, put_block::BLOCK_MAX)?;
            content::from_source(ask, &mut reader, span, claimed, false).await?
        }
        From::Streamed(mut fetched) => {
            content::streamed(ask, &mut fetched, put_block::BLOCK_MAX, claimed, false).await?
        }
    };
    if received.length == 0 {
        return Err(Refusal::InvalidHeaderValue { header: "x-ms-source-range".into(), value: "0".into() }.into());
    }
    ask.store.put_block(&at, put, received).await?;
    let answer = Answer::new(StatusCode::CREATED).constant(&name::REQUEST_SERVER_ENCRYPTED, "true");
    Ok(digests.answer(encryption::describe(answer, &encrypted), &ask.head, false))
}
