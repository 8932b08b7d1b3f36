//! Content bytes, outside the keys: staged first, adopted by a transaction, immutable from then on.
//!
//! Held true by every implementation, and checked by [`suite`]:
//! * a piece that `finish` returned is durable, whatever happens next, and every gateway that shares the content can read it;
//! * what is read is what was written, or `Fault::Corrupt`: never other bytes;
//! * a place is never used twice: whoever frees a piece late, or again, hits nothing else;
//! * a piece is given back when it is freed. Who may still be reading it is known above this crate.
//!
//! [`Content`] is storage, which every implementation has. [`Recovery`] is about what a process left when it ended in the middle;
//! content that knows the fate of every piece at any time has none.

pub(crate) mod checksum;
mod memory;
pub mod suite;

use bytes::Bytes;

use crate::{BoxFuture, Fault};

pub use memory::Memory;

pub(crate) use checksum::Running;

/// The longest piece: long content is several of them.
pub const PIECE_MAX: u64 = 64 << 20;

/// A run of bytes in an extent. Immutable; may have several owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece {
    pub extent: u64,
    pub offset: u64,
    pub length: u64,
    /// The checksum over the piece's own checksums: the record that holds the piece vouches for its bytes.
    pub seal: u64,
}

/// Where content bytes live.
pub trait Content: Send + Sync + 'static {
    /// Begins an upload of `expected` bytes, if that is known.
    fn stage(&self, expected: Option<u64>) -> Box<dyn Stage>;

    /// Bytes `from..to` of `piece`, verified, in chunks of a size that suits streaming.
    fn read(&self, piece: Piece, from: u64, to: u64) -> Box<dyn Chunks>;

    /// Gives pieces back. Durable records must not name them any more, and nobody may be reading them. Giving back twice does
    /// no harm. It begins at the call, whether or not the answer is waited for; the answer comes when it is done, so that
    /// a caller who keeps a durable note of what is to be freed knows when to drop the note.
    fn free(&self, pieces: Vec<Piece>) -> BoxFuture<'static, ()>;

    /// What is to be found out about pieces whose process ended in the middle, if this content leaves that to its user.
    fn recovery(&self) -> Option<&dyn Recovery> {
        None
    }
}

/// Finding out, from the durable records, what is live of what a process staged before it ended.
pub trait Recovery: Send + Sync {
    /// Extents of which nobody knows what in them is live: an earlier process, or a gateway that [ended](Self::ended), left them.
    /// Nothing is added to them any more. All gateways that share the content are told the same.
    fn unsettled(&self) -> Vec<u64>;

    /// Says what is live in an unsettled extent (offset and length of each piece, in order); all else in it is given back.
    fn settle(&self, extent: u64, live: Vec<(u64, u64)>) -> BoxFuture<'_, Result<(), Fault>>;

    /// A gateway is no more, and the engine takes nothing from it any more (see `Engine::fence`): what it staged and was not
    /// told to be adopted is unsettled from now on, and so is what it stages later, if it only slept. Content of one process has no use for it.
    fn ended(&self, _gateway: u128) {}
}

/// An upload under way. Dropping it gives up what was written.
pub trait Stage: Send {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<(), Fault>>;
    /// Gives memory back that waits for more bytes, because none have come for a while.
    fn rest(&mut self) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(async { Ok(()) })
    }
    /// Waits until every byte is on disk.
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<Staged, Fault>>;
}

/// What became of staged pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A committed record names them.
    Adopted,
    /// Perhaps a record names them: the next start finds out.
    Left,
    /// No record names them, nor will.
    Dropped,
}

/// Pieces on disk that no record names yet. Dropped, they are given back; `adopted` keeps them;
/// `leave` keeps them until the next start finds out (for when nobody knows whether the transaction committed).
pub struct Staged {
    pieces: Vec<Piece>,
    crc64: u64,
    settle: Option<Settle>,
}

type Settle = Box<dyn FnOnce(Fate, Vec<Piece>) + Send>;

impl Staged {
    /// `crc64` is that of all the bytes together, and `settle` learns exactly once what became of the pieces.
    pub fn new(pieces: Vec<Piece>, crc64: u64, settle: impl FnOnce(Fate, Vec<Piece>) + Send + 'static) -> Self {
        Self { pieces, crc64, settle: Some(Box::new(settle)) }
    }

    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The CRC64 (NVME polynomial, as in `x-ms-content-crc64`) of the whole content.
    pub fn crc64(&self) -> u64 {
        self.crc64
    }

    pub fn length(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.length).sum()
    }

    pub fn adopted(mut self) {
        self.end(Fate::Adopted);
    }

    pub fn leave(mut self) {
        self.end(Fate::Left);
    }

    fn end(&mut self, fate: Fate) {
        if let Some(settle) = self.settle.take() {
            settle(fate, std::mem::take(&mut self.pieces));
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        self.end(Fate::Dropped);
    }
}

/// A stream of verified bytes.
pub trait Chunks: Send {
    /// The next chunk, or `None` at the end.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Fault>>;
}
