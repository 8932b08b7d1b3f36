//! Who may do what to a file that others have open: one set of rules for REST and SMB. "Manage file locks" and
//! [MS-SMB2] are the sources; docs name the matrices that the tests restate.
//!
//! * An open says what it does (access) and what it lets others do meanwhile (sharing). A new one must fit every one that is
//!   there, in both directions. A REST call is an open that lasts an instant and denies nothing; a file lease is one that
//!   lasts, and lets others only read.
//! * A client may cache what it has open: reads (R), writes (W), and the handle itself (H). What would make the cache lie has it
//!   broken first, and waits until the client has given it back where it holds something that others have to see.

mod handle;
mod rest;

pub use handle::{Opening, acknowledge, close, lock, open, read, set_delete_pending, unlock, write};
pub use rest::{Act, admit};

use serde::{Deserialize, Serialize};

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

    fn without_write(self) -> Caching {
        Caching { write: false, ..self }
    }

    fn without_handle(self) -> Caching {
        Caching { handle: false, ..self }
    }

    fn both(self, other: Caching) -> Caching {
        Caching { read: self.read && other.read, write: self.write && other.write, handle: self.handle && other.handle }
    }
}

/// A break that was asked for and is not acknowledged yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaking {
    pub to: Caching,
    pub since: Timestamp,
}

/// A byte range, `to` exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    pub from: u64,
    pub to: u64,
    pub exclusive: bool,
}

impl Lock {
    fn overlaps(self, from: u64, to: u64) -> bool {
        self.from < to && from < self.to
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
    pub caching: Caching,
    /// Handles of one client with the same key share one cache, and do not break each other's.
    pub caching_key: u128,
    pub breaking: Option<Breaking>,
    pub locks: Vec<Lock>,
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

/// What may go ahead, and what has to be given back for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Now; these learn of it, and nobody waits for them.
    Go(Vec<Break>),
    /// Not before these have acknowledged, or closed. Ask again then.
    Wait(Vec<Break>),
}

/// A waited break that is not acknowledged by then fails what waits for it.
pub const BREAK_SECONDS: u64 = 30;

impl Standing {
    /// Marks breaks as under way. Those that are already stay as they are.
    pub fn mark(&mut self, breaks: &[Break], now: Timestamp) {
        for open in &mut self.opens {
            let asked = breaks.iter().find(|asked| asked.handle == open.handle);
            if let Some(asked) = asked {
                let to = open.breaking.map_or(asked.to, |under_way| under_way.to.both(asked.to));
                let since = open.breaking.map_or(now, |under_way| under_way.since);
                open.breaking = Some(Breaking { to, since });
            }
        }
    }

    /// Breaks nobody waits for take effect at once.
    pub fn mark_done(&mut self, breaks: &[Break]) {
        for open in &mut self.opens {
            if let Some(asked) = breaks.iter().find(|asked| asked.handle == open.handle) {
                open.caching = open.caching.both(asked.to);
            }
        }
    }

    fn find(&self, handle: u64) -> Result<&Open, Refusal> {
        self.opens.iter().find(|open| open.handle == handle).ok_or(Refusal::ResourceNotFound)
    }
}

/// What each open has to give up by `of`, of those with another key than `key`; with whether somebody has to wait for it.
fn breaks(standing: &Standing, key: Option<u128>, of: impl Fn(Caching) -> (Caching, bool)) -> (Vec<Break>, Vec<Break>) {
    let (mut wait, mut tell) = (Vec::new(), Vec::new());
    for open in standing.opens.iter().filter(|open| Some(open.caching_key) != key) {
        let (to, waited) = of(open.caching);
        if to != open.caching {
            let asked = Break { handle: open.handle, to };
            if waited { wait.push(asked) } else { tell.push(asked) }
        }
    }
    (wait, tell)
}

/// Opens that `access` and `sharing` do not fit with.
fn conflicts(standing: &Standing, access: Access, sharing: Access) -> impl Iterator<Item = &Open> {
    standing.opens.iter().filter(move |open| !access.within(open.sharing) || !open.access.within(sharing))
}

/// A conflict may be with a handle that its client has closed and only caches: those are asked first.
fn clash<'a>(opens: impl Iterator<Item = &'a Open>) -> Option<Result<Verdict, Refusal>> {
    let mut cached = Vec::new();
    let mut any = false;
    for open in opens {
        any = true;
        if open.caching.handle {
            cached.push(Break { handle: open.handle, to: open.caching.without_handle() });
        } else {
            return Some(Err(Refusal::SharingViolation));
        }
    }
    any.then_some(Ok(Verdict::Wait(cached)))
}

#[cfg(test)]
mod tests;
