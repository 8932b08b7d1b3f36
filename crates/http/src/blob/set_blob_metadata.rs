//! Set Blob Metadata: all of it is replaced.

use http::StatusCode;
use lazuli_model::blob::{Encryption, SetBlobMetadata};

use crate::answer::{Answer, name};
use crate::blob::{encryption, headers};
use crate::head::Head;
use crate::operation::{AccountNeeds, DATES, ETAGS, IF_TAGS, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire;

pub const SPEC: Spec = Spec {
    name: "SetBlobMetadata",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("metadata"),
    needs: "w",
    also: &[("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    takes: ETAGS | DATES | IF_TAGS | LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let set = parse(&ask.head, encryption::settle(ask).await?)?;
    let blob = ask.store.set_blob_metadata(&ask.head.blob_at()?, set).await?;
    let answer = headers::written(Answer::new(StatusCode::OK), &blob);
    let answer = encryption::describe(answer, &blob.encryption);
    Ok(answer.constant(&name::REQUEST_SERVER_ENCRYPTED, "true"))
}

fn parse(head: &Head, encryption: Encryption) -> Result<SetBlobMetadata, Refusal> {
    Ok(SetBlobMetadata {
        metadata: wire::headers::metadata(head)?,
        encryption,
        conditions: wire::headers::conditions(head, &SPEC)?,
        lease: wire::headers::lease_id(head)?,
    })
}
