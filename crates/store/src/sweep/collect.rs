//! Collecting a partition's garbage: chunks and blocks of dead lists, then the pieces that nobody holds.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::task::Poll;

use lazuli_engine::{Key, Txn};
use lazuli_model::Timestamp;

use crate::blob::{delete_cut, purge_some};
use crate::claims::{Trash, lower};
use crate::feed::TrackedKeys;
use crate::file::HEARTBEAT_SECONDS;
use crate::file::sweep::collect_superseded;
use crate::keys::BlobKeys;
use crate::lake::collect_subtree;
use crate::manifest::Loaded;
use crate::pins::{Heard, have_listed};
use crate::readers::Line;
use crate::records::{Block, Dead, Garbage, Kept, Run, decode, decode_with_tail, encode};
use crate::shared_pieces::Verdict;
use crate::sparse::forget_some;
use crate::transact::{Decided, get};
use crate::{Failure, Store};

use super::Since;

/// Garbage rows of one partition that one step looks at.
const ROWS: usize = 16;
/// Uncommitted blocks that one transaction collects.
const BLOCKS: usize = 256;

/// Pieces that a durable row says nobody holds.
struct Loose {
    keys: BlobKeys,
    row: Key,
    runs: Vec<Run>,
}

impl Store {
    /// One step in each of `partitions`. What has more to do is hinted again, and so is what was held, when it no longer is.
    pub(super) async fn collect(
        &self,
        partitions: Vec<BlobKeys>,
        lines: &mut BTreeMap<Key, Since>,
        resting: &mut BTreeMap<BlobKeys, Timestamp>,
    ) -> Result<(), Failure> {
        let mut under_way = Vec::new();
        let mut loose = Vec::new();
        for keys in partitions {
            for (row, dead) in self.ripe(&keys, lines, resting).await? {
                match loose_only(&dead) {
                    Some(runs) => loose.push(Loose { keys: keys.clone(), row, runs }),
                    None => {
                        under_way.push((keys.clone(), self.transact(keys.partition(), collecting(keys.clone(), row))))
                    }
                }
            }
        }
        for (keys, answer) in under_way {
            for other in answer.await? {
                self.hint_feed(&other);
                self.sweep.hint_partition(other.into());
            }
            self.sweep.hint_partition(keys);
        }
        let loose = self.unlent(loose, resting).await?;
        self.free(loose).await
    }

    /// What of `loose` nobody else holds. Rows with a piece that a copy may be about to claim rest.
    async fn unlent(
        &self,
        loose: Vec<Loose>,
        resting: &mut BTreeMap<BlobKeys, Timestamp>,
    ) -> Result<Vec<Loose>, Failure> {
        let now = self.now();
        let mut free = Vec::with_capacity(loose.len());
        for mut loose in loose {
            let (verdicts, stale) = self.judge(&loose.runs, now).await?;
            let asks = verdicts.iter().filter_map(|verdict| match verdict {
                Verdict::Ask(until) => Some(*until),
                Verdict::Free | Verdict::Held => None,
            });
            if let Some(until) = asks.max() {
                resting.insert(loose.keys, until);
                continue;
            }
            let mut verdicts = verdicts.into_iter();
            loose.runs.retain(|_| verdicts.next() == Some(Verdict::Free));
            self.forget_lent(stale).await?;
            free.push(loose);
        }
        Ok(free)
    }

    /// The first garbage rows of a partition that no reader keeps from being collected.
    async fn ripe(
        &self,
        keys: &BlobKeys,
        lines: &mut BTreeMap<Key, Since>,
        resting: &mut BTreeMap<BlobKeys, Timestamp>,
    ) -> Result<Vec<(Key, Dead)>, Failure> {
        let (mut from, mut heirs) = (keys.garbage(0), BTreeSet::new());
        loop {
            let rows = self.look(&keys.partition(), |txn| garbage(txn, keys, &from)).await?;
            let next = rows.last().filter(|_| rows.len() == ROWS).map(|(last, _)| last.successor());
            let drawn = self.readers.draw_line();
            let heard = if rows.is_empty() { Heard::default() } else { self.heard().await? };
            let mut ripe = Vec::new();
            for (row, dead) in rows {
                // A reader that entered after the row was first seen cannot have found what it is about.
                let since = lines.get(&row).cloned().unwrap_or_else(|| Since { line: drawn, heard: heard.clone() });
                let line = since.line;
                let is_held =
                    !self.readers.have_opened(line, Some(keys)) || !self.is_ripe(keys, &row, &dead, line, &mut heirs);
                if !is_held && have_listed(&since.heard, &heard) && self.none_pinned(keys, &dead).await? {
                    lines.remove(&row);
                    ripe.push((row, dead));
                    continue;
                }
                if !is_held {
                    // Another gateway may read it. Nobody tells when that is over.
                    if dead.0.iter().any(hands_over) {
                        heirs.extend(keys.garbage_stamp(&row));
                    }
                    resting.insert(keys.clone(), self.now().plus_seconds(HEARTBEAT_SECONDS));
                }
                lines.insert(row, since);
            }
            match next {
                Some(next) if ripe.is_empty() && self.readers.have_opened(drawn, Some(keys)) => from = next,
                Some(_) | None => return Ok(ripe),
            }
        }
    }

    /// `heirs` are contents that took pieces over, with their claims, from one that is not ripe: their pieces are its reader's too.
    fn is_ripe(&self, keys: &BlobKeys, row: &Key, dead: &Dead, line: Line, heirs: &mut BTreeSet<u64>) -> bool {
        let is_ripe = |item: &Garbage| match item {
            Garbage::Content { id, .. } => !heirs.contains(id) && self.readers.may_collect(keys, *id, line),
            Garbage::Sparse(forget) => self.readers.may_collect(keys, forget.content, line),
            Garbage::Pieces(runs) => self.readers.may_free(keys, runs, line),
            Garbage::Epoch { .. } | Garbage::Superseded { .. } | Garbage::Cut | Garbage::Purged { .. } => true,
            // What is below it has garbage of its own, which waits for its readers.
            Garbage::Subtree => true,
        };
        let ripe = dead.0.iter().all(is_ripe);
        if !ripe && dead.0.iter().any(hands_over) {
            heirs.extend(keys.garbage_stamp(row));
        }
        ripe
    }

    /// Gives the pieces back, and forgets the rows once that is done. It may take long, and goes on by itself.
    async fn free(&self, loose: Vec<Loose>) -> Result<(), Failure> {
        let fresh = |loose: &Loose| self.sweep.with(|hints| hints.freeing.insert(loose.row.clone()));
        let loose: Vec<Loose> = loose.into_iter().filter(fresh).collect();
        if loose.is_empty() {
            return Ok(());
        }
        let mut freed = self.content.free(loose.iter().flat_map(|loose| &loose.runs).map(Run::piece).collect());
        let store = self.clone();
        if poll_fn(|context| Poll::Ready(freed.as_mut().poll(context))).await.is_ready() {
            return store.forget(loose).await;
        }
        tokio::spawn(async move {
            freed.await;
            if store.forget(loose).await.is_err() {
                store.sweep.with(|hints| hints.round = true);
            }
        });
        Ok(())
    }

    async fn forget(&self, loose: Vec<Loose>) -> Result<(), Failure> {
        let under_way: Vec<_> = loose
            .into_iter()
            .map(|loose| {
                let row = loose.row.clone();
                let answer = self.transact(loose.keys.partition(), move |txn| {
                    txn.delete(row.clone());
                    Ok(())
                });
                (loose, answer)
            })
            .collect();
        let mut all = Ok(());
        for (loose, answer) in under_way {
            let forgotten = answer.await;
            self.sweep.with(|hints| hints.freeing.remove(&loose.row));
            match forgotten {
                Ok(()) => {
                    self.sweep.hint_space(loose.keys.space); // perhaps dead, and empty by now
                    self.sweep.hint_partition(loose.keys); // perhaps with more rows than one step sees
                }
                Err(failure) => all = Err(failure),
            }
        }
        all
    }
}

fn garbage(txn: &mut Txn<'_>, keys: &BlobKeys, from: &Key) -> Decided<Vec<(Key, Dead)>> {
    let rows = txn.scan(from, &keys.garbage(u64::MAX).successor(), ROWS)?;
    rows.into_iter().map(|(key, bytes)| Ok((key, decode(&bytes)?))).collect()
}

/// Whether pieces of a dead list went over to the one that was written in its place.
fn hands_over(item: &Garbage) -> bool {
    match item {
        Garbage::Content { kept, .. } => *kept != Kept::Nothing,
        Garbage::Sparse(_)
        | Garbage::Epoch { .. }
        | Garbage::Superseded { .. }
        | Garbage::Pieces(_)
        | Garbage::Cut
        | Garbage::Subtree
        | Garbage::Purged { .. } => false,
    }
}

/// The pieces, when nothing else is left to do about the row.
fn loose_only(dead: &Dead) -> Option<Vec<Run>> {
    let mut runs = Vec::new();
    for item in &dead.0 {
        match item {
            Garbage::Pieces(pieces) => runs.extend_from_slice(pieces),
            Garbage::Content { .. }
            | Garbage::Epoch { .. }
            | Garbage::Sparse(_)
            | Garbage::Superseded { .. }
            | Garbage::Cut
            | Garbage::Subtree
            | Garbage::Purged { .. } => return None,
        }
    }
    Some(runs)
}

/// One bounded step about one garbage row. Pieces that lose their last holder go into a row of their own. Gives who else has garbage by it.
fn collecting(keys: BlobKeys, row: Key) -> impl Fn(&mut Txn<'_>) -> Decided<Vec<TrackedKeys>> + Send + 'static {
    move |txn| {
        let Some(Dead(mut items)) = get(txn, &row)? else {
            return Ok(Vec::new()); // another process was faster
        };
        let Some(at) = items.iter().position(|item| !matches!(item, Garbage::Pieces(_))) else {
            return Ok(Vec::new());
        };
        let (mut loose, mut more, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let done = match &items[at] {
            Garbage::Content { id, kept } => collect_chunk(txn, &keys, *id, kept, &mut loose)?,
            Garbage::Epoch { epoch, kept } => collect_blocks(txn, &keys, *epoch, kept, &mut loose)?,
            Garbage::Sparse(forget) => match forget_some(txn, &keys, forget, &mut loose)? {
                Some(rest) => {
                    items[at] = Garbage::Sparse(rest);
                    txn.put(row.clone(), encode(&Dead(items.clone())));
                    false
                }
                None => true,
            },
            Garbage::Superseded { snapshot } => collect_superseded(txn, &keys, *snapshot, &mut more)?,
            Garbage::Cut => delete_cut(txn, &keys, &mut more, &mut others)?,
            Garbage::Purged { until } => purge_some(txn, &keys, *until, &mut more)?,
            Garbage::Subtree => collect_subtree(txn, &keys, &mut more, &mut others)?,
            Garbage::Pieces(_) => true,
        };
        if done {
            items.remove(at);
            if items.is_empty() {
                txn.delete(row.clone());
            } else {
                txn.put(row.clone(), encode(&Dead(items)));
            }
        }
        if !loose.is_empty() {
            more.push(Garbage::Pieces(loose));
        }
        Trash(more).write(txn, &keys);
        Ok(others)
    }
}

/// The first chunk that is left of a content. True when it was the last.
fn collect_chunk(txn: &mut Txn<'_>, keys: &BlobKeys, id: u64, kept: &Kept, loose: &mut Vec<Run>) -> Decided<bool> {
    let rows = txn.scan(&keys.chunks(id), &keys.chunks(id).after_prefix(), 2)?;
    if let Some((key, bytes)) = rows.first() {
        for part in Loaded::decode(0, bytes)?.parts.iter().filter(|part| part.entry.holds) {
            let_go(txn, keys, part.entry.place.runs(), kept, loose)?;
        }
        txn.delete(key.clone());
    }
    Ok(rows.len() < 2)
}

fn collect_blocks(txn: &mut Txn<'_>, keys: &BlobKeys, epoch: u64, kept: &Kept, loose: &mut Vec<Run>) -> Decided<bool> {
    let rows = txn.scan(&keys.blocks(epoch), &keys.blocks(epoch).after_prefix(), BLOCKS)?;
    for (key, bytes) in &rows {
        let (block, _) = decode_with_tail::<Block>(bytes)?;
        let_go(txn, keys, block.place.runs(), kept, loose)?;
        txn.delete(key.clone());
    }
    Ok(rows.len() < BLOCKS)
}

fn let_go(txn: &mut Txn<'_>, keys: &BlobKeys, runs: &[Run], kept: &Kept, loose: &mut Vec<Run>) -> Decided<()> {
    for run in runs.iter().filter(|run| !kept.holds(run.start())) {
        if lower(txn, keys, run)? {
            loose.push(*run);
        }
    }
    Ok(())
}
