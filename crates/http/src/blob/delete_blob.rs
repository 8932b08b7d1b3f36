//! Delete Blob: the blob, one snapshot, or all snapshots, by what is asked.

use http::StatusCode;
use lazuli_model::blob::{DeleteBlob, DeleteSnapshots, TierConditions};
use lazuli_model::{Refusal, Timestamp};
use lazuli_store::Failure;

use crate::answer::{Answer, name};
use crate::blob::headers;
use crate::head::Head;
use crate::operation::{AccountNeeds, DATES, ETAGS, IF_TAGS, LEASE, On, Spec};
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "DeleteBlob",
    methods: &["DELETE"],
    on: On::Blob,
    needs: "d",
    also: &[("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "d" }),
    takes: ETAGS | DATES | IF_TAGS | LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let delete = parse(&ask.head)?;
    ask.store.delete_blob(&ask.head.blob_at()?, delete).await?;
    // There is no soft delete: what is deleted is gone.
    Ok(Answer::new(StatusCode::ACCEPTED).constant(&name::DELETE_TYPE_PERMANENT, "true"))
}

fn parse(head: &Head) -> Result<DeleteBlob, Refusal> {
    let snapshots = head.opt("x-ms-delete-snapshots", |text| match text.to_ascii_lowercase().as_str() {
        "include" => Some(DeleteSnapshots::Include),
        "only" => Some(DeleteSnapshots::Only),
        _ => None,
    })?;
    let which = headers::which(head)?;
    if let (Some(_), Some(value)) = (snapshots, head.query.get("snapshot")) {
        let reason = "x-ms-delete-snapshots does not go with a snapshot.".into();
        return Err(Refusal::InvalidQueryParameterValue { name: "snapshot".into(), value: value.to_owned(), reason });
    }
    // Since 2026-04-06.
    let tier = TierConditions {
        if_modified_since: head.opt("x-ms-access-tier-if-modified-since", Timestamp::parse_http)?,
        if_unmodified_since: head.opt("x-ms-access-tier-if-unmodified-since", Timestamp::parse_http)?,
    };
    let (conditions, lease) = (headers::conditions(head, &SPEC)?, headers::lease_id(head)?);
    Ok(DeleteBlob { which, snapshots, tier, conditions, lease })
}
