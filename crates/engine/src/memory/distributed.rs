//! The map of `memory`, reached as a cluster would be: each transaction is a task that knows nothing at first, loads what
//! its decision misses, and commits only if nothing that it read has changed.
//!
//! Held true:
//! * everything random comes from the seed, so that a failing seed is the bug report;
//! * a decision may run on reads of different moments, but is answered, or refused, only on reads of one moment;
//! * a scan of a space is not of one moment: it is torn between partitions wherever the dice say so;
//! * a commit whose outcome was lost is looked up by the id it wrote, so that it is applied once and answered truly;
//! * nobody tries for ever: after so many conflicts the answer is `Fault::Busy`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLockReadGuard};

use bytes::Bytes;

use super::fence::Fence;
use super::{Cluster, Gateway, State, Whole};
use crate::txn::{Ran, attempt, attempt_with};
use crate::{Column, Fault, Halt, Job, Key, Partition, Space, Stamp, Txn, Verdict, View, Want};

/// How often a transaction is tried: enough that only a partition under siege gives up.
const TRIES_MAX: u32 = 64;
/// From the second conflict on, a transaction waits before it tries again, twice as long each time, up to this many turns of
/// the other tasks; which turn it takes is drawn, so that two that met do not meet again.
const BACKOFF_TURNS_MAX: u64 = 64;

/// How a cluster misbehaves: chances in a hundred, and the seed they are drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Manners {
    pub seed: u64,
    /// A commit fails for a conflict that nobody made.
    pub conflict_percent: u64,
    /// The outcome of a commit is lost on its way back: applied or not, nobody says.
    pub lost_percent: u64,
    /// The task yields before a step, up to three times.
    pub delay_percent: u64,
}

impl Manners {
    /// A cluster on a good day.
    pub fn gentle(seed: u64) -> Self {
        Self { seed, conflict_percent: 0, lost_percent: 0, delay_percent: 0 }
    }

    pub fn rough(seed: u64) -> Self {
        Self { seed, conflict_percent: 15, lost_percent: 15, delay_percent: 50 }
    }
}

pub(super) struct Distribution {
    manners: Manners,
    seeds: Mutex<Random>,
    /// What the cluster keeps beside the entries: guarded by the state's lock in spirit, taken after it.
    ledger: Mutex<Ledger>,
    round_trips: AtomicU64,
}

#[derive(Default)]
struct Ledger {
    /// The last stamp committed in each partition.
    stamps: HashMap<Partition, Stamp>,
    /// The ids that committed transactions wrote.
    ids: HashSet<u64>,
}

impl Distribution {
    pub fn new(manners: Manners) -> Self {
        Self {
            manners,
            seeds: Mutex::new(Random(manners.seed)),
            ledger: Mutex::default(),
            round_trips: AtomicU64::new(0),
        }
    }

    pub fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }

    fn dice(&self) -> Dice {
        let seed = self.seeds.lock().unwrap_or_else(PoisonError::into_inner).next();
        Dice { random: Random(seed), manners: self.manners }
    }
}

pub(super) async fn transact(gateway: Arc<Gateway>, at: Partition, mut job: Box<dyn Job>) {
    let fate = run(&gateway, &at, job.as_mut()).await;
    job.settle(fate);
}

async fn run(gateway: &Gateway, at: &Partition, job: &mut dyn Job) -> Result<(), Fault> {
    let cluster = &gateway.cluster;
    let distribution = cluster.distribution();
    let mut dice = distribution.dice();
    let id = dice.random.next();
    for tried in 0..TRIES_MAX {
        dice.back_off(tried).await;
        let wants = job.wants();
        let mut loaded = if wants.is_empty() { Loaded::default() } else { Loaded::wanting(wants, &cluster.ask()) };
        let stamp = gateway.clock.stamp();
        let writes = loop {
            dice.delay().await;
            let fence = Fence::Partition(at, cluster.layout);
            match attempt(job, &mut fence.around(&mut loaded), stamp)? {
                Ran::Committed(writes) => break writes,
                Ran::Refused => break BTreeMap::new(),
                Ran::Missed => loaded.load(&cluster.ask()),
            }
        };
        dice.delay().await;
        match commit(
            cluster,
            &mut dice,
            &Commit { id, gateway: gateway.id, at, stamp, loaded: &loaded, writes: &writes },
        ) {
            Outcome::Applied => return Ok(()),
            Outcome::Conflict => {}
            Outcome::Fenced(fault) => return Err(fault),
            // Another gateway's clock is ahead. Without this, a gateway would try in vain until its own has caught up.
            Outcome::Late(last) => gateway.clock.resume(last),
            Outcome::Lost => {
                dice.delay().await;
                if applied(distribution, id) {
                    return Ok(());
                }
            }
        }
    }
    Err(Fault::Busy)
}

pub(super) async fn look(
    gateway: &Gateway,
    at: &Partition,
    look: &mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
) -> Result<(), Fault> {
    let cluster = &gateway.cluster;
    let mut dice = cluster.distribution().dice();
    let fence = Fence::Partition(at, cluster.layout);
    for tried in 0..TRIES_MAX {
        dice.back_off(tried).await;
        let mut loaded = Loaded::default();
        loop {
            dice.delay().await;
            let Ran::Missed = attempt_with(look, &mut fence.around(&mut loaded), gateway.clock.now())? else { break };
            loaded.load(&cluster.ask());
        }
        // Nothing it read has changed since: so all of it was there together, now.
        if loaded.unchanged(&cluster.read()) {
            return Ok(());
        }
    }
    Err(Fault::Busy)
}

/// Some partitions as they were at the beginning, the others as they are some time later.
pub(super) async fn scan(
    gateway: &Gateway,
    space: Space,
    scan: &mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
) -> Result<(), Fault> {
    let cluster = &gateway.cluster;
    let mut dice = cluster.distribution().dice();
    let chooser = dice.random.next();
    let is_late = |key: &Key| match cluster.layout.and_then(|layout| layout(key)) {
        Some(owner) => chosen(chooser, &owner.name),
        None => chosen(chooser, key.as_bytes()),
    };
    let mut rows = cluster.ask().rows_of(space);
    dice.delay().await;
    dice.delay().await;
    rows.retain(|key, _| !is_late(key));
    rows.extend(cluster.read().rows_of(space).into_iter().filter(|(key, _)| is_late(key)));
    let mut whole = Whole(&rows);
    attempt_with(scan, &mut Fence::Space(space).around(&mut whole), gateway.clock.now()).map(drop)
}

fn chosen(chooser: u64, name: &[u8]) -> bool {
    name.iter().fold(chooser, |mixed, byte| Random(mixed ^ u64::from(*byte)).next()) % 2 == 0
}

struct Commit<'a> {
    id: u64,
    gateway: u128,
    at: &'a Partition,
    stamp: Stamp,
    loaded: &'a Loaded,
    writes: &'a BTreeMap<Key, Option<Bytes>>,
}

#[derive(PartialEq, Eq)]
enum Outcome {
    Applied,
    Conflict,
    Fenced(Fault),
    /// The partition has a later stamp already.
    Late(Stamp),
    Lost,
}

fn commit(cluster: &Cluster, dice: &mut Dice, commit: &Commit<'_>) -> Outcome {
    let distribution = cluster.distribution();
    distribution.round_trips.fetch_add(1, Ordering::Relaxed);
    if dice.chance(distribution.manners.conflict_percent) {
        return Outcome::Conflict;
    }
    let lost = dice.chance(distribution.manners.lost_percent);
    if lost && dice.chance(50) {
        return Outcome::Lost; // on its way there
    }
    let mut state = cluster.write();
    if let Err(fault) = state.admit(commit.gateway) {
        return Outcome::Fenced(fault);
    }
    let mut ledger = distribution.ledger.lock().unwrap_or_else(PoisonError::into_inner);
    let refused = match ledger.stamps.get(commit.at) {
        Some(last) if *last >= commit.stamp => Some(Outcome::Late(*last)),
        Some(_) | None => (!commit.loaded.unchanged(&state)).then_some(Outcome::Conflict),
    };
    if let Some(refused) = refused {
        return if lost { Outcome::Lost } else { refused };
    }
    if !commit.writes.is_empty() {
        state.apply(commit.at, commit.writes.clone());
        ledger.stamps.insert(commit.at.clone(), commit.stamp);
    }
    let first = ledger.ids.insert(commit.id);
    assert!(first, "a transaction was applied twice");
    if lost { Outcome::Lost } else { Outcome::Applied } // on its way back
}

fn applied(distribution: &Distribution, id: u64) -> bool {
    distribution.ledger.lock().unwrap_or_else(PoisonError::into_inner).ids.contains(&id)
}

/// What has been loaded so far, and what was asked for in vain.
#[derive(Default)]
struct Loaded {
    gets: BTreeMap<Key, Option<Bytes>>,
    scans: BTreeMap<(Key, Key, usize), Vec<(Key, Bytes)>>,
    lasts: BTreeMap<(Key, Key), Option<(Key, Bytes)>>,
    missed: Option<Missed>,
}

enum Missed {
    Get(Key),
    Scan(Key, Key, usize),
    Last(Key, Key),
}

impl Loaded {
    /// All that a decision said it will want, of one moment: one round trip.
    fn wanting(wants: Vec<Want>, state: &State) -> Self {
        let mut loaded = Self::default();
        for want in wants {
            loaded.missed = Some(match want {
                Want::Get(key) => Missed::Get(key),
                Want::Scan { from, to, limit } => Missed::Scan(from, to, limit),
            });
            loaded.load(state);
        }
        loaded
    }

    fn load(&mut self, state: &State) {
        let mut whole = Whole(&state.entries);
        match self.missed.take().expect("a run that missed says what") {
            Missed::Get(key) => {
                let value = whole.get(&key).expect("a whole view misses nothing");
                self.gets.insert(key, value);
            }
            Missed::Scan(from, to, limit) => {
                let entries = whole.scan(&from, &to, limit).expect("a whole view misses nothing");
                self.scans.insert((from, to, limit), entries);
            }
            Missed::Last(from, to) => {
                let entry = whole.last(&from, &to).expect("a whole view misses nothing");
                self.lasts.insert((from, to), entry);
            }
        }
    }

    fn unchanged(&self, state: &State) -> bool {
        let mut whole = Whole(&state.entries);
        self.gets.iter().all(|(key, value)| whole.get(key).as_ref() == Ok(value))
            && self
                .scans
                .iter()
                .all(|((from, to, limit), entries)| whole.scan(from, to, *limit).as_ref() == Ok(entries))
            && self.lasts.iter().all(|((from, to), entry)| whole.last(from, to).as_ref() == Ok(entry))
    }
}

impl View for Loaded {
    fn get(&mut self, key: &Key) -> Result<Option<Bytes>, Halt> {
        if let Some(value) = self.gets.get(key) {
            return Ok(value.clone());
        }
        // The first miss is the one to load: later ones may come from having no answer.
        self.missed.get_or_insert_with(|| Missed::Get(key.clone()));
        Err(Halt::Miss)
    }

    fn scan(&mut self, from: &Key, to: &Key, limit: usize) -> Result<Vec<(Key, Bytes)>, Halt> {
        if let Some(entries) = self.scans.get(&(from.clone(), to.clone(), limit)) {
            return Ok(entries.clone());
        }
        self.missed.get_or_insert_with(|| Missed::Scan(from.clone(), to.clone(), limit));
        Err(Halt::Miss)
    }

    fn last(&mut self, from: &Key, to: &Key) -> Result<Option<(Key, Bytes)>, Halt> {
        if let Some(entry) = self.lasts.get(&(from.clone(), to.clone())) {
            return Ok(entry.clone());
        }
        self.missed.get_or_insert_with(|| Missed::Last(from.clone(), to.clone()));
        Err(Halt::Miss)
    }
}

impl State {
    fn rows_of(&self, space: Space) -> BTreeMap<Key, Bytes> {
        let first = Key::new(space, Column(0), &[]);
        let rows = self.entries.range(first..).take_while(|(key, _)| key.space() == space);
        rows.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

impl Cluster {
    fn distribution(&self) -> &Distribution {
        self.distribution.as_ref().expect("a distributed engine has manners")
    }

    /// What is stored, asked for over the network.
    fn ask(&self) -> RwLockReadGuard<'_, State> {
        self.distribution().round_trips.fetch_add(1, Ordering::Relaxed);
        self.read()
    }
}

struct Dice {
    random: Random,
    manners: Manners,
}

impl Dice {
    fn chance(&mut self, percent: u64) -> bool {
        self.random.next() % 100 < percent
    }

    /// Exponential, with full jitter. The first two tries come at once.
    async fn back_off(&mut self, tried: u32) {
        let Some(doublings) = tried.checked_sub(1) else { return };
        let turns = (1_u64 << doublings.min(63)).min(BACKOFF_TURNS_MAX);
        for _ in 0..self.random.next() % turns {
            tokio::task::yield_now().await;
        }
    }

    async fn delay(&mut self) {
        if self.chance(self.manners.delay_percent) {
            for _ in 0..=self.random.next() % 3 {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, seeded, and good enough for dice.
pub(crate) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}
