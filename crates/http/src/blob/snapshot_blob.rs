//! Snapshot Blob.

use http::StatusCode;
use lazuli_model::blob::{Encryption, SnapshotBlob};

use crate::answer::{Answer, name};
use crate::blob::{encryption, headers};
use crate::head::Head;
use crate::operation::{AccountNeeds, DATES, ETAGS, IF_TAGS, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire;

pub const SPEC: Spec = Spec {
    name: "SnapshotBlob",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("snapshot"),
    needs: "cw",
    also: &[("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "cw" }),
    takes: ETAGS | DATES | IF_TAGS | LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let snapshot = parse(&ask.head, encryption::settle(ask).await?)?;
    let (taken, blob) = ask.store.snapshot_blob(&ask.head.blob_at()?, snapshot).await?;
    Ok(headers::written(Answer::new(StatusCode::CREATED), &blob)
        .text(&name::SNAPSHOT, taken.to_iso())
        // As observed: `true` only with metadata or a key of the client's own.
        .constant(&name::REQUEST_SERVER_ENCRYPTED, "false"))
}

fn parse(head: &Head, encryption: Encryption) -> Result<SnapshotBlob, Refusal> {
    let metadata = wire::headers::metadata(head)?;
    Ok(SnapshotBlob {
        metadata: (!metadata.is_empty()).then_some(metadata),
        encryption,
        conditions: wire::headers::conditions(head, &SPEC)?,
        lease: wire::headers::lease_id(head)?,
    })
}
