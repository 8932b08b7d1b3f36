//! Lease File: acquire, change, release, break. A file's lease has no end, so that there is nothing to renew.

use lazuli_model::lease::Action;

use crate::answer::Answer;
use crate::file::place;
use crate::head::Head;
use crate::operation::{AccountNeeds, On, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire;

const LEASE: Spec = Spec {
    name: "LeaseFile",
    methods: &["PUT"],
    on: On::File,
    comp: Some("lease"),
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    ..Spec::PLAIN
};

pub const ACQUIRE: Spec =
    Spec { name: "AcquireFileLease", when: &[When::HeaderIs("x-ms-lease-action", "acquire")], ..LEASE };
pub const CHANGE: Spec = Spec {
    name: "ChangeFileLease",
    when: &[When::HeaderIs("x-ms-lease-action", "change")],
    takes: crate::operation::LEASE,
    ..LEASE
};
pub const RELEASE: Spec = Spec {
    name: "ReleaseFileLease",
    when: &[When::HeaderIs("x-ms-lease-action", "release")],
    takes: crate::operation::LEASE,
    ..LEASE
};
pub const BREAK: Spec = Spec {
    name: "BreakFileLease",
    when: &[When::HeaderIs("x-ms-lease-action", "break")],
    needs: "wd",
    account_sas: Some(AccountNeeds { resource: 'o', any: "wd" }),
    takes: crate::operation::LEASE,
    ..LEASE
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_file(&ask.head)?;
    let action = of_file(wire::lease::action(&ask.head, (ask.ids)())?, &ask.head)?;
    let (entry, outcome) = ask.store.lease_file(&at, action).await?;
    // Rule F7: unlike that of a share, a release tells no time.
    Ok(wire::lease::answer(action, outcome, entry.node.etag, entry.node.modified))
}

/// Refused in the words for headers, and before anything is looked for.
fn of_file(action: Action, head: &Head) -> Result<Action, Refusal> {
    let value = || head.text("x-ms-lease-duration").unwrap_or_default().to_owned();
    action.of_file().map_err(|_| Refusal::InvalidHeaderValue { header: "x-ms-lease-duration".into(), value: value() })
}
