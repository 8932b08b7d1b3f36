//! Delete Blob: the blob, one snapshot, one version, or all snapshots, by what is asked.

use http::StatusCode;
use lazuli_model::Timestamp;
use lazuli_model::blob::{DeleteBlob, DeleteSnapshots, TierConditions};

use crate::answer::{Answer, name};
use crate::head::Head;
use crate::operation::{AccountNeeds, DATES, ETAGS, IF_TAGS, LEASE, On, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "DeleteBlob",
    methods: &["DELETE"],
    on: On::Blob,
    when: &[When::NoQuery("versionid"), When::NoQuery("deletetype")],
    needs: "d",
    also: &[("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "d" }),
    takes: ETAGS | DATES | IF_TAGS | LEASE,
    moments: true,
    ..Spec::PLAIN
};

/// A version has a permission of its own ("Create a service SAS").
pub const VERSION: Spec = Spec {
    name: "DeleteBlobVersion",
    when: &[When::Query("versionid"), When::NoQuery("deletetype")],
    needs: "x",
    account_sas: Some(AccountNeeds { resource: 'o', any: "x" }),
    ..SPEC
};

/// So has deleting for good what was deleted softly.
pub const PERMANENT: Spec = Spec {
    name: "DeleteBlobPermanently",
    when: &[When::Query("deletetype")],
    needs: "y",
    account_sas: Some(AccountNeeds { resource: 'o', any: "y" }),
    ..SPEC
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let delete = parse(&ask.head)?;
    let gone = ask.store.delete_blob(&ask.head.blob_at()?, delete).await?;
    Ok(Answer::new(StatusCode::ACCEPTED).constant(&name::DELETE_TYPE_PERMANENT, if gone { "true" } else { "false" }))
}

const ROOT_ONLY: &str = "This operation is only allowed on the root blob. Version id should not be provided.";

fn parse(head: &Head) -> Result<DeleteBlob, Refusal> {
    let snapshots = head.opt("x-ms-delete-snapshots", |text| match text.to_ascii_lowercase().as_str() {
        "include" => Some(DeleteSnapshots::Include),
        "only" => Some(DeleteSnapshots::Only),
        _ => None,
    })?;
    let which = headers::which(head)?;
    // Rule B26: only of a version it is said why.
    for (name, reason) in [("snapshot", ""), ("versionid", ROOT_ONLY)] {
        if let (Some(_), Some(value)) = (snapshots, head.query.get(name)) {
            let (name, value, reason) = (name.into(), value.to_owned(), reason.into());
            return Err(Refusal::InvalidQueryParameterValue { name, value, reason });
        }
    }
    // Since 2026-04-06.
    let tier = TierConditions {
        if_modified_since: head.opt("x-ms-access-tier-if-modified-since", Timestamp::parse_http)?,
        if_unmodified_since: head.opt("x-ms-access-tier-if-unmodified-since", Timestamp::parse_http)?,
    };
    let (conditions, lease) = (headers::conditions(head, &SPEC)?, headers::lease_id(head)?);
    let permanent = head.query_opt("deletetype", |text| text.eq_ignore_ascii_case("permanent").then_some(()))?;
    Ok(DeleteBlob { which, permanent: permanent.is_some(), snapshots, tier, conditions, lease })
}
