//! Set Blob Expiry: a time after which the blob is no more. A read after it finds nothing ([`Blob::at`]), whether or not
//! it has been swept yet.

use crate::blob::{Blob, existing};
use crate::lease::{self, On};
use crate::time::TICKS_PER_SECOND;
use crate::{Conditions, LeaseId, Refusal, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    Never,
    /// Milliseconds after it was created.
    RelativeToCreation(u64),
    /// Milliseconds from now.
    RelativeToNow(u64),
    Absolute(Timestamp),
}

#[derive(Clone, Copy, Debug)]
pub struct SetBlobExpiry {
    pub expiry: Expiry,
    pub lease: Option<LeaseId>,
}

impl Expiry {
    /// The time, in whole seconds as it is shown.
    pub fn of(self, created: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let after = |from: Timestamp, milliseconds: u64| {
            let ticks = milliseconds.saturating_mul(TICKS_PER_SECOND / 1000);
            Some(Timestamp::from_ticks(from.ticks().saturating_add(ticks)).whole_seconds())
        };
        match self {
            Expiry::Never => None,
            Expiry::RelativeToCreation(milliseconds) => after(created, milliseconds),
            Expiry::RelativeToNow(milliseconds) => after(now, milliseconds),
            Expiry::Absolute(time) => Some(time),
        }
    }
}

impl SetBlobExpiry {
    /// A time that has passed is refused: it would be a deletion without a deletion's permission.
    pub fn decide(&self, current: Option<&Blob>, now: Timestamp) -> Result<Blob, Refusal> {
        let blob = existing(current, &Conditions::default())?;
        let lease = lease::permit_write(blob.lease, self.lease, now, On::Blob)?;
        blob.permit_mutable(now)?;
        let expires = self.expiry.of(blob.created, now);
        if let Some(time) = expires.filter(|time| *time <= now) {
            return Err(Refusal::ExpiryTimePassed { time });
        }
        Ok(Blob { expires, lease, ..blob.clone() })
    }
}

#[cfg(test)]
mod tests;
