//! What the deciding run of a request saw: the moment, and the ETag and the lease that were there. For the explanation of the request
//! (`http/recorder`); no decision reads it.
//!
//! Held true: a decision is synchronous, so while it runs the cell of its thread is its own. A decision may run more than once; the sight of
//! its last run stands. The sight of a refusal is not replaced by that of what is done after it.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use lazuli_engine::Stamp;
use lazuli_model::{Lease, LeaseId, Timestamp};

/// What was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Found {
    /// Nobody looked.
    #[default]
    Unknown,
    Nothing,
    /// Made by the write of this stamp, and leased under this id or not.
    Made(Timestamp, Option<LeaseId>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// When the decision was made, in the order of its partition. Zero ticks: there was none.
    pub at: Stamp,
    pub found: Found,
    refused: bool,
}

/// The sight of one request.
#[derive(Debug, Default)]
pub struct Witness(Mutex<Sight>);

thread_local! {
    static FOUND: Cell<Found> = const { Cell::new(Found::Unknown) };
}

impl Witness {
    pub fn sight(&self) -> Sight {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run begins on this thread.
    pub(crate) fn begin(&self) {
        FOUND.set(Found::Unknown);
    }

    /// It has ended.
    pub(crate) fn end(&self, at: Stamp, refused: bool) {
        let mut sight = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !sight.refused || refused {
            *sight = Sight { at, found: FOUND.get(), refused };
        }
    }
}

/// The running decision saw what it is about.
pub(crate) fn saw(found: Found) {
    FOUND.set(found);
}

/// What was found of something that has a lease.
pub(crate) fn found(made: Timestamp, lease: Lease, now: Timestamp) -> Found {
    let held = match lease.at(now) {
        Lease::Leased { id, .. } | Lease::Breaking { id, .. } => Some(id),
        Lease::Available | Lease::Broken { .. } | Lease::Expired { .. } => None,
    };
    Found::Made(made, held)
}
