//! A scan of a space: shards side by side, in the order of keys.
//!
//! Held true:
//! * what a scan has read of a shard is of one moment of it: if the object has changed since the last read, all is read again by one
//!   operator. So each partition, which is within one shard, is shown as of one moment;
//! * where the rows of a column are in the order of their partitions, a scan reads shards one after the other, as far as it goes; else
//!   it reads all of them a little at a time and merges.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures_util::future::join_all as all;

use super::directory::position;
use super::fetch::{Moment, Place, fetch};
use super::loaded::Loaded;
use super::state::{Shards, State};
use super::{Gateway, names};
use crate::memory::Fence;
use crate::txn::{Ran, attempt_with};
use crate::{Column, Fault, Halt, Key, Layout, Space, Txn, Verdict, View, Want};

/// Rows that are asked of each shard at first, where many are merged.
const MERGE_FIRST: usize = 16;

pub(super) async fn scan(
    gateway: &Gateway,
    space: Space,
    scan: &mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
) -> Result<(), Fault> {
    let mut moves = 0;
    loop {
        let mut view = Merged::new(gateway.layout, space, gateway.directory.shards(space));
        match run(gateway, &mut view, scan).await? {
            Ended::Whole => return Ok(()),
            Ended::Moved(place, state) => gateway.moved(place, &state).await?,
        }
        moves += 1;
        gateway.refuse_after(moves)?;
    }
}

enum Ended {
    Whole,
    Moved(Place, State),
}

async fn run(
    gateway: &Gateway,
    view: &mut Merged,
    scan: &mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
) -> Result<Ended, Fault> {
    // The same at each run: a scan may read up to now, and would miss something new each time.
    let now = gateway.clock.now();
    loop {
        view.missed.clear();
        let fence = Fence::Space(view.space);
        match attempt_with(scan, &mut fence.around(view), now)? {
            Ran::Committed(_) | Ran::Refused => return Ok(Ended::Whole),
            Ran::Missed if view.missed.is_empty() => {
                return Err(Fault::Unavailable("a scan missed nothing".into()));
            }
            Ran::Missed => {}
        }
        let reads = std::mem::take(&mut view.missed).into_iter().map(|(at, want)| {
            let place = Place { space: view.space, shard: view.map[at].1 };
            async move { (at, want.clone(), read(gateway, place, vec![want]).await) }
        });
        for (at, want, moment) in all(reads).await {
            if let Some(ended) = take_in(gateway, view, at, want, moment?).await? {
                return Ok(ended);
            }
        }
    }
}

async fn read(gateway: &Gateway, place: Place, wants: Vec<Want>) -> Result<Moment, Fault> {
    gateway.counters.reads.fetch_add(1, Ordering::Relaxed);
    fetch(&*gateway.pool, place, names::gateway(gateway.id), &[], &wants).await
}

/// Adds a read to what is known of the shard; if the shard has changed since, all of it is read again.
async fn take_in(
    gateway: &Gateway,
    view: &mut Merged,
    at: usize,
    want: Want,
    mut moment: Moment,
) -> Result<Option<Ended>, Fault> {
    let place = Place { space: view.space, shard: view.map[at].1 };
    let shard = &mut view.shards[at];
    shard.wants.push(want);
    if shard.object.is_some_and(|object| object != moment.object) {
        moment = read(gateway, place, shard.wants.clone()).await?;
        shard.loaded = Loaded::default();
        (0..shard.wants.len()).for_each(|want| moment.load(want, &mut shard.loaded));
    } else {
        moment.load(0, &mut shard.loaded);
    }
    shard.object = Some(moment.object);
    Ok(match moment.state {
        State::Live | State::Splitting(_) => None,
        state @ (State::Split(_) | State::Gone | State::Filling) => Some(Ended::Moved(place, state)),
    })
}

struct Merged {
    layout: Layout,
    space: Space,
    map: Arc<Shards>,
    shards: Vec<Part>,
    missed: Vec<(usize, Want)>,
}

/// What is known of a shard.
#[derive(Default)]
struct Part {
    /// The object's version when it was read.
    object: Option<u64>,
    loaded: Loaded,
    wants: Vec<Want>,
}

impl Merged {
    fn new(layout: Layout, space: Space, map: Arc<Shards>) -> Self {
        let shards = map.iter().map(|_| Part::default()).collect();
        Self { layout, space, map, shards, missed: Vec::new() }
    }

    fn miss(&mut self, missed: impl IntoIterator<Item = (usize, Want)>) -> Halt {
        if self.missed.is_empty() {
            self.missed.extend(missed);
        }
        Halt::Miss
    }

    /// The shards that may have rows with `from <= key < to`, each with its part of the range. One after the other, if the rows of
    /// the column lie in the order of their partitions: a layout says so by finding, in a row that is the first partition of a
    /// shard and nothing else, just that partition.
    fn parts(&self, from: &Key, to: &Key) -> (bool, Vec<(usize, Key, Key)>) {
        let whole = |at| (at, from.clone(), to.clone());
        let column = from.column();
        let is_within = *to <= Key::new(self.space, column, &[]).after_prefix();
        if self.map.len() == 1 || !is_within || !self.map[1..].iter().all(|(first, _)| self.leads(column, first)) {
            return (false, (0..self.map.len()).map(whole).collect());
        }
        let start = |at: usize| Key::new(self.space, column, &[&self.map[at].0]);
        let first = position(&self.map, &from.row());
        let parts = (first..self.map.len()).take_while(|at| *at == first || start(*at) < *to).map(|at| {
            let end = if at + 1 < self.map.len() { start(at + 1).min(to.clone()) } else { to.clone() };
            (at, if at == first { from.clone() } else { start(at) }, end)
        });
        (true, parts.collect())
    }

    fn leads(&self, column: Column, first: &Bytes) -> bool {
        (self.layout)(&Key::new(self.space, column, &[first])).is_some_and(|owner| owner.name == *first)
    }
}

impl View for Merged {
    fn get(&mut self, key: &Key) -> Result<Option<Bytes>, Halt> {
        // A key of no partition was never written here.
        let Some(owner) = (self.layout)(key) else { return Ok(None) };
        let at = position(&self.map, &owner.name);
        match self.shards[at].loaded.find(key, &key.successor(), 1) {
            Ok(found) => Ok(found.first().map(|(_, value)| Bytes::clone(value))),
            Err(_) => Err(self.miss([(at, Want::Get(key.clone()))])),
        }
    }

    fn scan(&mut self, from: &Key, to: &Key, limit: usize) -> Result<Vec<(Key, Bytes)>, Halt> {
        if from >= to || limit == 0 {
            return Ok(Vec::new());
        }
        let (in_order, parts) = self.parts(from, to);
        if in_order || parts.len() == 1 {
            let mut found = Vec::new();
            for (at, from, to) in parts {
                if found.len() == limit {
                    break;
                }
                match self.shards[at].loaded.find(&from, &to, limit - found.len()) {
                    Ok(rows) => found.extend(rows.into_iter().map(|(key, value)| (key.clone(), value.clone()))),
                    Err(lacking) => return Err(self.miss([(at, lacking)])),
                }
            }
            return Ok(found);
        }
        self.merge(from, to, limit)
    }

    fn last(&mut self, from: &Key, to: &Key) -> Result<Option<(Key, Bytes)>, Halt> {
        let (mut last, mut lacking) = (None::<(&Key, &Bytes)>, Vec::new());
        for (at, from, to) in self.parts(from, to).1 {
            match self.shards[at].loaded.find_last(&from, &to) {
                Ok(found) => last = last.max(found),
                Err(want) => lacking.push((at, want)),
            }
        }
        if lacking.is_empty() {
            return Ok(last.map(|(key, value)| (key.clone(), value.clone())));
        }
        Err(self.miss(lacking))
    }
}

impl Merged {
    /// The first rows of all shards together: as far as each of them is known.
    fn merge(&mut self, from: &Key, to: &Key, limit: usize) -> Result<Vec<(Key, Bytes)>, Halt> {
        let mut rows = Vec::new();
        // The shards that are known least far, and how far that is.
        let (mut horizon, mut lacking) = (to.clone(), Vec::new());
        for (at, shard) in self.shards.iter().enumerate() {
            let mut known = from.clone();
            let lacks = match shard.loaded.find(from, to, limit) {
                Ok(found) => {
                    rows.extend(found);
                    continue;
                }
                Err(Want::Scan { from, .. } | Want::Get(from)) => from,
            };
            if known < lacks {
                rows.extend(shard.loaded.find(&known, &lacks, limit).unwrap_or_default());
                known = lacks;
            }
            if known < horizon {
                horizon = known.clone();
            }
            lacking.push((at, known));
        }
        rows.sort();
        let certain = rows.partition_point(|(key, _)| **key < horizon);
        if lacking.is_empty() || certain >= limit {
            return Ok(rows.into_iter().take(limit).map(|(key, value)| (key.clone(), value.clone())).collect());
        }
        // Each is asked for its share of what is missing, and a little more.
        let page = (limit - certain) / self.map.len() * 2 + MERGE_FIRST;
        let behind = lacking.into_iter().filter(|(_, known)| *known == horizon || page >= super::fetch::PAGE);
        let wants: Vec<_> = behind.map(|(at, from)| (at, Want::Scan { from, to: to.clone(), limit: page })).collect();
        Err(self.miss(wants))
    }
}
