//! What the deciding run of a request saw: the moment, and the ETag and the lease that were there. For the explanation of the request
//! (`http/recorder`); no decision reads it.
//!
//! Held true: a decision is synchronous, so while it runs the cell of its thread is its own. A decision may run more than once; the sight of
//! its last run stands, also if an earlier run was refused. The sight of a decision that was refused is not replaced by that of what is done
//! after it, nor is the sight of a transaction by that of a look.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use lazuli_engine::Stamp;
use lazuli_model::file::arbiter::Obstacle;
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
    /// Something that has no ETag to compare, leased under this id or not: a file or a directory of a share, or blocks that are not committed.
    Entry(Option<LeaseId>),
    /// A file that an SMB client has open, or has locked, in a way that does not fit.
    Held(Obstacle),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// When the decision was made, in the order of its partition. Zero ticks: there was none.
    pub at: Stamp,
    pub found: Found,
    /// It was the decision of a transaction, which may have been made durable.
    pub submitted: bool,
    refused: bool,
    /// Which decision of the request it is of.
    decision: u32,
}

/// The sight of one request.
#[derive(Debug, Default)]
pub struct Witness {
    sight: Mutex<Sight>,
    decisions: AtomicU32,
    /// What a batch found in the place of each of its changes.
    each: Mutex<Vec<Found>>,
}

thread_local! {
    static FOUND: Cell<Found> = const { Cell::new(Found::Unknown) };
    static EACH: RefCell<Vec<Found>> = const { RefCell::new(Vec::new()) };
    /// Whether `EACH` has any. Only batches do, and all others need not look at it.
    static HAS_EACH: Cell<bool> = const { Cell::new(false) };
    static REFUSED: Cell<bool> = const { Cell::new(false) };
}

impl Witness {
    pub fn sight(&self) -> Sight {
        *self.sight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of a batch, what was in the place of each of its changes, as far as it went.
    pub fn each(&self) -> Vec<Found> {
        std::mem::take(&mut *self.each.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A number for a decision that is going to be run.
    pub(crate) fn decision(&self) -> u32 {
        self.decisions.fetch_add(1, Relaxed)
    }

    /// A run begins on this thread.
    pub(crate) fn begin(&self) {
        FOUND.set(Found::Unknown);
        if HAS_EACH.replace(false) {
            EACH.with_borrow_mut(Vec::clear);
        }
        REFUSED.set(false);
    }

    /// It has ended.
    pub(crate) fn end(&self, decision: u32, at: Stamp, submitted: bool, refused: bool) {
        let refused = refused || REFUSED.get();
        let mut sight = self.sight.lock().unwrap_or_else(PoisonError::into_inner);
        let stands = sight.refused || (sight.submitted && !submitted);
        if !stands || refused || sight.decision == decision {
            *sight = Sight { at, found: FOUND.get(), submitted: submitted && !refused, refused, decision };
            if HAS_EACH.replace(false) {
                *self.each.lock().unwrap_or_else(PoisonError::into_inner) = EACH.take();
            }
        }
    }
}

/// The running decision saw what it is about.
pub(crate) fn saw(found: Found) {
    FOUND.set(found);
}

/// The same, of one of several that a decision is about.
pub(crate) fn saw_one(found: Found) {
    saw(found);
    HAS_EACH.set(true);
    EACH.with_borrow_mut(|each| each.push(found));
}

/// The running decision refuses, though it hands the refusal on as an answer.
pub(crate) fn refuses() {
    REFUSED.set(true);
}

/// The running decision was kept from going on by a handle.
pub(crate) fn saw_obstacle(obstacle: Option<Obstacle>) {
    obstacle.into_iter().for_each(|obstacle| saw(Found::Held(obstacle)));
}

/// What was found of something that has a lease.
pub(crate) fn found(made: Timestamp, lease: Lease, now: Timestamp) -> Found {
    Found::Made(made, holder(lease, now))
}

/// Under which id something is leased.
pub(crate) fn holder(lease: Lease, now: Timestamp) -> Option<LeaseId> {
    match lease.at(now) {
        Lease::Leased { id, .. } | Lease::Breaking { id, .. } => Some(id),
        Lease::Available | Lease::Broken { .. } | Lease::Expired { .. } => None,
    }
}
