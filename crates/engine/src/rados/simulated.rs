//! A pool in memory, for tests without a cluster: it conflicts, delays, and loses answers, as the seed says.
//!
//! Held true: an operator is atomic; one whose answer was lost was applied, or never is, or is applied at any later time, as
//! with a client that gave up on an OSD which did not.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::pool::{Found, Pool, ReadStep, Reading, Trouble, WriteStep};
use crate::BoxFuture;
use crate::memory::{Manners, Random};

/// As many rows as an OSD shows at once.
const ROWS_MAX: usize = 1024;

#[derive(Clone)]
pub struct Simulated {
    state: Arc<Mutex<State>>,
    manners: Manners,
    client: String,
}

struct State {
    objects: HashMap<String, Object>,
    random: Random,
    /// Operators that were given up and may still come.
    late: Vec<Late>,
    /// Clients from which nothing is taken any more.
    shut_out: HashSet<String>,
    version: u64,
    operators: u64,
}

struct Late {
    client: String,
    object: String,
    steps: Vec<WriteStep>,
}

#[derive(Clone, Debug, Default)]
struct Object {
    rows: BTreeMap<Bytes, Bytes>,
    bytes: Bytes,
    version: u64,
}

impl Simulated {
    pub fn new(manners: Manners) -> Self {
        let random = Random(manners.seed);
        let state = State {
            objects: HashMap::new(),
            random,
            late: Vec::new(),
            shut_out: HashSet::new(),
            version: 0,
            operators: 0,
        };
        Self { state: Arc::new(Mutex::new(state)), manners, client: "first".into() }
    }

    /// The same pool, for another client.
    pub fn as_client(&self, name: &str) -> Self {
        Self { client: name.into(), ..self.clone() }
    }

    /// Carries out all that was given up, and says how many operators that were.
    pub fn late_ones_come(&self) -> usize {
        let mut state = self.lock();
        let late = std::mem::take(&mut state.late);
        late.iter().for_each(|late| drop(state.apply(&late.client, &late.object, &late.steps)));
        late.len()
    }

    /// How many operators there were.
    pub fn operators(&self) -> u64 {
        self.lock().operators
    }

    /// The most rows that an object has.
    pub fn most_rows(&self) -> usize {
        self.lock().objects.values().map(|object| object.rows.len()).max().unwrap_or(0)
    }

    pub fn objects(&self) -> Vec<String> {
        let mut names: Vec<_> = self.lock().objects.keys().cloned().collect();
        names.sort();
        names
    }

    /// Damages the bytes of an object.
    pub fn damage(&self, name: &str, at: usize) {
        let mut state = self.lock();
        let object = state.objects.get_mut(name).expect("an object to damage");
        let mut bytes = object.bytes.to_vec();
        bytes[at] ^= 1;
        object.bytes = bytes.into();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn chance(&mut self, percent: u64) -> bool {
        self.random.next() % 100 < percent
    }

    /// How often the task of an operator yields before it.
    fn delay(&mut self, manners: &Manners) -> u64 {
        if self.chance(manners.delay_percent) { 1 + self.random.next() % 3 } else { 0 }
    }

    fn apply(&mut self, client: &str, name: &str, steps: &[WriteStep]) -> Result<(), Trouble> {
        if self.shut_out.contains(client) {
            return Err(Trouble::ShutOut);
        }
        let makes = steps.iter().any(|step| matches!(step, WriteStep::Set(_) | WriteStep::Write(_)));
        let mut object = match self.objects.get(name) {
            Some(object) => object.clone(),
            None if makes => Object::default(),
            None => return Err(Trouble::Missing),
        };
        let mut deleted = false;
        for step in steps {
            match step {
                WriteStep::Compare { key, value } => {
                    if object.rows.get(key).map_or(&b""[..], |stored| stored) != *value {
                        return Err(Trouble::Changed);
                    }
                }
                WriteStep::Set(rows) => object.rows.extend(rows.iter().cloned()),
                WriteStep::Remove(keys) => keys.iter().for_each(|key| drop(object.rows.remove(key))),
                WriteStep::Clear => object.rows.clear(),
                WriteStep::Write(bytes) => object.bytes = bytes.clone(),
                WriteStep::Delete => deleted = true,
            }
        }
        self.version += 1;
        object.version = self.version;
        match deleted {
            true => drop(self.objects.remove(name)),
            false => drop(self.objects.insert(name.into(), object)),
        }
        Ok(())
    }

    fn look(&self, name: &str, steps: &[ReadStep]) -> Result<Reading, Trouble> {
        let object = self.objects.get(name).ok_or(Trouble::Missing)?;
        let found = steps.iter().map(|step| match step {
            ReadStep::Rows(keys) => {
                let mut rows: Vec<_> =
                    keys.iter().filter_map(|key| Some((key.clone(), object.rows.get(key)?.clone()))).collect();
                rows.sort();
                rows.dedup();
                Found::Rows { rows, more: false }
            }
            ReadStep::Range { after, prefix, limit } => {
                assert!(!after.contains(&0) && !prefix.contains(&0), "librados ends such a text at its NUL");
                let from = match after < prefix {
                    true => Bound::Included(prefix.clone()),
                    false => Bound::Excluded(after.clone()),
                };
                page(&object.rows, from, *limit, |key| key.starts_with(prefix))
            }
            ReadStep::Keys { after, limit } => {
                match page(&object.rows, Bound::Excluded(after.clone()), *limit, |_| true) {
                    Found::Rows { rows, more } => {
                        Found::Rows { rows: rows.into_iter().map(|(key, _)| (key, Bytes::new())).collect(), more }
                    }
                    found @ Found::Bytes(_) => found,
                }
            }
            ReadStep::Bytes { offset, length } => {
                let from = usize::try_from(*offset).unwrap_or(usize::MAX).min(object.bytes.len());
                Found::Bytes(object.bytes.slice(from..(from + length).min(object.bytes.len())))
            }
        });
        Ok(Reading { version: object.version, found: found.collect() })
    }
}

fn page(rows: &BTreeMap<Bytes, Bytes>, from: Bound<Bytes>, limit: usize, within: impl Fn(&[u8]) -> bool) -> Found {
    let mut all = rows.range((from, Bound::Unbounded)).take_while(|(key, _)| within(key));
    let rows = all.by_ref().take(limit.min(ROWS_MAX)).map(|(key, value)| (key.clone(), value.clone())).collect();
    Found::Rows { rows, more: all.next().is_some() }
}

impl Pool for Simulated {
    fn write(&self, object: &str, steps: Vec<WriteStep>) -> BoxFuture<'static, Result<(), Trouble>> {
        let (pool, name) = (self.clone(), object.to_owned());
        // Begun now, though nobody may ever poll the answer.
        let (before, lost) = {
            let mut state = pool.lock();
            state.operators += 1;
            (state.delay(&pool.manners), state.chance(pool.manners.lost_percent))
        };
        let begun = (before == 0).then(|| pool.lock().apply(&pool.client, &name, &steps));
        Box::pin(async move {
            for _ in 0..before {
                tokio::task::yield_now().await;
            }
            if lost && begun.is_none() {
                let mut state = pool.lock();
                match state.random.next() % 3 {
                    0 => {}
                    1 => drop(state.apply(&pool.client, &name, &steps)),
                    _ => state.late.push(Late { client: pool.client.clone(), object: name, steps }),
                }
                return Err(Trouble::Lost);
            }
            let answer = begun.unwrap_or_else(|| pool.lock().apply(&pool.client, &name, &steps));
            let mut state = pool.lock();
            // What was given up elsewhere may come now.
            if !state.late.is_empty() && state.chance(20) {
                let at = state.random.next() as usize % state.late.len();
                let Late { client, object, steps } = state.late.swap_remove(at);
                let _ = state.apply(&client, &object, &steps);
            }
            if lost { Err(Trouble::Lost) } else { answer }
        })
    }

    fn read(&self, object: &str, steps: Vec<ReadStep>) -> BoxFuture<'static, Result<Reading, Trouble>> {
        let (pool, name) = (self.clone(), object.to_owned());
        Box::pin(async move {
            let delay = {
                let mut state = pool.lock();
                state.operators += 1;
                state.delay(&pool.manners)
            };
            for _ in 0..delay {
                tokio::task::yield_now().await;
            }
            let state = pool.lock();
            if state.shut_out.contains(&pool.client) { Err(Trouble::ShutOut) } else { state.look(&name, &steps) }
        })
    }

    fn client(&self) -> Result<String, Trouble> {
        Ok(self.client.clone())
    }

    fn shut_out(&self, client: &str) -> BoxFuture<'static, Result<(), Trouble>> {
        self.lock().shut_out.insert(client.into());
        Box::pin(std::future::ready(Ok(())))
    }
}
