//! Bytes on their way in: streamed to their place, measured and digested on the way, on disk before any record names them.

use bytes::Bytes;
use lazuli_engine::BoxFuture;
use lazuli_engine::content::Staged;
use lazuli_model::Refusal;

use crate::{Failure, Store};

/// The body of a request, as the protocol hands it over.
pub trait Source: Send {
    /// The next bytes, or `None` at the end.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Broken>>;
}

/// Why a body ended early: the client went away, or the protocol found fault with it.
#[derive(Debug)]
pub enum Broken {
    HungUp,
    Refused(Refusal),
}

/// Bytes that are on disk (or small enough to go into the record), with what was learnt on the way.
pub struct Received {
    pub length: u64,
    pub crc64: u64,
    /// Computed when asked for.
    pub md5: Option<[u8; 16]>,
    pub(crate) body: Body,
}

pub(crate) enum Body {
    #[allow(dead_code)]
    Inline(Bytes),
    #[allow(dead_code)]
    Staged(Staged),
}

impl Store {
    /// Takes a body in. `expected` is its length, if the client said. A body that exceeds `limit` is refused while it
    /// streams; one that is shorter than `expected` is refused at its end.
    pub async fn receive(
        &self,
        _body: &mut dyn Source,
        _expected: Option<u64>,
        _limit: u64,
        _md5: bool,
    ) -> Result<Received, Failure> {
        todo!()
    }
}
