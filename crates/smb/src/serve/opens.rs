//! What clients hold open here.
//!
//! Held true: an open is in the table from the answer to its CREATE to its CLOSE, or until its session, tree or connection ends; one that is
//! durable outlives its connection for a time, belonging to no session meanwhile.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lazuli_model::file::arbiter::Cache;
use lazuli_model::file::{Frozen, Kind};
use lazuli_store::{Change, HandleAt, ShareAt};
use tokio::sync::Notify;

use super::LIMITS;
use crate::packet::create::{Access, CreateOptions};
use crate::packet::file::FileId;
use crate::rpc::Pipe;
use crate::status::Status;

/// Changes that are kept for a client until it asks for them. With more, it is told to list the directory anew.
const CHANGES_MAX: usize = 1024;

#[derive(Debug)]
pub(crate) struct Open {
    pub id: FileId,
    /// Who opened it: an account's name.
    pub account: String,
    pub what: What,
    pub access: Access,
    pub options: CreateOptions,
    pub durable: Option<Durable>,
    /// What names the client, also after it has lost its connection.
    pub client: [u8; 16],
    state: Mutex<State>,
    /// Something in `State::watch` has changed.
    pub changed: Notify,
}

#[derive(Debug)]
pub(crate) enum What {
    File(File),
    Pipe(Mutex<(Pipe, Vec<u8>)>),
}

#[derive(Debug)]
pub(crate) struct File {
    pub at: HandleAt,
    /// As its client wrote it, with slashes.
    pub path: String,
    pub kind: Kind,
    pub cache: Cache,
    /// Its lease is of the second version.
    pub second: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Durable {
    /// Of the second version, which the client names it by.
    pub create: Option<[u8; 16]>,
    pub seconds: u64,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// 0 while it waits for its client to come back.
    pub session: u64,
    pub tree: u32,
    /// How often its client has lost its connection.
    pub lost: u32,
    pub frozen: Frozen,
    /// What the client has asked to be allocated. It is reported as long as the handle is open, and takes no room.
    pub reserved: u64,
    pub position: u64,
    pub mode: u32,
    pub listing: Option<Listing>,
    pub watch: Watch,
    /// Of durable opens: the last number of each lock sequence, so that a repeated request is known.
    pub sequences: HashMap<u32, u8>,
}

/// How far QUERY_DIRECTORY has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    pub pattern: String,
    /// `.` and `..` that were given.
    pub dots: u8,
    pub from: Vec<u8>,
    pub over: bool,
    pub any: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// How much the first request had room for; none before it.
    pub room: Option<usize>,
    /// What one request each of those that wait is answered with: what came while it waited, and nothing that came behind it.
    answers: VecDeque<Vec<Change>>,
    /// What came while none waited.
    changes: Vec<Change>,
    pub overflown: bool,
    /// The requests that wait, by their message ids. The first of them gets what changes.
    pub waiting: BTreeSet<u64>,
    /// The directory is to go, or is closed.
    pub over: Option<Status>,
}

impl Watch {
    /// What one change of the share was.
    pub fn push(&mut self, changes: Vec<Change>) {
        if self.changes.is_empty() && !self.overflown && self.answers.len() < self.waiting.len() {
            return self.answers.push_back(changes);
        }
        if self.changes.len() + changes.len() > CHANGES_MAX {
            self.overflown = true;
            self.changes.clear();
        }
        if !self.overflown {
            self.changes.extend(changes);
        }
    }

    /// What the first request that waits is told, if there is anything.
    pub fn take(&mut self) -> Option<Vec<Change>> {
        let kept = |watch: &mut Self| Some(std::mem::take(&mut watch.changes)).filter(|changes| !changes.is_empty());
        self.answers.pop_front().or_else(|| kept(self))
    }

    /// The request does not wait any more. What it was to be told, and did not take, is kept for the next one.
    pub fn leave(&mut self, message: u64) {
        self.waiting.remove(&message);
        while self.answers.len() > self.waiting.len() {
            let later = std::mem::take(&mut self.changes);
            self.changes = self.answers.pop_back().unwrap_or_default();
            self.changes.extend(later);
        }
    }
}

impl Open {
    pub fn new(id: FileId, account: String, client: [u8; 16], what: What, session: u64, tree: u32) -> Self {
        let state = State { session, tree, ..State::default() };
        Self {
            id,
            account,
            what,
            access: Access::ALL,
            options: CreateOptions::default(),
            durable: None,
            client,
            state: Mutex::new(state),
            changed: Notify::new(),
        }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn file(&self) -> Result<&File, Status> {
        match &self.what {
            What::File(file) => Ok(file),
            What::Pipe(_) => Err(Status::InvalidDeviceRequest),
        }
    }

    /// Whether the client was given any of these rights.
    pub fn may(&self, any_of: Access) -> Result<(), Status> {
        if self.access.0 & any_of.0 == 0 { Err(Status::AccessDenied) } else { Ok(()) }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Opens {
    by_id: HashMap<u64, Arc<Open>>,
    /// By share too: a handle's number is its share's.
    by_handle: HashMap<(ShareAt, u64), u64>,
}

impl Opens {
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn is_full(&self) -> bool {
        self.by_id.len() >= LIMITS.opens
    }

    pub fn insert(&mut self, open: Arc<Open>) {
        if let What::File(file) = &open.what
            && file.at.snapshot.is_none()
        {
            self.by_handle.insert((file.at.share.clone(), file.at.handle), open.id.volatile);
        }
        self.by_id.insert(open.id.volatile, open);
    }

    /// The one that a session has under this id.
    pub fn get(&self, id: FileId, session: u64) -> Option<Arc<Open>> {
        let open = self.by_id.get(&id.volatile).filter(|open| open.id == id)?;
        (open.state().session == session).then(|| open.clone())
    }

    pub fn by_handle(&self, share: &ShareAt, handle: u64) -> Option<Arc<Open>> {
        self.by_handle.get(&(share.clone(), handle)).and_then(|id| self.by_id.get(id)).cloned()
    }

    pub fn remove(&mut self, id: FileId) -> Option<Arc<Open>> {
        let open = self.by_id.remove(&id.volatile)?;
        if let What::File(file) = &open.what {
            self.by_handle.remove(&(file.at.share.clone(), file.at.handle));
        }
        Some(open)
    }

    /// The shares in which something is open, each once.
    pub fn shares(&self) -> Vec<ShareAt> {
        let files = self.all().filter_map(|open| open.file().ok());
        let shares: HashSet<&ShareAt> = files.map(|file| &file.at.share).collect();
        shares.into_iter().cloned().collect()
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<Open>> {
        self.by_id.values()
    }
}

#[cfg(test)]
mod tests {
    use lazuli_store::Happened;

    use super::*;

    fn change(name: &str) -> Vec<Change> {
        vec![Change { happened: Happened::Added, path: name.into() }]
    }

    fn names(changes: Option<Vec<Change>>) -> Vec<String> {
        changes.into_iter().flatten().map(|change| change.path).collect()
    }

    #[test]
    fn a_request_that_waits_is_told_of_the_first_change_alone() {
        let mut watch = Watch::default();
        watch.waiting.insert(7);
        for name in ["a", "b", "c"] {
            watch.push(change(name));
        }
        assert_eq!(names(watch.take()), ["a"]);
        watch.leave(7);
        watch.push(change("d"));
        watch.waiting.insert(8);
        watch.push(change("e"));
        assert_eq!(names(watch.take()), ["b", "c", "d", "e"], "all that came while none waited, in its order");
        assert_eq!(watch.take().map(|_| ()), None);
    }

    #[test]
    fn what_a_cancelled_request_was_to_be_told_is_kept_in_its_order() {
        let mut watch = Watch::default();
        watch.waiting.extend([7, 8]);
        for name in ["a", "b", "c"] {
            watch.push(change(name));
        }
        watch.leave(7);
        assert_eq!(names(watch.take()), ["a"]);
        watch.leave(8);
        assert_eq!(names(watch.take()), ["b", "c"]);
    }
}
