//! Emptying the space of a deleted container or queue, or of a queue that was cleared, row by row, each in a transaction of the partition that owns it.
//!
//! Nothing here is reachable, so rows go without a look at what they say; only the claims matter, since they tell what pieces
//! the space held. They go last, and become `Pieces` rows, which are collected like all others.

use std::collections::BTreeMap;

use lazuli_engine::{Column, Fault, Key, Partition, Space, Txn};
use lazuli_model::Timestamp;

use crate::claims::Trash;
use crate::file::HEARTBEAT_SECONDS;
use crate::keys::{self, BlobKeys};
use crate::layout::{layout, next_column};
use crate::pins::{Heard, have_listed};
use crate::readers::{Line, Readers};
use crate::records::{Claim, Dead, DeadSpace, Garbage, Run, decode, encode};
use crate::transact::{Decided, get, now};
use crate::{Failure, Store};

/// Rows that one step removes.
const PAGE: usize = 256;

/// An empty space is looked through once more after this long: longer than any operation takes that read the
/// container's record before it was deleted.
const QUARANTINE_SECONDS: u64 = 10 * 60;

/// How far the emptying has come.
#[derive(Default)]
pub(super) struct Emptying {
    /// Drawn when it began: readers that opened something here before hold it by now, or have to first.
    line: Option<Line>,
    heard: Option<Heard>,
    /// The column that was emptied last.
    done: Option<Column>,
    from: Option<Key>,
    rests_until: Option<Timestamp>,
}

impl Emptying {
    pub fn is_due(&self, readers: &Readers, now: Timestamp) -> bool {
        let opened = self.line.is_none_or(|line| readers.have_opened(line, None));
        opened && self.rests_until.is_none_or(|until| until <= now)
    }
}

impl Store {
    /// False when the space is no more.
    pub(super) async fn empty_step(
        &self,
        space: Space,
        emptying: &mut Emptying,
        now: Timestamp,
    ) -> Result<bool, Failure> {
        let rows = keys::dead_spaces(space);
        let Some((row, bytes)) = self.rows(&rows, &rows.after_prefix(), 1).await?.pop() else {
            return Ok(false);
        };
        let dead: DeadSpace = decode(&bytes)?;
        let line = *emptying.line.get_or_insert_with(|| self.readers.draw_line());
        if !self.readers.have_opened(line, None) {
            return Ok(true);
        }
        let heard = self.heard().await?;
        if !have_listed(emptying.heard.get_or_insert_with(|| heard.clone()), &heard) {
            emptying.rests_until = Some(now.plus_seconds(HEARTBEAT_SECONDS));
            return Ok(true);
        }
        emptying.rests_until = None;
        let Some(column) = next_column(emptying.done) else {
            return self.finish_space(space, row, dead, emptying, now).await;
        };
        let from = emptying.from.take().unwrap_or_else(|| keys::column(space, column));
        let end = keys::column(space, column).after_prefix();
        let rows = self.rows(&from, &end, PAGE).await?;
        match rows.last() {
            Some((last, _)) if rows.len() == PAGE => emptying.from = Some(last.successor()),
            Some(_) | None => emptying.done = Some(column),
        }
        if column == keys::NOTED && !rows.is_empty() && self.feed_wants(space, &dead).await? {
            return Ok(true);
        }
        // What is read stays, with all that hangs on its name; the end of the last reader leads back here.
        let mut held = self.readers.names_held(space);
        held.append(&mut self.names_pinned(space).await?);
        let is_held = |key: &Key| layout(key).is_some_and(|owner| held.contains(&owner.name));
        self.remove(column, rows.into_iter().map(|(key, _)| key).filter(|key| !is_held(key))).await?;
        Ok(true)
    }

    async fn remove(&self, column: Column, rows: impl Iterator<Item = Key>) -> Result<(), Failure> {
        let mut partitions: BTreeMap<_, Vec<Key>> = BTreeMap::new();
        for key in rows {
            let lost = || Fault::Corrupt(format!("no partition owns {key:?}"));
            partitions.entry(layout(&key).ok_or_else(lost)?).or_default().push(key);
        }
        let under_way: Vec<_> = partitions
            .into_iter()
            .map(|(at, rows)| {
                let keys = BlobKeys::of(at.space, at.name.clone());
                (keys.clone(), self.transact(at, move |txn| remove_rows(txn, &keys, column, &rows)))
            })
            .collect();
        for (keys, answer) in under_way {
            let trash = answer.await?;
            self.hint(trash, keys);
        }
        Ok(())
    }

    /// All columns have been gone through. Garbage that waits for readers may be left, and what came late.
    async fn finish_space(
        &self,
        space: Space,
        row: Key,
        dead: DeadSpace,
        emptying: &mut Emptying,
        now: Timestamp,
    ) -> Result<bool, Failure> {
        let (first, end) = (Key::new(space, Column(0), &[]), Key::new(space, Column(u8::MAX), &[]));
        let is_empty = self.rows(&first, &end, 1).await?.is_empty();
        let rested = dead.emptied.map(|emptied| emptied.plus_seconds(QUARANTINE_SECONDS));
        let at = Partition::new(keys::ROOT, dead.partition.clone());
        match (is_empty, rested) {
            (true, Some(until)) if until <= now => {
                self.transact(at, move |txn| {
                    txn.delete(row.clone());
                    Ok(())
                })
                .await?;
                self.engine.forget(space);
                return Ok(false);
            }
            (true, Some(until)) => emptying.rests_until = Some(until),
            (true, None) => self.note_empty(at, row).await?,
            (false, _) => emptying.rests_until = Some(now.plus_seconds(QUARANTINE_SECONDS)),
        }
        (emptying.done, emptying.from) = (None, None);
        Ok(true)
    }

    async fn note_empty(&self, at: Partition, key: Key) -> Result<(), Failure> {
        self.transact(at, move |txn| {
            if let Some(dead) = get::<DeadSpace>(txn, &key)? {
                txn.put(key.clone(), encode(&DeadSpace { emptied: Some(now(txn)), ..dead }));
            }
            Ok(())
        })
        .await
    }
}

/// Leaves `space` to the sweeper, in the transaction of `owner` that takes the way to it out of the root.
pub(crate) fn bury(txn: &mut Txn<'_>, owner: &Partition, space: Space) {
    let dead = DeadSpace { partition: owner.name.to_vec(), emptied: None };
    txn.put(keys::dead_space(space, &owner.name), encode(&dead));
}

/// True when that left something for the sweeper.
fn remove_rows(txn: &mut Txn<'_>, keys: &BlobKeys, column: Column, rows: &[Key]) -> Decided<bool> {
    let mut loose: Vec<Run> = Vec::new();
    let mut trash = false;
    for key in rows {
        if column == keys::GARBAGE {
            trash |= keep_pieces(txn, key)?;
            continue;
        }
        if column == keys::CLAIMS
            && let (Some(claim), Some((extent, offset, _))) = (get::<Claim>(txn, key)?, keys::read_claim(key))
        {
            loose.push(Run { extent, offset, length: claim.length, seal: claim.seal });
        }
        txn.delete(key.clone());
    }
    let loose = if loose.is_empty() { Vec::new() } else { vec![Garbage::Pieces(loose)] };
    Ok(Trash(loose).write(txn, keys) || trash)
}

/// Of a garbage row, only pieces matter any more: the rest is about rows that are gone.
fn keep_pieces(txn: &mut Txn<'_>, key: &Key) -> Decided<bool> {
    let Some(Dead(mut items)) = get(txn, key)? else {
        return Ok(false);
    };
    items.retain(|item| matches!(item, Garbage::Pieces(_)));
    let any = !items.is_empty();
    if any {
        txn.put(key.clone(), encode(&Dead(items)));
    } else {
        txn.delete(key.clone());
    }
    Ok(any)
}
