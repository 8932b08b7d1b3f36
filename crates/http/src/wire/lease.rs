//! The five lease actions, read alike for blobs and containers.

use http::StatusCode;
use lazuli_model::lease::{Action, Length, Outcome};
use lazuli_model::{ETag, LeaseId, Timestamp};

use crate::answer::{Answer, name};
use crate::head::{Head, guid};
use crate::refusal::Refusal;

/// Lease Blob reference: 15–60 seconds, or −1 for ever.
fn length(text: &str) -> Option<Length> {
    match text.parse::<i64>().ok()? {
        -1 => Some(Length::Infinite),
        seconds @ 15..=60 => Some(Length::Seconds(seconds as u32)),
        _ => None,
    }
}

fn break_period(text: &str) -> Option<u32> {
    text.parse().ok().filter(|seconds| *seconds <= 60)
}

/// What the headers ask for. `fresh` is the id of a lease for which the client proposes none.
pub fn action(head: &Head, fresh: u128) -> Result<Action, Refusal> {
    let id = || head.required("x-ms-lease-id", LeaseId::parse);
    let verb = head.required("x-ms-lease-action", |text| Some(text.to_ascii_lowercase()))?;
    match verb.as_str() {
        "acquire" => Ok(Action::Acquire {
            proposed: head.opt("x-ms-proposed-lease-id", LeaseId::parse)?.unwrap_or(LeaseId(fresh)),
            length: head.required("x-ms-lease-duration", length)?,
        }),
        "renew" => Ok(Action::Renew { id: id()? }),
        "change" => Ok(Action::Change { id: id()?, to: head.required("x-ms-proposed-lease-id", LeaseId::parse)? }),
        "release" => Ok(Action::Release { id: id()? }),
        "break" => Ok(Action::Break { period_seconds: head.opt("x-ms-lease-break-period", break_period)? }),
        _ => Err(Refusal::InvalidHeaderValue { header: "x-ms-lease-action".into(), value: verb }),
    }
}

pub fn answer(action: Action, outcome: Outcome, etag: ETag, modified: Timestamp) -> Answer {
    let status = match action {
        Action::Acquire { .. } => StatusCode::CREATED,
        Action::Renew { .. } | Action::Change { .. } | Action::Release { .. } => StatusCode::OK,
        Action::Break { .. } => StatusCode::ACCEPTED,
    };
    let answer =
        Answer::new(status).etag(etag, modified).optional(&name::LEASE_ID, outcome.id.map(|LeaseId(id)| guid(id)));
    match (action, outcome.seconds_left) {
        (Action::Break { .. }, left) => answer.number(&name::LEASE_TIME, left.unwrap_or(0).into()),
        (Action::Acquire { .. } | Action::Renew { .. } | Action::Change { .. } | Action::Release { .. }, _) => answer,
    }
}
