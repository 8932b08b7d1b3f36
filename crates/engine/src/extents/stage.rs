//! An upload: bytes go into a buffer; while the next one fills, the full one is summed and written.
//!
//! * Memory is bounded: two buffers, whatever the length, and those of all uploads come from one pool. Where it is taken up, buffers
//!   are short; where that is, too, uploads wait, and read nothing from their clients. An upload that waits holds no buffer but the one
//!   that is being written.
//! * A slow upload gives its buffer back every few seconds by writing out what is in it, and goes on with short ones.
//! * Every buffer but a piece's last holds whole blocks, so a block is never split between two writes.
//! * Until its fate is known, whatever was reserved is this upload's to give back.

use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use tokio::task::JoinHandle;

use super::Core;
use super::append::Use;
use super::buffers::Buffer;
use super::layout::{BLOCK, PAGE, crc64, footer_length, room, seal};
use super::reclaim::Range;
use super::space::Claim;
use crate::content::{Fate, PIECE_MAX, Piece, Running, Stage, Staged};
use crate::{BoxFuture, Fault};

/// How much is written at once.
pub(crate) const WRITE: usize = 1 << 20;
/// A full buffer, the footer of a full piece, and padding.
pub(crate) const BUFFER: usize = WRITE + footer_length(PIECE_MAX) as usize + PAGE as usize;
/// How much is gathered for an upload whose client is slow, or while there is no memory for more.
const SHORT_WRITE: usize = BLOCK;
/// The least memory that lets anybody upload: a quarter of it is for short buffers.
pub(crate) const MEMORY_MIN: usize = 4 * (SHORT_WRITE + BUFFER - WRITE + PAGE as usize);
/// How often an upload may rest in the middle of a block. Each time ends a piece, and all pieces of a body are named by one record.
const RESTS_MAX: usize = 1000;
/// The first piece of an upload of unknown length gets this much room; each further one twice as much.
const FIRST_ROOM: u64 = 4 * WRITE as u64;

const _: () = assert!(WRITE.is_multiple_of(BLOCK) && PIECE_MAX.is_multiple_of(WRITE as u64));

pub(crate) struct Upload {
    core: Arc<Core>,
    expected: Option<u64>,
    taken: u64,
    filling: Option<Filling>,
    /// The next buffer has room for so much, if so much is to come.
    next: usize,
    rests: usize,
    state: State,
}

struct Filling {
    buffer: Buffer,
    capacity: usize,
    filled: usize,
}

enum State {
    Idle(Writer),
    Writing(JoinHandle<(Writer, Result<(), Fault>)>),
    Failed(Fault),
}

impl Upload {
    pub fn new(core: Arc<Core>, expected: Option<u64>) -> Self {
        let writer = Writer::new(core.clone(), expected);
        Self { core, expected, taken: 0, filling: None, next: WRITE, rests: 0, state: State::Idle(writer) }
    }

    async fn take_in(&mut self, mut bytes: Bytes) -> Result<(), Fault> {
        if let State::Failed(fault) = &self.state {
            return Err(fault.clone());
        }
        while !bytes.is_empty() {
            if self.filling.as_ref().is_some_and(|filling| filling.filled == filling.capacity) {
                // Only now is it certain that this was not the last buffer.
                self.flush(false).await?;
                self.next = (2 * self.next).min(WRITE);
            }
            let filling = match &mut self.filling {
                Some(filling) => filling,
                None => {
                    let filling = Filling::new(&self.core, self.expected, self.taken, self.next).await;
                    self.filling.insert(filling)
                }
            };
            let part = bytes.split_to(bytes.len().min(filling.capacity - filling.filled));
            filling.buffer.as_mut()[filling.filled..filling.filled + part.len()].copy_from_slice(&part);
            filling.filled += part.len();
            self.taken += part.len() as u64;
        }
        Ok(())
    }

    /// Writes out what there is, so that the buffer is free for others.
    async fn give_back(&mut self) -> Result<(), Fault> {
        if let State::Failed(fault) = &self.state {
            return Err(fault.clone());
        }
        self.next = SHORT_WRITE;
        let Some(filling) = self.filling.take_if(|filling| filling.filled == 0) else {
            return self.write_out().await;
        };
        drop(filling);
        Ok(())
    }

    async fn write_out(&mut self) -> Result<(), Fault> {
        let Some(filling) = &self.filling else { return Ok(()) };
        self.rests += usize::from(!filling.filled.is_multiple_of(BLOCK));
        if self.rests > RESTS_MAX {
            return Err(Fault::Unavailable("an upload that comes too slowly was given up".into()));
        }
        self.flush(false).await
    }

    /// Sends the buffer on its way to the disk, as soon as the one before has arrived.
    async fn flush(&mut self, last: bool) -> Result<(), Fault> {
        let mut writer = self.idle().await?;
        let filling = self.filling.take();
        self.state = State::Writing(tokio::task::spawn_blocking(move || {
            let result = match filling {
                Some(mut filling) => writer.put(&mut filling.buffer, filling.filled, last),
                None => writer.end(),
            };
            (writer, result)
        }));
        Ok(())
    }

    /// The writer, once it is not writing.
    async fn idle(&mut self) -> Result<Writer, Fault> {
        if let State::Writing(task) = &mut self.state {
            self.state = match task.await {
                Ok((writer, Ok(()))) => State::Idle(writer),
                Ok((_, Err(fault))) => State::Failed(fault),
                Err(error) => State::Failed(Fault::Unavailable(format!("a write did not end: {error}"))),
            };
        }
        match std::mem::replace(&mut self.state, State::Failed(Fault::Unavailable("the upload was given up".into()))) {
            State::Idle(writer) => Ok(writer),
            State::Failed(fault) => {
                self.state = State::Failed(fault.clone());
                Err(fault)
            }
            State::Writing(_) => unreachable!("it was waited for above"),
        }
    }
}

impl Filling {
    async fn new(core: &Core, expected: Option<u64>, taken: u64, most: usize) -> Self {
        let left = expected.and_then(|expected| expected.checked_sub(taken)).filter(|left| *left > 0);
        // A short upload gets a short buffer; but always room for a footer and padding.
        let capacity = left.map_or(most, |left| left.min(most as u64) as usize);
        let size = |capacity| if capacity == WRITE { BUFFER } else { capacity + BUFFER - WRITE };
        if capacity > SHORT_WRITE
            && let Some(buffer) = core.upload_memory.try_take(size(capacity))
        {
            return Self { buffer, capacity, filled: 0 };
        }
        let capacity = capacity.min(SHORT_WRITE);
        Self { buffer: core.upload_memory.take_short(size(capacity)).await, capacity, filled: 0 }
    }
}

impl Stage for Upload {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(self.take_in(bytes))
    }

    fn rest(&mut self) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(self.give_back())
    }

    fn finish(mut self: Box<Self>) -> BoxFuture<'static, Result<Staged, Fault>> {
        Box::pin(async move {
            self.flush(true).await?;
            let mut writer = self.idle().await?;
            for extent in &writer.uses {
                extent.extent.sync(&self.core.syncs).await?;
            }
            Ok(writer.staged())
        })
    }
}

/// The half of an upload that touches the disk. Lives on blocking threads, one write at a time.
struct Writer {
    core: Arc<Core>,
    expected: Option<u64>,
    written: u64,
    claim: Option<Claim>,
    current: Option<Growing>,
    pieces: Vec<Piece>,
    /// One for each extent that was written to.
    uses: Vec<Use>,
    running: Running,
}

/// A piece that is being written.
struct Growing {
    place: Use,
    offset: u64,
    /// How many bytes were reserved for its data.
    reserved: u64,
    length: u64,
    footer: Vec<u8>,
}

impl Writer {
    fn new(core: Arc<Core>, expected: Option<u64>) -> Self {
        let (pieces, uses) = (Vec::new(), Vec::new());
        Self { core, expected, written: 0, claim: None, current: None, pieces, uses, running: Running::default() }
    }

    /// Writes the first `filled` bytes of `buffer`, and the footer behind them if they end a piece.
    fn put(&mut self, buffer: &mut Buffer, filled: usize, last: bool) -> Result<(), Fault> {
        if self.current.as_ref().is_some_and(|piece| piece.length + filled as u64 > piece.reserved) {
            self.end()?; // there is more than was expected
        }
        let mut piece = match self.current.take() {
            Some(piece) => piece,
            None => self.begin(filled as u64, last)?,
        };
        for block in buffer.as_ref()[..filled].chunks(BLOCK) {
            let crc = crc64(block);
            piece.footer.extend_from_slice(&crc.to_le_bytes());
            self.running.push(block, crc);
        }
        let at = piece.offset + piece.length;
        piece.length += filled as u64;
        assert!(piece.length <= piece.reserved, "a piece keeps to what was reserved for it");
        let ends = last || piece.length == piece.reserved || !filled.is_multiple_of(BLOCK);
        let footer = if ends { &piece.footer[..] } else { &[] };
        let written = write(&piece.place, buffer, filled, footer, at);
        self.written += filled as u64;
        if let Some(claim) = &mut self.claim {
            claim.shrink(filled as u64);
        }
        let piece = self.current.insert(piece); // before any error: it is ours to give back
        written?;
        if ends {
            self.pieces.push(piece.seal());
            self.current = None;
        }
        Ok(())
    }

    fn begin(&mut self, filled: u64, last: bool) -> Result<Growing, Fault> {
        let left = self.expected.map(|expected| expected.saturating_sub(self.written).max(filled));
        let reserved = match left {
            _ if last => filled,
            Some(left) if left > filled => left,
            Some(_) | None => FIRST_ROOM << self.pieces.len().min(8),
        };
        if self.written == 0 || self.claim.as_ref().is_none_or(|claim| claim.left() < filled) {
            self.claim = None;
            let claim = self.core.space.claim(self.core.directory.path(), reserved);
            if matches!(claim, Err(Fault::Full)) {
                self.core.turned_away.fetch_add(1, Relaxed);
            }
            self.claim = Some(claim?);
        }
        let reserved = reserved.min(PIECE_MAX);
        let near = self.uses.last().map(|place| place.extent.id);
        let (place, offset) = self.core.lanes.reserve(&self.core.directory, &self.core.reclaim, reserved, near)?;
        if near != Some(place.extent.id) {
            self.uses.push(place.clone());
        }
        Ok(Growing { place, offset, reserved, length: 0, footer: Vec::new() })
    }

    /// Ends the piece that grows, if there is one, by writing its footer alone.
    fn end(&mut self) -> Result<(), Fault> {
        if let Some(piece) = &self.current {
            let mut buffer = self.core.write_buffers.take(piece.footer.len() + PAGE as usize);
            write(&piece.place, &mut buffer, 0, &piece.footer, piece.offset + piece.length)?;
            self.pieces.push(piece.seal());
            self.current = None;
        }
        Ok(())
    }

    fn staged(&mut self) -> Staged {
        assert!(self.current.is_none(), "finish ends the last piece");
        let length: u64 = self.pieces.iter().map(|piece| piece.length).sum();
        assert_eq!(length, self.written, "all that was written is in a piece");
        let (pieces, uses, reclaim) = (take(&mut self.pieces), take(&mut self.uses), self.core.reclaim.clone());
        Staged::new(pieces, self.running.value(), move |fate, pieces| match fate {
            Fate::Adopted => drop(uses),
            Fate::Left => uses.iter().for_each(Use::leave),
            Fate::Dropped => reclaim.give_back(pieces.iter().map(Range::from).collect(), uses),
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let grown = self.current.as_ref().map(|piece| Range {
            extent: piece.place.extent.id,
            offset: piece.offset,
            length: room(piece.reserved),
        });
        let ranges: Vec<_> = self.pieces.iter().map(Range::from).chain(grown).collect();
        if !ranges.is_empty() {
            self.core.reclaim.give_back(ranges, take(&mut self.uses));
        }
    }
}

impl Growing {
    fn seal(&self) -> Piece {
        let (extent, offset, length) = (self.place.extent.id, self.offset, self.length);
        assert!(length > 0, "a piece that ends has bytes");
        assert_eq!(self.footer.len() as u64, footer_length(length), "a piece has a checksum for each of its blocks");
        Piece { extent, offset, length, seal: seal(extent, offset, length, &self.footer) }
    }
}

/// Writes `filled` bytes of `buffer` and `footer`, padded to whole pages, at `at`.
fn write(place: &Use, buffer: &mut Buffer, filled: usize, footer: &[u8], at: u64) -> Result<(), Fault> {
    let end = filled + footer.len();
    let padded = end.next_multiple_of(PAGE as usize);
    let bytes = &mut buffer.as_mut()[..padded];
    bytes[filled..end].copy_from_slice(footer);
    bytes[end..].fill(0);
    place.extent.write(bytes, at)
}
