//! Bytes on their way in: streamed to their place, measured and digested on the way, on disk before any record names them.
//!
//! Held true: memory per upload is bounded, whatever the body's length and however slowly it comes, and no thread waits for it.

use bytes::{Bytes, BytesMut};
use lazuli_engine::content::{Stage, Staged};
use lazuli_engine::{BoxFuture, Fault};
use lazuli_model::Refusal;
use md5::Digest;

use crate::crypt::{Lock, Nonce, Sealing};
use crate::md5::{Digests, Job, Md5};
use crate::records::{Place, Run};
use crate::{Failure, Store};

/// A body of at most this many bytes goes into the record instead of an extent.
pub(crate) const INLINE_MAX: u64 = 16 << 10;

/// So many bytes are handed over at a time, to be digested beside the write.
const DIGEST_BATCH: usize = 1 << 20;
const DIGEST_PARTS: usize = 1024;

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

/// What is stored here may be a body too, on its way into a copy. What cannot be read ends that.
impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => Broken::Refused(refusal),
            Failure::Broken(fault) => {
                tracing::error!(?fault, "the source of a copy could not be read to its end");
                Broken::Refused(Refusal::InternalError)
            }
        }
    }
}

/// Bytes that are on disk (or small enough to go into the record), with what was learnt on the way.
pub struct Received {
    pub length: u64,
    pub crc64: u64,
    /// Computed when asked for.
    pub md5: Option<[u8; 16]>,
    /// Given when the bytes were encrypted on the way; the digests are those of what the client sent.
    pub(crate) nonce: Option<Nonce>,
    pub(crate) body: Body,
}

pub(crate) enum Body {
    Inline(Bytes),
    Staged(Staged),
}

impl Body {
    /// How a record names the bytes, and those that go into the record itself.
    pub fn place(&self) -> (Place, Bytes) {
        match self {
            Body::Inline(bytes) => (Place::Inline, bytes.clone()),
            Body::Staged(staged) => (Place::Pieces(staged.pieces().iter().map(Run::from).collect()), Bytes::new()),
        }
    }

    pub fn into_staged(self) -> Option<Staged> {
        match self {
            Body::Inline(_) => None,
            Body::Staged(staged) => Some(staged),
        }
    }
}

impl Store {
    /// Takes a body in. `expected` is its length, if the client said. A body that exceeds `limit` is refused while it
    /// streams; one that is shorter than `expected` is refused at its end.
    pub async fn receive(
        &self,
        body: &mut dyn Source,
        expected: Option<u64>,
        limit: u64,
        md5: bool,
    ) -> Result<Received, Failure> {
        self.receive_encrypted(body, expected, limit, md5, None).await
    }

    /// As [`Store::receive`], encrypted by a customer's key before anything is stored.
    pub async fn receive_encrypted(
        &self,
        body: &mut dyn Source,
        expected: Option<u64>,
        limit: u64,
        md5: bool,
        lock: Option<Lock>,
    ) -> Result<Received, Failure> {
        if expected.is_some_and(|expected| expected > limit) {
            return Err(Refusal::RequestBodyTooLarge { limit }.into());
        }
        let digest = md5.then(|| Digesting::new(&self.digests));
        let sealing = lock.map(Sealing::new).map(Box::new);
        let mut upload = Upload { store: self, expected, small: BytesMut::new(), stage: None, digest, sealing };
        let mut length = 0;
        while let Some(bytes) = body.next().await.map_err(refusal)? {
            length += bytes.len() as u64;
            if expected.is_some_and(|expected| length > expected) {
                return Err(wrong_length("The body is longer than Content-Length says.").into());
            }
            if length > limit {
                return Err(Refusal::RequestBodyTooLarge { limit }.into());
            }
            upload.write(bytes).await?;
        }
        if expected.is_some_and(|expected| length < expected) {
            return Err(wrong_length("The body is shorter than Content-Length says.").into());
        }
        upload.finish(length).await
    }

    /// Moves inline bytes to an extent.
    pub(crate) async fn stage_inline(&self, bytes: Bytes) -> Result<Staged, Failure> {
        let mut stage = self.content.stage(Some(bytes.len() as u64));
        stage.write(bytes).await?;
        Ok(stage.finish().await?)
    }
}

fn refusal(broken: Broken) -> Refusal {
    match broken {
        Broken::HungUp => wrong_length("The client hung up before the end of the body."),
        Broken::Refused(refusal) => refusal,
    }
}

fn wrong_length(reason: &'static str) -> Refusal {
    Refusal::InvalidInput { reason: reason.into() }
}

struct Upload<'a> {
    store: &'a Store,
    expected: Option<u64>,
    small: BytesMut,
    /// From the byte on with which the body is not small any more.
    stage: Option<Box<dyn Stage>>,
    digest: Option<Digesting<'a>>,
    /// Boxed, since few have it, and it has a cipher in it.
    sealing: Option<Box<Sealing>>,
}

impl Upload<'_> {
    async fn write(&mut self, bytes: Bytes) -> Result<(), Failure> {
        if self.stage.is_none() && (self.small.len() + bytes.len()) as u64 <= INLINE_MAX {
            self.small.extend_from_slice(&bytes);
            return Ok(());
        }
        if self.stage.is_none() {
            self.stage = Some(self.store.content.stage(self.expected));
            if !self.small.is_empty() {
                let small = self.small.split().freeze();
                self.put(small).await?;
            }
        }
        self.put(bytes).await
    }

    async fn put(&mut self, bytes: Bytes) -> Result<(), Failure> {
        if let Some(digest) = &mut self.digest {
            digest.update(bytes.clone()).await?;
        }
        let bytes = match &mut self.sealing {
            Some(sealing) => sealing.seal(bytes),
            None => bytes,
        };
        match &mut self.stage {
            Some(stage) => Ok(stage.write(bytes).await?),
            None => Err(Fault::Unavailable("an upload wrote before it was staged".into()).into()),
        }
    }

    async fn finish(mut self, length: u64) -> Result<Received, Failure> {
        let nonce = self.sealing.as_ref().map(|sealing| sealing.nonce());
        let Some(stage) = self.stage else {
            let bytes = self.small.freeze();
            let crc64 = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, &bytes);
            let md5 = self.digest.map(|_| md5::Md5::digest(&bytes).into());
            let bytes = match &mut self.sealing {
                Some(sealing) => sealing.seal(bytes),
                None => bytes,
            };
            return Ok(Received { length, crc64, md5, nonce, body: Body::Inline(bytes) });
        };
        let digest = async {
            match self.digest {
                Some(digest) => digest.finish().await.map(Some),
                None => Ok(None),
            }
        };
        // The rest is digested while the disk is waited for.
        let (staged, md5) = tokio::join!(stage.finish(), digest);
        let (staged, md5) = (staged?, md5?);
        let crc64 = self.sealing.map_or(staged.crc64(), |sealing| sealing.crc64());
        Ok(Received { length, crc64, md5, nonce, body: Body::Staged(staged) })
    }
}

/// MD5 beside the write, in short turns, so that a slow client occupies no thread. One batch is being digested while the
/// next one gathers; no third is begun.
pub(crate) struct Digesting<'a> {
    service: &'a Digests,
    batch: Vec<Bytes>,
    size: usize,
    state: State,
}

enum State {
    Idle(Md5),
    Busy(Job),
    Lost,
}

impl<'a> Digesting<'a> {
    pub fn new(service: &'a Digests) -> Self {
        Self { service, batch: Vec::new(), size: 0, state: State::Idle(Md5::new()) }
    }

    pub async fn update(&mut self, bytes: Bytes) -> Result<(), Fault> {
        self.size += bytes.len();
        self.batch.push(bytes);
        if self.size >= DIGEST_BATCH || self.batch.len() >= DIGEST_PARTS {
            self.turn().await?;
        }
        Ok(())
    }

    /// Waits for the turn before this one, and begins this one.
    async fn turn(&mut self) -> Result<(), Fault> {
        let md5 = self.idle().await?;
        let batch = std::mem::take(&mut self.batch);
        self.size = 0;
        self.state = State::Busy(self.service.submit(md5, batch)?);
        Ok(())
    }

    async fn idle(&mut self) -> Result<Md5, Fault> {
        match std::mem::replace(&mut self.state, State::Lost) {
            State::Idle(md5) => Ok(md5),
            State::Busy(turn) => turn.await.map_err(|_| Fault::Unavailable("the digest was interrupted".into())),
            State::Lost => Err(Fault::Unavailable("the digest was lost".into())),
        }
    }

    pub async fn finish(mut self) -> Result<[u8; 16], Fault> {
        if !self.batch.is_empty() {
            self.turn().await?;
        }
        Ok(self.idle().await?.finish())
    }
}
