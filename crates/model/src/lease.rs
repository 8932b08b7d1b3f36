//! Leases of blobs and containers: five states, five actions, owner or other.

use serde::{Deserialize, Serialize};

use crate::{Refusal, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeaseId(pub u128);

impl LeaseId {
    /// A GUID in any of the forms .NET reads.
    pub fn parse(_text: &str) -> Option<Self> {
        None
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Length {
    Infinite,
    Seconds(u32),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lease {
    #[default]
    Available,
    /// `until` is `None` for an infinite lease.
    Leased { id: LeaseId, length: Length, until: Option<Timestamp> },
    Breaking { id: LeaseId, length: Length, until: Timestamp },
    Broken { id: LeaseId },
    Expired { id: LeaseId, length: Length },
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

impl Lease {
    /// A stored lease does not tick: expiry is a way of looking.
    pub fn at(self, _now: Timestamp) -> Lease {
        self
    }

    pub fn shown(self, _now: Timestamp) -> Shown {
        Shown { state: "available", status: "unlocked", duration: None }
    }
}

/// What `action` makes of `lease` at `now`.
pub fn act(lease: Lease, action: Action, _now: Timestamp) -> Result<Outcome, Refusal> {
    let _ = action;
    Ok(Outcome { lease, id: None, seconds_left: None })
}
