//! Append Blob Seal.

use http::StatusCode;
use lazuli_model::blob::SealBlob;

use crate::answer::{Answer, name};
use crate::operation::{AccountNeeds, DATES, ETAGS, LEASE, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "SealAppendBlob",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("seal"),
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    takes: ETAGS | DATES | LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    let seal = SealBlob {
        position: ask.head.opt("x-ms-blob-condition-appendpos", |text| text.parse().ok())?,
        conditions: headers::conditions(&ask.head, &SPEC)?,
        lease: headers::lease_id(&ask.head)?,
    };
    let blob = ask.store.seal_blob(&at, seal).await?;
    Ok(Answer::new(StatusCode::OK).etag(blob.etag, blob.modified).constant(&name::BLOB_SEALED, "true"))
}
