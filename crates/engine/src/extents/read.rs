//! Reading a piece: its footer against the seal that the record holds, then each block against the footer.
//!
//! What the page cache holds is read on the spot, without a change of threads; what it does not is read on a
//! blocking thread, one chunk ahead of the reader.

use std::fs::File;
use std::io::IoSliceMut;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use rustix::fs::Advice;
use rustix::io::ReadWriteFlags;
use tokio::task::JoinHandle;

use super::Core;
use super::directory::{Directory, fault};
use super::layout::{BLOCK, crc64, footer_length, open_footer};
use super::recent::Recent;
use crate::content::{Chunks, Piece};
use crate::{BoxFuture, Fault};

/// How much a reader gets at once: small enough to be in the processor's cache from the disk's copy to the socket's.
pub(crate) const CHUNK: usize = 128 << 10;
/// How far the kernel is asked to read ahead of a reader that missed the page cache.
const AHEAD: u64 = 4 << 20;
/// Files kept open.
const FILES: usize = 128;
/// Checksums kept, of all pieces together (8 MiB).
const SUMS: usize = 1 << 20;

const _: () = assert!(CHUNK.is_multiple_of(BLOCK));

/// The files that were read from lately.
pub(crate) struct Files(Mutex<Recent<u64, Arc<File>>>);

impl Files {
    pub fn new() -> Self {
        Self(Mutex::new(Recent::new(FILES)))
    }

    pub fn forget(&self, extent: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&extent);
    }

    fn opened(&self, extent: u64) -> Option<Arc<File>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&extent)
    }

    fn open(&self, directory: &Directory, extent: u64) -> Result<Arc<File>, Fault> {
        if let Some(file) = self.opened(extent) {
            return Ok(file);
        }
        let file = Arc::new(directory.open_to_read(extent)?);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(extent, file.clone(), 1);
        Ok(file)
    }
}

/// The footers that were verified lately.
pub(crate) struct Footers(Mutex<Recent<Piece, Arc<Vec<u64>>>>);

impl Footers {
    pub fn new() -> Self {
        Self(Mutex::new(Recent::new(SUMS)))
    }

    fn get(&self, piece: &Piece) -> Option<Arc<Vec<u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(piece)
    }

    fn insert(&self, piece: Piece, sums: Arc<Vec<u64>>) {
        let weight = sums.len() + 8; // an entry costs something by itself
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(piece, sums, weight);
    }
}

/// Whether a read may wait for the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    None,
    Waits,
}

pub(crate) struct Reading {
    core: Arc<Core>,
    piece: Piece,
    at: u64,
    to: u64,
    /// The chunk at `at`, if it is being read.
    ahead: Option<JoinHandle<Result<Bytes, Fault>>>,
}

impl Reading {
    pub fn new(core: Arc<Core>, piece: Piece, from: u64, to: u64) -> Self {
        Self { core, piece, at: from, to, ahead: None }
    }

    async fn step(&mut self) -> Result<Option<Bytes>, Fault> {
        if self.at >= self.to {
            return Ok(None);
        }
        if self.to > self.piece.length {
            let (to, length) = (self.to, self.piece.length);
            return Err(Fault::Corrupt(format!("a read up to {to} of a piece of {length} bytes")));
        }
        if self.ahead.is_none() {
            if let Some(chunk) = self.core.read_chunk(&self.piece, self.at, self.to, Patience::None)? {
                self.at += chunk.len() as u64;
                return Ok(Some(chunk));
            }
            self.ahead = self.begin();
        }
        let chunk = match &mut self.ahead {
            Some(task) => task.await.map_err(|error| Fault::Unavailable(format!("a read did not end: {error}")))??,
            None => return Ok(None),
        };
        self.at += chunk.len() as u64;
        self.ahead = self.begin();
        Ok(Some(chunk))
    }

    fn begin(&self) -> Option<JoinHandle<Result<Bytes, Fault>>> {
        let (core, piece, at, to) = (self.core.clone(), self.piece, self.at, self.to);
        (at < to).then(|| {
            tokio::task::spawn_blocking(move || {
                let chunk = core.read_chunk(&piece, at, to, Patience::Waits)?;
                chunk.ok_or_else(|| Fault::Unavailable("a read that may wait did not".into()))
            })
        })
    }
}

impl Chunks for Reading {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Fault>> {
        Box::pin(self.step())
    }
}

impl Core {
    /// The bytes at `at`, up to `to` or the end of a chunk, verified. `None` if that would take waiting.
    fn read_chunk(&self, piece: &Piece, at: u64, to: u64, patience: Patience) -> Result<Option<Bytes>, Fault> {
        let file = match patience {
            Patience::None => match self.files.opened(piece.extent) {
                Some(file) => file,
                None => return Ok(None),
            },
            Patience::Waits => self.files.open(&self.directory, piece.extent)?,
        };
        let Some(sums) = self.sums(&file, piece, patience)? else { return Ok(None) };

        let first = at / BLOCK as u64;
        let start = first * BLOCK as u64;
        let to = to.min((at / CHUNK as u64 + 1) * CHUNK as u64);
        let end = to.next_multiple_of(BLOCK as u64).min(piece.length);
        if patience == Patience::Waits && at.is_multiple_of(AHEAD / 2) {
            // A hint: what is not wanted in the end is only memory.
            let _ = rustix::fs::fadvise(&*file, piece.offset + start, AHEAD.try_into().ok(), Advice::WillNeed);
        }
        let mut buffer = self.read_buffers.take((end - start) as usize);
        let bytes = &mut buffer.as_mut()[..(end - start) as usize];
        if !read(&file, piece, start, bytes, patience)? {
            return Ok(None);
        }
        for (block, sum) in bytes.chunks(BLOCK).zip(&sums[first as usize..]) {
            if crc64(block) != *sum {
                let (extent, offset) = (piece.extent, piece.offset + start);
                tracing::error!(extent, offset, "content does not agree with its checksum");
                return Err(Fault::Corrupt(format!("content near {offset} in extent {extent} is damaged")));
            }
        }
        Ok(Some(Bytes::from_owner(buffer).slice((at - start) as usize..(to - start) as usize)))
    }

    fn sums(&self, file: &File, piece: &Piece, patience: Patience) -> Result<Option<Arc<Vec<u64>>>, Fault> {
        if let Some(sums) = self.footers.get(piece) {
            return Ok(Some(sums));
        }
        let mut footer = vec![0; footer_length(piece.length) as usize];
        if !read(file, piece, piece.length, &mut footer, patience)? {
            return Ok(None);
        }
        let sums = Arc::new(open_footer(piece, &footer)?);
        self.footers.insert(*piece, sums.clone());
        Ok(Some(sums))
    }
}

/// Fills `bytes` from `start` of the room of `piece`; `false` if that would take waiting.
fn read(file: &File, piece: &Piece, start: u64, bytes: &mut [u8], patience: Patience) -> Result<bool, Fault> {
    let (at, wanted) = (piece.offset + start, bytes.len());
    match patience {
        Patience::Waits => match file.read_exact_at(bytes, at) {
            Ok(()) => Ok(true),
            Err(error) => Err(fault(&format!("reading {wanted} bytes at {at} in extent {}", piece.extent), &error)),
        },
        Patience::None => match rustix::io::preadv2(file, &mut [IoSliceMut::new(bytes)], at, ReadWriteFlags::NOWAIT) {
            Ok(got) => Ok(got == wanted), // part of it: the rest is not in the cache, or not in the file
            Err(_) => Ok(false),          // not there yet, or broken: the read that waits will tell
        },
    }
}
