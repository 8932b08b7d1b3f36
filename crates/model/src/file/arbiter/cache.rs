//! What clients cache: what is granted, what is broken, and how a break goes on until it has ended.
//!
//! Held true: all handles that share a cache have the same caching, epoch and break. Only R is taken away without an answer; who caches
//! writes or the handle has to answer first, and is asked again then if more is wanted by that time.

use super::{Break, Breaking, Cache, Caching, Notice, Open, Opening, Standing};
use crate::Timestamp;

/// What became of an acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// It was taken; and these are told next.
    Done(Vec<Notice>),
    /// No break was under way.
    Unasked,
    /// It keeps more than it was asked to.
    TooMuch,
}

impl Standing {
    /// Marks breaks as asked for. Gives what clients have to be told: nothing for a break that is under way.
    pub fn mark(&mut self, breaks: &[Break], now: Timestamp) -> Vec<Notice> {
        let mut notices = Vec::new();
        for asked in breaks {
            let Some(open) = self.opens.iter().find(|open| open.handle == asked.handle).cloned() else { continue };
            let to = open.caching.both(asked.to);
            if let Some(breaking) = open.breaking {
                let breaking = Breaking { wanted: breaking.wanted.both(to), ..breaking };
                self.each_sharing(&open, |open| open.breaking = Some(breaking));
            } else if to != open.caching {
                let epoch = open.epoch.wrapping_add(1);
                notices.push(self.ask(&open, to, to, epoch, now));
            }
        }
        self.check();
        notices
    }

    /// Begins a break; or ends it at once, if there is only R to take away.
    fn ask(&mut self, open: &Open, to: Caching, wanted: Caching, epoch: u16, now: Timestamp) -> Notice {
        let acknowledged = open.caching.write || open.caching.handle;
        self.each_sharing(open, |open| {
            open.epoch = epoch;
            if acknowledged {
                open.breaking = Some(Breaking { to, wanted, since: now });
            } else {
                (open.caching, open.breaking) = (to, None);
            }
        });
        let (gateway, handle, cache) = (open.gateway, open.handle, open.cache);
        Notice { gateway, handle, cache, from: open.caching, to, epoch, acknowledged }
    }

    fn each_sharing(&mut self, with: &Open, change: impl Fn(&mut Open)) {
        let (cache, handle) = (with.cache, Some(with.handle));
        self.opens.iter_mut().filter(|open| open.shares_cache(cache, handle)).for_each(change);
    }

    /// An open of the same lease, if there is one.
    fn sharing(&self, cache: Cache) -> Option<&Open> {
        self.opens.iter().find(|open| open.shares_cache(cache, None))
    }

    /// A handle that has another caching, epoch or break than one that shares its cache: what is held true forbids it.
    pub fn disagreement(&self) -> Option<(&Open, &Open)> {
        let state = |open: &Open| (open.caching, open.epoch, open.breaking);
        self.opens.iter().find_map(|open| {
            let first = self.opens.iter().find(|other| other.shares_cache(open.cache, Some(open.handle)))?;
            (state(first) != state(open)).then_some((first, open))
        })
    }

    /// Adds a handle that was let in. It joins the cache of those with its lease, whose state it raises if all that it asked for was granted.
    pub fn admit(&mut self, mut open: Open, asked: Caching, granted: Caching) -> Open {
        open.caching = granted;
        if let Some(other) = self.sharing(open.cache).cloned() {
            (open.caching, open.epoch, open.breaking) = (other.caching, other.epoch, other.breaking);
            let whole = asked == granted;
            let raises = whole && other.breaking.is_none() && other.caching != granted && other.caching.within(granted);
            if raises {
                (open.caching, open.epoch) = (granted, other.epoch.wrapping_add(1));
                self.each_sharing(&other, |open| {
                    open.caching = granted;
                    open.epoch = open.epoch.wrapping_add(1);
                });
            }
        }
        self.opens.push(open.clone());
        self.check();
        open
    }

    /// What is held true of each break, at the end of a change of caches.
    fn check(&self) {
        debug_assert!(
            self.opens.iter().filter_map(|open| Some((open, open.breaking?))).all(|(open, breaking)| {
                breaking.wanted.within(breaking.to) && breaking.to.within(open.caching) && breaking.to != open.caching
            }),
            "a break takes something away, and never gives"
        );
    }
}

/// What a client may cache with a new handle. Reads, as long as there are no locks; writes, if it is the only client; and the handle, unless
/// oplocks and leases come together on it.
pub(super) fn granted(opening: &Opening, standing: &Standing) -> Caching {
    let asked = opening.caching;
    let locked = standing.opens.iter().any(|open| !open.locks.is_empty());
    if !asked.read || locked {
        return Caching::NONE;
    }
    let mut others = standing.opens.iter().filter(|open| !open.shares_cache(opening.cache, None));
    // Who only looks at attributes has not broken what others write.
    if others.clone().any(|open| open.caching.write) {
        return Caching::NONE;
    }
    let alone = others.clone().all(|open| open.attributes_only && open.caching == Caching::NONE);
    let handle_leased = others.clone().any(|open| open.cache != Cache::Oplock && open.caching.handle);
    let oplocked = others.any(|open| open.cache == Cache::Oplock && open.caching != Caching::NONE);
    let granted = Caching { read: true, write: asked.write && alone, handle: asked.handle };
    match opening.cache {
        Cache::Oplock if handle_leased => Caching::NONE,
        Cache::Oplock => Caching { handle: granted.handle && granted.write, ..granted },
        Cache::Lease { .. } => Caching { handle: granted.handle && !oplocked, ..granted },
    }
}

/// What is read through all caches but `own` is stale from now on; and through its own as well, if that is an oplock that it shares with
/// others: nothing tells such a client's handles from others'.
pub(super) fn stale(standing: &Standing, own: &Open) -> Vec<Break> {
    let mut asked: Vec<Break> = breaks(standing, Some(own), |_| Caching::NONE).map(|(_, asked)| asked).collect();
    if own.cache == Cache::Oplock && own.caching == Caching::READ {
        asked.push(Break { handle: own.handle, to: Caching::NONE });
    }
    asked
}

/// What each cache but `own` has to give up by `of`.
pub(super) fn breaks<'a>(
    standing: &'a Standing,
    own: Option<&'a Open>,
    of: impl Fn(&Open) -> Caching + 'a,
) -> impl Iterator<Item = (&'a Open, Break)> + 'a {
    let others = standing
        .opens
        .iter()
        .enumerate()
        .filter(move |(_, open)| own.is_none_or(|own| !open.shares_cache(own.cache, Some(own.handle))));
    let first = move |at: usize, open: &Open| {
        let before = &standing.opens[..at];
        !before.iter().any(|other| other.shares_cache(open.cache, Some(open.handle)))
    };
    others.filter(move |(at, open)| first(*at, open)).filter_map(move |(_, open)| {
        let to = lowered(open, of(open));
        (to != open.caching).then_some((open, Break { handle: open.handle, to }))
    })
}

/// An oplock is broken to R, or to nothing.
pub(super) fn lowered(open: &Open, to: Caching) -> Caching {
    let to = open.caching.both(to);
    match open.cache {
        Cache::Oplock if to != open.caching => to.both(Caching::READ),
        Cache::Oplock | Cache::Lease { .. } => to,
    }
}

/// A client says what it has gone down to, for the handle of an oplock or for all of a lease.
pub fn acknowledge(
    standing: &mut Standing,
    cache: Cache,
    handle: Option<u64>,
    to: Caching,
    now: Timestamp,
) -> Acknowledged {
    let Some(open) = standing.opens.iter().find(|open| open.shares_cache(cache, handle)).cloned() else {
        return Acknowledged::Unasked;
    };
    let Some(breaking) = open.breaking else { return Acknowledged::Unasked };
    if !to.within(breaking.to) {
        return Acknowledged::TooMuch;
    }
    standing.each_sharing(&open, |open| (open.caching, open.breaking) = (to, None));
    let open = Open { caching: to, breaking: None, ..open };
    let wanted = breaking.wanted.both(to);
    if wanted == to {
        return Acknowledged::Done(Vec::new());
    }
    // In steps: the handle goes before reads do (smb2.lease.breaking3).
    let next = if to.handle && !wanted.handle && to != Caching::NONE { to.without_handle() } else { wanted };
    Acknowledged::Done(vec![standing.ask(&open, next, wanted, open.epoch, now)])
}
