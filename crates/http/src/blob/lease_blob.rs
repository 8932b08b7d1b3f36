//! Lease Blob: acquire, renew, change, release, break.

use lazuli_model::blob::LeaseBlob;

use crate::answer::Answer;
use crate::operation::{AccountNeeds, DATES, ETAGS, IF_TAGS, On, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::{headers, lease};

const CONDITIONS: u8 = ETAGS | DATES | IF_TAGS;

const LEASE: Spec = Spec {
    name: "LeaseBlob",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("lease"),
    needs: "w",
    also: &[("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    takes: CONDITIONS,
    ..Spec::PLAIN
};

pub const ACQUIRE: Spec =
    Spec { name: "AcquireBlobLease", when: &[When::HeaderIs("x-ms-lease-action", "acquire")], ..LEASE };
pub const RENEW: Spec = Spec {
    name: "RenewBlobLease",
    when: &[When::HeaderIs("x-ms-lease-action", "renew")],
    takes: CONDITIONS | crate::operation::LEASE,
    ..LEASE
};
pub const CHANGE: Spec = Spec {
    name: "ChangeBlobLease",
    when: &[When::HeaderIs("x-ms-lease-action", "change")],
    takes: CONDITIONS | crate::operation::LEASE,
    ..LEASE
};
pub const RELEASE: Spec = Spec {
    name: "ReleaseBlobLease",
    when: &[When::HeaderIs("x-ms-lease-action", "release")],
    takes: CONDITIONS | crate::operation::LEASE,
    ..LEASE
};
pub const BREAK: Spec = Spec {
    name: "BreakBlobLease",
    when: &[When::HeaderIs("x-ms-lease-action", "break")],
    needs: "wd",
    account_sas: Some(AccountNeeds { resource: 'o', any: "wd" }),
    ..LEASE
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    // Lease Blob reference: snapshots cannot be leased.
    if let Some(value) = ask.head.query.get("snapshot") {
        let (name, value, reason) = ("snapshot".into(), value.to_owned(), "".into());
        return Err(Refusal::InvalidQueryParameterValue { name, value, reason }.into());
    }
    let action = lease::action(&ask.head, (ask.ids)())?;
    let conditions = headers::conditions(&ask.head, ask.spec)?;
    let (blob, outcome) = ask.store.lease_blob(&ask.head.blob_at()?, LeaseBlob { action, conditions }).await?;
    Ok(lease::answer(action, outcome, blob.etag, blob.modified))
}
