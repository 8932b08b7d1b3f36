//! Snapshot Share.

use http::StatusCode;
use lazuli_model::file::SnapshotShare;

use crate::answer::{Answer, name};
use crate::file::place;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "SnapshotShare",
    methods: &["PUT"],
    on: On::Share,
    restype: Some("share"),
    comp: Some("snapshot"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "cw" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_share(&ask.head)?;
    let metadata = Some(headers::metadata(&ask.head)?).filter(|metadata| !metadata.is_empty());
    let (taken, share) = ask.store.snapshot_share(&at, SnapshotShare { metadata }).await?;
    let answer = Answer::new(StatusCode::CREATED).etag(share.etag, share.modified);
    Ok(answer.text(&name::SNAPSHOT, taken.to_iso()))
}
