//! SMB's side: opens that last, and what is done through them.

use super::{Access, Break, Caching, Lock, Open, Standing, Verdict, breaks, clash, conflicts};
use crate::{Lease, Refusal, Timestamp};

/// What a client asks for when it opens a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub access: Access,
    pub sharing: Access,
    /// The file's bytes go, as with the dispositions that overwrite.
    pub truncate: bool,
    pub delete_on_close: bool,
    pub caching: Caching,
    pub caching_key: u128,
}

/// Whether a handle may be opened; what it may cache is in the `Go`'s second part.
pub fn open(
    opening: &Opening,
    standing: &Standing,
    read_only: bool,
    now: Timestamp,
) -> Result<(Verdict, Caching), Refusal> {
    if standing.delete_pending {
        return Err(Refusal::DeletePending);
    }
    let writes = opening.access.write || opening.truncate;
    if read_only && (writes || opening.delete_on_close) {
        return Err(Refusal::ReadOnlyAttribute);
    }
    // An SMB client cannot show a REST lease's id, so while the lease is held it may only read.
    let leased = matches!(standing.lease.at(now), Lease::Leased { .. } | Lease::Breaking { .. });
    if leased && (writes || opening.access.delete) {
        return Err(Refusal::SharingViolation);
    }
    let key = Some(opening.caching_key);
    let truncate = opening.truncate;
    let (wait, tell) =
        breaks(
            standing,
            key,
            |caching| {
                if truncate { (Caching::NONE, caching.write) } else { (caching.without_write(), true) }
            },
        );
    if !wait.is_empty() {
        return Ok((Verdict::Wait(wait), Caching::NONE));
    }
    if let Some(clash) = clash(conflicts(standing, opening.access, opening.sharing)) {
        return clash.map(|verdict| (verdict, Caching::NONE));
    }
    Ok((Verdict::Go(tell), granted(opening, standing)))
}

/// A client that is alone may cache writes; all may cache reads and handles, as long as nobody holds locks.
fn granted(opening: &Opening, standing: &Standing) -> Caching {
    let mut others = standing.opens.iter().filter(|open| open.caching_key != opening.caching_key);
    let alone = others.clone().next().is_none();
    let locked = others.any(|open| !open.locks.is_empty());
    Caching {
        read: opening.caching.read && !locked,
        write: opening.caching.write && alone,
        handle: opening.caching.handle && !locked,
    }
}

/// Reading `from..to` through a handle.
pub fn read(standing: &Standing, handle: u64, from: u64, to: u64) -> Result<Verdict, Refusal> {
    let own = standing.find(handle)?;
    if !own.access.read {
        return Err(Refusal::SharingViolation);
    }
    let blocked = |open: &Open| open.locks.iter().any(|lock| lock.exclusive && lock.overlaps(from, to));
    if standing.opens.iter().any(|open| open.handle != handle && blocked(open)) {
        return Err(Refusal::FileLockConflict);
    }
    Ok(Verdict::Go(Vec::new()))
}

/// Writing `from..to` through a handle. A shared lock keeps everybody from it, also its owner.
pub fn write(standing: &Standing, handle: u64, from: u64, to: u64) -> Result<Verdict, Refusal> {
    let own = standing.find(handle)?;
    if !own.access.write {
        return Err(Refusal::SharingViolation);
    }
    let blocked = |open: &Open| {
        let mine = open.handle == handle;
        open.locks.iter().any(|lock| lock.overlaps(from, to) && !(mine && lock.exclusive))
    };
    if standing.opens.iter().any(blocked) {
        return Err(Refusal::FileLockConflict);
    }
    let (_, tell) = breaks(standing, Some(own.caching_key), |_| (Caching::NONE, false));
    Ok(Verdict::Go(tell))
}

/// Whether a handle may lock a range. Locks go with the handle.
pub fn lock(standing: &Standing, handle: u64, asked: Lock) -> Result<Verdict, Refusal> {
    let own = standing.find(handle)?;
    if asked.from > asked.to {
        return Err(Refusal::InvalidRange);
    }
    let clashes = |lock: &Lock| (lock.exclusive || asked.exclusive) && lock.overlaps(asked.from, asked.to);
    if standing.opens.iter().flat_map(|open| &open.locks).any(clashes) {
        return Err(Refusal::FileLockConflict);
    }
    // Who caches reads would not see that they are forbidden.
    let (_, tell) = breaks(standing, Some(own.caching_key), |caching| (Caching { read: false, ..caching }, false));
    Ok(Verdict::Go(tell))
}

/// The locks that are left of a handle's when it gives up that very range.
pub fn unlock(standing: &Standing, handle: u64, from: u64, to: u64) -> Result<Vec<Lock>, Refusal> {
    let mut locks = standing.find(handle)?.locks.clone();
    let at = locks.iter().position(|lock| (lock.from, lock.to) == (from, to)).ok_or(Refusal::InvalidRange)?;
    locks.remove(at);
    Ok(locks)
}

/// A client gives up what it was asked to, or more, for all its handles with that key.
pub fn acknowledge(standing: &mut Standing, key: u128, to: Caching) -> Result<(), Refusal> {
    let mut any = false;
    for open in standing.opens.iter_mut().filter(|open| open.caching_key == key) {
        if let Some(breaking) = open.breaking.take() {
            open.caching = open.caching.both(breaking.to).both(to);
            any = true;
        }
    }
    if any { Ok(()) } else { Err(Refusal::InvalidInput { reason: "No break was under way.".into() }) }
}

/// Marks or unmarks the file for deletion when its last handle is closed.
pub fn set_delete_pending(
    standing: &Standing,
    handle: u64,
    read_only: bool,
    pending: bool,
) -> Result<Verdict, Refusal> {
    let own = standing.find(handle)?;
    if !own.access.delete {
        return Err(Refusal::SharingViolation);
    }
    if pending && read_only {
        return Err(Refusal::ReadOnlyAttribute);
    }
    if pending && matches!(standing.lease, Lease::Leased { .. } | Lease::Breaking { .. }) {
        return Err(Refusal::SharingViolation);
    }
    let key = Some(own.caching_key);
    let (_, tell) = breaks(standing, key, |caching| (caching.without_handle(), false));
    Ok(Verdict::Go(tell))
}

/// The handle goes. True when the file goes with it.
pub fn close(standing: &mut Standing, handle: u64) -> Result<bool, Refusal> {
    let at = standing.opens.iter().position(|open| open.handle == handle).ok_or(Refusal::ResourceNotFound)?;
    let open = standing.opens.remove(at);
    standing.delete_pending |= open.delete_on_close;
    Ok(standing.delete_pending && standing.opens.is_empty())
}

impl Break {
    /// For the list of what a gateway has to tell its clients.
    pub fn of(open: &Open) -> Option<Break> {
        open.breaking.map(|breaking| Break { handle: open.handle, to: breaking.to })
    }
}
