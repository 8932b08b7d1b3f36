//! Delete Share, or one of its snapshots. Deleted shares are kept where the account's settings say so.

use http::StatusCode;
use lazuli_model::file::{DeleteShare, DeleteShareSnapshots};

use crate::answer::Answer;
use crate::file::place;
use crate::operation::{AccountNeeds, LEASE, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "DeleteShare",
    methods: &["DELETE"],
    on: On::Share,
    restype: Some("share"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "d" }),
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::share(&ask.head)?;
    let snapshots = ask.head.opt("x-ms-delete-snapshots", |text| match text.to_ascii_lowercase().as_str() {
        "include" => Some(DeleteShareSnapshots::Include),
        "include-leased" => Some(DeleteShareSnapshots::IncludeLeased),
        _ => None,
    })?;
    let delete = DeleteShare {
        snapshot: place::snapshot(&ask.head)?,
        snapshots,
        lease: headers::lease_id(&ask.head)?,
        retention_days: ask.settings.share_soft_delete_days,
    };
    ask.store.delete_share(&at, delete).await?;
    Ok(Answer::new(StatusCode::ACCEPTED))
}
