//! Immutability policies and legal holds in headers.

use lazuli_model::Timestamp;
use lazuli_model::blob::{Blob, Immutability, Protection, permit_protection};

use crate::answer::{Answer, name};
use crate::head::Head;
use crate::refusal::Refusal;
use crate::serve::Ask;

/// What a new blob is to be protected by.
pub fn of_new(ask: &Ask) -> Result<Protection, Refusal> {
    let protection = Protection { policy: policy(&ask.head)?, legal_hold: legal_hold(&ask.head)? };
    protection.permit(ask.settings.immutability)?;
    Ok(protection)
}

/// Whether the account has what it takes.
pub fn permit(ask: &Ask) -> Result<(), Refusal> {
    Ok(permit_protection(ask.settings.immutability)?)
}

/// A policy must end in the future; it is unlocked unless the client says otherwise.
pub fn policy(head: &Head) -> Result<Option<Immutability>, Refusal> {
    let until = head.opt("x-ms-immutability-policy-until-date", |text| {
        Timestamp::parse_http(text).filter(|until| *until > head.now)
    })?;
    let locked = head.opt("x-ms-immutability-policy-mode", |text| match text.to_ascii_lowercase().as_str() {
        "locked" => Some(true),
        "unlocked" => Some(false),
        _ => None,
    })?;
    match (until, locked) {
        (Some(until), locked) => Ok(Some(Immutability { until, locked: locked.unwrap_or(false) })),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Refusal::MissingRequiredHeader { header: "x-ms-immutability-policy-until-date".into() }),
    }
}

pub fn legal_hold(head: &Head) -> Result<Option<bool>, Refusal> {
    match head.text("x-ms-legal-hold") {
        None => Ok(None),
        Some(_) => head.flag("x-ms-legal-hold").map(Some),
    }
}

pub fn describe(answer: Answer, blob: &Blob) -> Answer {
    let answer = match blob.immutability {
        None => answer,
        Some(policy) => policy_of(answer, policy),
    };
    match blob.legal_hold {
        None => answer,
        Some(hold) => hold_of(answer, hold),
    }
}

pub fn policy_of(answer: Answer, policy: Immutability) -> Answer {
    answer
        .date(&name::IMMUTABILITY_POLICY_UNTIL, policy.until)
        .constant(&name::IMMUTABILITY_POLICY_MODE, mode_text(policy))
}

pub fn mode_text(policy: Immutability) -> &'static str {
    if policy.locked { "locked" } else { "unlocked" }
}

pub fn hold_of(answer: Answer, hold: bool) -> Answer {
    answer.constant(&name::LEGAL_HOLD, if hold { "true" } else { "false" })
}
