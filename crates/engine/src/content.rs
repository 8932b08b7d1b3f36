//! Content bytes, outside the keys: staged first, adopted by a transaction, immutable from then on.
//!
//! Held true:
//! * a piece that `finish` returned is on disk, whatever happens next;
//! * what is read is what was written, or `Fault::Corrupt`: never other bytes;
//! * a piece is given back only after nobody can be reading it.

use bytes::Bytes;

use crate::{BoxFuture, Fault};

/// The longest piece: long content is several of them.
pub const PIECE_MAX: u64 = 64 << 20;

/// A run of bytes in an extent. Immutable; shared by whoever knows it.
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

    /// While the pin is held, no piece is given back that was not given back before.
    /// Take it before reading the record that names the piece; keep it while reading bytes.
    fn pin(&self) -> Pin;

    /// Gives pieces back to the file system, once no pin is older than this call.
    /// Durable records must not name them any more.
    fn free(&self, pieces: Vec<Piece>);

    /// Extents that an earlier process left without settling what in them is live.
    fn unsettled(&self) -> Vec<u64>;

    /// Says what is live in an unsettled extent (offset and length, in order); all else in it is given back.
    fn settle(&self, extent: u64, live: Vec<(u64, u64)>) -> BoxFuture<'_, Result<(), Fault>>;
}

/// An upload under way. Dropping it gives up what was written.
pub trait Stage: Send {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<(), Fault>>;
    /// Waits until every byte is on disk.
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<Staged, Fault>>;
}

/// Pieces on disk that no record names yet. Dropped, they are given back; `adopted` keeps them;
/// `leave` keeps them until the next start finds out (for when nobody knows whether the transaction committed).
pub struct Staged {
    pieces: Vec<Piece>,
    release: Option<Box<dyn FnOnce(Vec<Piece>) + Send>>,
}

impl Staged {
    pub fn new(pieces: Vec<Piece>, release: impl FnOnce(Vec<Piece>) + Send + 'static) -> Self {
        Self { pieces, release: Some(Box::new(release)) }
    }

    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    pub fn adopted(mut self) {
        self.release = None;
    }

    pub fn leave(mut self) {
        self.release = None;
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            release(std::mem::take(&mut self.pieces));
        }
    }
}

/// A stream of verified bytes.
pub trait Chunks: Send {
    /// The next chunk, or `None` at the end.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Fault>>;
}

/// See [`Content::pin`].
pub struct Pin(#[allow(dead_code)] pub(crate) Box<dyn std::any::Any + Send + Sync>);
