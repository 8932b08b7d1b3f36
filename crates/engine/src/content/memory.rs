//! Content kept in memory, for `--in-memory` and for tests: the plainest implementation. A restart forgets all.
//! Each piece is its own extent; there is no seal, for memory does not rot.
//!
//! [`Memory::gateway`] is the same content as one of several gateways has it, which can die: then what it staged and did
//! not adopt is found out by the others.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use bytes::{Bytes, BytesMut};

use super::checksum::{BLOCK, crc64};
use super::{Chunks, Content, Fate, PIECE_MAX, Piece, Recovery, Running, Stage, Staged};
use crate::{BoxFuture, Fault};

/// Small chunks are gathered up to this size, so that a byte-by-byte upload does not cost an allocation per byte.
const GATHER: usize = BLOCK * 4;

#[derive(Clone)]
pub struct Memory {
    shelf: Arc<Shelf>,
    by: Arc<Gateway>,
}

/// Who stages.
#[derive(Default)]
struct Gateway {
    /// `None`: the only one.
    id: Option<u128>,
    is_dead: AtomicBool,
}

#[derive(Default)]
struct Shelf {
    pieces: RwLock<HashMap<u64, Shelved>>,
    last_extent: AtomicU64,
    unsettled: RwLock<BTreeSet<u64>>,
    /// Gateways that were declared dead. One of them may only have slept, and stage more.
    ended: RwLock<BTreeSet<u128>>,
}

struct Shelved {
    chunks: Arc<Vec<Bytes>>,
    /// The gateway that has not said yet what became of it.
    staged_by: Option<u128>,
}

impl Memory {
    pub fn new() -> Self {
        Self { shelf: Arc::default(), by: Arc::default() }
    }

    /// The same content, for another gateway.
    pub fn gateway(&self, id: u128) -> Self {
        Self { shelf: self.shelf.clone(), by: Arc::new(Gateway { id: Some(id), is_dead: AtomicBool::new(false) }) }
    }

    /// This gateway ends here and now: what it has under way stays as it is, and nothing that it does counts.
    pub fn kill(&self) {
        self.by.is_dead.store(true, Relaxed);
    }

    /// The extents there are.
    pub fn extents(&self) -> Vec<u64> {
        let mut extents: Vec<u64> = self.shelf.read().keys().copied().collect();
        extents.sort_unstable();
        extents
    }

    /// How many bytes are kept.
    pub fn size(&self) -> u64 {
        self.shelf.read().values().flat_map(|piece| piece.chunks.iter()).map(|chunk| chunk.len() as u64).sum()
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Shelf {
    fn keep(&self, chunks: Vec<Bytes>, by: &Gateway) -> Piece {
        let extent = self.last_extent.fetch_add(1, Relaxed) + 1;
        let length = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        let mut kept = self.write();
        kept.insert(extent, Shelved { chunks: Arc::new(chunks), staged_by: by.id });
        let ended = self.ended.read().unwrap_or_else(PoisonError::into_inner);
        if by.id.is_some_and(|id| ended.contains(&id)) {
            self.unsettled.write().unwrap_or_else(PoisonError::into_inner).insert(extent);
        }
        Piece { extent, offset: 0, length, seal: 0 }
    }

    fn remove(&self, pieces: &[Piece], by: &Gateway) {
        if !by.is_dead.load(Relaxed) {
            let mut kept = self.write();
            pieces.iter().for_each(|piece| drop(kept.remove(&piece.extent)));
        }
    }

    fn adopt(&self, pieces: &[Piece], by: &Gateway) {
        if !by.is_dead.load(Relaxed) {
            let mut kept = self.write();
            for piece in pieces {
                if let Some(shelved) = kept.get_mut(&piece.extent) {
                    shelved.staged_by = None;
                }
            }
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, HashMap<u64, Shelved>> {
        self.pieces.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<u64, Shelved>> {
        self.pieces.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Content for Memory {
    fn stage(&self, _expected: Option<u64>) -> Box<dyn Stage> {
        Box::new(Upload {
            shelf: self.shelf.clone(),
            by: self.by.clone(),
            gathered: BytesMut::new(),
            chunks: Vec::new(),
            length: 0,
            running: Running::default(),
            pieces: Vec::new(),
        })
    }

    fn read(&self, piece: Piece, from: u64, to: u64) -> Box<dyn Chunks> {
        let chunks = self.shelf.read().get(&piece.extent).map(|piece| piece.chunks.clone());
        Box::new(Reading { chunks, next: 0, start: 0, from, to })
    }

    fn free(&self, pieces: Vec<Piece>) -> BoxFuture<'static, ()> {
        self.shelf.remove(&pieces, &self.by);
        Box::pin(async {})
    }

    fn recovery(&self) -> Option<&dyn Recovery> {
        self.by.id.map(|_| self as &dyn Recovery)
    }
}

impl Recovery for Memory {
    fn unsettled(&self) -> Vec<u64> {
        self.shelf.unsettled.read().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    fn settle(&self, extent: u64, live: Vec<(u64, u64)>) -> BoxFuture<'_, Result<(), Fault>> {
        let was_unsettled = self.shelf.unsettled.write().unwrap_or_else(PoisonError::into_inner).remove(&extent);
        let mut kept = self.shelf.write();
        // Another gateway may have been faster.
        if was_unsettled && live.is_empty() {
            kept.remove(&extent);
        } else if let (true, Some(piece)) = (was_unsettled, kept.get_mut(&extent)) {
            piece.staged_by = None;
        }
        Box::pin(async { Ok(()) })
    }

    fn ended(&self, gateway: u128) {
        let kept = self.shelf.write();
        self.shelf.ended.write().unwrap_or_else(PoisonError::into_inner).insert(gateway);
        let left = kept.iter().filter(|(_, piece)| piece.staged_by == Some(gateway)).map(|(extent, _)| *extent);
        self.shelf.unsettled.write().unwrap_or_else(PoisonError::into_inner).extend(left);
    }
}

struct Upload {
    shelf: Arc<Shelf>,
    by: Arc<Gateway>,
    gathered: BytesMut,
    /// Of the piece that grows.
    chunks: Vec<Bytes>,
    length: u64,
    running: Running,
    pieces: Vec<Piece>,
}

impl Upload {
    fn flush(&mut self) {
        if self.gathered.is_empty() {
            return;
        }
        let chunk = self.gathered.split().freeze();
        chunk.chunks(BLOCK).for_each(|block| self.running.push(block, crc64(block)));
        self.length += chunk.len() as u64;
        self.chunks.push(chunk);
        if self.length >= PIECE_MAX {
            self.close();
        }
    }

    fn close(&mut self) {
        if !self.chunks.is_empty() {
            self.pieces.push(self.shelf.keep(std::mem::take(&mut self.chunks), &self.by));
            self.length = 0;
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.shelf.remove(&self.pieces, &self.by);
    }
}

impl Stage for Upload {
    fn write(&mut self, mut bytes: Bytes) -> BoxFuture<'_, Result<(), Fault>> {
        while !bytes.is_empty() {
            let part = bytes.split_to(bytes.len().min(GATHER - self.gathered.len()));
            self.gathered.extend_from_slice(&part);
            if self.gathered.len() == GATHER {
                self.flush();
            }
        }
        Box::pin(async { Ok(()) })
    }

    fn finish(mut self: Box<Self>) -> BoxFuture<'static, Result<Staged, Fault>> {
        self.flush();
        self.close();
        let (pieces, shelf, by) = (std::mem::take(&mut self.pieces), self.shelf.clone(), self.by.clone());
        let staged = Staged::new(pieces, self.running.value(), move |fate, pieces| match fate {
            Fate::Adopted => shelf.adopt(&pieces, &by),
            Fate::Left => {}
            Fate::Dropped => shelf.remove(&pieces, &by),
        });
        Box::pin(async { Ok(staged) })
    }
}

struct Reading {
    chunks: Option<Arc<Vec<Bytes>>>,
    next: usize,
    /// Where chunk `next` begins.
    start: u64,
    from: u64,
    to: u64,
}

impl Reading {
    fn step(&mut self) -> Result<Option<Bytes>, Fault> {
        let chunks = self.chunks.as_ref().ok_or_else(|| Fault::Corrupt("a piece in memory is gone".into()))?;
        while self.from < self.to {
            let chunk = chunks
                .get(self.next)
                .ok_or_else(|| Fault::Corrupt(format!("a read goes on to {} past its piece", self.to)))?;
            let (start, end) = (self.start, self.start + chunk.len() as u64);
            if self.from < end {
                let part = chunk.slice((self.from - start) as usize..(self.to.min(end) - start) as usize);
                self.from = self.to.min(end);
                return Ok(Some(part));
            }
            self.next += 1;
            self.start = end;
        }
        Ok(None)
    }
}

impl Chunks for Reading {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Fault>> {
        let step = self.step();
        Box::pin(async { step })
    }
}
