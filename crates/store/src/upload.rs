//! Bytes on their way in: streamed to their place, measured and digested on the way, on disk before any record names them.
//!
//! Held true: memory per upload is bounded, whatever the body's length and however slowly it comes, and no thread waits for it.

use bytes::{Bytes, BytesMut};
use lazuli_engine::content::{Stage, Staged};
use lazuli_engine::{BoxFuture, Fault};
use lazuli_model::Refusal;
use md5::Digest;
use tokio::sync::OwnedSemaphorePermit;

use crate::crypt::{Cipher, Lock, SEGMENT, Sealing};
use crate::md5::{Digests, Job, Md5};
use crate::records::{Place, Run};
use crate::{Failure, Store};

/// A body of at most this many bytes goes into the record instead of an extent.
pub(crate) const INLINE_MAX: u64 = 16 << 10;

/// So many bytes are handed over at a time, to be digested beside the write.
const DIGEST_BATCH: usize = 1 << 20;
const DIGEST_PARTS: usize = 1024;
/// The same for a slow client; it doubles while it is used up.
const DIGEST_BATCH_SLOW: usize = 64 << 10;

/// The body of a request, as the protocol hands it over.
pub trait Source: Send {
    /// The next bytes, or `None` at the end. No bytes say that little or nothing has come for a while.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Broken>>;
}

/// Bytes that are there already.
pub(crate) struct Whole(pub Option<Bytes>);

impl Source for Whole {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Broken>> {
        let bytes = self.0.take();
        Box::pin(async move { Ok(bytes) })
    }
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
    /// Whether the bytes were encrypted on the way, and how. Length and digests are those of what the client sent.
    pub(crate) cipher: Cipher,
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
            if bytes.is_empty() {
                upload.rest().await?;
                continue;
            }
            length += bytes.len() as u64;
            if expected.is_some_and(|expected| length > expected) {
                return Err(Refusal::BodyTooLong.into());
            }
            if length > limit {
                return Err(Refusal::RequestBodyTooLarge { limit }.into());
            }
            upload.write(bytes).await?;
        }
        if expected.is_some_and(|expected| length < expected) {
            return Err(Refusal::BodyTooShort.into());
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
        Broken::HungUp => Refusal::BodyBrokenOff,
        Broken::Refused(refusal) => refusal,
    }
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
            let expected = self.expected.map(|expected| self.cipher().stored_length(expected));
            self.stage = Some(self.store.content.stage(expected));
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

    fn cipher(&self) -> Cipher {
        self.sealing.as_ref().map_or(Cipher::None, |sealing| sealing.cipher())
    }

    /// Holds as little as can be until more comes.
    async fn rest(&mut self) -> Result<(), Failure> {
        if let Some(digest) = &mut self.digest {
            digest.rest().await?;
        }
        if let Some(stage) = &mut self.stage {
            stage.rest().await?;
        }
        Ok(())
    }

    async fn finish(self, length: u64) -> Result<Received, Failure> {
        let cipher = self.cipher();
        let Some(mut stage) = self.stage else {
            let bytes = self.small.freeze();
            let crc64 = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, &bytes);
            let md5 = self.digest.map(|_| md5::Md5::digest(&bytes).into());
            let bytes = match self.sealing {
                Some(mut sealing) => {
                    debug_assert!(length < SEGMENT, "what is inline is one segment");
                    sealing.seal(bytes);
                    sealing.finish().0
                }
                None => bytes,
            };
            return Ok(Received { length, crc64, md5, cipher, body: Body::Inline(bytes) });
        };
        let sent_crc64 = match self.sealing {
            Some(sealing) => {
                let (last, crc64) = sealing.finish();
                stage.write(last).await?;
                Some(crc64)
            }
            None => None,
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
        if cipher != Cipher::None && !holds_whole_segments(&staged) {
            return Err(Fault::Unavailable("content was cut within a segment".into()).into());
        }
        let crc64 = sent_crc64.unwrap_or(staged.crc64());
        Ok(Received { length, crc64, md5, cipher, body: Body::Staged(staged) })
    }
}

/// Pieces are cut at multiples of a segment, or what one of them holds could not be opened without the next.
fn holds_whole_segments(staged: &Staged) -> bool {
    let before_last = staged.pieces().split_last().map_or(&[][..], |(_, before)| before);
    before_last.iter().all(|piece| piece.length.is_multiple_of(SEGMENT))
}

/// MD5 beside the write, in short turns, so that a slow client occupies no thread. One batch is being digested while the
/// next one gathers; no third is begun.
pub(crate) struct Digesting<'a> {
    service: &'a Digests,
    batch: Vec<Bytes>,
    size: usize,
    /// A batch that is as large as this is digested.
    enough: usize,
    /// For the batch.
    room: Option<OwnedSemaphorePermit>,
    state: State,
}

enum State {
    Idle(Md5),
    Busy(Job, Option<OwnedSemaphorePermit>),
    Lost,
}

impl<'a> Digesting<'a> {
    pub fn new(service: &'a Digests) -> Self {
        Self { service, batch: Vec::new(), size: 0, enough: DIGEST_BATCH, state: State::Idle(Md5::new()), room: None }
    }

    pub async fn update(&mut self, bytes: Bytes) -> Result<(), Fault> {
        let room = self.service.room(bytes.len());
        let is_full = room.is_none();
        match (&mut self.room, room) {
            (Some(has), Some(more)) => has.merge(more),
            (has, Some(more)) => *has = Some(more),
            (_, None) => {}
        }
        self.size += bytes.len();
        self.batch.push(bytes);
        if is_full {
            self.turn().await?;
            self.state = State::Idle(self.idle().await?);
            return Ok(());
        }
        if self.size >= self.enough || self.batch.len() >= DIGEST_PARTS {
            self.turn().await?;
            self.enough = (2 * self.enough).min(DIGEST_BATCH);
        }
        Ok(())
    }

    /// Leaves nothing behind that is yet to be digested.
    async fn rest(&mut self) -> Result<(), Fault> {
        self.enough = DIGEST_BATCH_SLOW;
        if !self.batch.is_empty() {
            self.turn().await?;
        }
        Ok(())
    }

    /// Waits for the turn before this one, and begins this one.
    async fn turn(&mut self) -> Result<(), Fault> {
        let md5 = self.idle().await?;
        let batch = std::mem::take(&mut self.batch);
        self.size = 0;
        self.state = State::Busy(self.service.submit(md5, batch)?, self.room.take());
        Ok(())
    }

    async fn idle(&mut self) -> Result<Md5, Fault> {
        match std::mem::replace(&mut self.state, State::Lost) {
            State::Idle(md5) => Ok(md5),
            State::Busy(turn, _room) => turn.await.map_err(|_| Fault::Unavailable("the digest was interrupted".into())),
            State::Lost => Err(Fault::Unavailable("the digest was lost".into())),
        }
    }

    pub async fn finish(mut self) -> Result<[u8; 16], Fault> {
        self.rest().await?;
        Ok(self.idle().await?.finish())
    }
}
