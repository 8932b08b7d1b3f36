//! The threads that digest, for all uploads of a store. Uploads hand over a batch and get their stream back with it taken in.
//!
//! Held true: a worker keeps one batch of each of at most `LANES` uploads and waits for none of them, so the queue holds
//! at most one batch for each upload. A batch whose upload is gone is dropped. Should a worker die, its uploads fail instead
//! of hanging, and the next batch starts another.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::vec;

use bytes::{Buf, Bytes};
use lazuli_engine::Fault;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::Md5;
use super::lanes::{INITIAL, LANES, Md5Block, advance_all, advance_one};

/// The second takes only what waits beyond a full set of lanes, which is left to the first: fuller lanes cost less.
const WORKERS: usize = 2;

/// So many blocks go by until new streams may join: 16 KiB of each.
const TURN_BLOCKS: usize = 256;

/// What uploads together hold that is yet to be digested: 64 MiB.
const ROOM_KIB: usize = 64 << 10;

/// A stream that will come back with its batch taken in.
pub type Job = oneshot::Receiver<Md5>;

pub struct Digests {
    shared: Arc<Shared>,
    /// KiB that batches may have together, of all uploads.
    room: Arc<Semaphore>,
    /// The caller digests its batch itself.
    here: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// One for each worker, so that a batch for the first does not wake the second.
    wake: [Condvar; WORKERS],
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Lane>,
    started: [bool; WORKERS],
    closed: bool,
}

impl Digests {
    pub fn new() -> Self {
        Self { shared: Arc::default(), room: Arc::new(Semaphore::new(ROOM_KIB)), here: false }
    }

    /// Without threads, for a world that has only one.
    pub fn here() -> Self {
        let room = Arc::new(Semaphore::new(ROOM_KIB));
        Self { shared: Arc::default(), room, here: true }
    }

    /// Room for so many bytes more of a batch, if there is any. Without it, an upload digests what it has before it takes more.
    pub fn room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        self.room.clone().try_acquire_many_owned(u32::try_from(bytes.div_ceil(1024)).ok()?).ok()
    }

    /// Hands a batch over. It may be empty.
    pub fn submit(&self, md5: Md5, batch: Vec<Bytes>) -> Result<Job, Fault> {
        let (back, job) = oneshot::channel();
        if self.here {
            let mut lane = Lane { md5, chunk: Bytes::new(), chunks: batch.into_iter(), back };
            while lane.settle() {
                turn(std::slice::from_mut(&mut lane));
            }
            let _ = lane.back.send(lane.md5);
            return Ok(job);
        }
        let mut queue = self.shared.lock();
        if !queue.started[0] {
            start(&self.shared, 0).map_err(|error| Fault::Unavailable(format!("no thread to digest with: {error}")))?;
            queue.started[0] = true;
        }
        queue.waiting.push_back(Lane { md5, chunk: Bytes::new(), chunks: batch.into_iter(), back });
        self.shared.wake[0].notify_one();
        if queue.waiting.len() > LANES {
            // The first does the work of a second that cannot start, only later.
            queue.started[1] = queue.started[1] || start(&self.shared, 1).is_ok();
            self.shared.wake[1].notify_one();
        }
        Ok(job)
    }
}

impl Drop for Digests {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.wake.iter().for_each(Condvar::notify_one);
    }
}

impl Shared {
    /// Nothing that a panic could leave half done is done under the lock.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives waiting streams to free lanes, and waits for one if all are free. False when there will be none any more.
    fn refill(&self, worker: usize, lanes: &mut Vec<Lane>) -> bool {
        if lanes.len() == LANES {
            return true;
        }
        let mut queue = self.lock();
        while !queue.closed {
            let leave = if worker == 0 { 0 } else { LANES };
            let surplus = queue.waiting.len().saturating_sub(leave);
            let free = LANES - lanes.len();
            lanes.extend(queue.waiting.drain(..surplus.min(free)));
            if !lanes.is_empty() {
                return true;
            }
            queue = self.wake[worker].wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        false
    }
}

fn start(shared: &Arc<Shared>, worker: usize) -> std::io::Result<()> {
    let seat = Seat { shared: shared.clone(), worker };
    std::thread::Builder::new().name("lazuli:digest".into()).spawn(move || work(&seat))?;
    Ok(())
}

/// A worker's place. Left at the store's end, or by a panic: the next batch then finds the place free. Without the first
/// worker nobody would come for what waits; without the second, the first does.
struct Seat {
    shared: Arc<Shared>,
    worker: usize,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.started[self.worker] = false;
        if self.worker == 0 {
            queue.waiting.clear();
        }
    }
}

fn work(seat: &Seat) {
    let mut lanes = Vec::with_capacity(LANES);
    while seat.shared.refill(seat.worker, &mut lanes) {
        // The uploads that have gone away, and then those whose batch is taken in, leave.
        lanes.retain(|lane: &Lane| !lane.back.is_closed());
        for lane in lanes.extract_if(.., |lane| !lane.settle()) {
            // An upload that was dropped meanwhile does not need it.
            let _ = lane.back.send(lane.md5);
        }
        turn(&mut lanes);
    }
}

/// Advances every lane by as many blocks as each of them has at hand. All of them are settled.
fn turn(lanes: &mut [Lane]) {
    let count = lanes.iter().map(|lane| lane.blocks().len()).min().unwrap_or(0).min(TURN_BLOCKS);
    match lanes {
        [] => {}
        [alone] => {
            let mut state = alone.md5.state;
            advance_one(&mut state, &alone.blocks()[..count]);
            alone.advance(state, count);
        }
        several => {
            // Lanes without a stream compute on the first one's blocks, for nothing.
            let mut states = [INITIAL; LANES];
            let mut blocks = [&several[0].blocks()[..count]; LANES];
            for ((state, blocks), lane) in states.iter_mut().zip(&mut blocks).zip(several.iter()) {
                *state = lane.md5.state;
                *blocks = &lane.blocks()[..count];
            }
            advance_all(&mut states, blocks);
            for (lane, state) in several.iter_mut().zip(states) {
                lane.advance(state, count);
            }
        }
    }
}

/// A stream and the batch that it is to take in.
struct Lane {
    md5: Md5,
    /// What is left of the chunk that is being taken in.
    chunk: Bytes,
    chunks: vec::IntoIter<Bytes>,
    back: oneshot::Sender<Md5>,
}

impl Lane {
    /// Takes in what is less than a block, until a whole one comes first. False if none does.
    fn settle(&mut self) -> bool {
        loop {
            if self.chunk.is_empty() {
                match self.chunks.next() {
                    Some(chunk) => self.chunk = chunk,
                    None => return false,
                }
            } else if self.md5.in_tail() > 0 || self.chunk.len() < size_of::<Md5Block>() {
                let taken = self.md5.fill(&self.chunk);
                self.chunk.advance(taken);
            } else {
                return true;
            }
        }
    }

    fn blocks(&self) -> &[Md5Block] {
        self.chunk.as_chunks().0
    }

    fn advance(&mut self, state: [u32; 4], blocks: usize) {
        let bytes = blocks * size_of::<Md5Block>();
        self.md5.state = state;
        self.md5.length += bytes as u64;
        self.chunk.advance(bytes);
    }
}
