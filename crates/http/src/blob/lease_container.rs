//! Lease Container: acquire, renew, change, release, break.

use lazuli_model::container::LeaseContainer;

use crate::answer::Answer;
use crate::operation::{AccountNeeds, DATES, On, Spec, When};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::{headers, lease};

const LEASE: Spec = Spec {
    name: "LeaseContainer",
    methods: &["PUT"],
    on: On::Container,
    restype: Some("container"),
    comp: Some("lease"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "w" }),
    takes: DATES,
    ..Spec::PLAIN
};

pub const ACQUIRE: Spec =
    Spec { name: "AcquireContainerLease", when: &[When::HeaderIs("x-ms-lease-action", "acquire")], ..LEASE };
pub const RENEW: Spec = Spec {
    name: "RenewContainerLease",
    when: &[When::HeaderIs("x-ms-lease-action", "renew")],
    takes: DATES | crate::operation::LEASE,
    ..LEASE
};
pub const CHANGE: Spec = Spec {
    name: "ChangeContainerLease",
    when: &[When::HeaderIs("x-ms-lease-action", "change")],
    takes: DATES | crate::operation::LEASE,
    ..LEASE
};
pub const RELEASE: Spec = Spec {
    name: "ReleaseContainerLease",
    when: &[When::HeaderIs("x-ms-lease-action", "release")],
    takes: DATES | crate::operation::LEASE,
    ..LEASE
};
pub const BREAK: Spec = Spec {
    name: "BreakContainerLease",
    when: &[When::HeaderIs("x-ms-lease-action", "break")],
    account_sas: Some(AccountNeeds { resource: 'c', any: "wd" }),
    ..LEASE
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let action = lease::action(&ask.head, (ask.ids)())?;
    let conditions = headers::conditions(&ask.head, ask.spec)?;
    let (container, outcome) =
        ask.store.lease_container(&ask.head.container_at()?, LeaseContainer { action, conditions }).await?;
    Ok(lease::answer(action, outcome, container.etag, container.modified))
}
