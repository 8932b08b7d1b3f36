//! A turn of a shard: load what its jobs want, run them in order over it, and commit what they wrote as one operator.
//!
//! Held true:
//! * a job is settled when what it rests on is proved: by the operator that committed it, or by a read in the same turn;
//! * a job that missed something waits for the next turn, and so do those behind it in its partition; others go on without it;
//! * an operator that came too late was not applied; one whose answer was lost is settled by its number (`settle_lost`).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;

use super::fetch::{Moment, fetch};
use super::loaded::{Loaded, Over};
use super::names;
use super::pool::{Found, ReadStep, Trouble, WriteStep};
use super::shard::{Known, Moved, Shard, Submitted};
use super::state::State;
use super::{fence, pause, split};
use crate::memory::Fence;
use crate::txn::{Ran, attempt};
use crate::{Fault, Key, Want};

/// Bytes that leave together, at most.
const BATCH_BYTES: usize = 4 << 20;
/// How long a writer waits before it looks again whether a split is over.
const SPLIT_PAUSE: Duration = Duration::from_millis(20);
/// Who meets a split that has lasted so long takes it over: the gateway that began it may be gone.
const SPLIT_PAUSES_MAX: u32 = 150;
/// How often the fate of a lost operator is asked for.
const LOST_TRIES: u32 = 8;

/// What the transactions of a turn wrote to a partition.
#[derive(Default)]
struct Written {
    rows: BTreeMap<Key, Option<Bytes>>,
    /// The last stamp.
    version: u64,
}

enum Fate {
    Applied,
    TooLate,
    Failed(Fault),
}

impl Shard {
    pub(super) async fn turn(&mut self) -> Result<(), Moved> {
        self.known.values_mut().for_each(|known| known.is_fresh = false);
        self.give_up_on_old();
        if let Err(fault) = self.load().await? {
            self.pending.drain(..).for_each(|submitted| submitted.settle(Err(fault.clone())));
            return Ok(());
        }
        let (mut written, mut done, mut bytes) = (HashMap::<Bytes, Written>::new(), Vec::new(), 0);
        let mut waiting = HashSet::new();
        for mut submitted in std::mem::take(&mut self.pending) {
            if bytes > BATCH_BYTES || waiting.contains(&submitted.at.name) {
                self.pending.push_back(submitted);
                continue;
            }
            let Some(known) = self.known.get(&submitted.at.name) else {
                self.pending.push_back(submitted);
                continue;
            };
            let before = written.entry(submitted.at.name.clone()).or_default();
            let last = known.version.max(before.version);
            let stamp =
                submitted.stamp.filter(|stamp| stamp.0 > last).unwrap_or_else(|| self.gateway.stamp_after(last));
            submitted.stamp = Some(stamp);
            let mut view = Over::new(&known.loaded, &before.rows);
            let fence = Fence::Partition(&submitted.at, Some(self.gateway.layout));
            let ran = attempt(submitted.job.as_mut(), &mut fence.around(&mut view), stamp);
            let missed = view.missed;
            match (ran, missed) {
                (Ok(Ran::Committed(rows)), _) if !rows.is_empty() => {
                    bytes += rows.iter().map(|(key, value)| size(key, value.as_ref())).sum::<usize>();
                    before.rows.extend(rows);
                    before.version = stamp.0;
                    done.push(submitted);
                }
                (Ok(Ran::Committed(_) | Ran::Refused), _) => done.push(submitted),
                (Ok(Ran::Missed), Some(want)) => {
                    submitted.wants.push(want);
                    waiting.insert(submitted.at.name.clone());
                    self.pending.push_back(submitted);
                }
                (Ok(Ran::Missed), None) => {
                    submitted.settle(Err(Fault::Unavailable("a decision missed nothing".into())));
                }
                (Err(fault), _) => submitted.settle(Err(fault)),
            }
        }
        written.retain(|_, written| !written.rows.is_empty());
        // What only read, and read in this turn, is proved already.
        let proved = |submitted: &Submitted| {
            !written.contains_key(&submitted.at.name)
                && self.known.get(&submitted.at.name).is_some_and(|known| known.is_fresh)
        };
        let (proved, unproved): (Vec<_>, Vec<_>) = done.into_iter().partition(proved);
        proved.into_iter().for_each(|submitted| submitted.settle(Ok(())));
        if unproved.is_empty() {
            return Ok(());
        }
        let mut rests_on: Vec<Bytes> = unproved.iter().map(|submitted| submitted.at.name.clone()).collect();
        rests_on.sort();
        rests_on.dedup();
        match self.commit(&written, rests_on).await {
            Fate::Applied => {
                self.conflicts = 0;
                self.gateway.counters.transactions.fetch_add(unproved.len() as u64, Ordering::Relaxed);
                self.keep(written);
                unproved.into_iter().for_each(|submitted| submitted.settle(Ok(())));
            }
            Fate::TooLate => self.again(unproved).await,
            Fate::Failed(fault) => {
                unproved.iter().for_each(|submitted| drop(self.known.remove(&submitted.at.name)));
                self.mark = None;
                unproved.into_iter().for_each(|submitted| submitted.settle(Err(fault.clone())));
            }
        }
        Ok(())
    }

    /// Jobs that waited too long, or were overtaken too often. Nothing of theirs was applied.
    fn give_up_on_old(&mut self) {
        let options = self.gateway.options;
        for submitted in std::mem::take(&mut self.pending) {
            if submitted.conflicts > options.tries || submitted.waits_longer_than(options.patience) {
                submitted.settle(Err(Fault::Busy));
            } else {
                self.pending.push_back(submitted);
            }
        }
    }

    /// Loads all that the pending jobs are known to want, until it is here, each partition of one version.
    async fn load(&mut self) -> Result<Result<(), Fault>, Moved> {
        loop {
            let (mut names, mut wants): (Vec<Bytes>, Vec<(Bytes, Want)>) = (Vec::new(), Vec::new());
            for Submitted { at, wants: all, .. } in &self.pending {
                let known = self.known.get(&at.name);
                let lacking = all.iter().filter_map(|want| match known {
                    Some(known) => known.loaded.lacks(want),
                    None => Some(want.clone()),
                });
                let before = wants.len();
                wants.extend(lacking.map(|want| (at.name.clone(), want)));
                if known.is_none() || wants.len() > before {
                    names.push(at.name.clone());
                }
            }
            if names.is_empty() && self.mark.is_some() {
                return Ok(Ok(()));
            }
            names.sort();
            names.dedup();
            wants.sort();
            wants.dedup();
            self.gateway.counters.reads.fetch_add(1, Ordering::Relaxed);
            let asked: Vec<Want> = wants.iter().map(|(_, want)| want.clone()).collect();
            let mark = names::gateway(self.gateway.id);
            let moment = match fetch(&*self.gateway.pool, self.place, mark, &names, &asked).await {
                Ok(moment) => moment,
                Err(fault) => return Ok(Err(fault)),
            };
            self.state = moment.state.clone();
            match &self.state {
                State::Live | State::Splitting(_) => {}
                State::Split(_) | State::Gone | State::Filling => return Err(Moved),
            }
            self.take_in(moment, &names, wants);
        }
    }

    fn take_in(&mut self, mut moment: Moment, names: &[Bytes], wants: Vec<(Bytes, Want)>) {
        self.mark = Some(moment.mark.clone());
        for (name, version) in names.iter().zip(&moment.versions) {
            let known = self.known.entry(name.clone());
            let known = known.or_insert_with(|| Known { version: *version, loaded: Loaded::default(), is_fresh: true });
            if known.version != *version {
                *known = Known { version: *version, loaded: Loaded::default(), is_fresh: true };
            }
            known.is_fresh = true;
        }
        for (at, (name, _)) in wants.into_iter().enumerate() {
            let known = self.known.get_mut(&name).expect("each want is of a partition that was asked for");
            moment.load(at, &mut known.loaded);
        }
    }

    /// One operator with all that was written, which is applied if all that it rests on still holds.
    async fn commit(&mut self, written: &HashMap<Bytes, Written>, rests_on: Vec<Bytes>) -> Fate {
        if written.is_empty() {
            return self.verify(&rests_on).await;
        }
        if self.gateway.content.get().is_some_and(|content| !content.is_alive()) {
            return Fate::Failed(Fault::Unavailable(fence::DEAD.into()));
        }
        let enrol = || fence::enrol(&*self.gateway.pool, self.gateway.id);
        if let Err(fault) = self.gateway.enrolled.get_or_try_init(enrol).await {
            return Fate::Failed(fault);
        }
        let object = names::shard(self.place.space, self.place.shard);
        let number = self.gateway.next_operator();
        let mark = names::gateway(self.gateway.id);
        let before = self.mark.clone().expect("a shard is written after it was read");
        let mut steps = vec![
            WriteStep::Compare { key: Bytes::from_static(names::STATE), value: State::live(self.place.shard) },
            WriteStep::Compare { key: mark.clone(), value: before.clone() },
        ];
        for name in &rests_on {
            let version = self.known.get(name).map_or(0, |known| known.version);
            let value = if version == 0 { Bytes::new() } else { bytes_of(version) };
            steps.push(WriteStep::Compare { key: names::version(name), value });
        }
        let (mut set, mut removed) = (vec![(mark, bytes_of(number))], Vec::new());
        for (name, Written { rows, version }) in written {
            set.push((names::version(name), bytes_of(*version)));
            for (key, value) in rows {
                match value {
                    Some(value) => set.push((names::row(key), value.clone())),
                    None => removed.push(names::row(key)),
                }
            }
        }
        self.grown += set.len();
        steps.push(WriteStep::Set(set));
        if !removed.is_empty() {
            steps.push(WriteStep::Remove(removed));
        }
        self.gateway.counters.operators.fetch_add(1, Ordering::Relaxed);
        match self.gateway.pool.write(&object, steps).await {
            Ok(()) => {
                self.mark = Some(bytes_of(number));
                Fate::Applied
            }
            Err(Trouble::Changed) => Fate::TooLate,
            Err(Trouble::Lost) => self.settle_lost(&object, &before, number).await,
            Err(trouble @ (Trouble::Full | Trouble::Missing | Trouble::ShutOut | Trouble::Refused(_))) => {
                Fate::Failed(trouble.into())
            }
        }
    }

    /// Whether these partitions are still as they are known.
    async fn verify(&mut self, asked: &[Bytes]) -> Fate {
        self.gateway.counters.reads.fetch_add(1, Ordering::Relaxed);
        let mark = names::gateway(self.gateway.id);
        match fetch(&*self.gateway.pool, self.place, mark, asked, &[]).await {
            Ok(Moment { state: State::Live | State::Splitting(_), versions, .. }) => {
                let holds = |(name, version): (&Bytes, &u64)| {
                    self.known.get(name).is_some_and(|known| known.version == *version)
                };
                if asked.iter().zip(&versions).all(holds) { Fate::Applied } else { Fate::TooLate }
            }
            Ok(_) => Fate::TooLate,
            Err(fault) => Fate::Failed(fault),
        }
    }

    /// Finds out whether an operator was applied whose answer was lost. If it was not, it is kept from being applied later: by one
    /// that moves the mark from where the lost one expects it.
    async fn settle_lost(&mut self, object: &str, before: &Bytes, number: u64) -> Fate {
        self.gateway.counters.lost.fetch_add(1, Ordering::Relaxed);
        let mark = names::gateway(self.gateway.id);
        let mut barriers = Vec::new();
        for _ in 0..LOST_TRIES {
            let barrier = self.gateway.next_operator();
            barriers.push(bytes_of(barrier));
            let steps = vec![
                WriteStep::Compare { key: mark.clone(), value: before.clone() },
                WriteStep::Set(vec![(mark.clone(), bytes_of(barrier))]),
            ];
            match self.gateway.pool.write(object, steps).await {
                Ok(()) => return Fate::TooLate,
                Err(Trouble::Changed) => {}
                // The lost one came before this gateway was shut out, or never: another gateway will see which.
                Err(Trouble::ShutOut) => return Fate::Failed(Trouble::ShutOut.into()),
                Err(Trouble::Lost | Trouble::Full | Trouble::Missing | Trouble::Refused(_)) => continue,
            }
            let reading = self.gateway.pool.read(object, vec![ReadStep::Rows(vec![mark.clone()])]).await;
            let Ok(Some(Found::Rows { rows, .. })) = reading.map(|mut reading| reading.found.pop()) else { continue };
            let Some((_, found)) = rows.first() else { continue };
            if *found == bytes_of(number) {
                self.mark = Some(found.clone());
                return Fate::Applied;
            }
            if barriers.contains(found) {
                return Fate::TooLate;
            }
        }
        Fate::Failed(Fault::Unavailable("the cluster did not say whether a transaction was committed".into()))
    }

    /// What was written is known from now on, with the version that it has.
    fn keep(&mut self, written: HashMap<Bytes, Written>) {
        for (name, Written { rows, version }) in written {
            if let Some(known) = self.known.get_mut(&name) {
                assert!(version > known.version, "stamps of a partition increase");
                known.loaded.apply(&rows);
                known.version = version;
            }
        }
    }

    /// After an operator that came too late: nothing is known any more, and the jobs run again.
    async fn again(&mut self, mut jobs: Vec<Submitted>) {
        self.gateway.counters.conflicts.fetch_add(1, Ordering::Relaxed);
        self.conflicts += 1;
        self.mark = None;
        for submitted in &mut jobs {
            self.known.remove(&submitted.at.name);
            submitted.conflicts += 1;
        }
        jobs.into_iter().rev().for_each(|submitted| self.pending.push_front(submitted));
        if let State::Splitting(children) = self.state.clone() {
            self.pending.iter_mut().for_each(|submitted| submitted.conflicts = submitted.conflicts.saturating_sub(1));
            pause(SPLIT_PAUSE).await;
            if self.conflicts > SPLIT_PAUSES_MAX {
                self.conflicts = 0;
                let taken_over = split::carry_out(&self.gateway, self.place, &children).await;
                if let Err(fault) = taken_over {
                    tracing::warn!(?fault, "a split that another gateway began could not be ended");
                }
            }
        } else {
            self.gateway.back_off(self.conflicts).await;
        }
    }
}

fn size(key: &Key, value: Option<&Bytes>) -> usize {
    key.as_bytes().len() + value.map_or(0, Bytes::len)
}

fn bytes_of(number: u64) -> Bytes {
    number.to_be_bytes().to_vec().into()
}
