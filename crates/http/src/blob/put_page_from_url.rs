//! Put Page From URL.

use lazuli_model::blob::{Encryption, Family};

use crate::answer::{Answer, name};
use crate::blob::copy_source::{self, From};
use crate::blob::{encryption, put_page};
use crate::operation::{Body, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::sources;
use crate::wire::content;

pub const SPEC: Spec = Spec {
    name: "PutPageFromURL",
    when: &[When::Header("x-ms-copy-source")],
    body: Body::None,
    seconds: &[sources::COPY_SOURCE],
    ..put_page::SPEC
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    ask.head.required("x-ms-page-write", |text| text.eq_ignore_ascii_case("update").then_some(()))?;
    let put = put_page::parse(&ask.head, &SPEC, encryption::settle(ask).await?)?;
    let sealed = put.encryption != Encryption::Service;
    let claimed = copy_source::claimed(&ask.head)?;
    let range = copy_source::range(&ask.head)?;
    let opened = copy_source::open(ask, Family::InPlace, false, false).await.map_err(copy_source::unsaid)?;
    // Rule B4.
    let by_md5 = sealed || !opened.authorized;
    let taken = match opened.from {
        From::Here { mut reader, .. } => {
            let span = copy_source::span(ask, range, reader.blob.content.length, put_page::WRITE_MAX)?;
            content::from_source(ask, &mut reader, span, claimed, by_md5).await
        }
        From::Streamed(mut fetched) => content::streamed(ask, &mut fetched, put_page::WRITE_MAX, claimed, by_md5).await,
    };
    let (received, digests) = taken.map_err(copy_source::unsaid)?;
    if received.length != put.pages.length() {
        let value = ask.head.text("x-ms-source-range").unwrap_or_default().to_owned();
        return Err(Refusal::InvalidHeaderValue { header: "x-ms-source-range".into(), value }.into());
    }
    let conditions = put.conditions.clone();
    let put = ask.store.put_page(&at, put, received).await;
    let blob = put.map_err(|failure| copy_source::of_target(&conditions, failure))?;
    let answer = encryption::describe(put_page::answer(&blob), &blob.encryption);
    let digests = digests.by_md5(by_md5);
    Ok(digests.answer(answer.constant(&name::REQUEST_SERVER_ENCRYPTED, "true"), &ask.head, false))
}
