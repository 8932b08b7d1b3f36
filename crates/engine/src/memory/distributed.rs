//! The map of `memory`, reached as a cluster would be: each transaction is a task that knows nothing at first, loads what
//! its decision misses, and commits only if nothing that it read has changed.
//!
//! Held true:
//! * everything random comes from the seed, so that a failing seed is the bug report;
//! * a decision may run on reads of different moments, but is answered, or refused, only on reads of one moment;
//! * a commit whose outcome was lost is looked up by the id it wrote, so that it is applied once and answered truly.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::{Shared, State, Whole};
use crate::txn::{Ran, attempt, attempt_with};
use crate::{Fault, Halt, Job, Key, Partition, Stamp, Txn, Verdict, View};

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
    pub fn rough(seed: u64) -> Self {
        Self { seed, conflict_percent: 15, lost_percent: 15, delay_percent: 50 }
    }
}

pub(super) struct Distribution {
    manners: Manners,
    seeds: Mutex<Random>,
    /// What the cluster keeps beside the entries: guarded by the state's lock in spirit, taken after it.
    ledger: Mutex<Ledger>,
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
        Self { manners, seeds: Mutex::new(Random(manners.seed)), ledger: Mutex::default() }
    }

    fn dice(&self) -> Dice {
        let seed = self.seeds.lock().unwrap_or_else(PoisonError::into_inner).next();
        Dice { random: Random(seed), manners: self.manners }
    }
}

pub(super) async fn transact(shared: Arc<Shared>, at: Partition, mut job: Box<dyn Job>) {
    let fate = run(&shared, &at, job.as_mut()).await;
    job.settle(fate);
}

async fn run(shared: &Shared, at: &Partition, job: &mut dyn Job) -> Result<(), Fault> {
    let distribution = shared.distribution.as_ref().expect("a distributed engine has manners");
    let mut dice = distribution.dice();
    let id = dice.random.next();
    'anew: loop {
        let mut loaded = Loaded::default();
        let stamp = shared.clock.stamp();
        loop {
            dice.delay().await;
            let writes = match attempt(job, &mut loaded, stamp)? {
                Ran::Committed(writes) => writes,
                Ran::Refused => BTreeMap::new(),
                Ran::Missed => {
                    dice.delay().await;
                    loaded.load(&shared.read());
                    continue;
                }
            };
            dice.delay().await;
            match commit(shared, distribution, &mut dice, &Commit { id, at, stamp, loaded: &loaded, writes: &writes }) {
                Outcome::Applied => return Ok(()),
                Outcome::Conflict => continue 'anew,
                Outcome::Lost => {
                    dice.delay().await;
                    if applied(distribution, id) {
                        return Ok(());
                    }
                    continue 'anew;
                }
            }
        }
    }
}

pub(super) async fn look(shared: &Shared, look: &mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send)) -> Result<(), Fault> {
    let distribution = shared.distribution.as_ref().expect("a distributed engine has manners");
    let mut dice = distribution.dice();
    'anew: loop {
        let mut loaded = Loaded::default();
        loop {
            dice.delay().await;
            if let Ran::Missed = attempt_with(look, &mut loaded, shared.clock.now())? {
                loaded.load(&shared.read());
                continue;
            }
            // Nothing it read has changed since: so all of it was there together, now.
            if loaded.unchanged(&shared.read()) {
                return Ok(());
            }
            continue 'anew;
        }
    }
}

struct Commit<'a> {
    id: u64,
    at: &'a Partition,
    stamp: Stamp,
    loaded: &'a Loaded,
    writes: &'a BTreeMap<Key, Option<Bytes>>,
}

#[derive(PartialEq, Eq)]
enum Outcome {
    Applied,
    Conflict,
    Lost,
}

fn commit(shared: &Shared, distribution: &Distribution, dice: &mut Dice, commit: &Commit<'_>) -> Outcome {
    if dice.chance(distribution.manners.conflict_percent) {
        return Outcome::Conflict;
    }
    let lost = dice.chance(distribution.manners.lost_percent);
    if lost && dice.chance(50) {
        return Outcome::Lost; // on its way there
    }
    let mut state = shared.write();
    let mut ledger = distribution.ledger.lock().unwrap_or_else(PoisonError::into_inner);
    let last = ledger.stamps.get(commit.at).copied();
    if last.is_some_and(|last| last >= commit.stamp) || !commit.loaded.unchanged(&state) {
        return if lost { Outcome::Lost } else { Outcome::Conflict };
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
    missed: Option<Missed>,
}

enum Missed {
    Get(Key),
    Scan(Key, Key, usize),
}

impl Loaded {
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
        }
    }

    fn unchanged(&self, state: &State) -> bool {
        let mut whole = Whole(&state.entries);
        self.gets.iter().all(|(key, value)| whole.get(key).as_ref() == Ok(value))
            && self
                .scans
                .iter()
                .all(|((from, to, limit), entries)| whole.scan(from, to, *limit).as_ref() == Ok(entries))
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
}

struct Dice {
    random: Random,
    manners: Manners,
}

impl Dice {
    fn chance(&mut self, percent: u64) -> bool {
        self.random.next() % 100 < percent
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
