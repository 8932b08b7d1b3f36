//! What runs when the power goes: many clients on one engine with its extents, and marks of what they were told.
//!
//! A blob is three kinds of rows, always written together: its head, its count of writes, and one row of history for each
//! write, kept for good. So the history says what head and count must be, and half a transaction shows.
//!
//! Marks, one line each, written after the fact they state (`I`: before):
//! `I op` issued, `A op stamp` acknowledged, `R op seen` refused because `seen` was there, `S op` seen by a reader.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bytes::{BufMut, Bytes, BytesMut};
use lazuli_engine::content::{Content, Piece, Recovery};
use lazuli_engine::embedded::Options;
use lazuli_engine::extents::{self, Extents};
use lazuli_engine::{Column, Embedded, EngineExt, Fault, Key, Partition, Space, Stop, Txn};
use tokio::sync::RwLock;

use super::{DATA, MARKS};
use crate::chance::Chance;

const SPACE: Space = Space(7);
const HEADS: Column = Column(1);
const COUNTS: Column = Column(2);
const HISTORY: Column = Column(3);
const GARBAGE: Column = Column(4);

/// Small, so that the power goes in the middle of flushes and compactions, too.
pub const MEMTABLE_BYTES: u64 = 256 << 10;

pub const BLOBS: u64 = 24;
const CLIENTS: u64 = 24;

/// The state of a blob: the write that made it so, and the content it left, if it was not a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub op: u64,
    pub stamp: u64,
    pub content: Option<Held>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    Inline(Bytes),
    Pieces(Vec<Piece>),
}

/// A row of history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    pub blob: u64,
    pub stamp: u64,
}

pub fn extents_options() -> extents::Options {
    extents::Options { capacity: 3 << 20, keep_free: 0, ..extents::Options::default() }
}

/// The bytes that write `op` writes.
pub fn content(op: u64, length: usize) -> Bytes {
    let mut chance = Chance::new(op + 1);
    let mut bytes = BytesMut::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.put_u64_le(chance.draw());
    }
    bytes.truncate(length);
    bytes.freeze()
}

impl Head {
    fn encode(&self) -> Bytes {
        let mut bytes = BytesMut::new();
        bytes.put_u64(self.op);
        bytes.put_u64(self.stamp);
        match &self.content {
            None => bytes.put_u8(0),
            Some(Held::Inline(inline)) => {
                bytes.put_u8(1);
                bytes.put_slice(inline);
            }
            Some(Held::Pieces(pieces)) => {
                bytes.put_u8(2);
                for piece in pieces {
                    [piece.extent, piece.offset, piece.length, piece.seal].iter().for_each(|word| bytes.put_u64(*word));
                }
            }
        }
        bytes.freeze()
    }

    fn decode(bytes: &Bytes) -> Self {
        let words: Vec<u64> = words(&bytes[17..]);
        let piece = |four: &[u64]| Piece { extent: four[0], offset: four[1], length: four[2], seal: four[3] };
        let content = match bytes[16] {
            0 => None,
            1 => Some(Held::Inline(bytes.slice(17..))),
            _ => Some(Held::Pieces(words.chunks_exact(4).map(piece).collect())),
        };
        let head = words_of_head(bytes);
        Self { op: head.0, stamp: head.1, content }
    }

    pub fn pieces(&self) -> &[Piece] {
        match &self.content {
            Some(Held::Pieces(pieces)) => pieces,
            Some(Held::Inline(_)) | None => &[],
        }
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|word| u64::from_be_bytes(word.try_into().expect("8 bytes"))).collect()
}

fn words_of_head(bytes: &[u8]) -> (u64, u64) {
    let both = words(&bytes[..16]);
    (both[0], both[1])
}

fn key(column: Column, id: u64) -> Key {
    Key::new(SPACE, column, &[&id.to_be_bytes()])
}

fn garbage_key(piece: &Piece) -> Key {
    let words = [piece.extent, piece.offset, piece.length, piece.seal];
    Key::new(SPACE, GARBAGE, &words.map(u64::to_be_bytes).each_ref().map(|word| &word[..]))
}

/// Everything that is kept, as one look sees it.
#[derive(Clone, Debug, Default)]
pub struct Everything {
    pub heads: BTreeMap<u64, Head>,
    pub counts: BTreeMap<u64, u64>,
    pub history: BTreeMap<u64, Written>,
    pub garbage: BTreeSet<Piece>,
}

pub async fn everything(engine: &Embedded) -> Result<Everything, Fault> {
    let column = |txn: &mut Txn<'_>, column: Column| {
        txn.scan(&Key::new(SPACE, column, &[]), &Key::new(SPACE, Column(column.0 + 1), &[]), usize::MAX >> 1)
    };
    let look = |txn: &mut Txn<'_>| -> Result<Everything, Stop<()>> {
        let mut all = Everything::default();
        for (key, value) in column(txn, HEADS)? {
            all.heads.insert(words(&key.row())[0], Head::decode(&value));
        }
        for (key, value) in column(txn, COUNTS)? {
            all.counts.insert(words(&key.row())[0], words(&value)[0]);
        }
        for (key, value) in column(txn, HISTORY)? {
            let (blob, stamp) = words_of_head(&value);
            all.history.insert(words(&key.row())[0], Written { blob, stamp });
        }
        for (key, _) in column(txn, GARBAGE)? {
            let row = words(&key.row());
            all.garbage.insert(Piece { extent: row[0], offset: row[1], length: row[2], seal: row[3] });
        }
        Ok(all)
    };
    Ok(engine.survey(SPACE, look).await?.expect("nothing is refused"))
}

/// One write of a blob, unless it is not what it was expected to be; then says what it is.
pub async fn write(
    engine: &Embedded,
    blob: u64,
    op: u64,
    content: Option<Held>,
    if_was: Option<u64>,
) -> Result<Result<u64, u64>, Fault> {
    let at = Partition::new(SPACE, blob.to_be_bytes().to_vec());
    let decide = move |txn: &mut Txn<'_>| {
        let old = txn.get(&key(HEADS, blob))?.as_ref().map(Head::decode);
        let was = old.as_ref().map_or(0, |head| head.op);
        if if_was.is_some_and(|expected| expected != was) {
            return Err(Stop::Refused(was));
        }
        let count = txn.get(&key(COUNTS, blob))?.map_or(0, |bytes| words(&bytes)[0]);
        let stamp = txn.stamp().0;
        txn.put(key(HEADS, blob), Head { op, stamp, content: content.clone() }.encode());
        txn.put(key(COUNTS, blob), (count + 1).to_be_bytes().to_vec());
        txn.put(key(HISTORY, op), [blob.to_be_bytes(), stamp.to_be_bytes()].concat());
        for piece in old.iter().flat_map(Head::pieces) {
            txn.put(garbage_key(piece), Bytes::new());
        }
        Ok(stamp)
    };
    engine.transact(at, decide).await
}

/// Gives back what the records say is garbage, then drops the records. Repeated after a crash, it does no harm. Those who read
/// have `reading`; a reader that comes after it was had here sees no record of the garbage.
pub async fn sweep(engine: &Embedded, content: &dyn Content, reading: &RwLock<()>) -> Result<(), Fault> {
    let garbage = everything(engine).await?.garbage;
    drop(reading.write().await);
    content.free(garbage.iter().copied().collect()).await;
    let at = Partition::new(SPACE, Bytes::new());
    let decide = move |txn: &mut Txn<'_>| -> Result<(), Stop<()>> {
        garbage.iter().for_each(|piece| txn.delete(garbage_key(piece)));
        Ok(())
    };
    engine.transact(at, decide).await.map(|_| ())
}

/// Settles what an earlier process left, from the records.
pub async fn settle(engine: &Embedded, extents: &Extents) -> Result<(), Fault> {
    let all = everything(engine).await?;
    for extent in extents.unsettled() {
        let pieces = all.heads.values().flat_map(Head::pieces).chain(&all.garbage);
        let mut live: Vec<_> = pieces.filter(|piece| piece.extent == extent).collect();
        live.sort();
        extents.settle(extent, live.iter().map(|piece| (piece.offset, piece.length)).collect()).await?;
    }
    Ok(())
}

/// Reads the content of `head` and compares it with what was written.
pub async fn verify(content_of: &dyn Content, head: &Head) -> Result<(), String> {
    let got = match &head.content {
        None => return Ok(()),
        Some(Held::Inline(bytes)) => bytes.clone(),
        Some(Held::Pieces(pieces)) => {
            let mut all = BytesMut::new();
            for piece in pieces {
                let mut chunks = content_of.read(*piece, 0, piece.length);
                while let Some(chunk) = chunks.next().await.map_err(|fault| format!("write {}: {fault:?}", head.op))? {
                    all.extend_from_slice(&chunk);
                }
            }
            all.freeze()
        }
    };
    (got == content(head.op, got.len())).then_some(()).ok_or_else(|| format!("write {} has other bytes", head.op))
}

pub async fn stage(
    content_in: &dyn Content,
    bytes: &Bytes,
    known: bool,
) -> Result<lazuli_engine::content::Staged, Fault> {
    let mut stage = content_in.stage(known.then_some(bytes.len() as u64));
    for part in bytes.chunks(150_000) {
        stage.write(bytes.slice_ref(part)).await?;
    }
    stage.finish().await
}

struct Client {
    engine: Arc<Embedded>,
    extents: Arc<Extents>,
    reading: Arc<RwLock<()>>,
    marks: Arc<File>,
    next_op: Arc<AtomicU64>,
    chance: Chance,
}

impl Client {
    fn mark(&self, line: &str) {
        (&*self.marks).write_all(format!("{line}\n").as_bytes()).expect("a mark");
    }

    async fn act(&mut self) {
        let blob = self.chance.below(BLOBS as usize) as u64;
        match self.chance.below(10) {
            0..=1 => self.look(blob).await,
            2 => self.put(blob, None).await,
            3..=6 => {
                let length = self.chance.below(6_000);
                self.put(blob, Some(length)).await;
            }
            _ => {
                let longest = if self.chance.one_in(6) { 1_300_000 } else { 90_000 };
                let length = 10_000 + self.chance.below(longest);
                self.put(blob, Some(length)).await;
            }
        }
    }

    async fn look(&mut self, blob: u64) {
        let reading = self.reading.read().await;
        let look = |txn: &mut Txn<'_>| -> Result<_, Stop<()>> { Ok(txn.get(&key(HEADS, blob))?) };
        let head = self.engine.survey(SPACE, look).await.expect("a look").expect("nothing is refused");
        if let Some(head) = head.as_ref().map(Head::decode) {
            verify(&*self.extents, &head).await.expect("what a reader sees is whole");
            self.mark(&format!("S {}", head.op));
        }
        drop(reading);
    }

    /// Writes `length` bytes, or deletes; often under a condition, which is often wrong.
    async fn put(&mut self, blob: u64, length: Option<usize>) {
        let op = self.next_op.fetch_add(1, Relaxed);
        let if_was = match self.chance.below(4) {
            0 => Some(op.saturating_sub(1 + self.chance.below(20) as u64)),
            1 => self.current(blob).await,
            _ => None,
        };
        self.mark(&format!("I {op}"));
        let mut staged = None;
        let held = match length {
            None => None,
            Some(length) if length < 10_000 => Some(Held::Inline(content(op, length))),
            Some(length) => {
                let known = self.chance.one_in(2);
                let done = stage(&*self.extents, &content(op, length), known).await.expect("room");
                let pieces = done.pieces().to_vec();
                staged = Some(done);
                Some(Held::Pieces(pieces))
            }
        };
        match write(&self.engine, blob, op, held, if_was).await.expect("no fault") {
            Ok(stamp) => {
                self.mark(&format!("A {op} {stamp}"));
                staged.into_iter().for_each(|staged| staged.adopted());
            }
            Err(seen) => self.mark(&format!("R {op} {seen}")),
        }
    }

    async fn current(&self, blob: u64) -> Option<u64> {
        let look = |txn: &mut Txn<'_>| -> Result<_, Stop<()>> { Ok(txn.get(&key(HEADS, blob))?) };
        let head: Result<Option<Bytes>, ()> = self.engine.survey(SPACE, look).await.expect("a look");
        Some(head.expect("nothing is refused").map_or(0, |bytes| Head::decode(&bytes).op))
    }
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The process goes away in the middle of its work, as by `kill -9`.
    Killed,
    /// Everything is closed in order.
    Closed,
}

/// One run on what earlier runs left in `dir`, of about `actions` operations. The caller ends the process afterwards.
pub fn run(dir: &Path, seed: u64, actions: u64, bulk: u64, end: End) {
    let marks = File::options().create(true).append(true).open(dir.join(MARKS)).expect("the marks");
    let options = Options { memtable_bytes: MEMTABLE_BYTES, ..Options::default() };
    let engine = Arc::new(Embedded::open(dir.join(DATA), options).expect("the engine opens"));
    let extents = Arc::new(Extents::open(&engine.directory().extents(), extents_options()).expect("extents open"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio");
    let (marks, next_op) = (Arc::new(marks), Arc::new(AtomicU64::new((seed << 20) + 1)));
    let reading = Arc::new(RwLock::new(()));
    runtime.block_on(async {
        settle(&engine, &extents).await.expect("settled");
        let client = |number: u64| Client {
            engine: engine.clone(),
            extents: extents.clone(),
            reading: reading.clone(),
            marks: marks.clone(),
            next_op: next_op.clone(),
            chance: Chance::new(seed * 1000 + number),
        };
        let tasks: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let mut client = client(number);
                tokio::spawn(async move {
                    for _ in 0..actions / CLIENTS {
                        client.act().await;
                    }
                    for _ in 0..bulk / CLIENTS {
                        let blob = client.chance.below(BLOBS as usize) as u64;
                        client.put(blob, Some(9_999)).await;
                    }
                })
            })
            .collect();
        let sweeping = async {
            loop {
                sweep(&engine, &*extents, &reading).await.expect("swept");
                tokio::task::yield_now().await;
            }
        };
        let first = async {
            // A kill comes when the first is done and others are not.
            let mut tasks = tasks.into_iter();
            tasks.next().expect("a client").await.expect("a client ends well");
            if end == End::Closed {
                for task in tasks {
                    task.await.expect("a client ends well");
                }
            }
        };
        tokio::select! {
            () = first => {}
            () = sweeping => {}
        }
    });
    match end {
        End::Killed => std::process::exit(0), // without a destructor
        End::Closed => {
            drop(runtime);
            drop(Arc::into_inner(extents).expect("nobody else has it"));
            drop(Arc::into_inner(engine).expect("nobody else has it"));
        }
    }
}

/// What the marks say, up to some moment.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    pub issued: BTreeSet<u64>,
    pub acknowledged: BTreeMap<u64, u64>,
    pub refused: BTreeSet<u64>,
    /// What refusals and readers rested on.
    pub seen: BTreeSet<u64>,
}

impl Marks {
    pub fn read(text: &[u8]) -> Self {
        let mut marks = Self::default();
        for line in String::from_utf8_lossy(text).lines() {
            let mut words = line.split(' ');
            let kind = words.next().unwrap_or_default();
            let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
            match (kind, &numbers[..]) {
                ("I", [op]) => drop(marks.issued.insert(*op)),
                ("A", [op, stamp]) => drop(marks.acknowledged.insert(*op, *stamp)),
                ("R", [op, seen]) => {
                    marks.refused.insert(*op);
                    marks.seen.extend((*seen > 0).then_some(*seen));
                }
                ("S", [op]) => drop(marks.seen.insert(*op)),
                _ => panic!("a mark nobody wrote: {line}"),
            }
        }
        marks
    }
}
