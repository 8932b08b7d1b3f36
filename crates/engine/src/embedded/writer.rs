//! Writing: runs each decision over the durable state and the batch so far, commits the batch with one sync, then settles
//! all of it. `commit_turn` says on which thread.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};
use std::thread::park_timeout;
use std::time::Duration;

use bytes::Bytes;

use super::Shared;
use super::columns::Columns;
use super::commit_turn::wait_long;
use super::error;
use super::free_space::Allowance;
use super::keys::{self, Backlog, Keys, Snapshotted, Writes};
use super::metrics::{add, raise, set};
use super::point_cache::PointCache;
use crate::clock::Stopwatch;
use crate::txn::{Ran, attempt, last_over};
use crate::{Fault, Halt, Job, Key, Stamp, View};

/// Bounds on a batch: the answers of all its transactions wait for its sync.
const BATCH_TRANSACTIONS: usize = 2048;
const BATCH_BYTES: u64 = 4 << 20;
/// What an entry costs on disk beside its bytes, roughly.
const ENTRY_BYTES: u64 = 64;
/// Below this, and with few files, replaying the log is faster than writing a table.
const CLOSE_FLUSH_BYTES: u64 = 4 << 20;
const CLOSE_FLUSH_FILES: usize = 4;
const CLOSE_PATIENCE_NANOS: u64 = 4_000_000_000;
/// How often to look whether the store has caught up: it gives no sign when it has.
const STALL_POLL: Duration = Duration::from_millis(1);
/// A disk that has just refused to be opened will refuse again: jobs that come within this time are refused at once.
const REST_NANOS: u64 = 900_000_000;

/// An attempt to reopen the store that failed: when, and of what. What was said once is not said again.
pub(super) struct Rest {
    since: Stopwatch,
    error: String,
}

/// The thread that has the commit turn writes. There is one at a time, so decisions run one after another.
pub(super) struct Writer<'a> {
    shared: &'a Shared,
}

#[derive(Default)]
struct Batch {
    /// Of durable rows.
    writes: Writes,
    volatile: Writes,
    bytes: u64,
    transactions: u64,
    /// Of the last decision.
    stamp: Stamp,
    /// Each job with the fate that is its own; the fate of the commit is common.
    jobs: Vec<(Box<dyn Job>, Result<(), Fault>)>,
}

impl<'a> Writer<'a> {
    pub fn new(shared: &'a Shared) -> Self {
        Self { shared }
    }

    /// Runs `first` and what `more` has to add, commits it, and settles it. Says how many there were.
    pub fn batch(&self, first: Box<dyn Job>, more: impl FnMut() -> Option<Box<dyn Job>>) -> usize {
        let mut batch = Batch::default();
        let committed = match self.be_ready() {
            Ok(()) => self.fill_and_commit(&mut batch, first, more),
            Err(fault) => {
                add(&self.shared.metrics.turned_away, u64::from(fault == Fault::Full));
                batch.jobs.push((first, Err(fault)));
                Ok(())
            }
        };
        let count = batch.jobs.len();
        assert!((1..=BATCH_TRANSACTIONS).contains(&count), "a batch has its first job, and no more than its bound");
        for (job, own) in batch.jobs {
            self.settle(job, committed.clone().and(own));
        }
        count
    }

    fn fill_and_commit(
        &self,
        batch: &mut Batch,
        first: Box<dyn Job>,
        more: impl FnMut() -> Option<Box<dyn Job>>,
    ) -> Result<(), Fault> {
        let shared = self.shared;
        let guard = shared.keys.read().unwrap_or_else(PoisonError::into_inner);
        let Some(keys) = guard.as_ref() else {
            batch.jobs.push((first, Err(reopening())));
            return Ok(());
        };
        self.fill(batch, first, more, keys);
        if batch.writes.is_empty() {
            // All of it rests on what is durable already. The cache has durable rows only, so nothing in it changes.
            if !batch.volatile.is_empty() {
                keys.publish(&batch.volatile);
            }
            return Ok(());
        }
        let mark = shared.clock.high();
        assert!(batch.stamp <= mark, "the mark of a batch covers all its stamps");
        let watch = Stopwatch::start();
        let Err(error) = keys.commit(&batch.writes, mark) else {
            shared.columns.fill(batch.writes.iter().filter_map(|(key, value)| value.as_ref().map(|_| key)));
            shared.cache.publish(batch.writes.iter(), || keys.publish(&batch.volatile));
            keys.rotate_if_due();
            self.measure(batch, keys, watch.nanos());
            return Ok(());
        };
        drop(guard);
        add(&shared.metrics.failures, 1);
        tracing::error!(%error, "a commit failed; reopening the store");
        shared.volatile.doubt(mark, std::mem::take(&mut batch.volatile));
        self.settle_failure(mark, error.fault())
    }

    fn fill(
        &self,
        batch: &mut Batch,
        first: Box<dyn Job>,
        mut more: impl FnMut() -> Option<Box<dyn Job>>,
        keys: &Keys,
    ) {
        let mut base = keys.snapshot();
        let mut allowance = self.allowance(keys);
        let mut next = Some(first);
        while let Some(mut job) = next.take() {
            let fate = self.decide(batch, job.as_mut(), &mut base, &mut allowance);
            batch.jobs.push((job, fate));
            if batch.jobs.len() < BATCH_TRANSACTIONS && batch.bytes < BATCH_BYTES {
                next = more();
            }
        }
    }

    fn decide(
        &self,
        batch: &mut Batch,
        job: &mut dyn Job,
        base: &mut Snapshotted<'_>,
        allowance: &mut Allowance,
    ) -> Result<(), Fault> {
        let stamp = self.shared.clock.stamp();
        assert!(batch.stamp < stamp, "decisions of a batch have growing stamps");
        batch.stamp = stamp;
        let cache = &self.shared.cache;
        let columns = &self.shared.columns;
        let (over, volatile) = (&batch.writes, &batch.volatile);
        let mut pending = Pending { base, cache, columns, over, volatile, absent: Vec::new() };
        let ran = attempt(job, &mut pending, stamp)?;
        let absent = pending.absent;
        let writes = match ran {
            Ran::Committed(writes) => writes,
            Ran::Refused => return Ok(()),
            Ran::Missed => unreachable!("a whole view misses nothing"),
        };
        // What is put where nothing was is seldom asked for; what stays absent is asked for each time.
        for key in absent.iter().filter(|key| !writes.contains_key(key)) {
            cache.learn(key, &None, cache.sequence());
            columns.missed(key);
        }
        check_sizes(&writes)?;
        let (writes, volatile) = part(writes);
        let bytes = size(&writes);
        if bytes > 0 && !allowance.take(bytes, writes.values().any(Option::is_none)) {
            add(&self.shared.metrics.turned_away, 1);
            return Err(Fault::Full);
        }
        batch.bytes += bytes;
        batch.transactions += u64::from(bytes > 0);
        batch.writes.extend(writes);
        batch.volatile.extend(volatile);
        Ok(())
    }

    pub fn settle(&self, job: Box<dyn Job>, fate: Result<(), Fault>) {
        let queued = self.shared.metrics.queued.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
        assert!(queued > 0, "a job is settled once");
        add(&self.shared.metrics.settled, 1);
        job.settle(fate);
    }

    fn measure(&self, batch: &Batch, keys: &Keys, nanos: u64) {
        let metrics = &self.shared.metrics;
        add(&metrics.commits, 1);
        add(&metrics.committed_transactions, batch.transactions);
        add(&metrics.committed_bytes, batch.bytes);
        raise(&metrics.batch_max, batch.transactions);
        add(&metrics.commit_nanos, nanos);
        set(&self.shared.commit_turn.last_nanos, nanos);
        raise(&metrics.commit_nanos_max, nanos);
        let Backlog { l0_runs, sealed_memtables, .. } = keys.backlog();
        set(&metrics.l0_runs, l0_runs as u64);
        set(&metrics.sealed_memtables, sealed_memtables as u64);
        set(&metrics.buffered_bytes, keys.buffered_bytes());
    }
}

/// Staying able to write.
impl Writer<'_> {
    pub fn is_open(&self) -> bool {
        self.shared.keys.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Waits until the store has caught up, and reopens it if it has given up.
    fn be_ready(&self) -> Result<(), Fault> {
        let guard = self.shared.keys.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(keys) = guard.as_ref() {
            match self.wait(keys, |backlog| !backlog.is_too_long()) {
                Ok(()) => return Ok(()),
                // It would give up again at once. What it has can still be read.
                Err(_) if !self.allowance(keys).take(1, false) => return Err(Fault::Full),
                Err(error) => tracing::error!(%error, "the store gave up; reopening it"),
            }
        }
        drop(guard);
        self.reopen().map(drop)
    }

    fn allowance(&self, keys: &Keys) -> Allowance {
        match self.shared.probe.ask(self.shared.directory.path()) {
            Ok(room) => Allowance::new(room, keys.buffered_bytes()),
            Err(_) => Allowance::unlimited(), // not knowing is no reason to refuse
        }
    }

    fn wait(&self, keys: &Keys, until: impl Fn(&Backlog) -> bool) -> error::Result<()> {
        keys.check()?;
        if until(&keys.backlog()) {
            return Ok(());
        }
        let watch = Stopwatch::start();
        add(&self.shared.metrics.stalls, 1);
        let waited = wait_long(|| {
            loop {
                park_timeout(STALL_POLL);
                keys.check()?;
                if until(&keys.backlog()) {
                    return Ok(());
                }
            }
        });
        add(&self.shared.metrics.stall_nanos, watch.nanos());
        waited
    }

    /// Leaves little to replay for the next start. If that fails, it only takes longer.
    pub fn close(&self) {
        let taken = self.shared.keys.write().unwrap_or_else(PoisonError::into_inner).take();
        self.shared.cache.forget(|| {});
        self.shared.columns.forget_all();
        let Some(keys) = taken else { return };
        keys.stop_compacting();
        if keys.buffered_bytes() > CLOSE_FLUSH_BYTES || keys.log_count() > CLOSE_FLUSH_FILES {
            keys.begin_flush();
        }
        let watch = Stopwatch::start();
        let waited = self.wait(&keys, |backlog| backlog.is_over() || watch.nanos() > CLOSE_PATIENCE_NANOS);
        if let Err(error) = keys.finish() {
            tracing::warn!(%error, "the end of the log was not written down; the next start takes this one for cut short");
        }
        if waited.is_ok() && !keys.backlog().is_over() {
            // To drop the store is to wait for its threads, one of which may be in a long compaction; a shutdown does not wait for that.
            // All is durable, so the end of the process may overtake it.
            tracing::info!("stopping in the middle of a compaction, which the next start begins again");
            std::thread::spawn(move || drop(keys));
        }
    }

    /// Closes the store and opens it again, from what is on disk. Looks wait for it. After a failure, not before a rest.
    pub fn reopen(&self) -> Result<Stamp, Fault> {
        let mut slot = self.shared.keys.write().unwrap_or_else(PoisonError::into_inner);
        // The old one has to be gone first, with its threads, which write.
        self.shared.cache.forget(|| *slot = None);
        self.shared.columns.forget_all();
        let mut rest = self.rest();
        if rest.as_ref().is_some_and(|rest| rest.since.nanos() < REST_NANOS) {
            return Err(reopening());
        }
        let (path, lock) = (self.shared.directory.keys(), self.shared.directory.lock());
        let volatile = self.shared.volatile.clone();
        let keys = wait_long(|| Keys::open(&path, self.shared.settings, lock, volatile)).map_err(|error| {
            let (since, text) = (Stopwatch::start(), error.to_string());
            if rest.as_ref().is_none_or(|rest| rest.error != text) {
                tracing::error!(%error, "the store could not be reopened; trying again every second");
            }
            *rest = Some(Rest { since, error: text });
            error.fault()
        })?;
        let mark = keys.mark();
        *slot = Some(keys);
        *rest = None;
        add(&self.shared.metrics.reopenings, 1);
        tracing::warn!("the store was reopened after a failure");
        Ok(mark)
    }

    fn rest(&self) -> MutexGuard<'_, Option<Rest>> {
        self.shared.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What became of a batch whose commit failed: its mark tells whether the log kept it. If so, it was written anew when the log was opened.
    fn settle_failure(&self, mark: Stamp, fault: Fault) -> Result<(), Fault> {
        let unknown = |_| Fault::Unavailable("a commit failed, and whether it was applied is not known".into());
        if self.reopen().map_err(unknown)? < mark { Err(fault) } else { Ok(()) }
    }

    /// Nobody has written for a while: says in the log that the last batch was synced.
    pub fn seal_end(&self) {
        let guard = self.shared.keys.read().unwrap_or_else(PoisonError::into_inner);
        let Some(Err(error)) = guard.as_ref().map(Keys::seal_end) else { return };
        drop(guard);
        add(&self.shared.metrics.failures, 1);
        tracing::error!(%error, "a commit failed; reopening the store");
        drop(self.reopen());
    }
}

fn reopening() -> Fault {
    Fault::Unavailable("the engine is being reopened after a failure".into())
}

/// Durable writes and volatile ones.
fn part(writes: Writes) -> (Writes, Writes) {
    if writes.keys().any(Key::is_volatile) {
        writes.into_iter().partition(|(key, _)| !key.is_volatile())
    } else {
        (writes, Writes::new())
    }
}

fn check_sizes(writes: &Writes) -> Result<(), Fault> {
    for (key, value) in writes {
        let (key, value) = (key.as_bytes().len(), value.as_ref().map_or(0, Bytes::len));
        if key > keys::KEY_MAX || value > keys::VALUE_MAX {
            return Err(Fault::Unavailable(format!(
                "a key of {key} with a value of {value} bytes is too large to store"
            )));
        }
    }
    Ok(())
}

/// What they take on disk.
fn size(writes: &Writes) -> u64 {
    let size = |key: &Key, value: &Option<Bytes>| (key.as_bytes().len() + value.as_ref().map_or(0, Bytes::len)) as u64;
    writes.iter().map(|(key, value)| size(key, value) + ENTRY_BYTES).sum()
}

/// The durable state with the batch so far on top.
struct Pending<'a, 'b> {
    base: &'a mut Snapshotted<'b>,
    cache: &'a PointCache,
    columns: &'a Columns,
    over: &'a Writes,
    volatile: &'a Writes,
    /// What was looked for in vain.
    absent: Vec<Key>,
}

impl View for Pending<'_, '_> {
    fn get(&mut self, key: &Key) -> Result<Option<Bytes>, Halt> {
        if key.is_volatile() {
            return self.volatile.get(key).map_or_else(|| self.base.get(key), |written| Ok(written.clone()));
        }
        if let Some(written) = self.over.get(key) {
            return Ok(written.clone());
        }
        if self.columns.is_empty(key) {
            return Ok(None);
        }
        // Only the writer publishes, and it is here: the cache agrees with the base.
        if let Some(known) = self.cache.get(key) {
            return Ok(known);
        }
        let value = self.base.get(key)?;
        match &value {
            Some(_) => self.cache.learn(key, &value, self.cache.sequence()),
            None => self.absent.push(key.clone()),
        }
        Ok(value)
    }

    fn scan(&mut self, from: &Key, to: &Key, limit: usize) -> Result<Vec<(Key, Bytes)>, Halt> {
        if from >= to {
            return Ok(Vec::new());
        }
        let mut over = self.over(from).range(from..to).peekable();
        if over.peek().is_none() {
            return self.base.scan(from, to, limit);
        }
        if from.is_volatile() {
            let count = over.clone().count();
            return Ok(merge(self.base.scan(from, to, limit.saturating_add(count))?, over, limit));
        }
        let mut base = self.base.range(from, to).peekable();
        let mut found = Vec::new();
        while found.len() < limit {
            let written_first = match (over.peek(), base.peek()) {
                (None, None) => break,
                (Some((written, _)), Some(Ok((stored, _)))) => *written <= stored,
                (Some(_), None) => true,
                (_, Some(Err(_))) | (None, Some(Ok(_))) => false,
            };
            if !written_first {
                found.extend(base.next().transpose().map_err(Halt::Fault)?);
                continue;
            }
            let (key, value) = over.next().expect("peeked");
            // The stored entry of the same key is what was overwritten.
            base.next_if(|stored| stored.as_ref().is_ok_and(|(stored, _)| stored == key));
            found.extend(value.clone().map(|value| (key.clone(), value)));
        }
        Ok(found)
    }

    fn last(&mut self, from: &Key, to: &Key) -> Result<Option<(Key, Bytes)>, Halt> {
        last_over(self.over(from), from, to, |from, to| self.base.last(from, to))
    }
}

/// Stored entries with what was written over them, up to a limit.
fn merge<'a>(
    stored: Vec<(Key, Bytes)>,
    over: impl Iterator<Item = (&'a Key, &'a Option<Bytes>)>,
    limit: usize,
) -> Vec<(Key, Bytes)> {
    let mut merged: BTreeMap<Key, Bytes> = stored.into_iter().collect();
    for (key, value) in over {
        match value {
            Some(value) => merged.insert(key.clone(), value.clone()),
            None => merged.remove(key),
        };
    }
    merged.into_iter().take(limit).collect()
}

impl<'a> Pending<'a, '_> {
    /// The writes of the batch so far to rows of the kind that `from` is of.
    fn over(&self, from: &Key) -> &'a Writes {
        if from.is_volatile() { self.volatile } else { self.over }
    }
}
