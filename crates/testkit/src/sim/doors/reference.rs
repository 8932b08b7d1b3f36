//! One file of a share, as two doors see it: the rules of share modes, byte-range locks and pending deletions, written from the
//! documentation ("Managing file locks", [MS-SMB2]) and not from `model`.
//!
//! What clients cache has no state here: a client that caches writes has written, and a cache that lies is a history without an order.

use std::collections::BTreeMap;

use crate::linear::Specification;

pub const PAGES: usize = 3;
/// Bytes of a page: one number.
pub const PAGE: usize = 8;

pub struct OneFile;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rights {
    pub read: bool,
    pub write: bool,
    pub delete: bool,
}

impl Rights {
    pub fn of(letters: &str) -> Self {
        Self { read: letters.contains('R'), write: letters.contains('W'), delete: letters.contains('D') }
    }

    fn within(self, other: Self) -> bool {
        (!self.read || other.read) && (!self.write || other.write) && (!self.delete || other.delete)
    }
}

/// Handles have numbers of the simulation's own.
#[derive(Clone, Debug)]
pub enum Call {
    Open {
        handle: u64,
        access: Rights,
        share: Rights,
        creates: bool,
        deletes: bool,
        leased: bool,
    },
    Read {
        handle: u64,
        page: usize,
    },
    Write {
        handle: u64,
        page: usize,
        value: u64,
    },
    Lock {
        handle: u64,
        page: usize,
        exclusive: bool,
    },
    Unlock {
        handle: u64,
        page: usize,
    },
    Flag {
        handle: u64,
        pending: bool,
    },
    Close {
        handle: u64,
    },
    /// Its connection or its gateway is lost: it goes, now or later, or is taken up again.
    Vanish {
        handle: u64,
    },
    /// It is taken up again after its connection was lost.
    TakeUp {
        handle: u64,
    },
    RestRead,
    RestWrite {
        page: usize,
        value: u64,
    },
    RestCreate,
    RestDelete,
    RestList,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    /// What was read.
    Pages(Vec<u64>),
    Listed(bool),
    Refused(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Handle {
    access: Rights,
    share: Rights,
    deletes: bool,
    leased: bool,
    /// Pages, and whether they are locked for itself alone.
    locks: BTreeMap<usize, bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// What is written, and how many pages there are.
    file: Option<([u64; PAGES], usize)>,
    pending: bool,
    opens: BTreeMap<u64, Handle>,
}

impl State {
    fn lock(&self, not: Option<u64>, page: Option<usize>, exclusive_only: bool) -> bool {
        let others = self.opens.iter().filter(|(handle, _)| Some(**handle) != not);
        let mut locks = others.flat_map(|(_, open)| &open.locks);
        locks.any(|(at, exclusive)| page.is_none_or(|page| page == *at) && (*exclusive || !exclusive_only))
    }

    fn close(&mut self, handle: u64) {
        if let Some(open) = self.opens.remove(&handle) {
            self.pending |= open.deletes;
        }
        if self.pending && self.opens.is_empty() {
            (self.file, self.pending) = (None, false);
        }
    }

    /// Why a REST call that needs these rights is refused.
    fn bars(&self, needs: Rights, whole: bool) -> Vec<&'static str> {
        let mut why = Vec::new();
        if self.file.is_none() {
            return vec!["ResourceNotFound"];
        }
        if self.pending {
            return vec!["DeletePending"];
        }
        if self.opens.values().any(|open| !needs.within(open.share)) {
            why.push("SharingViolation");
        }
        if self.lock(None, None, !whole) {
            why.push("FileLockConflict");
        }
        why
    }
}

/// The states after, or why not; and what it shows.
fn apply(state: &State, call: &Call) -> Result<(State, Answer), Vec<&'static str>> {
    let mut next = state.clone();
    let free = |why: Vec<&'static str>| if why.is_empty() { Ok(()) } else { Err(why) };
    let held = |handle: &u64| state.opens.get(handle).ok_or(vec!["FileClosed"]);
    let pages = |file: &Option<([u64; PAGES], usize)>| file.map_or([0; PAGES], |(pages, _)| pages);
    let mut answer = Answer::Done;
    match call {
        Call::Open { handle, access, share, creates, deletes, leased } => {
            if state.file.is_none() && !creates {
                return Err(vec!["ObjectNameNotFound"]);
            }
            free(if state.pending { vec!["DeletePending"] } else { vec![] })?;
            let fits = |open: &Handle| access.within(open.share) && open.access.within(*share);
            free(if state.opens.values().all(fits) { vec![] } else { vec!["SharingViolation"] })?;
            next.file = Some(state.file.unwrap_or(([0; PAGES], 0)));
            let (access, share, deletes, leased) = (*access, *share, *deletes, *leased);
            next.opens.insert(*handle, Handle { access, share, deletes, leased, locks: BTreeMap::new() });
        }
        Call::Read { handle, page } => {
            held(handle)?;
            free(if state.lock(Some(*handle), Some(*page), true) { vec!["FileLockConflict"] } else { vec![] })?;
            answer = Answer::Pages(vec![pages(&state.file)[*page]]);
        }
        Call::Write { handle, page, value } => {
            let own = held(handle)?.locks.get(page) == Some(&false);
            let locked = own || state.lock(Some(*handle), Some(*page), false);
            free(if locked { vec!["FileLockConflict"] } else { vec![] })?;
            let (content, length) = next.file.get_or_insert(([0; PAGES], 0));
            content[*page] = *value;
            *length = (*length).max(page + 1);
        }
        Call::Lock { handle, page, exclusive } => {
            held(handle)?;
            free(if state.lock(None, Some(*page), !exclusive) { vec!["LockNotGranted"] } else { vec![] })?;
            next.opens.get_mut(handle).ok_or(vec![])?.locks.insert(*page, *exclusive);
        }
        Call::Unlock { handle, page } => {
            held(handle)?;
            next.opens.get_mut(handle).ok_or(vec![])?.locks.remove(page);
        }
        Call::Flag { handle, pending } => {
            held(handle)?;
            next.pending = *pending;
        }
        Call::Close { handle } => {
            held(handle)?;
            next.close(*handle);
        }
        Call::Vanish { handle } => next.close(*handle),
        Call::TakeUp { handle } => {
            free(if state.opens.contains_key(handle) { vec![] } else { vec!["ObjectNameNotFound"] })?
        }
        Call::RestRead => {
            free(state.bars(Rights::of("R"), false))?;
            answer = Answer::Pages(pages(&state.file).to_vec());
        }
        Call::RestWrite { page, value } => {
            let mut why = state.bars(Rights::of("W"), true);
            if state.file.is_some_and(|(_, length)| *page >= length) && !state.pending {
                why.push("InvalidRange");
            }
            free(why)?;
            if let Some((content, _)) = &mut next.file {
                content[*page] = *value;
            }
        }
        Call::RestCreate => {
            if state.file.is_some() {
                free(state.bars(Rights::of("WD"), true))?;
            }
            next.file = Some(([0; PAGES], PAGES));
        }
        Call::RestDelete => {
            let mut why = state.bars(Rights::default(), false);
            why.retain(|why| *why != "FileLockConflict");
            if why.is_empty() && !state.opens.is_empty() {
                why.push("SharingViolation");
            }
            free(why)?;
            next.file = None;
        }
        Call::RestList => answer = Answer::Listed(state.file.is_some() && !state.pending),
    }
    Ok((next, answer))
}

/// Somebody caches, and has not answered in time; or begins to while the call is under way.
fn may_be_late(state: &State, call: &Call) -> bool {
    let is_rest = match call {
        Call::RestRead | Call::RestWrite { .. } | Call::RestCreate | Call::RestDelete => true,
        Call::Open { .. } | Call::Read { .. } | Call::Write { .. } | Call::Lock { .. } | Call::Unlock { .. } => false,
        Call::Flag { .. } | Call::Close { .. } | Call::Vanish { .. } | Call::TakeUp { .. } | Call::RestList => false,
    };
    is_rest && state.opens.values().any(|open| open.leased)
}

impl Specification for OneFile {
    type State = State;
    type Op = Call;
    type Answer = Answer;

    fn initial(&self) -> State {
        State::default()
    }

    fn step(&self, state: &State, call: &Call, answer: Option<&Answer>) -> Vec<State> {
        let next = match (apply(state, call), answer) {
            (Ok((next, _)), None) => Some(next),
            (Err(_), None) => Some(state.clone()),
            (_, Some(Answer::Refused(code))) if code == "ClientCacheFlushDelay" && may_be_late(state, call) => {
                Some(state.clone())
            }
            (Ok((next, shown)), Some(answer)) => (shown == *answer).then_some(next),
            (Err(why), Some(Answer::Refused(code))) => why.contains(&code.as_str()).then(|| state.clone()),
            (Err(_), Some(_)) => None,
        };
        next.into_iter().collect()
    }
}
