//! Lease File: acquire, change, release, break. A file's lease has no end, so that there is nothing to renew.

use lazuli_model::Refusal;
use lazuli_model::lease::{Action, Length};
use lazuli_store::Failure;

use crate::answer::Answer;
use crate::blob;
use crate::file::place;
use crate::head::Head;
use crate::operation::{AccountNeeds, On, Spec, When};
use crate::serve::Ask;

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
    let action = forever(blob::lease::action(&ask.head, (ask.ids)())?, &ask.head)?;
    let (entry, outcome) = ask.store.lease_file(&at, action).await?;
    // Rule F7: unlike that of a share, a release tells no time.
    Ok(blob::lease::answer(action, outcome, entry.node.etag, entry.node.modified))
}

/// "Lease File": the only duration is −1, and a break takes no time.
fn forever(action: Action, head: &Head) -> Result<Action, Refusal> {
    match action {
        Action::Acquire { length: Length::Seconds(_), .. } => Err(Refusal::InvalidHeaderValue {
            header: "x-ms-lease-duration".into(),
            value: head.text("x-ms-lease-duration").unwrap_or_default().to_owned(),
        }),
        Action::Break { .. } => Ok(Action::Break { period_seconds: None }),
        Action::Acquire { length: Length::Infinite, .. }
        | Action::Renew { .. }
        | Action::Change { .. }
        | Action::Release { .. } => Ok(action),
    }
}
