//! Who has which numbers of extents, so that what a dead gateway left behind can be found.
//!
//! ```text
//!  object x     n                    → the next number (8)
//!               c first number       → the gateway that takes extents from this run of numbers (16)
//!               h gateway            → when it was last heard of (8)
//! ```
//!
//! Held true: a run of numbers is written down before any of them is used, and stays until each number of it is settled: named by a
//! committed record, or without objects.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::OnceCell;

use super::fence::{self, DEAD};
use super::pool::{Found, Pool, ReadStep, Trouble, WriteStep};
use crate::clock::TICKS_PER_SECOND;
use crate::{Clock, Fault};

const OBJECT: &str = "x";
const NEXT: Bytes = Bytes::from_static(b"n");
const RUNS: u8 = b'c';
const HEARTBEATS: u8 = b'h';
/// Numbers that a gateway takes at once.
const RUN: u64 = 256;
const TRIES: u32 = 64;
/// How often a gateway says that it is there, and after how long a silence it counts as dead.
pub const HEARTBEAT_SECONDS: u64 = 10;
const SILENCE_SECONDS: u64 = 600;
/// A gateway that could not say it for so long takes itself for dead, well before others do: what it staged may be gone soon.
const OWN_SILENCE_SECONDS: u64 = 300;

pub(super) struct Extents {
    pool: Arc<dyn Pool>,
    gateway: u128,
    clock: Arc<Clock>,
    /// When this gateway last said that it is there.
    heard: AtomicU64,
    /// The cluster takes nothing from it any more.
    is_shut_out: AtomicBool,
    /// Set once the cluster knows which client this gateway is.
    enrolled: OnceCell<()>,
    mine: Mutex<Mine>,
    /// One run is taken at a time.
    taking: tokio::sync::Mutex<()>,
    /// What dead gateways left: first number of the run, and which numbers of it are not settled.
    left: Mutex<BTreeMap<u64, HashSet<u64>>>,
    /// Gateways that this one had shut out, as long as there are traces of them.
    fenced: Mutex<HashSet<u128>>,
}

#[derive(Default)]
struct Mine {
    next: u64,
    end: u64,
    /// Of each run that is written down: the numbers that are given out and not settled, and those still to be given out.
    open: BTreeMap<u64, HashSet<u64>>,
}

impl Extents {
    pub fn new(pool: Arc<dyn Pool>, gateway: u128, clock: Arc<Clock>) -> Self {
        let (mine, taking, left) = (Mutex::default(), tokio::sync::Mutex::default(), Mutex::default());
        let heard = AtomicU64::new(clock.now().0);
        let (is_shut_out, enrolled) = (AtomicBool::new(false), OnceCell::new());
        Self { pool, gateway, clock, heard, is_shut_out, enrolled, mine, taking, left, fenced: Mutex::default() }
    }

    /// A number that nobody has had.
    pub async fn next(&self) -> Result<u64, Fault> {
        if let Some(extent) = self.mine().take() {
            return Ok(extent);
        }
        let _taking = self.taking.lock().await;
        if let Some(extent) = self.mine().take() {
            return Ok(extent);
        }
        let first = self.take_run().await?;
        let mut mine = self.mine();
        (mine.next, mine.end) = (first, first + RUN);
        mine.open.insert(first, HashSet::new());
        Ok(mine.take().expect("a run has numbers"))
    }

    /// A run that another operator took, though its answer was lost, is lost too: it is settled after this gateway's death.
    async fn take_run(&self) -> Result<u64, Fault> {
        self.enrolled.get_or_try_init(|| fence::enrol(&*self.pool, self.gateway)).await?;
        for _ in 0..TRIES {
            let stored = match self.pool.read(OBJECT, vec![ReadStep::Rows(vec![NEXT])]).await {
                Ok(mut reading) => match reading.found.pop() {
                    Some(Found::Rows { rows, .. }) => rows.into_iter().next().map(|(_, value)| value),
                    Some(Found::Bytes(_)) | None => None,
                },
                Err(Trouble::Missing) => None,
                Err(trouble) => return Err(trouble.into()),
            };
            let first = match &stored {
                Some(value) => value.first_chunk().map(|next| u64::from_be_bytes(*next)).ok_or_else(strange)?,
                None => 1,
            };
            let steps = vec![
                WriteStep::Compare { key: NEXT, value: stored.unwrap_or_default() },
                WriteStep::Set(vec![
                    (NEXT, Bytes::copy_from_slice(&(first + RUN).to_be_bytes())),
                    (run(first), Bytes::copy_from_slice(&self.gateway.to_be_bytes())),
                    (heartbeat(self.gateway), Bytes::copy_from_slice(&self.clock.now().0.to_be_bytes())),
                ]),
            ];
            match self.pool.write(OBJECT, steps).await {
                Ok(()) => return Ok(first),
                Err(Trouble::Changed | Trouble::Lost) => {}
                Err(trouble) => return Err(trouble.into()),
            }
        }
        Err(Fault::Busy)
    }

    /// A record names the extent, or its objects are gone.
    pub fn settled(&self, extent: u64) {
        self.mine().settle(extent);
    }

    /// Extents of dead gateways that nobody has looked after yet.
    pub fn unsettled(&self) -> Vec<u64> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.values().flatten().copied().collect()
    }

    /// What a dead gateway left of an extent is looked after.
    pub async fn settle(&self, extent: u64) -> Result<(), Fault> {
        let done = {
            let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
            let Some((first, numbers)) = left.range_mut(..=extent).next_back() else { return Ok(()) };
            numbers.remove(&extent);
            numbers.is_empty().then_some(*first)
        };
        let Some(first) = done else { return Ok(()) };
        self.forget(vec![run(first)]).await?;
        self.left.lock().unwrap_or_else(PoisonError::into_inner).remove(&first);
        Ok(())
    }

    /// Says that this gateway is there, and forgets runs of its own that are settled.
    pub async fn beat(&self) -> Result<(), Fault> {
        if !self.is_alive() {
            return Err(Fault::Unavailable(DEAD.into()));
        }
        let done = self.mine().done();
        let now = self.clock.now().0;
        let told = Bytes::copy_from_slice(&now.to_be_bytes());
        let mut steps = vec![WriteStep::Set(vec![(heartbeat(self.gateway), told)])];
        if !done.is_empty() {
            steps.push(WriteStep::Remove(done.iter().map(|first| run(*first)).collect()));
        }
        let told = self.pool.write(OBJECT, steps).await;
        if told == Err(Trouble::ShutOut) {
            self.is_shut_out.store(true, Ordering::Relaxed);
        }
        told.map_err(Fault::from)?;
        self.heard.fetch_max(now, Ordering::Relaxed);
        let mut mine = self.mine();
        done.iter().for_each(|first| drop(mine.open.remove(first)));
        Ok(())
    }

    /// Whether what this gateway staged is certain to be there. Once it is not, it never is again.
    pub fn is_alive(&self) -> bool {
        let silence = self.clock.now().0.saturating_sub(self.heard.load(Ordering::Relaxed));
        silence <= OWN_SILENCE_SECONDS * TICKS_PER_SECOND && !self.is_shut_out.load(Ordering::Relaxed)
    }

    /// Looks for runs of gateways that are dead, and has those gateways shut out first: no object of theirs comes after it was looked for.
    pub async fn look_for_dead(&self) -> Result<(), Fault> {
        let (runs, beats) = (self.all(RUNS).await?, self.all(HEARTBEATS).await?);
        let beats: BTreeMap<Bytes, u64> = beats
            .into_iter()
            .filter_map(|(key, value)| Some((key, u64::from_be_bytes(*value.first_chunk()?))))
            .collect();
        let now = self.clock.now().0;
        let is_dead = |gateway: u128| {
            let heard = beats.get(&heartbeat(gateway)).copied().unwrap_or(0);
            gateway != self.gateway && heard + SILENCE_SECONDS * TICKS_PER_SECOND < now
        };
        let mut owned = Vec::with_capacity(runs.len());
        for (key, value) in runs {
            let first = std::str::from_utf8(&key[1..]).ok().and_then(|first| u64::from_str_radix(first, 16).ok());
            let gateway = value.first_chunk().map(|gateway| u128::from_be_bytes(*gateway));
            owned.push(first.zip(gateway).ok_or_else(strange)?);
        }
        let heard = beats.keys().filter_map(|key| u128::from_str_radix(std::str::from_utf8(&key[1..]).ok()?, 16).ok());
        let owners: HashSet<u128> = owned.iter().map(|(_, gateway)| *gateway).collect();
        let dead: HashSet<u128> = heard.chain(owners.iter().copied()).filter(|gateway| is_dead(*gateway)).collect();
        self.shut_out(&dead).await?;
        {
            let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
            for (first, _) in owned.iter().filter(|(_, gateway)| dead.contains(gateway)) {
                left.entry(*first).or_insert_with(|| (*first..first + RUN).collect());
            }
        }
        let silent = dead.difference(&owners);
        let silent: Vec<Bytes> =
            silent.flat_map(|gateway| [heartbeat(*gateway), fence::client_row(*gateway)]).collect();
        if silent.is_empty() { Ok(()) } else { self.forget(silent).await }
    }

    async fn shut_out(&self, dead: &HashSet<u128>) -> Result<(), Fault> {
        for gateway in dead {
            let is_done = self.fenced.lock().unwrap_or_else(PoisonError::into_inner).contains(gateway);
            if !is_done {
                fence::fence(&*self.pool, *gateway).await?;
                self.fenced.lock().unwrap_or_else(PoisonError::into_inner).insert(*gateway);
            }
        }
        self.fenced.lock().unwrap_or_else(PoisonError::into_inner).retain(|gateway| dead.contains(gateway));
        Ok(())
    }

    async fn forget(&self, keys: Vec<Bytes>) -> Result<(), Fault> {
        match self.pool.write(OBJECT, vec![WriteStep::Remove(keys)]).await {
            Ok(()) | Err(Trouble::Missing) => Ok(()),
            Err(trouble) => Err(trouble.into()),
        }
    }

    async fn all(&self, kind: u8) -> Result<Vec<(Bytes, Bytes)>, Fault> {
        let (mut all, mut after) = (Vec::<(Bytes, Bytes)>::new(), Bytes::new());
        loop {
            let step = ReadStep::Range { after, prefix: Bytes::from(vec![kind]), limit: 1000 };
            let found = match self.pool.read(OBJECT, vec![step]).await {
                Ok(mut reading) => reading.found.pop(),
                Err(Trouble::Missing) => return Ok(all),
                Err(trouble) => return Err(trouble.into()),
            };
            let Some(Found::Rows { rows, more }) = found else { return Ok(all) };
            all.extend(rows);
            match all.last().filter(|_| more) {
                Some((last, _)) => after = last.clone(),
                None => return Ok(all),
            }
        }
    }

    fn mine(&self) -> std::sync::MutexGuard<'_, Mine> {
        self.mine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mine {
    fn take(&mut self) -> Option<u64> {
        (self.next < self.end).then(|| {
            let extent = self.next;
            self.next += 1;
            let (_, open) = self.open.range_mut(..=extent).next_back().expect("numbers are taken from an open run");
            open.insert(extent);
            extent
        })
    }

    fn settle(&mut self, extent: u64) {
        if let Some((_, open)) = self.open.range_mut(..=extent).next_back() {
            open.remove(&extent);
        }
    }

    /// Runs that are given out, with every number settled.
    fn done(&self) -> Vec<u64> {
        let given_out = |first: u64| first + RUN <= self.next || first + RUN < self.end;
        self.open
            .iter()
            .filter(|(first, open)| open.is_empty() && given_out(**first))
            .map(|(first, _)| *first)
            .collect()
    }
}

fn run(first: u64) -> Bytes {
    format!("{}{first:016x}", char::from(RUNS)).into()
}

fn heartbeat(gateway: u128) -> Bytes {
    format!("{}{gateway:032x}", char::from(HEARTBEATS)).into()
}

fn strange() -> Fault {
    Fault::Corrupt(format!("the object {OBJECT} has rows that are none of ours"))
}
