//! SMB's side: opens that last, and what is done through them.

use super::cache::{breaks, granted, lowered, stale};
use super::{Access, Break, Cache, Caching, Lock, Obstacle, Open, Standing, Verdict, clashes, first_lock};
use crate::file::Rights;
use crate::{Lease, Refusal, Timestamp};

/// Handles of one file or directory at a time, as Azure has it; the root directory may have more.
pub const HANDLES_MAX: usize = 2_000;
pub const ROOT_HANDLES_MAX: usize = 10_000;
/// Byte-range locks of one file at a time. Every open, read and write of it looks at each.
pub const LOCKS_MAX: usize = 4_096;

/// How far an open reaches. It breaks no caches that it does not reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Attributes and times alone.
    Attributes,
    /// Also the security descriptor: this breaks oplocks, and no leases.
    Security,
    Content,
}

impl Reach {
    pub fn of(rights: Rights) -> Reach {
        let looks = Rights::READ_ATTRIBUTES.with(Rights::WRITE_ATTRIBUTES).with(Rights::SYNCHRONIZE);
        match rights.without(looks) {
            rest if rest == Rights::default() => Reach::Attributes,
            rest if rest == Rights::READ_CONTROL => Reach::Security,
            _ => Reach::Content,
        }
    }
}

/// What a client asks for when it opens a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub access: Access,
    pub sharing: Access,
    pub reach: Reach,
    /// The file's bytes go, as with the dispositions that overwrite.
    pub truncate: bool,
    pub delete_on_close: bool,
    pub caching: Caching,
    pub cache: Cache,
    /// What the client counts its lease's changes from.
    pub epoch: u16,
    /// It has waited before: it goes on waiting while a break is under way.
    pub again: bool,
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
    if is_leased(standing, now) && (writes || opening.access.delete) {
        return Err(Refusal::SharingViolation);
    }
    let violates = open_obstacle(opening, standing).is_some();
    let (wait, broken) = broken_by(opening, standing, violates);
    if wait {
        return Ok((Verdict::Wait(broken), Caching::NONE));
    }
    if violates {
        return Err(Refusal::SharingViolation);
    }
    Ok((Verdict::Go(broken), granted(opening, standing)))
}

/// The handle that a new one does not fit with. Who only looks at attributes neither denies nor is denied anything.
pub fn open_obstacle(opening: &Opening, standing: &Standing) -> Option<Obstacle> {
    let acts = opening.access != Access::NONE;
    let clashes = |open: &&Open| open.access != Access::NONE && clashes(open, opening.access, opening.sharing);
    standing.opens.iter().filter(|_| acts).find(clashes).map(Obstacle::open)
}

fn is_leased(standing: &Standing, now: Timestamp) -> bool {
    matches!(standing.lease.at(now), Lease::Leased { .. } | Lease::Breaking { .. })
}

/// What an open breaks, and whether it waits. A conflict may be with a handle that its client has closed and only caches, so that is
/// asked first; else it is what was written and is not here yet that others have to see.
fn broken_by(opening: &Opening, standing: &Standing, violates: bool) -> (bool, Vec<Break>) {
    let (mut wait, mut broken) = (false, Vec::new());
    for (at, open) in standing.opens.iter().enumerate() {
        let own = open.shares_cache(opening.cache, None);
        let seen = standing.opens[..at].iter().any(|other| other.shares_cache(open.cache, Some(open.handle)));
        let reached = match (opening.reach, open.cache) {
            (Reach::Content, _) | (Reach::Security, Cache::Oplock) => true,
            (Reach::Attributes, _) | (Reach::Security, Cache::Lease { .. }) => opening.truncate,
        };
        if own || seen || !reached {
            continue;
        }
        let awaited = |caching: Caching| if violates { caching.handle } else { caching.write };
        let kept = if violates { open.caching.without_handle() } else { open.caching.without_write() };
        let to = lowered(open, if opening.truncate { Caching::NONE } else { kept });
        wait |= awaited(open.caching) || (opening.again && open.breaking.is_some());
        if to != open.caching {
            broken.push(Break { handle: open.handle, to });
        }
    }
    (wait, broken)
}

/// Whether a file or directory may have one more handle ("Azure Files scalability and performance targets").
pub fn permit_handle(standing: &Standing, is_root: bool) -> Result<(), Refusal> {
    let most = if is_root { ROOT_HANDLES_MAX } else { HANDLES_MAX };
    if standing.opens.len() < most { Ok(()) } else { Err(Refusal::TooManyHandles) }
}

/// Reading `from..to` through a handle.
pub fn read(standing: &Standing, handle: u64, from: u64, to: u64) -> Result<(), Refusal> {
    standing.find(handle)?;
    if read_obstacle(standing, handle, from, to).is_some() { Err(Refusal::FileLockConflict) } else { Ok(()) }
}

pub fn read_obstacle(standing: &Standing, handle: u64, from: u64, to: u64) -> Option<Obstacle> {
    first_lock(standing, |open, lock| {
        from != to && open.handle != handle && lock.exclusive && lock.overlaps(from, to.into())
    })
}

/// Writing `from..to` through a handle. A shared lock keeps everybody from it, also its owner.
pub fn write(standing: &Standing, handle: u64, from: u64, to: u64) -> Result<Vec<Break>, Refusal> {
    let own = standing.find(handle)?;
    if write_obstacle(standing, handle, from, to).is_some() {
        return Err(Refusal::FileLockConflict);
    }
    Ok(stale(standing, own))
}

pub fn write_obstacle(standing: &Standing, handle: u64, from: u64, to: u64) -> Option<Obstacle> {
    first_lock(standing, |open, lock| lock.overlaps(from, to.into()) && !(open.handle == handle && lock.exclusive))
}

/// Whether a handle may lock a range. Locks go with the handle.
pub fn lock(standing: &Standing, handle: u64, asked: Lock) -> Result<Vec<Break>, Refusal> {
    let own = standing.find(handle)?;
    if lock_obstacle(standing, handle, asked).is_some() {
        return Err(Refusal::FileLockConflict);
    }
    if standing.opens.iter().map(|open| open.locks.len()).sum::<usize>() >= LOCKS_MAX {
        return Err(Refusal::TooManyLocks);
    }
    // Who caches reads would not see that they are forbidden.
    Ok(stale(standing, own))
}

pub fn lock_obstacle(standing: &Standing, handle: u64, asked: Lock) -> Option<Obstacle> {
    first_lock(standing, |open, lock| {
        // What it has locked for itself it may also lock with others.
        let stacked = open.handle == handle && lock.exclusive && !asked.exclusive;
        (lock.exclusive || asked.exclusive) && lock.overlaps(asked.from, asked.to) && !stacked
    })
}

/// The locks that are left of a handle's when it gives up that very range.
pub fn unlock(standing: &Standing, handle: u64, range: Lock) -> Result<Vec<Lock>, Refusal> {
    let mut locks = standing.find(handle)?.locks.clone();
    let at = locks.iter().position(|lock| (lock.from, lock.to) == (range.from, range.to));
    locks.remove(at.ok_or(Refusal::InvalidRange)?);
    Ok(locks)
}

/// Marks or unmarks the file for deletion when its last handle is closed.
pub fn set_delete_pending(
    standing: &Standing,
    handle: u64,
    read_only: bool,
    pending: bool,
    now: Timestamp,
) -> Result<Verdict, Refusal> {
    let own = standing.find(handle)?;
    if !own.access.delete {
        return Err(Refusal::SharingViolation);
    }
    if pending && read_only {
        return Err(Refusal::ReadOnlyAttribute);
    }
    if pending && is_leased(standing, now) {
        return Err(Refusal::SharingViolation);
    }
    if !pending {
        return Ok(Verdict::Go(Vec::new()));
    }
    Ok(without_handles(standing, own))
}

/// Gives the file another name. Who caches a handle caches it under the name.
pub fn rename(standing: &Standing, handle: u64, now: Timestamp) -> Result<Verdict, Refusal> {
    let own = standing.find(handle)?;
    if is_leased(standing, now) {
        return Err(Refusal::SharingViolation);
    }
    Ok(without_handles(standing, own))
}

fn without_handles(standing: &Standing, own: &Open) -> Verdict {
    let asked: Vec<Break> = breaks(standing, Some(own), |open| match open.cache {
        Cache::Oplock => open.caching,
        Cache::Lease { .. } => open.caching.without_handle(),
    })
    .map(|(_, asked)| asked)
    .collect();
    if asked.is_empty() { Verdict::Go(asked) } else { Verdict::Wait(asked) }
}

/// The handle goes. True when the file goes with it.
pub fn close(standing: &mut Standing, handle: u64) -> Result<bool, Refusal> {
    let at = standing.opens.iter().position(|open| open.handle == handle).ok_or(Refusal::ResourceNotFound)?;
    let open = standing.opens.remove(at);
    standing.delete_pending |= open.delete_on_close;
    Ok(standing.delete_pending && standing.opens.is_empty())
}
