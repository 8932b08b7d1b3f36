//! Append Block From URL.

use lazuli_model::blob::{Encryption, Family};

use crate::answer::Answer;
use crate::blob::copy_source::{self, From};
use crate::blob::{append_block, encryption};
use crate::operation::{Body, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::sources;
use crate::versions;
use crate::wire::content;

pub const SPEC: Spec = Spec {
    name: "AppendBlockFromURL",
    when: &[When::Header("x-ms-copy-source")],
    body: Body::None,
    seconds: &[sources::COPY_SOURCE],
    ..append_block::SPEC
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    let append = append_block::parse(&ask.head, &SPEC, encryption::settle(ask).await?)?;
    let sealed = append.encryption != Encryption::Service;
    let claimed = copy_source::claimed(&ask.head)?;
    let range = copy_source::range(&ask.head)?;
    let opened = copy_source::open(ask, Family::InPlace, false, false).await.map_err(copy_source::unsaid)?;
    let most = versions::append_block_max(ask.head.version);
    // Rule B4.
    let by_md5 = sealed || !opened.authorized;
    let taken = match opened.from {
        From::Here { mut reader, .. } => {
            let span = copy_source::span(ask, range, reader.blob.content.length, most)?;
            content::from_source(ask, &mut reader, span, claimed, by_md5).await
        }
        From::Streamed(mut fetched) => content::streamed(ask, &mut fetched, most, claimed, by_md5).await,
    };
    let (received, digests) = taken.map_err(copy_source::unsaid)?;
    if received.length == 0 {
        return Err(Refusal::InvalidHeaderValue { header: "x-ms-source-range".into(), value: "0".into() }.into());
    }
    let (offset, blob) = ask.store.append_block(&at, append, received).await?;
    let digests = digests.by_md5(by_md5);
    Ok(digests.answer(append_block::answer(&blob, offset), &ask.head, false))
}
