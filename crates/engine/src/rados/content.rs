//! Content as immutable objects of the pool.
//!
//! ```text
//!  c.EXTENT.STRIPE    up to 4 MiB of a piece, then the checksum of each 64 KiB of them (8 bytes each)
//!  c.EXTENT.index     of a piece of several stripes: the seal of each
//!
//!  seal of a stripe   checksum of its checksums, its extent and its number
//!  seal of a piece    that of its stripe, or the checksum of its index
//! ```
//!
//! Held true:
//! * each piece is an extent of its own, whose number nobody has had before (`extents`);
//! * an object is written once, whole, before `finish` returns: a write that is repeated, or comes late, writes the same bytes;
//! * what is read is checked against the piece's seal, which the record that names the piece vouches for.

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::extents::Extents;
use super::pause;
use super::pool::{Found, Pool, ReadStep, Trouble, WriteStep};
use crate::content::checksum::{BLOCK, crc64};
use crate::content::{Chunks, Content, Fate, PIECE_MAX, Piece, Recovery, Running, Stage, Staged};
use crate::{BoxFuture, Clock, Fault};

/// Bytes of content in one object.
const STRIPE: usize = 4 << 20;
const STRIPES_MAX: usize = PIECE_MAX as usize / STRIPE;
/// Objects of one upload that are on their way at once: this bounds its memory.
const WRITES_MAX: usize = 3;
const TRIES: u32 = 4;
const PATIENCE: Duration = Duration::from_secs(1);

/// The content of a pool.
#[derive(Clone)]
pub struct Objects {
    shared: Arc<Shared>,
}

struct Shared {
    pool: Arc<dyn Pool>,
    extents: Extents,
    runtime: Handle,
}

impl Objects {
    /// The content of `pool` for the gateway `id`, whose work is done on the runtime of the caller.
    pub fn new(pool: Arc<dyn Pool>, id: u128, clock: Arc<Clock>) -> Self {
        let shared = Shared { extents: Extents::new(pool.clone(), id, clock), pool, runtime: Handle::current() };
        Self { shared: Arc::new(shared) }
    }

    /// Whether what was staged here is certain to be there still. See [`Rados::commits_while`](super::Rados::commits_while).
    pub fn is_alive(&self) -> bool {
        self.shared.extents.is_alive()
    }

    /// To be called every [`HEARTBEAT_SECONDS`](super::HEARTBEAT_SECONDS): says that this gateway is there, and looks for extents that dead
    /// ones left unsettled.
    pub async fn attend(&self) -> Result<(), Fault> {
        self.shared.extents.beat().await?;
        self.shared.extents.look_for_dead().await
    }
}

impl Shared {
    /// Deletes the objects of pieces, in the background.
    fn delete(self: &Arc<Self>, pieces: Vec<Piece>) -> JoinHandle<()> {
        let shared = self.clone();
        self.runtime.spawn(async move {
            for piece in pieces {
                for object in objects(&piece) {
                    delete(&*shared.pool, &object).await;
                }
                shared.extents.settled(piece.extent);
            }
        })
    }

    /// Deletes the objects of an extent, however many it has. An upload has a few on their way at once, so there may be gaps.
    async fn delete_unknown(&self, extent: u64) {
        let mut gap = 0;
        for stripe in 0..STRIPES_MAX {
            gap = if delete(&*self.pool, &object(extent, stripe)).await { 0 } else { gap + 1 };
            if gap > WRITES_MAX {
                break;
            }
        }
        delete(&*self.pool, &index_object(extent)).await;
    }
}

/// Whether there was such an object.
async fn delete(pool: &dyn Pool, object: &str) -> bool {
    let mut tried = 0;
    loop {
        match pool.write(object, vec![WriteStep::Delete]).await {
            Ok(()) => return true,
            // Shut out: what this gateway staged is looked after by the others.
            Err(Trouble::Missing | Trouble::ShutOut) => return false,
            Err(trouble) => {
                tried += 1;
                if tried % TRIES == 0 {
                    tracing::warn!(object, ?trouble, "an object that nobody needs cannot be deleted yet");
                }
                pause(PATIENCE * tried.min(60)).await;
            }
        }
    }
}

impl Content for Objects {
    fn stage(&self, expected: Option<u64>) -> Box<dyn Stage> {
        Box::new(Upload {
            shared: self.shared.clone(),
            left: expected,
            gathered: BytesMut::new(),
            growing: None,
            writes: Vec::new(),
            running: Running::default(),
            pieces: Vec::new(),
        })
    }

    fn read(&self, piece: Piece, from: u64, to: u64) -> Box<dyn Chunks> {
        Box::new(Reader { pool: self.shared.pool.clone(), piece, from, to, index: None, ahead: None })
    }

    fn free(&self, pieces: Vec<Piece>) -> BoxFuture<'static, ()> {
        let deleting = self.shared.delete(pieces);
        Box::pin(async move {
            // It ends with the runtime at the latest.
            let _ = deleting.await;
        })
    }

    fn recovery(&self) -> Option<&dyn Recovery> {
        Some(self)
    }
}

/// Gateways that are no more are found by their own heartbeats ([`Objects::attend`]).
impl Recovery for Objects {
    fn unsettled(&self) -> Vec<u64> {
        self.shared.extents.unsettled()
    }

    fn settle(&self, extent: u64, live: Vec<(u64, u64)>) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(async move {
            if live.is_empty() {
                self.shared.delete_unknown(extent).await;
            }
            self.shared.extents.settle(extent).await
        })
    }
}

fn object(extent: u64, stripe: usize) -> String {
    format!("c.{extent:016x}.{stripe:04x}")
}

fn index_object(extent: u64) -> String {
    format!("c.{extent:016x}.index")
}

fn stripes(length: u64) -> usize {
    (length as usize).div_ceil(STRIPE)
}

/// All objects that a piece may have.
fn objects(piece: &Piece) -> Vec<String> {
    let stripes = stripes(piece.length);
    let mut all: Vec<_> = (0..stripes).map(|stripe| object(piece.extent, stripe)).collect();
    if stripes > 1 {
        all.push(index_object(piece.extent));
    }
    all
}

fn stripe_seal(extent: u64, stripe: usize, sums: &[u8]) -> u64 {
    let mut sealed = BytesMut::with_capacity(sums.len() + 16);
    sealed.extend_from_slice(sums);
    sealed.put_u64(extent);
    sealed.put_u64(stripe as u64);
    crc64(&sealed)
}

/// The seal of a piece, from the seals of its stripes.
fn piece_seal(seals: &[u64]) -> (u64, Option<Bytes>) {
    if let [seal] = seals {
        return (*seal, None);
    }
    let mut index = BytesMut::with_capacity(seals.len() * 8);
    seals.iter().for_each(|seal| index.put_u64(*seal));
    (crc64(&index), Some(index.freeze()))
}

struct Upload {
    shared: Arc<Shared>,
    /// Bytes that are still to come, if that was said.
    left: Option<u64>,
    /// The bytes of the stripe that grows.
    gathered: BytesMut,
    growing: Option<Growing>,
    /// Objects on their way.
    writes: Vec<JoinHandle<Result<(), Fault>>>,
    running: Running,
    pieces: Vec<Piece>,
}

/// The piece that grows.
struct Growing {
    extent: u64,
    length: u64,
    seals: Vec<u64>,
}

impl Upload {
    async fn take(&mut self, mut bytes: Bytes) -> Result<(), Fault> {
        while !bytes.is_empty() {
            if self.gathered.is_empty() {
                // The checksums come behind the bytes: so the stripe is never moved to a larger place.
                let most = self.left.map_or(bytes.len(), |left| left.min(STRIPE as u64) as usize);
                self.gathered.reserve(most + (most / BLOCK + 1) * 8);
            }
            let part = bytes.split_to(bytes.len().min(STRIPE - self.gathered.len()));
            self.left = self.left.map(|left| left.saturating_sub(part.len() as u64));
            self.gathered.extend_from_slice(&part);
            if self.gathered.len() == STRIPE {
                self.write_stripe().await?;
            }
        }
        Ok(())
    }

    async fn write_stripe(&mut self) -> Result<(), Fault> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        if self.growing.is_none() {
            let extent = self.shared.extents.next().await?;
            self.growing = Some(Growing { extent, length: 0, seals: Vec::new() });
        }
        let growing = self.growing.as_mut().expect("made above");
        let mut stripe = std::mem::take(&mut self.gathered);
        let (length, mut sums) = (stripe.len(), BytesMut::with_capacity(stripe.len().div_ceil(BLOCK) * 8));
        for block in stripe.chunks(BLOCK) {
            let sum = crc64(block);
            self.running.push(block, sum);
            sums.put_u64(sum);
        }
        stripe.extend_from_slice(&sums);
        let name = object(growing.extent, growing.seals.len());
        growing.seals.push(stripe_seal(growing.extent, growing.seals.len(), &sums));
        growing.length += length as u64;
        let is_full = growing.seals.len() == STRIPES_MAX;
        self.write(name, stripe.freeze()).await?;
        if is_full { self.close().await } else { Ok(()) }
    }

    async fn close(&mut self) -> Result<(), Fault> {
        let Some(Growing { extent, length, seals }) = self.growing.take() else { return Ok(()) };
        let (seal, index) = piece_seal(&seals);
        // First, so that all is deleted if the rest does not come about.
        self.pieces.push(Piece { extent, offset: 0, length, seal });
        match index {
            Some(index) => self.write(index_object(extent), index).await,
            None => Ok(()),
        }
    }

    async fn write(&mut self, object: String, bytes: Bytes) -> Result<(), Fault> {
        if self.writes.len() == WRITES_MAX {
            joined(self.writes.remove(0)).await?;
        }
        let pool = self.shared.pool.clone();
        self.writes.push(self.shared.runtime.spawn(async move { write(&*pool, &object, bytes).await }));
        Ok(())
    }

    async fn end(mut self: Box<Self>) -> Result<Staged, Fault> {
        self.write_stripe().await?;
        self.close().await?;
        for write in std::mem::take(&mut self.writes) {
            joined(write).await?;
        }
        let (pieces, shared) = (std::mem::take(&mut self.pieces), self.shared.clone());
        Ok(Staged::new(pieces, self.running.value(), move |fate, pieces| match fate {
            Fate::Adopted => pieces.iter().for_each(|piece| shared.extents.settled(piece.extent)),
            Fate::Left => {}
            Fate::Dropped => drop(shared.delete(pieces)),
        }))
    }
}

async fn joined(write: JoinHandle<Result<(), Fault>>) -> Result<(), Fault> {
    write.await.unwrap_or_else(|_| Err(Fault::Unavailable("an upload was cut off".into())))
}

/// Writes an object. A write whose answer was lost is repeated: it writes the same.
async fn write(pool: &dyn Pool, object: &str, bytes: Bytes) -> Result<(), Fault> {
    for _ in 1..TRIES {
        match pool.write(object, vec![WriteStep::Write(bytes.clone())]).await {
            Err(Trouble::Lost) => {}
            written => return written.map_err(Fault::from),
        }
    }
    pool.write(object, vec![WriteStep::Write(bytes)]).await.map_err(Fault::from)
}

impl Drop for Upload {
    fn drop(&mut self) {
        let mut pieces = std::mem::take(&mut self.pieces);
        let growing = self.growing.take();
        pieces.extend(growing.map(|Growing { extent, length, .. }| Piece { extent, offset: 0, length, seal: 0 }));
        if pieces.is_empty() {
            return;
        }
        let (writes, shared) = (std::mem::take(&mut self.writes), self.shared.clone());
        // After what is on its way, or it would come back.
        self.shared.runtime.spawn(async move {
            for write in writes {
                let _ = write.await;
            }
            shared.delete(pieces);
        });
    }
}

impl Stage for Upload {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(self.take(bytes))
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<Staged, Fault>> {
        Box::pin(self.end())
    }
}

struct Reader {
    pool: Arc<dyn Pool>,
    piece: Piece,
    from: u64,
    to: u64,
    /// The seals of the stripes, verified.
    index: Option<Vec<u64>>,
    /// The next stripe, already asked for.
    ahead: Option<(u64, BoxFuture<'static, Result<super::pool::Reading, Trouble>>)>,
}

impl Reader {
    async fn step(&mut self) -> Result<Option<Bytes>, Fault> {
        if self.from >= self.to {
            return Ok(None);
        }
        if self.to > self.piece.length {
            return Err(Fault::Corrupt(format!("a read goes on to {} past its piece", self.to)));
        }
        let asked = match self.ahead.take() {
            Some((from, asked)) if from == self.from => asked,
            Some(_) | None => self.ask(self.from),
        };
        let seal = self.seal_of(self.from as usize / STRIPE).await?;
        let span = Span::at(&self.piece, self.from, self.to);
        if span.end < self.to {
            self.ahead = Some((span.end, self.ask(span.end)));
        }
        let mut found = asked.await.map_err(|trouble| self.fault(trouble))?.found.into_iter();
        let (Some(Found::Bytes(blocks)), Some(Found::Bytes(sums))) = (found.next(), found.next()) else {
            return Err(self.damaged());
        };
        let whole = blocks.len() == span.length && sums.len() == span.sums_length;
        if !whole || stripe_seal(self.piece.extent, span.stripe, &sums) != seal {
            return Err(self.damaged());
        }
        let sums = &sums[span.first_block * 8..];
        for (block, sum) in blocks.chunks(BLOCK).zip(sums.chunks(8)) {
            if crc64(block).to_be_bytes() != *sum {
                return Err(self.damaged());
            }
        }
        let bytes = blocks.slice(span.skip..span.skip + (span.end - self.from) as usize);
        self.from = span.end;
        Ok(Some(bytes))
    }

    /// Asks for the blocks from `from` to the end of its stripe, as far as they are wanted, and for the checksums of the stripe.
    fn ask(&self, from: u64) -> BoxFuture<'static, Result<super::pool::Reading, Trouble>> {
        let span = Span::at(&self.piece, from, self.to);
        let steps = vec![
            ReadStep::Bytes { offset: (span.first_block * BLOCK) as u64, length: span.length },
            ReadStep::Bytes { offset: span.stripe_length as u64, length: span.sums_length },
        ];
        self.pool.read(&object(self.piece.extent, span.stripe), steps)
    }

    async fn seal_of(&mut self, stripe: usize) -> Result<u64, Fault> {
        let stripes = stripes(self.piece.length);
        if stripes == 1 {
            return Ok(self.piece.seal);
        }
        if self.index.is_none() {
            let step = ReadStep::Bytes { offset: 0, length: stripes * 8 };
            let reading = self.pool.read(&index_object(self.piece.extent), vec![step]).await;
            let found = reading.map_err(|trouble| self.fault(trouble))?.found.pop();
            let Some(Found::Bytes(index)) = found.filter(|found| {
                matches!(found, Found::Bytes(index) if index.len() == stripes * 8 && crc64(index) == self.piece.seal)
            }) else {
                return Err(self.damaged());
            };
            let seals = index.chunks(8).map(|seal| u64::from_be_bytes(seal.try_into().expect("eight bytes")));
            self.index = Some(seals.collect());
        }
        self.index.as_ref().and_then(|index| index.get(stripe)).copied().ok_or_else(|| self.damaged())
    }

    fn fault(&self, trouble: Trouble) -> Fault {
        match trouble {
            Trouble::Missing => Fault::Corrupt(format!("an object of extent {} is gone", self.piece.extent)),
            trouble @ (Trouble::Changed | Trouble::Full | Trouble::Lost | Trouble::ShutOut | Trouble::Refused(_)) => {
                trouble.into()
            }
        }
    }

    fn damaged(&self) -> Fault {
        Fault::Corrupt(format!("extent {} does not agree with its checksum", self.piece.extent))
    }
}

/// What is read of one stripe.
struct Span {
    stripe: usize,
    stripe_length: usize,
    sums_length: usize,
    first_block: usize,
    /// Bytes of blocks that are read, and how many of them come before what is wanted.
    length: usize,
    skip: usize,
    /// Where in the piece it ends.
    end: u64,
}

impl Span {
    fn at(piece: &Piece, from: u64, to: u64) -> Self {
        let stripe = from as usize / STRIPE;
        let start = stripe * STRIPE;
        let stripe_length = (piece.length as usize - start).min(STRIPE);
        let end = (to as usize).min(start + stripe_length);
        let first_block = (from as usize - start) / BLOCK;
        let read_to = (end - start).next_multiple_of(BLOCK).min(stripe_length);
        Self {
            stripe,
            stripe_length,
            sums_length: stripe_length.div_ceil(BLOCK) * 8,
            first_block,
            length: read_to - first_block * BLOCK,
            skip: from as usize - start - first_block * BLOCK,
            end: end as u64,
        }
    }
}

impl Chunks for Reader {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Fault>> {
        Box::pin(self.step())
    }
}
