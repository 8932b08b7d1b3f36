//! Which shards a space has. A space that was never split has one, and nothing is written about it.
//!
//! ```text
//!  object m.SPACE     e first partition (escaped) → shard (8)
//! ```
//!
//! Held true: what is remembered here may be old, and does no harm: a shard says by its own state that it has been split.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;

use super::names::{self, FIRST, ShardId};
use super::pool::{Found, Pool, ReadStep, Trouble, WriteStep};
use super::state::Shards;
use crate::{Fault, Space};

const ENTRIES: u8 = b'e';
const PAGE: usize = 1000;

#[derive(Default)]
pub(super) struct Directory {
    /// Of spaces with more than one shard.
    known: RwLock<HashMap<Space, Arc<Shards>>>,
}

impl Directory {
    pub fn shards(&self, space: Space) -> Arc<Shards> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&space).cloned().unwrap_or_else(|| Arc::new(vec![(Bytes::new(), FIRST)]))
    }

    pub fn find(&self, space: Space, partition: &[u8]) -> ShardId {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&space).map_or(FIRST, |shards| shards[position(shards, partition)].1)
    }

    /// Asks the pool.
    pub async fn reload(&self, pool: &dyn Pool, space: Space) -> Result<(), Fault> {
        let object = names::directory(space);
        let (mut shards, mut after) = (Shards::new(), names::escaped(ENTRIES, &[]));
        // The first entry is the empty name, which no range begins behind.
        let mut first = Some(ReadStep::Rows(vec![after.clone()]));
        loop {
            let range = ReadStep::Range { after, prefix: Bytes::from_static(&[ENTRIES]), limit: PAGE };
            let reading = match pool.read(&object, first.take().into_iter().chain([range]).collect()).await {
                Ok(reading) => reading,
                Err(Trouble::Missing) => {
                    self.known.write().unwrap_or_else(PoisonError::into_inner).remove(&space);
                    return Ok(());
                }
                Err(trouble) => return Err(trouble.into()),
            };
            let mut is_more = false;
            for found in reading.found {
                let Found::Rows { rows, more } = found else { return Err(strange(space)) };
                is_more = more;
                for (key, value) in rows {
                    let entry = names::unescaped(ENTRIES, &key).zip(value[..].try_into().ok());
                    let (from, id) = entry.ok_or_else(|| strange(space))?;
                    shards.push((from.into(), ShardId(u64::from_be_bytes(id))));
                }
            }
            match shards.last().filter(|_| is_more) {
                Some((last, _)) => after = names::escaped(ENTRIES, last),
                None => break,
            }
        }
        if shards.first().is_none_or(|(from, _)| !from.is_empty()) {
            return Err(strange(space));
        }
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(space, Arc::new(shards));
        Ok(())
    }

    /// Writes down that `parent` became `children`, unless somebody has. A gateway that finds a split shard does this: the one that split
    /// it may have died before.
    pub async fn replace(
        &self,
        pool: &dyn Pool,
        space: Space,
        parent: ShardId,
        children: &Shards,
    ) -> Result<(), Fault> {
        let before = if parent == FIRST { Bytes::new() } else { id(parent) };
        let entries = children.iter().map(|(from, child)| (names::escaped(ENTRIES, from), id(*child)));
        let entries: Vec<_> = entries.collect();
        let compare = WriteStep::Compare { key: entries[0].0.clone(), value: before };
        match pool.write(&names::directory(space), vec![compare, WriteStep::Set(entries)]).await {
            // Lost: it is as the next look finds it, and that one comes at once.
            Ok(()) | Err(Trouble::Changed | Trouble::Lost) => Ok(()),
            Err(trouble) => Err(trouble.into()),
        }
    }
}

/// The shard that has `partition`.
pub(super) fn position(shards: &Shards, partition: &[u8]) -> usize {
    shards.partition_point(|(from, _)| from[..] <= *partition).saturating_sub(1)
}

fn id(shard: ShardId) -> Bytes {
    shard.0.to_be_bytes().to_vec().into()
}

fn strange(space: Space) -> Fault {
    Fault::Corrupt(format!("the object {} has rows that are none of ours", names::directory(space)))
}
