//! Moves all that a store has to another one, over whatever engines and contents they are.
//!
//! Held true:
//! * nobody serves what is half there: a row in the root says that an import is under way, until the last row has come;
//! * rows are copied as they are, but for where pieces are (`relocate`); each piece is copied once, however many hold it;
//! * nothing counts as copied before it was read back: pieces by their checksums, rows byte by byte;
//! * what was done is in a journal, which is durable before anything rests on it. So an import that was broken off goes on.
//!
//! Nobody writes to either store meanwhile. Volatile rows, and what was deleted and waits for the sweeper, stay behind.

mod relocate;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::content::{Content, Piece};
use lazuli_engine::{EngineExt, Fault, Key, Partition, Space, Stop};
use lazuli_model::queue::Queue;
use lazuli_model::table::Table;
use tokio::task::JoinSet;

use crate::file::keys as file;
use crate::file::rows::{Born, Buried};
use crate::layout::{layout, next_column};
use crate::records::{Claim, DeletedContainer, Start, decode, decode_container_id};
use crate::{Failure, Store, keys};
use relocate::relocated;

/// Rows that are read at once, and at most so many bytes of them leave in one transaction.
const PAGE: usize = 1000;
const TRANSACTION_BYTES: usize = 1 << 20;
/// Pieces that are under way at once.
const PIECES: usize = 8;
/// How far the clock of the source may be ahead: later writes must have later times.
const AHEAD_TICKS: u64 = 10 * lazuli_engine::clock::TICKS_PER_SECOND;

/// What an import has done, kept where the caller likes.
pub trait ImportJournal: Send {
    /// Which import it is of.
    fn id(&self) -> u128;
    fn moved(&self, start: (u64, u64)) -> Option<Piece>;
    /// Durable when it returns.
    fn note(&mut self, pieces: &[((u64, u64), Piece)]) -> Result<(), Fault>;
    fn is_done(&self, space: u128) -> bool;
    /// Durable when it returns.
    fn done(&mut self, space: u128) -> Result<(), Fault>;
}

/// How far an import is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Containers, queues, tables and shares.
    pub spaces: u64,
    pub rows: u64,
    pub pieces: u64,
    pub bytes: u64,
}

impl Store {
    /// Whether an import to this store was begun and has not ended.
    pub async fn is_being_imported(&self) -> Result<bool, Failure> {
        let key = keys::import();
        Ok(self.look(&keys::import_partition(), |txn| Ok(txn.get(&key)?)).await?.is_some())
    }

    /// Moves everything from `from` to here. `tell` hears how far it is, now and then.
    pub async fn import(
        &self,
        from: &Store,
        journal: &mut dyn ImportJournal,
        tell: &mut (dyn FnMut(Imported) + Send),
    ) -> Result<Imported, Failure> {
        if from.engine.now().0 > self.engine.now().0 + AHEAD_TICKS {
            return Err(unusable("the times of what is stored are ahead of the clock: see `lazuli clock`").into());
        }
        if from.is_being_imported().await? {
            return Err(unusable("an import to the source was begun and has not ended: run that one again").into());
        }
        self.begin_import(journal.id()).await?;
        let mut done = Imported::default();
        for space in from.live_spaces().await? {
            done.spaces += 1;
            if !journal.is_done(space.0) {
                self.import_pieces(from, space, journal, &mut done, tell).await?;
                self.import_rows(from, space, journal, &mut done).await?;
                journal.done(space.0)?;
            }
            tell(done);
        }
        self.import_rows(from, keys::ROOT, journal, &mut done).await?;
        let key = keys::import();
        self.transact(keys::import_partition(), move |txn| {
            txn.delete(key.clone());
            Ok(())
        })
        .await?;
        Ok(done)
    }

    /// Only a store that has nothing is imported to, or one that this import was begun on.
    async fn begin_import(&self, id: u128) -> Result<(), Failure> {
        let key = keys::import();
        let told = self.look(&keys::import_partition(), |txn| Ok(txn.get(&key)?)).await?;
        match told {
            Some(told) if *told == id.to_be_bytes() => return Ok(()),
            Some(_) => {
                return Err(unusable("another import to it was begun: end that one, or choose an empty place").into());
            }
            None => {}
        }
        let (first, end) = root();
        if !self.rows(&first, &end, 1).await?.is_empty() {
            return Err(unusable("it is not empty: import to a new directory or a new pool").into());
        }
        self.transact(keys::import_partition(), move |txn| {
            txn.put(key.clone(), Bytes::copy_from_slice(&id.to_be_bytes()));
            Ok(())
        })
        .await
    }

    /// All that the root names, but for what is dead.
    async fn live_spaces(&self) -> Result<Vec<Space>, Failure> {
        let (mut spaces, (mut from, end)) = (Vec::new(), root());
        loop {
            let rows = self.rows(&from, &end, PAGE).await?;
            let Some((last, _)) = rows.last() else { return Ok(spaces) };
            from = last.successor();
            for (key, value) in &rows {
                let id = match key.column() {
                    keys::CONTAINERS => decode_container_id(value)?,
                    keys::DELETED_CONTAINERS => decode::<DeletedContainer>(value)?.container.id,
                    keys::QUEUES => decode::<Queue>(value)?.id,
                    keys::TABLES => decode::<Table>(value)?.id,
                    file::SHARES => decode::<Born>(value)?.id,
                    file::DELETED_SHARES => decode::<Buried>(value)?.born.id,
                    _ => continue,
                };
                spaces.push(Space(id));
            }
        }
    }

    /// Copies the pieces that are claimed in a space, unless another one has claimed them too.
    async fn import_pieces(
        &self,
        from: &Store,
        space: Space,
        journal: &mut dyn ImportJournal,
        done: &mut Imported,
        tell: &mut (dyn FnMut(Imported) + Send),
    ) -> Result<(), Failure> {
        let mut first = keys::column(space, keys::CLAIMS);
        let end = first.after_prefix();
        loop {
            let rows = from.rows(&first, &end, PAGE).await?;
            let Some((last, _)) = rows.last() else { return Ok(()) };
            first = last.successor();
            let mut wanted = BTreeMap::new();
            for (key, value) in &rows {
                let Claim { length, seal, holders: _ } = decode(value)?;
                if let Some((extent, offset, _)) =
                    keys::read_claim(key).filter(|(e, o, _)| journal.moved((*e, *o)).is_none())
                {
                    wanted.insert((extent, offset), Piece { extent, offset, length, seal });
                }
            }
            for group in wanted.into_iter().collect::<Vec<_>>().chunks(PIECES) {
                let moved = self.copy_pieces(from, group).await?;
                journal.note(&moved)?;
                done.pieces += moved.len() as u64;
                done.bytes += moved.iter().map(|(_, piece)| piece.length).sum::<u64>();
                tell(*done);
            }
        }
    }

    async fn copy_pieces(&self, from: &Store, group: &[(Start, Piece)]) -> Result<Vec<(Start, Piece)>, Failure> {
        let mut copies = JoinSet::new();
        for (start, piece) in group {
            let (start, piece, source, target) = (*start, *piece, from.content.clone(), self.content.clone());
            copies.spawn(async move { copy(&source, &target, piece).await.map(|copied| (start, copied)) });
        }
        let mut moved = Vec::with_capacity(group.len());
        while let Some(copied) = copies.join_next().await {
            moved.push(copied.map_err(|_| unusable("a copy was cut off"))??);
        }
        Ok(moved)
    }

    /// Copies the rows of a space, and reads them back: there are these, and no others.
    async fn import_rows(
        &self,
        from: &Store,
        space: Space,
        journal: &dyn ImportJournal,
        done: &mut Imported,
    ) -> Result<(), Failure> {
        for (first, end) in ranges(space) {
            let (mut next, mut expected) = (first.clone(), BTreeMap::new());
            loop {
                let page = from.rows(&next, &end, PAGE).await?;
                let after = if page.len() < PAGE { end.clone() } else { page[PAGE - 1].0.successor() };
                let moved = |start| journal.moved(start);
                let rows = page.iter().filter_map(|(key, value)| relocated(key, value, &moved).transpose());
                let rows: BTreeMap<Key, Bytes> = rows.collect::<Result<_, _>>()?;
                self.write_rows(&rows).await?;
                done.rows += rows.len() as u64;
                if changes_order(&first) {
                    expected.extend(rows);
                } else {
                    self.read_back(next, &after, rows).await?;
                }
                if after == end {
                    break;
                }
                next = after;
            }
            if changes_order(&first) {
                self.read_back(first, &end, expected).await?;
            }
        }
        Ok(())
    }

    /// One transaction for each partition, or several if it has much.
    async fn write_rows(&self, rows: &BTreeMap<Key, Bytes>) -> Result<(), Failure> {
        let mut parts: HashMap<Partition, Vec<(Key, Bytes)>> = HashMap::new();
        for (key, value) in rows {
            let owner =
                layout(key).ok_or_else(|| unusable("a row of no partition: start a server on the source once"))?;
            parts.entry(owner).or_default().push((key.clone(), value.clone()));
        }
        let mut written = Vec::new();
        for (at, rows) in parts {
            for rows in cut(rows) {
                // It begins at the call.
                written.push(self.engine.transact(at.clone(), move |txn| {
                    rows.iter().for_each(|(key, value)| txn.put(key.clone(), value.clone()));
                    Ok::<_, Stop<Failure>>(())
                }));
            }
        }
        for written in written {
            written.await??;
        }
        Ok(())
    }

    async fn read_back(&self, mut from: Key, end: &Key, mut expected: BTreeMap<Key, Bytes>) -> Result<(), Failure> {
        loop {
            let found = self.rows(&from, end, PAGE).await?;
            for (key, value) in &found {
                if !(key.space() == keys::ROOT && key.column() == keys::IMPORTS)
                    && expected.remove(key).as_ref() != Some(value)
                {
                    return Err(unusable(&format!("what was written was read back otherwise: {key:?}")).into());
                }
            }
            match found.last().filter(|_| found.len() == PAGE) {
                Some((last, _)) => from = last.successor(),
                None => break,
            }
        }
        match expected.first_key_value() {
            Some((key, _)) => Err(unusable(&format!("what was written is not there: {key:?}")).into()),
            None => Ok(()),
        }
    }
}

/// Whether rows of a range have other keys, in another order, when their pieces are elsewhere: then all of them are compared at once.
fn changes_order(first: &Key) -> bool {
    first.space() == keys::ROOT || first.column() == keys::CLAIMS
}

/// The durable rows of the root.
fn root() -> (Key, Key) {
    let volatile = lazuli_engine::Column::volatile(0);
    (keys::column(keys::ROOT, lazuli_engine::Column(0)), keys::column(keys::ROOT, volatile))
}

/// The durable rows of a space: those of a container with many blobs lie in order only column by column.
fn ranges(space: Space) -> Vec<(Key, Key)> {
    if space == keys::ROOT {
        return vec![root()];
    }
    let mut ranges = Vec::new();
    let mut column = next_column(None);
    while let Some(at) = column {
        if !at.is_volatile() {
            let first = keys::column(space, at);
            ranges.push((first.clone(), first.after_prefix()));
        }
        column = next_column(Some(at));
    }
    ranges
}

fn cut(rows: Vec<(Key, Bytes)>) -> Vec<Vec<(Key, Bytes)>> {
    let (mut parts, mut bytes) = (vec![Vec::new()], 0);
    for (key, value) in rows {
        let size = key.as_bytes().len() + value.len();
        if bytes > 0 && bytes + size > TRANSACTION_BYTES {
            parts.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        parts.last_mut().expect("there is one").push((key, value));
    }
    parts
}

/// Reads a piece, which is verified by that, stages it, and reads it back.
async fn copy(source: &Arc<dyn Content>, target: &Arc<dyn Content>, piece: Piece) -> Result<Piece, Fault> {
    let mut stage = target.stage(Some(piece.length));
    let mut chunks = source.read(piece, 0, piece.length);
    while let Some(chunk) = chunks.next().await? {
        stage.write(chunk).await?;
    }
    let staged = stage.finish().await?;
    let [copied] = *staged.pieces() else { return Err(unusable("a piece became several")) };
    // A claim will name it. If none does, because this process ends before, it is found to be nobody's.
    staged.leave();
    let (mut back, mut length) = (target.read(copied, 0, copied.length), 0);
    while let Some(chunk) = back.next().await? {
        length += chunk.len() as u64;
    }
    if length == piece.length { Ok(copied) } else { Err(unusable("a piece was read back shorter than it is")) }
}

fn unusable(why: &str) -> Fault {
    Fault::Unavailable(why.into())
}
