//! Who may do what to a file that others have open: one set of rules for REST and SMB. "Manage file locks", [MS-FSA] 2.1.4 and
//! [MS-SMB2] are the sources; docs name the matrices that the tests restate.
//!
//! * An open says what it does (access) and what it lets others do meanwhile (sharing). A new one must fit every one that is
//!   there, in both directions. A REST call is an open that lasts an instant and denies nothing; a file lease is one that
//!   lasts, and lets others only read.
//! * A client may cache what it has open: reads (R), writes (W), and the handle itself (H). What would make the cache lie has it
//!   broken first, and waits until the client has given it back where it holds something that others have to see.
//! * A break ends: when it is acknowledged, when its handles are closed, or [`BREAK_ENDS_SECONDS`] after it began. That is a way of
//!   looking at it ([`Standing::at`]), so it needs nobody who does it.

mod cache;
mod handle;
mod rest;

pub use cache::{Acknowledged, acknowledge};
pub use handle::{
    HANDLES_MAX, LOCKS_MAX, Opening, ROOT_HANDLES_MAX, Reach, close, lock, lock_obstacle, open, open_obstacle,
    permit_handle, read, read_obstacle, rename, set_delete_pending, unlock, write, write_obstacle,
};
pub use rest::{Act, admit, obstacle};

use serde::{Deserialize, Serialize};

use crate::file::Rights;
use crate::{Lease, Refusal, Timestamp};

/// What a handle may do with the file; or, as its sharing, what others may do meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    pub read: bool,
    pub write: bool,
    pub delete: bool,
}

impl Access {
    pub const NONE: Access = Access { read: false, write: false, delete: false };
    pub const READ: Access = Access { read: true, ..Access::NONE };
    pub const WRITE: Access = Access { write: true, ..Access::NONE };
    pub const DELETE: Access = Access { delete: true, ..Access::NONE };
    pub const ALL: Access = Access { read: true, write: true, delete: true };

    pub const fn and(self, other: Access) -> Access {
        Access { read: self.read || other.read, write: self.write || other.write, delete: self.delete || other.delete }
    }

    /// What rights come to where handles meet.
    pub fn of(rights: Rights) -> Access {
        Access {
            read: rights.has_any(Rights::READ_DATA.with(Rights::EXECUTE)),
            write: rights.has_any(Rights::WRITE_DATA.with(Rights::APPEND_DATA)),
            delete: rights.has(Rights::DELETE),
        }
    }

    pub fn within(self, other: Access) -> bool {
        (!self.read || other.read) && (!self.write || other.write) && (!self.delete || other.delete)
    }
}

/// What a client keeps of an open file on its own side: an SMB lease, or an oplock, which is one with a fixed choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caching {
    pub read: bool,
    pub write: bool,
    pub handle: bool,
}

impl Caching {
    pub const NONE: Caching = Caching { read: false, write: false, handle: false };
    pub const READ: Caching = Caching { read: true, ..Caching::NONE };
    pub const READ_WRITE: Caching = Caching { read: true, write: true, handle: false };
    pub const ALL: Caching = Caching { read: true, write: true, handle: true };

    pub const fn without_write(self) -> Caching {
        Caching { write: false, ..self }
    }

    pub const fn without_handle(self) -> Caching {
        Caching { handle: false, ..self }
    }

    pub const fn both(self, other: Caching) -> Caching {
        Caching { read: self.read && other.read, write: self.write && other.write, handle: self.handle && other.handle }
    }

    pub fn within(self, other: Caching) -> bool {
        self.both(other) == self
    }
}

/// Whose cache it is. Handles with the same one share it, and do not break each other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cache {
    /// An oplock, of one handle. It is broken to R or to nothing.
    Oplock,
    /// An SMB lease, of all handles of a client that name the key.
    Lease { client: u128, key: u128 },
}

/// A break that was asked for and is not acknowledged yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaking {
    /// What the client was asked to go down to.
    pub to: Caching,
    /// What is wanted by now. The client is asked again when it has acknowledged.
    pub wanted: Caching,
    pub since: Timestamp,
}

/// A byte range, `to` exclusive: the last byte of a file may be the one before 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    pub from: u64,
    pub to: u128,
    pub exclusive: bool,
}

impl Lock {
    pub fn new(from: u64, length: u64, exclusive: bool) -> Lock {
        Lock { from, to: u128::from(from) + u128::from(length), exclusive }
    }

    /// An empty range overlaps what it lies within.
    fn overlaps(self, from: u64, to: u128) -> bool {
        u128::from(self.from) < to && u128::from(from) < self.to
    }
}

/// A handle that an SMB client holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    pub handle: u64,
    pub session: u64,
    /// The process that the client is connected to. When it has gone, so has the handle.
    pub gateway: u128,
    pub client: String,
    pub client_name: String,
    pub access: Access,
    pub sharing: Access,
    pub opened: Timestamp,
    pub reconnected: Option<Timestamp>,
    pub delete_on_close: bool,
    /// It only looks at attributes, so it keeps nobody from caching.
    pub attributes_only: bool,
    pub caching: Caching,
    pub cache: Cache,
    /// Counts the changes of an SMB lease.
    pub epoch: u16,
    pub breaking: Option<Breaking>,
    pub locks: Vec<Lock>,
}

impl Open {
    /// Whether both handles share one cache.
    fn shares_cache(&self, cache: Cache, handle: Option<u64>) -> bool {
        match cache {
            Cache::Oplock => Some(self.handle) == handle,
            Cache::Lease { .. } => self.cache == cache,
        }
    }
}

/// All that the arbiter knows of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub lease: Lease,
    pub delete_pending: bool,
    pub opens: Vec<Open>,
}

/// A client has to be told: the handle, and what it may still cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Break {
    pub handle: u64,
    pub to: Caching,
}

/// What a client is told of a break: one for each cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub gateway: u128,
    /// One of those that share the cache.
    pub handle: u64,
    pub cache: Cache,
    pub from: Caching,
    pub to: Caching,
    pub epoch: u16,
    /// The client has to say that it has done so.
    pub acknowledged: bool,
}

/// What may go ahead, and what has to be given back for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Now; these learn of it, and nobody waits for them.
    Go(Vec<Break>),
    /// Not before those that have to have acknowledged, or closed. Ask again then.
    Wait(Vec<Break>),
}

/// A waited break that is not acknowledged by then fails what waits for it over REST.
pub const BREAK_SECONDS: u64 = 30;

/// A break that is not acknowledged by then has ended, and the client is believed to cache nothing ([MS-SMB2] 3.3.6.1, 3.3.6.5).
pub const BREAK_ENDS_SECONDS: u64 = 35;

impl Standing {
    /// As it is at a time: breaks that nobody has acknowledged in time have ended.
    pub fn at(mut self, now: Timestamp) -> Standing {
        for open in &mut self.opens {
            if let Some(breaking) = open.breaking
                && breaking.since.plus_seconds(BREAK_ENDS_SECONDS) <= now
            {
                (open.caching, open.breaking) = (Caching::NONE, None);
            }
        }
        self
    }

    /// When the next break ends by itself.
    pub fn next_end(&self) -> Option<Timestamp> {
        let ends = self.opens.iter().filter_map(|open| open.breaking);
        ends.map(|breaking| breaking.since.plus_seconds(BREAK_ENDS_SECONDS)).min()
    }

    pub fn find(&self, handle: u64) -> Result<&Open, Refusal> {
        self.opens.iter().find(|open| open.handle == handle).ok_or(Refusal::ResourceNotFound)
    }
}

/// What was in the way of something that was refused: the handle of a client, and the range that it has locked, if it is that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Obstacle {
    pub handle: u64,
    pub lock: Option<Lock>,
}

impl Obstacle {
    pub fn open(open: &Open) -> Self {
        Self { handle: open.handle, lock: None }
    }

    fn lock(open: &Open, lock: Lock) -> Self {
        Self { handle: open.handle, lock: Some(lock) }
    }
}

/// Whether `access` and `sharing` do not fit with an open that is there. One for attributes alone neither denies nor is denied
/// anything ([MS-FSA] 2.1.5.1.2.2).
fn clashes(open: &Open, access: Access, sharing: Access) -> bool {
    let fits = access.within(open.sharing) && open.access.within(sharing);
    open.access != Access::NONE && !fits
}

/// The first lock that is in the way.
fn first_lock(standing: &Standing, blocks: impl Fn(&Open, &Lock) -> bool) -> Option<Obstacle> {
    let mut all = standing.opens.iter().flat_map(|open| open.locks.iter().map(move |lock| (open, lock)));
    all.find(|(open, lock)| blocks(open, lock)).map(|(open, lock)| Obstacle::lock(open, *lock))
}

#[cfg(test)]
mod tests;
