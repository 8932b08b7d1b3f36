//! Leases as the "Lease Blob" reference has them, written anew for the oracle. Times are ticks.

use crate::chance::Chance;
use crate::sim::wire::Request;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lease {
    #[default]
    Free,
    /// Also one that has run out: that is a way of looking at it.
    Held {
        id: u8,
        seconds: Option<u64>,
        end: Option<u64>,
    },
    Breaking {
        id: u8,
        end: u64,
    },
}

#[derive(Clone, Copy, Debug)]
pub enum Act {
    Acquire { id: u8, seconds: Option<u64> },
    Renew { id: u8 },
    Change { id: u8, to: u8 },
    Release { id: u8 },
    Break { seconds: Option<u64> },
}

const SECOND: u64 = 10_000_000;

/// Why not: any of these codes may be given.
pub type Reasons = Vec<&'static str>;

impl Lease {
    /// Who holds it, if somebody does.
    pub fn holder(&self, now: u64) -> Option<u8> {
        match *self {
            Lease::Held { id, end, .. } if end.is_none_or(|end| end > now) => Some(id),
            Lease::Breaking { id, end } if end > now => Some(id),
            Lease::Held { .. } | Lease::Breaking { .. } | Lease::Free => None,
        }
    }

    pub fn act(&self, act: Act, now: u64) -> Result<Lease, Reasons> {
        let holder = self.holder(now);
        let breaking = matches!(self, Lease::Breaking { .. }) && holder.is_some();
        let mine = |id: u8| match *self {
            Lease::Held { id: held, .. } | Lease::Breaking { id: held, .. } => held == id,
            Lease::Free => false,
        };
        let held = |id, seconds: Option<u64>| Lease::Held { id, seconds, end: seconds.map(|s| now + s * SECOND) };
        match (act, *self) {
            (Act::Acquire { id, seconds }, _) => match holder {
                None => Ok(held(id, seconds)),
                Some(other) if other == id && !breaking => Ok(held(id, seconds)),
                Some(_) => Err(vec!["LeaseAlreadyPresent", "LeaseIsBreakingAndCannotBeAcquired"]),
            },
            (Act::Renew { id }, Lease::Held { seconds, .. }) if mine(id) => Ok(held(id, seconds)),
            (Act::Renew { id }, _) if mine(id) => Err(vec!["LeaseIsBrokenAndCannotBeRenewed"]),
            (Act::Release { id }, _) if mine(id) => Ok(Lease::Free),
            (Act::Renew { .. } | Act::Release { .. }, _) => Err(vec!["LeaseIdMismatchWithLeaseOperation"]),
            (Act::Change { id, to }, Lease::Held { id: held, seconds, end }) if holder.is_some() => {
                match held == id || held == to {
                    true => Ok(Lease::Held { id: to, seconds, end }),
                    false => Err(vec!["LeaseIdMismatchWithLeaseOperation"]),
                }
            }
            (Act::Change { .. }, _) => Err(vec![
                "LeaseNotPresentWithLeaseOperation",
                "LeaseIsBreakingAndCannotBeChanged",
                "LeaseIdMismatchWithLeaseOperation",
            ]),
            (Act::Break { .. }, Lease::Free) => Err(vec!["LeaseNotPresentWithLeaseOperation"]),
            (Act::Break { seconds }, Lease::Held { id, end, .. }) => Ok(broken(id, end, seconds, now)),
            (Act::Break { seconds }, Lease::Breaking { id, end }) => Ok(broken(id, Some(end), seconds, now)),
        }
    }

    /// Why a call that shows `shown` may not go ahead.
    pub fn bars(&self, shown: Option<u8>, writes: bool, now: u64) -> Reasons {
        match (self.holder(now), shown) {
            (None, None) => vec![],
            (Some(_), None) if writes => vec!["LeaseIdMissing"],
            (Some(_), None) => vec![],
            (Some(holder), Some(shown)) if holder == shown => vec![],
            (Some(_), Some(_)) => vec![
                "LeaseIdMismatchWithBlobOperation",
                "LeaseIdMismatchWithContainerOperation",
                "LeaseIdMismatchWithFileOperation",
            ],
            (None, Some(_)) => vec![
                "LeaseLost",
                "LeaseNotPresentWithBlobOperation",
                "LeaseNotPresentWithContainerOperation",
                "LeaseNotPresentWithFileOperation",
            ],
        }
    }

    /// A write that nobody had to be asked about makes an end of a lease that has run out or was broken.
    pub fn after_write(self, now: u64) -> Lease {
        if self.holder(now).is_some() { self } else { Lease::Free }
    }
}

fn broken(id: u8, end: Option<u64>, seconds: Option<u64>, now: u64) -> Lease {
    let asked = seconds.map(|seconds| now + seconds * SECOND);
    let end = match (end, asked) {
        (Some(end), Some(asked)) => end.min(asked),
        (Some(end), None) => end,
        (None, Some(asked)) => asked,
        (None, None) => now,
    };
    Lease::Breaking { id, end }
}

/// Both ids that clients use.
pub const IDS: [u8; 2] = [0xA, 0xB];

pub fn guid(id: u8) -> String {
    format!("000000{id:02x}-0000-0000-0000-000000000000")
}

pub fn shown(chance: &mut Chance) -> Option<u8> {
    chance.one_in(3).then(|| *chance.pick(&IDS))
}

impl Act {
    /// `finite`: leases that run out are allowed.
    pub fn choose(chance: &mut Chance, finite: bool) -> Act {
        let (id, to) = (*chance.pick(&IDS), *chance.pick(&IDS));
        match chance.below(8) {
            0..=3 => {
                let seconds = (finite && !chance.one_in(4)).then(|| *chance.pick(&[15, 20, 31, 60]));
                Act::Acquire { id, seconds }
            }
            4 if finite => Act::Renew { id },
            4 | 5 => Act::Change { id, to },
            6 => Act::Release { id },
            _ => Act::Break { seconds: if finite { *chance.pick(&[None, Some(0), Some(7)]) } else { None } },
        }
    }

    pub fn say(&self, request: Request) -> Request {
        let request = request.with(
            "x-ms-lease-action",
            match self {
                Act::Acquire { .. } => "acquire",
                Act::Renew { .. } => "renew",
                Act::Change { .. } => "change",
                Act::Release { .. } => "release",
                Act::Break { .. } => "break",
            },
        );
        match *self {
            Act::Acquire { id, seconds } => request
                .with("x-ms-proposed-lease-id", guid(id))
                .with("x-ms-lease-duration", seconds.map_or("-1".into(), |seconds| seconds.to_string())),
            Act::Renew { id } | Act::Release { id } => request.with("x-ms-lease-id", guid(id)),
            Act::Change { id, to } => request.with("x-ms-lease-id", guid(id)).with("x-ms-proposed-lease-id", guid(to)),
            Act::Break { seconds } => request.with_some("x-ms-lease-break-period", seconds.map(|s| s.to_string())),
        }
    }
}
