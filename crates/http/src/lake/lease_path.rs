//! Lease: acquire, renew, change, release and break, by POST.

use http::StatusCode;
use lazuli_model::blob::LeaseBlob;
use lazuli_model::lease::Action;

use crate::answer::Answer;
use crate::operation::{AccountNeeds, DATES, ETAGS, LEASE, On, Spec, When};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::{headers, lease};

pub const SPEC: Spec = Spec {
    name: "LeasePath",
    methods: &["POST"],
    on: On::Blob,
    when: &[When::Header("x-ms-lease-action")],
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    takes: ETAGS | DATES | LEASE,
    lake: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let action = lease::action(&ask.head, (ask.ids)())?;
    let conditions = headers::conditions(&ask.head, &SPEC)?;
    let (blob, outcome) = ask.store.lease_blob(&ask.head.blob_at()?, LeaseBlob { action, conditions }).await?;
    let answer = lease::answer(action, outcome, blob.etag, blob.modified);
    // Here a renewal is 200, an acquisition 201 and a break 202, as there.
    debug_assert!(!matches!(action, Action::Break { .. }) || answer.status == StatusCode::ACCEPTED);
    Ok(answer)
}
