//! How the lease actions of shares are answered. Unlike a blob's or a file's, a release says that no time is left (rule F7).

use lazuli_model::lease::{Action, Outcome};
use lazuli_model::{ETag, Timestamp};

use crate::answer::{Answer, name};
use crate::wire::lease;

pub fn answer(action: Action, outcome: Outcome, etag: ETag, modified: Timestamp) -> Answer {
    let answer = lease::answer(action, outcome, etag, modified);
    match action {
        Action::Release { .. } => answer.number(&name::LEASE_TIME, 0),
        Action::Acquire { .. } | Action::Renew { .. } | Action::Change { .. } | Action::Break { .. } => answer,
    }
}
