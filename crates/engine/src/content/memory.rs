//! Content kept in memory, for `--in-memory` and for tests: the plainest implementation. A restart forgets all.
//! Each piece is its own extent; there is no seal, for memory does not rot.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use bytes::{Bytes, BytesMut};

use super::checksum::{BLOCK, crc64};
use super::{Chunks, Content, Fate, PIECE_MAX, Piece, Running, Stage, Staged};
use crate::{BoxFuture, Fault};

/// Small chunks are gathered up to this size, so that a byte-by-byte upload does not cost an allocation per byte.
const GATHER: usize = BLOCK * 4;

#[derive(Clone)]
pub struct Memory {
    shelf: Arc<Shelf>,
}

#[derive(Default)]
struct Shelf {
    pieces: RwLock<HashMap<u64, Arc<Vec<Bytes>>>>,
    last_extent: AtomicU64,
}

impl Memory {
    pub fn new() -> Self {
        Self { shelf: Arc::default() }
    }

    /// How many bytes are kept.
    pub fn size(&self) -> u64 {
        let pieces = self.shelf.pieces.read().unwrap_or_else(PoisonError::into_inner);
        pieces.values().flat_map(|chunks| chunks.iter()).map(|chunk| chunk.len() as u64).sum()
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Shelf {
    fn keep(&self, chunks: Vec<Bytes>) -> Piece {
        let extent = self.last_extent.fetch_add(1, Relaxed) + 1;
        let length = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        self.pieces.write().unwrap_or_else(PoisonError::into_inner).insert(extent, Arc::new(chunks));
        Piece { extent, offset: 0, length, seal: 0 }
    }

    fn remove(&self, pieces: &[Piece]) {
        let mut kept = self.pieces.write().unwrap_or_else(PoisonError::into_inner);
        pieces.iter().for_each(|piece| drop(kept.remove(&piece.extent)));
    }
}

impl Content for Memory {
    fn stage(&self, _expected: Option<u64>) -> Box<dyn Stage> {
        Box::new(Upload {
            shelf: self.shelf.clone(),
            gathered: BytesMut::new(),
            chunks: Vec::new(),
            length: 0,
            running: Running::default(),
            pieces: Vec::new(),
        })
    }

    fn read(&self, piece: Piece, from: u64, to: u64) -> Box<dyn Chunks> {
        let kept = self.shelf.pieces.read().unwrap_or_else(PoisonError::into_inner);
        let chunks = kept.get(&piece.extent).cloned();
        Box::new(Reading { chunks, next: 0, start: 0, from, to })
    }

    fn free(&self, pieces: Vec<Piece>) {
        self.shelf.remove(&pieces);
    }

    fn freed(&self) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }

    fn unsettled(&self) -> Vec<u64> {
        Vec::new()
    }

    fn settle(&self, _extent: u64, _live: Vec<(u64, u64)>) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(async { Ok(()) })
    }
}

struct Upload {
    shelf: Arc<Shelf>,
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
            self.pieces.push(self.shelf.keep(std::mem::take(&mut self.chunks)));
            self.length = 0;
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.shelf.remove(&self.pieces);
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
        let (pieces, shelf) = (std::mem::take(&mut self.pieces), self.shelf.clone());
        let staged = Staged::new(pieces, self.running.value(), move |fate, pieces| match fate {
            Fate::Adopted | Fate::Left => {}
            Fate::Dropped => shelf.remove(&pieces),
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
