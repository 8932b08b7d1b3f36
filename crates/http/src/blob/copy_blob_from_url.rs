//! Copy Blob From URL: a copy that is whole when it is answered, of a source of at most 256 MiB, checked against its digest.

use lazuli_model::blob::{CopyBlob, CopyTags, Encryption, Family};

use crate::answer::{Answer, name};
use crate::blob::copy_source::{self, From};
use crate::blob::{copy_blob, encryption};
use crate::operation::{Spec, When};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::versions::Since;
use crate::wire::content;

pub const SPEC: Spec = Spec {
    name: "CopyBlobFromURL",
    when: &[
        When::Header("x-ms-copy-source"),
        When::NoHeader("x-ms-blob-type"),
        When::HeaderIs("x-ms-requires-sync", "true"),
    ],
    ..copy_blob::SPEC
};

/// "Copy Blob From URL" reference.
const SOURCE_MAX: u64 = 256 << 20;

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    let copy = copy_blob::parse(ask, Family::FromUrl, encryption::settle(ask).await?)?;
    let claimed = copy_source::claimed(&ask.head)?;
    let opened = copy_source::open(ask, Family::FromUrl, false, copy.tags == CopyTags::OfSource).await?;
    ask.settings.kind.permit_blob(opened.from.kind().into())?;
    let copy = CopyBlob { source: opened.url, ..copy };
    let (blob, digests) = match opened.from {
        From::Here { mut reader, which } => {
            let span = copy_source::span(ask, None, reader.blob.content.length, SOURCE_MAX)?;
            let digests = content::of_source(ask, &mut reader, span, claimed, false).await?;
            (ask.store.copy_blob(&at, copy, *reader, which, encryption::lock(ask)).await?, digests)
        }
        From::Streamed(mut fetched) => {
            let (received, digests) = content::streamed(ask, &mut fetched, SOURCE_MAX, claimed, false).await?;
            (ask.store.copy_received(&at, copy, fetched.blob.clone(), received).await?, digests)
        }
    };
    // Rule B5: earlier answers say so only of a copy in a scope.
    let tells = ask.head.has(Since::CopyEncrypted) || matches!(blob.encryption, Encryption::Scope(_));
    let answer = copy_blob::answer(&blob);
    let answer = if tells { answer.constant(&name::REQUEST_SERVER_ENCRYPTED, "true") } else { answer };
    Ok(digests.answer(answer, &ask.head, false))
}
