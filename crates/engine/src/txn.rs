//! What a decision sees and does: reads over a view, writes kept aside until the engine commits them.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;

use crate::range_cache::Skipping;
use crate::{Fault, Job, Key, Stamp, Verdict};

/// Why a read gave nothing. Never the client's fault, and never seen by `model`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// Not loaded yet: the engine will load it and run the decision again.
    Miss,
    Fault(Fault),
}

/// How a decision ends without a result: refused, or stopped by a read. `?` makes it from either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop<R> {
    Refused(R),
    Halted(Halt),
}

impl<R> From<Halt> for Stop<R> {
    fn from(halt: Halt) -> Self {
        Stop::Halted(halt)
    }
}

/// Something that a decision is going to read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Want {
    Get(Key),
    /// Up to `limit` entries with `from <= key < to`.
    Scan {
        from: Key,
        to: Key,
        limit: usize,
    },
}

/// The state beneath a transaction. Each engine has its own. A range that it is asked for is of durable rows only, or of
/// volatile rows only.
pub trait View {
    fn get(&mut self, key: &Key) -> Result<Option<Bytes>, Halt>;
    /// Up to `limit` entries with `from <= key < to`, in key order.
    fn scan(&mut self, from: &Key, to: &Key, limit: usize) -> Result<Vec<(Key, Bytes)>, Halt>;
    /// The last entry with `from <= key < to`. It costs one seek, however many there are.
    fn last(&mut self, from: &Key, to: &Key) -> Result<Option<(Key, Bytes)>, Halt>;
    /// Shows `walker` the entries with `from <= key < to`, in key order, until it has seen enough.
    fn walk(&mut self, from: &Key, to: &Key, walker: &mut dyn Walker) -> Result<(), Halt> {
        step_by_step(|from, limit| self.scan(from, to, limit), from, walker)
    }
}

/// Is shown entries one by one.
pub trait Walker {
    fn see(&mut self, entry: &Entry<'_>) -> ControlFlow<()>;
    /// The same walker, if it can pass over entries without seeing them, for an engine with a [range cache](crate::range_cache).
    /// Every other engine shows it everything.
    fn skipping(&mut self) -> Option<&mut dyn Skipping> {
        None
    }
}

impl<F: FnMut(&Entry<'_>) -> ControlFlow<()>> Walker for F {
    fn see(&mut self, entry: &Entry<'_>) -> ControlFlow<()> {
        self(entry)
    }
}

/// An entry as a walk shows it, where it lies.
pub struct Entry<'a> {
    pub key: &'a [u8],
    pub value: &'a [u8],
    /// The buffers that these are parts of.
    key_in: &'a Bytes,
    value_in: &'a Bytes,
}

impl<'a> Entry<'a> {
    pub fn new(key: &'a Key, value: &'a Bytes) -> Self {
        Self { key: key.as_bytes(), value, key_in: key.buffer(), value_in: value }
    }

    /// One that is part of a larger buffer.
    pub(crate) fn within(buffer: &'a Bytes, key: &'a [u8], value: &'a [u8]) -> Self {
        Self { key, value, key_in: buffer, value_in: buffer }
    }

    /// The entry, to keep. Nothing is copied: as long as this lives, so does the buffer that it is part of.
    pub fn keep(&self) -> (Key, Bytes) {
        let key = Key::from_stored(self.key_in.slice_ref(self.key)).expect("only keys are shown");
        (key, self.value_in.slice_ref(self.value))
    }
}

/// A walk of scans: of few entries at first, because there may be few, or large ones.
fn step_by_step(
    mut scan: impl FnMut(&Key, usize) -> Result<Vec<(Key, Bytes)>, Halt>,
    from: &Key,
    walker: &mut dyn Walker,
) -> Result<(), Halt> {
    const STEP_FIRST: usize = 32;
    const STEP_MAX: usize = 1024;
    const STEP_BYTES: usize = 1 << 20;
    let (mut from, mut step) = (from.clone(), STEP_FIRST);
    loop {
        let entries = scan(&from, step)?;
        if entries.iter().any(|(key, value)| walker.see(&Entry::new(key, value)).is_break()) {
            return Ok(());
        }
        let Some((last, _)) = entries.last().filter(|_| entries.len() == step) else { return Ok(()) };
        from = last.successor();
        let bytes: usize = entries.iter().map(|(_, value)| value.len()).sum();
        step = (STEP_BYTES * entries.len() / bytes.max(1)).clamp(1, (step * 2).min(STEP_MAX));
    }
}

/// The last entry with `from <= key < to` of a state with `writes` on top, from the last one beneath them.
pub(crate) fn last_over(
    writes: &BTreeMap<Key, Option<Bytes>>,
    from: &Key,
    to: &Key,
    mut beneath: impl FnMut(&Key, &Key) -> Result<Option<(Key, Bytes)>, Halt>,
) -> Result<Option<(Key, Bytes)>, Halt> {
    let mut to = to.clone();
    while *from < to {
        let stored = beneath(from, &to)?;
        let Some((key, written)) = writes.range(from..&to).next_back() else { return Ok(stored) };
        if stored.as_ref().is_some_and(|(stored, _)| stored > key) {
            return Ok(stored);
        }
        match written {
            Some(value) => return Ok(Some((key.clone(), value.clone()))),
            None => to = key.clone(), // what is last now stands before what was deleted
        }
    }
    Ok(None)
}

/// What a view gave is what it was asked for: a decision that saw other rows would be wrong without a trace.
fn check_scanned(found: &[(Key, Bytes)], from: &Key, to: &Key, most: usize) {
    assert!(found.len() <= most, "a scan gives no more than it was asked for");
    assert!(found.first().is_none_or(|(key, _)| from <= key), "a scan begins where it was asked to");
    assert!(found.last().is_none_or(|(key, _)| key < to), "a scan ends where it was asked to");
    debug_assert!(found.is_sorted_by(|one, next| one.0 < next.0), "a scan is in key order");
}

/// Where a range goes over from durable rows to volatile ones, if it does.
fn straddled(from: &Key, to: &Key) -> Option<Key> {
    if from.is_volatile() {
        return None;
    }
    let middle = Key::first_volatile(from.space());
    (middle < *to).then_some(middle)
}

pub struct Txn<'a> {
    view: &'a mut dyn View,
    stamp: Stamp,
    writes: BTreeMap<Key, Option<Bytes>>,
    halted: Option<Halt>,
}

impl<'a> Txn<'a> {
    pub fn new(view: &'a mut dyn View, stamp: Stamp) -> Self {
        Self { view, stamp, writes: BTreeMap::new(), halted: None }
    }

    /// When this transaction happens. The same at every run that leads to one commit.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    pub fn get(&mut self, key: &Key) -> Result<Option<Bytes>, Halt> {
        if let Some(written) = self.writes.get(key) {
            return Ok(written.clone());
        }
        let got = self.view.get(key);
        self.note(got)
    }

    /// Up to `limit` entries with `from <= key < to`, in key order, with this transaction's writes applied.
    pub fn scan(&mut self, from: &Key, to: &Key, limit: usize) -> Result<Vec<(Key, Bytes)>, Halt> {
        if from >= to || limit == 0 {
            return Ok(Vec::new());
        }
        if let Some(middle) = straddled(from, to) {
            let mut found = self.scan(from, &middle, limit)?;
            found.extend(self.scan(&middle, to, limit - found.len())?);
            return Ok(found);
        }
        let range = (Bound::Included(from.clone()), Bound::Excluded(to.clone()));
        let pending: Vec<_> = self.writes.range(range).map(|(key, value)| (key.clone(), value.clone())).collect();
        let most = limit.saturating_add(pending.len());
        let found = self.view.scan(from, to, most);
        let found = self.note(found)?;
        check_scanned(&found, from, to, most);
        if pending.is_empty() {
            return Ok(found);
        }
        let mut merged: BTreeMap<Key, Bytes> = found.into_iter().collect();
        for (key, value) in pending {
            match value {
                Some(value) => merged.insert(key, value),
                None => merged.remove(&key),
            };
        }
        Ok(merged.into_iter().take(limit).collect())
    }

    /// The last entry with `from <= key < to`, with this transaction's writes applied.
    pub fn last(&mut self, from: &Key, to: &Key) -> Result<Option<(Key, Bytes)>, Halt> {
        if let Some(middle) = straddled(from, to) {
            let last = self.last(&middle, to)?;
            return if last.is_some() { Ok(last) } else { self.last(from, &middle) };
        }
        let found = last_over(&self.writes, from, to, |from, to| self.view.last(from, to));
        if let Ok(Some((key, _))) = &found {
            assert!(from <= key && key < to, "the last entry of a range is in it");
        }
        self.note(found)
    }

    /// Shows `walker` the entries with `from <= key < to`, in key order and with this transaction's writes applied, until it has
    /// seen enough: cheaper than to scan, since nothing is gathered.
    pub fn walk(&mut self, from: &Key, to: &Key, walker: &mut dyn Walker) -> Result<(), Halt> {
        if from >= to {
            return Ok(());
        }
        if let Some(middle) = straddled(from, to) {
            let mut flow = ControlFlow::Continue(());
            self.walk(from, &middle, &mut |entry: &Entry<'_>| {
                flow = walker.see(entry);
                flow
            })?;
            return if flow.is_continue() { self.walk(&middle, to, walker) } else { Ok(()) };
        }
        if self.writes.range((Bound::Included(from), Bound::Excluded(to))).next().is_some() {
            return step_by_step(|from, limit| self.scan(from, to, limit), from, walker);
        }
        let walked = self.view.walk(from, to, walker);
        self.note(walked)
    }

    pub fn put(&mut self, key: Key, value: impl Into<Bytes>) {
        self.writes.insert(key, Some(value.into()));
    }

    pub fn delete(&mut self, key: Key) {
        self.writes.insert(key, None);
    }

    /// What the run wrote (`None` deletes), for the engine that commits it.
    pub fn into_writes(self) -> BTreeMap<Key, Option<Bytes>> {
        self.writes
    }

    /// The first read that failed in this run, for the engine that has to act on it.
    pub fn halted(&self) -> Option<&Halt> {
        self.halted.as_ref()
    }

    fn note<T>(&mut self, got: Result<T, Halt>) -> Result<T, Halt> {
        if let Err(halt) = &got {
            self.halted.get_or_insert_with(|| halt.clone());
        }
        got
    }
}

/// One run of `job` over `view`: what it decided and wrote. A read that missed is `Ran::Missed`; a read that broke and
/// a decision that panicked are faults, since one bad decision must not take the engine with it.
pub(crate) fn attempt(job: &mut dyn Job, view: &mut dyn View, stamp: Stamp) -> Result<Ran, Fault> {
    attempt_with(&mut |txn| job.run(txn), view, stamp)
}

pub(crate) fn attempt_with(
    run: &mut dyn FnMut(&mut Txn<'_>) -> Verdict,
    view: &mut dyn View,
    stamp: Stamp,
) -> Result<Ran, Fault> {
    let mut txn = Txn::new(view, stamp);
    let verdict = catch_unwind(AssertUnwindSafe(|| run(&mut txn))).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no message");
        tracing::error!(panic = text, "a decision panicked; it was dropped and wrote nothing");
        Fault::Unavailable(format!("a decision panicked: {text}"))
    })?;
    match (verdict, txn.halted) {
        (_, Some(Halt::Fault(fault))) => Err(fault),
        (_, Some(Halt::Miss)) => Ok(Ran::Missed),
        (Verdict::Commit, None) => Ok(Ran::Committed(txn.writes)),
        (Verdict::Refuse, None) => Ok(Ran::Refused),
        (Verdict::Again, None) => Err(Fault::Unavailable("a decision gave up though all its reads succeeded".into())),
    }
}

/// What one run came to.
pub(crate) enum Ran {
    Committed(BTreeMap<Key, Option<Bytes>>),
    Refused,
    Missed,
}

/// Runs `decide` once and keeps what it said.
pub(crate) fn run<T, R>(
    decide: &impl Fn(&mut Txn<'_>) -> Result<T, Stop<R>>,
    txn: &mut Txn<'_>,
    result: &mut Option<Result<T, R>>,
) -> Verdict {
    let decided = decide(txn);
    if txn.halted().is_some() {
        return Verdict::Again; // whatever it said, it said without knowing
    }
    match decided {
        Ok(value) => {
            *result = Some(Ok(value));
            Verdict::Commit
        }
        Err(Stop::Refused(refusal)) => {
            *result = Some(Err(refusal));
            Verdict::Refuse
        }
        Err(Stop::Halted(_)) => Verdict::Again,
    }
}

/// A decision on its way through an engine, with the channel that its caller waits on.
pub(crate) struct Decision<F, W, T, R> {
    pub decide: F,
    pub wants: W,
    pub result: Option<Result<T, R>>,
    pub sender: tokio::sync::oneshot::Sender<Result<Result<T, R>, Fault>>,
}

impl<F, W, T, R> Job for Decision<F, W, T, R>
where
    F: Fn(&mut Txn<'_>) -> Result<T, Stop<R>> + Send,
    W: Fn() -> Vec<Want> + Send,
    T: Send,
    R: Send,
{
    fn wants(&self) -> Vec<Want> {
        (self.wants)()
    }

    fn run(&mut self, txn: &mut Txn<'_>) -> Verdict {
        run(&self.decide, txn, &mut self.result)
    }

    fn settle(self: Box<Self>, fate: Result<(), Fault>) {
        let answer = match (fate, self.result) {
            (Ok(()), Some(result)) => Ok(result),
            (Ok(()), None) => Err(Fault::Unavailable("the engine settled a decision it never ran".into())),
            (Err(fault), _) => Err(fault),
        };
        // Nobody may be waiting any more; the decision stands all the same.
        let _ = self.sender.send(answer);
    }
}
