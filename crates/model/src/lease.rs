//! Leases of blobs and containers: five states, five actions, owner or other. "Lease Blob" and "Lease Container" are
//! the sources; where their outcome tables print 409 for a wrong id in a read or write, the service answers 412.
//!
//! * A stored lease does not tick: expiry is a way of looking (`Lease::at`).
//! * An expired or broken lease keeps its id, until a write without it makes the blob available again. So a client that
//!   renews an expired lease knows that nobody wrote meanwhile.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Refusal, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeaseId(pub u128);

impl LeaseId {
    /// A GUID in any of the forms .NET reads: `N`, `D`, `B`, `P` or `X`, in either case.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.starts_with("{0x") || text.starts_with("{0X") {
            return parse_nested(text);
        }
        let enclosed = |open, close| text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        match enclosed('{', '}').or_else(|| enclosed('(', ')')) {
            Some(dashed) => parse_dashed(dashed),
            None if text.len() == 32 => hex(text, 32).map(Self),
            None => parse_dashed(text),
        }
    }
}

/// As Azure prints it, whatever form was sent: `00000000-1111-2222-3333-444444444444`.
impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.0;
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            id >> 96,
            id >> 80 & 0xffff,
            id >> 64 & 0xffff,
            id >> 48 & 0xffff,
            id & 0xffff_ffff_ffff
        )
    }
}

/// `00000000-1111-2222-3333-444444444444`
fn parse_dashed(text: &str) -> Option<LeaseId> {
    let mut groups = text.split('-');
    let mut id = 0;
    for length in [8, 4, 4, 4, 12] {
        id = id << (length * 4) | hex(groups.next()?, length)?;
    }
    groups.next().is_none().then_some(LeaseId(id))
}

/// `{0x00000000,0x1111,0x2222,{0x33,0x33,0x44,0x44,0x44,0x44,0x44,0x44}}`, with up to that many digits in each.
fn parse_nested(text: &str) -> Option<LeaseId> {
    let (outer, inner) = text.strip_prefix('{')?.strip_suffix("}}")?.split_once('{')?;
    let mut parts = outer.strip_suffix(',')?.split(',').chain(inner.split(','));
    let mut id = 0;
    for length in [8, 4, 4, 2, 2, 2, 2, 2, 2, 2, 2] {
        let digits = parts.next()?.strip_prefix("0x")?;
        id = id << (length * 4) | (digits.len() <= length).then(|| hex(digits, digits.len()))??;
    }
    let grouped = outer.matches(',').count() == 3;
    (grouped && parts.next().is_none()).then_some(LeaseId(id))
}

/// A number of exactly `length` hexadecimal digits.
fn hex(text: &str, length: usize) -> Option<u128> {
    let well_formed = length > 0 && text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit());
    well_formed.then(|| u128::from_str_radix(text, 16).ok())?
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Length {
    Infinite,
    Seconds(u32),
}

impl Length {
    /// Reads `x-ms-lease-duration`: −1, or 15 to 60 seconds.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "-1" => Some(Length::Infinite),
            digits => digits.parse().ok().filter(|seconds| (15..=60).contains(seconds)).map(Length::Seconds),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lease {
    #[default]
    Available,
    /// `until` is `None` for an infinite lease.
    Leased {
        id: LeaseId,
        length: Length,
        until: Option<Timestamp>,
    },
    Breaking {
        id: LeaseId,
        length: Length,
        until: Timestamp,
    },
    Broken {
        id: LeaseId,
    },
    Expired {
        id: LeaseId,
        length: Length,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Acquire { proposed: LeaseId, length: Length },
    Renew { id: LeaseId },
    Change { id: LeaseId, to: LeaseId },
    Release { id: LeaseId },
    Break { period_seconds: Option<u32> },
}

/// What a lease call answers besides the blob's ETag and date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub lease: Lease,
    /// For acquire, renew, change.
    pub id: Option<LeaseId>,
    /// For break: whole seconds until it is broken.
    pub seconds_left: Option<u32>,
}

/// What `x-ms-lease-state`, `-status` and `-duration` say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    pub state: &'static str,
    pub status: &'static str,
    pub duration: Option<&'static str>,
}

/// What is leased: it names the refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Blob,
    /// A share too: observed, its refusals have the container's names.
    Container,
    File,
}

/// The caller of an action names the lease's id, or another.
enum Caller {
    Owner,
    Other,
}

impl Lease {
    /// A stored lease does not tick: expiry is a way of looking.
    pub fn at(self, now: Timestamp) -> Lease {
        match self {
            Lease::Leased { id, length, until: Some(until) } if until <= now => Lease::Expired { id, length },
            Lease::Breaking { id, until, .. } if until <= now => Lease::Broken { id },
            Lease::Available
            | Lease::Leased { .. }
            | Lease::Breaking { .. }
            | Lease::Broken { .. }
            | Lease::Expired { .. } => self,
        }
    }

    pub fn shown(self, now: Timestamp) -> Shown {
        let shown = |state, status, duration| Shown { state, status, duration };
        match self.at(now) {
            Lease::Available => shown("available", "unlocked", None),
            Lease::Leased { length: Length::Infinite, .. } => shown("leased", "locked", Some("infinite")),
            Lease::Leased { length: Length::Seconds(_), .. } => shown("leased", "locked", Some("fixed")),
            Lease::Breaking { .. } => shown("breaking", "locked", None),
            Lease::Broken { .. } => shown("broken", "unlocked", None),
            Lease::Expired { .. } => shown("expired", "unlocked", None),
        }
    }

    fn id(self) -> Option<LeaseId> {
        match self {
            Lease::Available => None,
            Lease::Leased { id, .. }
            | Lease::Breaking { id, .. }
            | Lease::Broken { id }
            | Lease::Expired { id, .. } => Some(id),
        }
    }
}

impl Action {
    /// As a file takes it ("Lease File"): the only lease is one without an end, and a break takes no time.
    pub fn of_file(self) -> Result<Self, Refusal> {
        match self {
            Action::Acquire { length: Length::Seconds(_), .. } => Err(Refusal::InfiniteLeaseDurationRequired),
            Action::Break { .. } => Ok(Action::Break { period_seconds: None }),
            Action::Acquire { length: Length::Infinite, .. }
            | Action::Renew { .. }
            | Action::Change { .. }
            | Action::Release { .. } => Ok(self),
        }
    }

    fn caller(self, lease: Lease) -> Caller {
        let named = match self {
            Action::Acquire { proposed, .. } => Some(proposed),
            Action::Renew { id } | Action::Release { id } | Action::Change { id, .. } => Some(id),
            Action::Break { .. } => None,
        };
        if named.is_some() && named == lease.id() { Caller::Owner } else { Caller::Other }
    }
}

/// What `action` makes of `lease` at `now`. A new state or action does not compile until its column or row is written.
pub fn act(lease: Lease, action: Action, now: Timestamp) -> Result<Outcome, Refusal> {
    use Action::{Acquire, Break, Change, Release, Renew};
    use Caller::{Other, Owner};
    use Lease::{Available, Breaking, Broken, Expired, Leased};
    use Refusal::*;

    let lease = lease.at(now);
    match (action, lease, action.caller(lease)) {
        (Acquire { proposed, length }, Available | Broken { .. } | Expired { .. }, Owner | Other)
        | (Acquire { proposed, length }, Leased { .. }, Owner) => Ok(grant(proposed, length, now)),
        (Acquire { .. }, Breaking { .. }, Owner) => Err(LeaseIsBreakingAndCannotBeAcquired),
        (Acquire { .. }, Leased { .. } | Breaking { .. }, Other) => Err(LeaseAlreadyPresent),

        (Renew { .. }, Leased { id, length, .. } | Expired { id, length }, Owner) => Ok(grant(id, length, now)),
        (Renew { .. }, Breaking { .. } | Broken { .. }, Owner) => Err(LeaseIsBrokenAndCannotBeRenewed),
        (Release { .. }, Leased { .. } | Breaking { .. } | Broken { .. } | Expired { .. }, Owner) => {
            Ok(Outcome { lease: Available, id: None, seconds_left: None })
        }
        (Renew { .. } | Release { .. }, Available, Owner | Other)
        | (Renew { .. } | Release { .. }, Leased { .. } | Breaking { .. } | Broken { .. } | Expired { .. }, Other) => {
            Err(LeaseIdMismatchWithLeaseOperation)
        }

        (Change { to, .. }, Leased { length, until, .. }, Owner) => Ok(hold(Leased { id: to, length, until }, to)),
        // A retry of a change that was done: the lease has the id that was asked for.
        (Change { to, .. }, Leased { id, .. }, Other) if to == id => Ok(hold(lease, id)),
        (Change { .. }, Breaking { .. }, Owner) => Err(LeaseIsBreakingAndCannotBeChanged),
        (Change { .. }, Leased { .. } | Breaking { .. }, Other) => Err(LeaseIdMismatchWithLeaseOperation),
        (Change { .. }, Available | Broken { .. } | Expired { .. }, Owner | Other) => {
            Err(LeaseNotPresentWithLeaseOperation)
        }

        (Break { period_seconds }, Leased { id, length, until }, Owner | Other) => {
            Ok(break_at(id, length, sooner(until, period_seconds, now), now))
        }
        (Break { period_seconds }, Breaking { id, length, until }, Owner | Other) => {
            Ok(break_at(id, length, sooner(Some(until), period_seconds, now), now))
        }
        (Break { .. }, Broken { id } | Expired { id, .. }, Owner | Other) => {
            Ok(Outcome { lease: Broken { id }, id: None, seconds_left: Some(0) })
        }
        (Break { .. }, Available, Owner | Other) => Err(LeaseNotPresentWithLeaseOperation),
    }
}

fn grant(id: LeaseId, length: Length, now: Timestamp) -> Outcome {
    let until = match length {
        Length::Infinite => None,
        Length::Seconds(seconds) => Some(now.plus_seconds(seconds.into())),
    };
    hold(Lease::Leased { id, length, until }, id)
}

fn hold(lease: Lease, id: LeaseId) -> Outcome {
    Outcome { lease, id: Some(id), seconds_left: None }
}

/// When a lease that would end at `end` ends if broken. A period shortens, and never lengthens; without one a fixed
/// lease runs out, and an infinite one ends at once.
fn sooner(end: Option<Timestamp>, period_seconds: Option<u32>, now: Timestamp) -> Timestamp {
    let asked = period_seconds.map(|seconds| now.plus_seconds(seconds.into()));
    let until = match (end, asked) {
        (Some(end), Some(asked)) => end.min(asked),
        (Some(end), None) => end,
        (None, Some(asked)) => asked,
        (None, None) => now,
    };
    assert!(end.is_none_or(|end| until <= end), "a break never lengthens a lease");
    until
}

/// Rule A7: the seconds that are left are told without their fraction.
fn break_at(id: LeaseId, length: Length, until: Timestamp, now: Timestamp) -> Outcome {
    let seconds_left = u32::try_from(now.whole_seconds_until(until)).unwrap_or(u32::MAX);
    assert!(seconds_left == 0 || until > now, "a lease with time left is not over");
    Outcome { lease: Lease::Breaking { id, length, until }.at(now), id: None, seconds_left: Some(seconds_left) }
}

/// Whether a write (for a container: its deletion) may go ahead, and the lease it leaves behind.
pub fn permit_write(lease: Lease, id: Option<LeaseId>, now: Timestamp, on: On) -> Result<Lease, Refusal> {
    let lease = lease.at(now);
    debug_assert_eq!(lease, lease.at(now), "a lease that was looked at is what it is at that time");
    match (lease, id) {
        (Lease::Available | Lease::Broken { .. } | Lease::Expired { .. }, None) => Ok(Lease::Available),
        (Lease::Leased { .. } | Lease::Breaking { .. }, None) => Err(Refusal::LeaseIdMissing),
        (
            Lease::Available
            | Lease::Leased { .. }
            | Lease::Breaking { .. }
            | Lease::Broken { .. }
            | Lease::Expired { .. },
            Some(id),
        ) => permit_id(lease, id, on).map(|()| lease),
    }
}

/// Whether a read may go ahead: a lease needs no id to be read, but an id that is sent must be right.
pub fn permit_read(lease: Lease, id: Option<LeaseId>, now: Timestamp, on: On) -> Result<(), Refusal> {
    id.map_or(Ok(()), |id| permit_id(lease.at(now), id, on))
}

fn permit_id(lease: Lease, sent: LeaseId, on: On) -> Result<(), Refusal> {
    match lease {
        Lease::Leased { id, .. } | Lease::Breaking { id, .. } if id == sent => Ok(()),
        Lease::Leased { .. } | Lease::Breaking { .. } => Err(match on {
            On::Blob => Refusal::LeaseIdMismatchWithBlobOperation,
            On::Container => Refusal::LeaseIdMismatchWithContainerOperation,
            On::File => Refusal::LeaseIdMismatchWithFileOperation,
        }),
        Lease::Available => Err(match on {
            On::Blob => Refusal::LeaseNotPresentWithBlobOperation,
            On::Container => Refusal::LeaseNotPresentWithContainerOperation,
            On::File => Refusal::LeaseNotPresentWithFileOperation,
        }),
        // Observed, for the lease's own id and for others.
        Lease::Broken { .. } | Lease::Expired { .. } => Err(Refusal::LeaseLost),
    }
}

#[cfg(test)]
mod tests;
