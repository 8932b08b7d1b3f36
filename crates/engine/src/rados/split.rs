//! A shard that has grown large becomes several, while gateways use it.
//!
//! ```text
//!  1  parent: p children          from now on it is read, and not written
//!  2  children: f, and the rows   each operator only while the child is being filled
//!  3  children: l
//!  4  parent: m children, no rows, the marks of gateways stay: an operator whose answer was lost is looked for there
//!  5  directory: children instead of the parent
//! ```
//!
//! Held true:
//! * each step is an operator that compares the state before it, so any gateway can go on from where another one stopped, and two that
//!   do the same at once do no harm;
//! * nobody is led to a child before step 4, and nobody is answered by the parent after it: no row is ever in two places that count.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;

use super::Gateway;
use super::directory::position;
use super::fetch::{PAGE, Place, fetch};
use super::names::{self, FIRST, ShardId};
use super::pool::{Found, ReadStep, Trouble, WriteStep};
use super::shard::Shard;
use super::state::{self, Shards, State};
use crate::clock::TICKS_PER_SECOND;
use crate::{Fault, Space};

/// A shard becomes so many.
const CHILDREN: usize = 2;
/// A version of a partition without rows is kept for so long. Clocks differ by less, so nothing is stamped before it later.
const VERSIONS_KEPT_SECONDS: u64 = 3600;

impl Shard {
    /// Counts the rows now and then, and splits the shard if they are many.
    pub(super) fn split_if_large(&mut self) {
        let most = self.gateway.options.split_rows;
        if self.grown < (most / 8).max(1) {
            return;
        }
        self.grown = 0;
        let (gateway, place) = (self.gateway.clone(), self.place);
        self.gateway.runtime.spawn(async move {
            match split(&gateway, place).await {
                Ok(true) => tracing::info!(shard = %names::shard(place.space, place.shard), "a shard was split"),
                Ok(false) => {}
                Err(fault) => tracing::warn!(?fault, "a shard could not be split; it will be tried again"),
            }
        });
    }
}

async fn split(gateway: &Arc<Gateway>, place: Place) -> Result<bool, Fault> {
    let most = gateway.options.split_rows;
    let mut rows = 0;
    each_key(gateway, place, Bytes::new(), |_| {
        rows += 1;
        rows <= most
    })
    .await?;
    if rows <= most {
        return Ok(false);
    }
    let mut sample = Sample::default();
    each_key(gateway, place, Bytes::from_static(&[names::VERSIONS]), |key| {
        names::partition_of(key).into_iter().for_each(|partition| sample.add(partition));
        key[0] == names::VERSIONS
    })
    .await?;
    let partitions = sample.kept;
    let Some(children) = children(gateway, place, &partitions) else { return Ok(false) };
    let object = names::shard(place.space, place.shard);
    let begin = vec![
        WriteStep::Compare { key: Bytes::from_static(names::STATE), value: State::live(place.shard) },
        WriteStep::Set(vec![(Bytes::from_static(names::STATE), state::splitting(&children))]),
    ];
    match gateway.pool.write(&object, begin).await {
        Ok(()) | Err(Trouble::Lost) => {}
        Err(Trouble::Changed) => return Ok(false),
        Err(trouble) => return Err(trouble.into()),
    }
    // If the answer was lost, or another gateway was faster, what stands there is what is carried out.
    let mark = names::gateway(gateway.id);
    match fetch(&*gateway.pool, place, mark, &[], &[]).await?.state {
        State::Splitting(children) => carry_out(gateway, place, &children).await.map(|()| true),
        State::Live | State::Filling | State::Split(_) | State::Gone => Ok(false),
    }
}

/// Where the shard is cut: none, if it is one partition, which cannot be.
fn children(gateway: &Gateway, place: Place, partitions: &[Bytes]) -> Option<Shards> {
    let first = gateway.directory.shards(place.space);
    let first = first.iter().find(|(_, shard)| *shard == place.shard).map(|(first, _)| first.clone())?;
    let mut cuts: Vec<Bytes> =
        (1..CHILDREN).filter_map(|n| partitions.get(partitions.len() * n / CHILDREN)).cloned().collect();
    cuts.retain(|cut| *cut > first);
    cuts.dedup();
    if cuts.is_empty() {
        return None;
    }
    cuts.insert(0, first);
    Some(cuts.into_iter().map(|cut| (cut, ShardId(gateway.random().max(1)))).collect())
}

/// Partitions of a shard in their order, evenly spaced: enough to say where to cut it, however many there are.
struct Sample {
    kept: Vec<Bytes>,
    seen: usize,
    /// One of so many is kept.
    step: usize,
}

impl Default for Sample {
    fn default() -> Self {
        Self { kept: Vec::new(), seen: 0, step: 1 }
    }
}

impl Sample {
    const KEPT_MAX: usize = 4096;

    fn add(&mut self, partition: Bytes) {
        if self.seen.is_multiple_of(self.step) {
            self.kept.push(partition);
        }
        self.seen += 1;
        if self.kept.len() > Self::KEPT_MAX {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.step *= 2;
        }
    }
}

/// Tells of each key of the object that is greater than `after`, in order and by pages, until `tell` has heard enough.
async fn each_key(
    gateway: &Gateway,
    place: Place,
    mut after: Bytes,
    mut tell: impl FnMut(&[u8]) -> bool,
) -> Result<(), Fault> {
    let object = names::shard(place.space, place.shard);
    loop {
        let step = ReadStep::Keys { after, limit: PAGE };
        let found = match gateway.pool.read(&object, vec![step]).await {
            Ok(mut reading) => reading.found.pop(),
            Err(Trouble::Missing) => return Ok(()),
            Err(trouble) => return Err(trouble.into()),
        };
        let Some(Found::Rows { rows, more }) = found else { return Ok(()) };
        let goes_on = rows.iter().all(|(key, _)| tell(key));
        match rows.into_iter().next_back() {
            Some((last, _)) if goes_on && more => after = last,
            Some(_) | None => return Ok(()),
        }
    }
}

/// Steps 2 to 5.
pub(super) async fn carry_out(gateway: &Gateway, place: Place, children: &Shards) -> Result<(), Fault> {
    for (_, child) in children {
        begin_to_fill(gateway, Place { shard: *child, ..place }).await?;
    }
    let mut alive = HashSet::new();
    copy(gateway, place, children, names::ROWS, |partition, _| {
        alive.insert(partition.clone());
        true
    })
    .await?;
    let old = gateway.clock.now().0.saturating_sub(VERSIONS_KEPT_SECONDS * TICKS_PER_SECOND);
    copy(gateway, place, children, names::VERSIONS, |partition, value| {
        let version = value.first_chunk().map_or(u64::MAX, |version| u64::from_be_bytes(*version));
        version > old || alive.contains(partition)
    })
    .await?;
    for (_, child) in children {
        let steps = [step(state::FILLING), set(state::LIVE)];
        write_unless_done(gateway, Place { shard: *child, ..place }, steps.into()).await?;
    }
    end_parent(gateway, place, children).await?;
    gateway.directory.replace(&*gateway.pool, place.space, place.shard, children).await?;
    gateway.directory.reload(&*gateway.pool, place.space).await?;
    gateway.counters.splits.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

fn step(state: Bytes) -> WriteStep {
    WriteStep::Compare { key: Bytes::from_static(names::STATE), value: state }
}

fn set(state: Bytes) -> WriteStep {
    WriteStep::Set(vec![(Bytes::from_static(names::STATE), state)])
}

async fn begin_to_fill(gateway: &Gateway, child: Place) -> Result<(), Fault> {
    write_unless_done(gateway, child, vec![step(Bytes::new()), set(state::FILLING)]).await
}

/// An operator that another gateway may have carried out, which is as good. One whose answer was lost is sent again: what it compares
/// lets it be applied once.
async fn write_unless_done(gateway: &Gateway, place: Place, steps: Vec<WriteStep>) -> Result<(), Fault> {
    const TRIES: u32 = 5;
    let object = names::shard(place.space, place.shard);
    for _ in 0..TRIES {
        match gateway.pool.write(&object, steps.clone()).await {
            Ok(()) | Err(Trouble::Changed) => return Ok(()),
            Err(Trouble::Lost) => {}
            Err(trouble) => return Err(trouble.into()),
        }
    }
    Err(Trouble::Lost.into())
}

/// Copies the rows of a kind to the children. `keeps` is asked about each, with its partition and its value.
async fn copy(
    gateway: &Gateway,
    place: Place,
    children: &Shards,
    kind: u8,
    mut keeps: impl FnMut(&Bytes, &Bytes) -> bool,
) -> Result<(), Fault> {
    let object = names::shard(place.space, place.shard);
    let mut after = Bytes::from(vec![kind]);
    // A partition with the empty name has the shortest of keys, which a range does not begin with.
    let mut first = Some(ReadStep::Rows(vec![after.clone()]));
    loop {
        let range = ReadStep::Range { after, prefix: Bytes::from(vec![kind]), limit: PAGE };
        let reading = match gateway.pool.read(&object, first.take().into_iter().chain([range]).collect()).await {
            Ok(reading) => reading,
            Err(trouble) => return Err(trouble.into()),
        };
        let (mut rows, mut is_more) = (Vec::new(), false);
        for found in reading.found {
            let Found::Rows { rows: page, more } = found else { continue };
            rows.extend(page);
            is_more = more;
        }
        let last = rows.last().map(|(key, _)| key.clone());
        let mut parts: BTreeMap<usize, Vec<(Bytes, Bytes)>> = BTreeMap::new();
        for (key, value) in rows {
            let partition = match kind {
                names::ROWS => {
                    names::key_of(place.space, &key).and_then(|key| (gateway.layout)(&key)).map(|owner| owner.name)
                }
                _ => names::partition_of(&key),
            };
            let partition = partition.ok_or_else(|| Fault::Corrupt(format!("{object} has a row of no partition")))?;
            if keeps(&partition, &value) {
                parts.entry(position(children, &partition)).or_default().push((key, value));
            }
        }
        for (child, rows) in parts {
            let child = Place { shard: children[child].1, ..place };
            write_unless_done(gateway, child, vec![step(state::FILLING), WriteStep::Set(rows)]).await?;
        }
        match last.filter(|_| is_more) {
            Some(last) => after = last,
            None => return Ok(()),
        }
    }
}

async fn end_parent(gateway: &Gateway, place: Place, children: &Shards) -> Result<(), Fault> {
    let object = names::shard(place.space, place.shard);
    let mut rows = vec![(Bytes::from_static(names::STATE), state::split(children))];
    // Marks do not change any more: every operator that would move one compares the state, or moves it for the last time.
    let marks = ReadStep::Range { after: Bytes::new(), prefix: Bytes::from_static(&[names::GATEWAYS]), limit: PAGE };
    let reading = gateway.pool.read(&object, vec![marks]).await.map_err(Fault::from)?;
    for found in reading.found {
        if let Found::Rows { rows: marks, .. } = found {
            rows.extend(marks);
        }
    }
    let steps = vec![step(state::splitting(children)), WriteStep::Clear, WriteStep::Set(rows)];
    write_unless_done(gateway, place, steps).await
}

/// Deletes the objects of a space that has no rows any more: its shards, those that they came from, and the directory.
pub(super) async fn forget(gateway: &Gateway, space: Space) -> Result<(), Fault> {
    let (mut left, mut found) = (vec![FIRST], Vec::new());
    while let Some(shard) = left.pop() {
        let mark = names::gateway(gateway.id);
        match fetch(&*gateway.pool, Place { space, shard }, mark, &[], &[]).await?.state {
            State::Split(children) | State::Splitting(children) => {
                left.extend(children.into_iter().map(|(_, child)| child))
            }
            State::Live | State::Filling | State::Gone => {}
        }
        found.push(names::shard(space, shard));
    }
    // What leads to the others goes last, so that it can be tried again.
    found.reverse();
    found.push(names::directory(space));
    for object in found {
        match gateway.pool.write(&object, vec![WriteStep::Delete]).await {
            Ok(()) | Err(Trouble::Missing) => {}
            Err(trouble) => return Err(trouble.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However many partitions there are, few are kept, and the one in the middle is one from the middle.
    #[test]
    fn a_sample_is_bounded_and_even() {
        for count in [0_u32, 1, 2, 4_096, 4_097, 100_000] {
            let mut sample = Sample::default();
            (0..count).for_each(|partition| sample.add(partition.to_be_bytes().to_vec().into()));
            let kept: Vec<u32> =
                sample.kept.iter().map(|bytes| u32::from_be_bytes(bytes.as_ref().try_into().unwrap())).collect();
            assert!(kept.len() <= Sample::KEPT_MAX && kept.is_sorted(), "{count}");
            assert!(count > Sample::KEPT_MAX as u32 || kept.len() == count as usize, "{count}");
            let middle = kept.get(kept.len() / 2).copied().unwrap_or_default();
            assert!(middle.abs_diff(count / 2) <= count / 1_000 + 1, "{middle} of {count}");
        }
    }
}
