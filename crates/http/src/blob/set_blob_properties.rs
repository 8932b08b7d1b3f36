//! Set Blob Properties: the headers that are not sent are cleared.

use http::StatusCode;
use lazuli_model::blob::SetBlobProperties;

use crate::answer::Answer;
use crate::blob::headers;
use crate::head::Head;
use crate::operation::{AccountNeeds, DATES, ETAGS, IF_TAGS, LEASE, On, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire;

pub const SPEC: Spec = Spec {
    name: "SetBlobProperties",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("properties"),
    // These two are about page blobs.
    when: &[When::NoHeader("x-ms-blob-content-length"), When::NoHeader("x-ms-sequence-number-action")],
    needs: "w",
    also: &[("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    takes: ETAGS | DATES | IF_TAGS | LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let set = parse(&ask.head)?;
    let blob = ask.store.set_blob_properties(&ask.head.blob_at()?, set).await?;
    Ok(headers::sequence_of(Answer::new(StatusCode::OK).etag(blob.etag, blob.modified), &blob))
}

fn parse(head: &Head) -> Result<SetBlobProperties, Refusal> {
    Ok(SetBlobProperties {
        headers: headers::content_headers(head)?,
        conditions: wire::headers::conditions(head, &SPEC)?,
        lease: wire::headers::lease_id(head)?,
    })
}
