//! Lease Share: acquire, renew, change, release, break; also of a snapshot.

use lazuli_model::file::LeaseShare;

use crate::answer::Answer;
use crate::file::{lease, place};
use crate::operation::{AccountNeeds, On, Spec, When};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire;

const LEASE: Spec = Spec {
    name: "LeaseShare",
    methods: &["PUT"],
    on: On::Share,
    restype: Some("share"),
    comp: Some("lease"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "w" }),
    ..Spec::PLAIN
};

pub const ACQUIRE: Spec =
    Spec { name: "AcquireShareLease", when: &[When::HeaderIs("x-ms-lease-action", "acquire")], ..LEASE };
pub const RENEW: Spec = Spec {
    name: "RenewShareLease",
    when: &[When::HeaderIs("x-ms-lease-action", "renew")],
    takes: crate::operation::LEASE,
    ..LEASE
};
pub const CHANGE: Spec = Spec {
    name: "ChangeShareLease",
    when: &[When::HeaderIs("x-ms-lease-action", "change")],
    takes: crate::operation::LEASE,
    ..LEASE
};
pub const RELEASE: Spec = Spec {
    name: "ReleaseShareLease",
    when: &[When::HeaderIs("x-ms-lease-action", "release")],
    takes: crate::operation::LEASE,
    ..LEASE
};
pub const BREAK: Spec = Spec {
    name: "BreakShareLease",
    when: &[When::HeaderIs("x-ms-lease-action", "break")],
    account_sas: Some(AccountNeeds { resource: 'c', any: "wd" }),
    takes: crate::operation::LEASE,
    ..LEASE
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let action = wire::lease::action(&ask.head, (ask.ids)())?;
    let leased = LeaseShare { snapshot: place::snapshot(&ask.head)?, action };
    let (share, outcome) = ask.store.lease_share(&place::share(&ask.head)?, leased).await?;
    Ok(lease::answer(action, outcome, share.etag, share.modified))
}
