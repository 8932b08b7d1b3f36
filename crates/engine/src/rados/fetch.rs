//! Reads of a shard: one operator for everything that is wanted of it, so that it is of one moment.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::loaded::Loaded;
use super::names::{self, FIRST, ShardId};
use super::pool::{Found, Pool, ReadStep, Trouble};
use super::state::State;
use crate::{Fault, Key, Space, Want};

/// Rows asked for at once, at most: as many as an OSD shows.
pub(super) const PAGE: usize = 1000;

/// Where a shard is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub space: Space,
    pub shard: ShardId,
}

/// One moment of a shard.
pub(super) struct Moment {
    /// Of the object: it changes whenever anything in it does. 0: there is no object.
    pub object: u64,
    pub state: State,
    /// The value of the row that was asked for as `mark`.
    pub mark: Bytes,
    /// The stamp of each partition's last transaction, or 0, in the order asked for.
    pub versions: Vec<u64>,
    /// What was wanted, in the order asked for.
    found: Vec<Page>,
}

impl Moment {
    /// Adds what want number `at` found.
    pub fn load(&mut self, at: usize, into: &mut Loaded) {
        let (from, to, rows) = &mut self.found[at];
        into.add(from, to, rows.drain(..));
    }
}

/// Reads the shard's state, the row `mark`, the versions of partitions, and `wants`.
pub(super) async fn fetch(
    pool: &dyn Pool,
    place: Place,
    mark: Bytes,
    partitions: &[Bytes],
    wants: &[Want],
) -> Result<Moment, Fault> {
    let versions: Vec<Bytes> = partitions.iter().map(|name| names::version(name)).collect();
    let mut rows = vec![Bytes::from_static(names::STATE), mark.clone()];
    rows.extend(versions.iter().cloned());
    rows.extend(wants.iter().map(|want| match want {
        Want::Get(key) | Want::Scan { from: key, .. } => names::row(key),
    }));
    let mut steps = vec![ReadStep::Rows(rows)];
    steps.extend(wants.iter().filter_map(|want| match want {
        Want::Get(_) => None,
        Want::Scan { from, to, limit } => Some(range(from, to, *limit)),
    }));
    let reading = match pool.read(&names::shard(place.space, place.shard), steps).await {
        Ok(reading) => reading,
        Err(Trouble::Missing) => return Ok(nothing(place, partitions, wants)),
        Err(trouble) => return Err(trouble.into()),
    };
    let object = reading.version;
    let mut found = reading.found.into_iter();
    let Some(Found::Rows { rows, .. }) = found.next() else { return Err(strange(place)) };
    let mut rows: BTreeMap<Bytes, Bytes> = rows.into_iter().collect();
    let state =
        State::parse(place.shard, rows.remove(names::STATE).unwrap_or_default()).ok_or_else(|| strange(place))?;
    let mark = rows.get(&mark).cloned().unwrap_or_default();
    let versions = versions.iter().map(|version| match rows.get(version) {
        Some(stamp) => stamp.first_chunk().map(|stamp| u64::from_be_bytes(*stamp)).ok_or_else(|| strange(place)),
        None => Ok(0),
    });
    let versions = versions.collect::<Result<_, _>>()?;
    let found = wants.iter().map(|want| match want {
        Want::Get(key) => {
            let row = rows.get(&names::row(key)).map(|value| (key.clone(), value.clone()));
            Ok((key.clone(), key.successor(), row.into_iter().collect()))
        }
        Want::Scan { from, to, .. } => {
            let first = rows.get(&names::row(from)).filter(|_| from < to).map(|value| (from.clone(), value.clone()));
            let Some(Found::Rows { rows, more }) = found.next() else { return Err(strange(place)) };
            page(place, from, to, first, rows, more)
        }
    });
    let found = found.collect::<Result<_, _>>()?;
    Ok(Moment { object, state, mark, versions, found })
}

fn nothing(place: Place, partitions: &[Bytes], wants: &[Want]) -> Moment {
    let found = wants.iter().map(|want| match want {
        Want::Get(key) => (key.clone(), key.successor(), Vec::new()),
        Want::Scan { from, to, .. } => (from.clone(), to.clone(), Vec::new()),
    });
    // The first shard of a space needs no making. Another one that is not there has been split and removed.
    let state = if place.shard == FIRST { State::Live } else { State::Gone };
    Moment { object: 0, state, mark: Bytes::new(), versions: vec![0; partitions.len()], found: found.collect() }
}

/// What begins after `from`; the row `from` itself is asked for by its key, since a range begins behind its start.
fn range(from: &Key, to: &Key, limit: usize) -> ReadStep {
    let (after, end) = (names::row(from), names::row(to));
    let shared = after.iter().zip(&end).take_while(|(one, other)| one == other).count();
    ReadStep::Range { prefix: after.slice(..shared), after, limit: limit.clamp(1, PAGE) }
}

/// From a key to another, these are all the rows.
type Page = (Key, Key, Vec<(Key, Bytes)>);

/// The rows of a range that were found, and how far they are all that there are.
fn page(
    place: Place,
    from: &Key,
    to: &Key,
    first: Option<(Key, Bytes)>,
    rows: Vec<(Bytes, Bytes)>,
    more: bool,
) -> Result<Page, Fault> {
    let mut page: Vec<_> = first.into_iter().collect();
    for (row, value) in rows {
        page.push((names::key_of(place.space, &row).ok_or_else(|| strange(place))?, value));
    }
    let known_to = match page.last() {
        Some((last, _)) if more => last.successor().min(to.clone()),
        None if more => from.successor(),
        Some(_) | None => to.clone(),
    };
    page.retain(|(key, _)| key < to);
    Ok((from.clone(), known_to, page))
}

fn strange(place: Place) -> Fault {
    Fault::Corrupt(format!("the object {} has rows that are none of ours", names::shard(place.space, place.shard)))
}
