//! REST calls, as the instantaneous opens that they are.

use super::cache::breaks;
use super::{Access, Break, Caching, Lock, Obstacle, Open, Standing, Verdict, clashes};
use crate::Refusal;

/// What a REST call does with a file, as far as others who have it open are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Get File Properties, Get File Metadata.
    Look,
    /// Get File: these bytes, `to` exclusive.
    Read { from: u64, to: u64 },
    /// List Ranges.
    ListRanges,
    /// Put Range, Set File Properties, Set File Metadata.
    Write,
    /// Create File and Copy File, over what is there.
    Create,
    /// Delete File, and being replaced by a rename.
    Delete,
    /// Rename: the name goes, the file stays.
    Rename,
    /// Acquiring a lease.
    Lease,
}

impl Act {
    /// The access that the implied open asks for. Both matrices of the documentation say that a lease needs all three, though its
    /// text says two.
    fn access(self) -> Access {
        match self {
            Act::Look => Access::NONE,
            Act::Read { .. } | Act::ListRanges => Access::READ,
            Act::Write => Access::WRITE,
            Act::Create => Access::WRITE.and(Access::DELETE),
            Act::Delete | Act::Rename => Access::DELETE,
            Act::Lease => Access::ALL,
        }
    }

    fn sharing(self) -> Access {
        match self {
            Act::Lease => Access::READ,
            Act::Look | Act::Read { .. } | Act::ListRanges | Act::Write | Act::Create | Act::Delete | Act::Rename => {
                Access::ALL
            }
        }
    }

    /// What a client may cache from then on, and whether to wait until it does not cache more.
    fn leaves(self, caching: Caching) -> (Caching, bool) {
        match self {
            Act::Look | Act::Read { .. } | Act::ListRanges => (caching.without_write(), true),
            Act::Write | Act::Create | Act::Lease => (Caching::NONE, caching.write),
            Act::Delete | Act::Rename => (caching.without_handle(), true),
        }
    }
}

/// Whether `act` may go ahead.
pub fn admit(act: Act, standing: &Standing) -> Result<Verdict, Refusal> {
    if standing.delete_pending {
        return Err(Refusal::DeletePending);
    }
    let asked: Vec<(&Open, Break)> = breaks(standing, None, |open| act.leaves(open.caching).0).collect();
    if asked.iter().any(|(open, _)| act.leaves(open.caching).1) {
        return Ok(Verdict::Wait(asked.into_iter().map(|(_, asked)| asked).collect()));
    }
    let tell = asked.into_iter().map(|(_, asked)| asked).collect();
    if let Some(clash) = clash(clashing(act, standing)) {
        return clash;
    }
    if locked_against(act, standing).is_some() {
        return Err(Refusal::FileLockConflict);
    }
    Ok(Verdict::Go(tell))
}

/// What keeps `act` from going ahead, where [`admit`] refuses it or has waited for nothing: for those who ask why.
pub fn obstacle(act: Act, standing: &Standing) -> Option<Obstacle> {
    let waited = standing.opens.iter().find(|open| open.breaking.is_some());
    let open = clashing(act, standing).find(|open| !open.caching.handle);
    let lock = || locked_against(act, standing).map(|(open, lock)| Obstacle::lock(open, lock));
    open.map(Obstacle::open).or_else(lock).or_else(|| waited.map(Obstacle::open))
}

/// The handles that `act` does not fit with.
fn clashing(act: Act, standing: &Standing) -> impl Iterator<Item = &Open> {
    let (access, sharing) = (act.access(), act.sharing());
    // A delete fits with none, whatever that shares.
    standing.opens.iter().filter(move |open| act == Act::Delete || clashes(open, access, sharing))
}

/// A conflict may be with a handle that its client has closed and only caches: those are asked first.
fn clash<'a>(opens: impl Iterator<Item = &'a Open>) -> Option<Result<Verdict, Refusal>> {
    let mut cached = Vec::new();
    let mut any = false;
    for open in opens {
        any = true;
        if open.caching.handle {
            cached.push(Break { handle: open.handle, to: super::cache::lowered(open, open.caching.without_handle()) });
        } else {
            return Some(Err(Refusal::SharingViolation));
        }
    }
    any.then_some(Ok(Verdict::Wait(cached)))
}

/// A write over REST wants the whole file; a read wants its range.
fn locked_against(act: Act, standing: &Standing) -> Option<(&Open, Lock)> {
    let mut locks = standing.opens.iter().flat_map(|open| open.locks.iter().map(move |lock| (open, *lock)));
    match act {
        Act::Write | Act::Create => locks.next(),
        Act::Read { from, to } => locks.find(|(_, lock)| lock.exclusive && lock.overlaps(from, to.into())),
        Act::Look | Act::ListRanges | Act::Delete | Act::Rename | Act::Lease => None,
    }
}
