//! What a rehearsal's plan does to a request on its way (`rehearsal.rs`).

use std::time::Duration;

use lazuli_model::Timestamp;

use super::{Ask, Done, Head, record};
use crate::answer::{Payload, name};
use crate::refusal::Failure;
use crate::rehearsal::{Ending, Plan};

const TICKS_PER_MILLISECOND: u128 = 10_000;

/// A request that does not get as far as its operation.
pub(super) fn ended(ask: &Ask, row: usize, ending: &Ending) -> Done {
    match ending {
        Ending::HangUp => Done { hung_up: true, ..Done::empty() },
        Ending::Refuse(refusal) => {
            let outcome = Err(Failure::Refused(refusal.clone()));
            record::rehearsed(ask, row, refusal);
            Done { outcome, subject: record::subject(ask.spec.on), ..Done::empty() }
        }
    }
}

/// On the secondary that lags behind, the time is that of the last change which has come there.
pub(super) fn lagging(head: &mut Head, plan: Option<&Plan>) -> Option<Timestamp> {
    let lag = plan.map(|plan| plan.lag).filter(|lag| !lag.is_zero() && head.secondary)?;
    let ticks = u64::try_from(lag.as_millis() * TICKS_PER_MILLISECOND).unwrap_or(u64::MAX);
    head.now = Timestamp::from_ticks(head.now.ticks().saturating_sub(ticks));
    Some(head.now)
}

/// What the client gets of what was done. `lagging`: what was changed later than this is not there yet.
pub(super) async fn troubled(done: Done, plan: &Plan, lagging: Option<Timestamp>) -> Done {
    if !plan.pause.is_zero() {
        wait(plan.pause).await;
    }
    let mut done = match &plan.after {
        None => done,
        Some(Ending::HangUp) => Done { hung_up: true, ..done },
        Some(Ending::Refuse(refusal)) => Done { outcome: Err(refusal.clone().into()), ..done },
    };
    if let (Ok(answer), Some(then)) = (&done.outcome, lagging) {
        let modified = answer.headers.get(&name::LAST_MODIFIED).and_then(|text| text.to_str().ok());
        if modified.and_then(Timestamp::parse_http).is_some_and(|modified| modified > then) {
            done.outcome = Err(lazuli_model::Refusal::ResourceNotFound.into());
        }
    }
    if let (Ok(answer), Some(bytes)) = (&mut done.outcome, plan.cut) {
        let whole = std::mem::replace(&mut answer.payload, Payload::Empty);
        answer.payload = whole.cut(bytes);
    }
    done
}

/// A timer that nothing cuts short.
async fn wait(time: Duration) {
    let _ = tokio::time::timeout(time, std::future::pending::<()>()).await;
}
