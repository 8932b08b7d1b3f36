//! The recorder: who changed what, and who was refused because of whom, for as long as memory lasts.
//!
//! Held true:
//! * a record is made of every change, and of every refusal by a condition, a lease, a lock, a receipt or a sharing mode, before its answer
//!   leaves; a change whose client has gone is recorded too, and so is one of which the engine did not say whether it is durable;
//! * no more bytes are kept than was said: the oldest records go first;
//! * no signature, no token, no key and no receipt of a message is in a record;
//! * to record costs one copy of some hundred bytes under a lock. Who reads copies what is open and shares the rest.

mod class;
mod coding;
mod entry;
mod explain;
mod history;
mod views;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use lazuli_store::{HandleCall, HandleObserver};
use tokio::sync::broadcast;

pub(crate) use class::is_conflict;
pub use entry::{Conditional, LeaseCall, LockedRange, Message, Record, RecordKind};
pub(crate) use entry::{EntityAct, EntityKey, Note, Touched};
pub use explain::{Explanation, Why, explain};
pub use views::{Hot, InFlight, LiveLease, hot, in_flight, leases};

/// What is kept if nobody says.
pub const BYTES_DEFAULT: u64 = 16 << 20;
/// Records are kept in pieces of this size; a whole one goes at once.
const PIECE_BYTES: usize = 64 << 10;
/// How many records a listener may be behind before it loses some.
const BEHIND_MAX: usize = 1024;

pub struct Recorder {
    bytes_max: usize,
    ring: Mutex<Ring>,
    /// Records that were made so far: the next one's number.
    made: AtomicU64,
    listeners: broadcast::Sender<Arc<[u8]>>,
}

#[derive(Default)]
struct Ring {
    sealed: VecDeque<Arc<[u8]>>,
    open: Vec<u8>,
    bytes: usize,
    /// The first record that is still there.
    first: u64,
    /// How many records each sealed piece has.
    counts: VecDeque<u64>,
    open_count: u64,
}

/// How full the recorder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Fill {
    pub bytes: usize,
    pub bytes_max: usize,
    pub records: u64,
    /// Records that had to go.
    pub dropped: u64,
}

impl Recorder {
    /// Keeps up to `bytes_max` bytes; at least two pieces, since one is being filled while another is whole.
    pub fn new(bytes_max: u64) -> Self {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX).max(2 * PIECE_BYTES);
        let (listeners, _) = broadcast::channel(BEHIND_MAX);
        Self { bytes_max, ring: Mutex::default(), made: AtomicU64::new(0), listeners }
    }

    pub(crate) fn note(&self, note: &Note<'_>) {
        coding::encode(note, |bytes| self.keep(bytes));
    }

    fn keep(&self, bytes: &mut [u8]) {
        let mut ring = self.ring();
        // Numbered under the lock, so that numbers are in the order of the ring.
        let seq = self.made.fetch_add(1, Relaxed);
        bytes[4..12].copy_from_slice(&seq.to_le_bytes());
        ring.push(bytes, self.bytes_max);
        drop(ring);
        if self.listeners.receiver_count() > 0 {
            let _ = self.listeners.send(Arc::from(&*bytes));
        }
    }

    /// Everything that is kept, oldest first.
    pub fn records(&self) -> Vec<Record> {
        let (sealed, open) = {
            let ring = self.ring();
            (ring.sealed.clone(), ring.open.clone())
        };
        let pieces = sealed.iter().map(|piece| &**piece).chain([open.as_slice()]);
        pieces.flat_map(coding::decode_all).collect()
    }

    pub fn listen(&self) -> Listener {
        Listener(self.listeners.subscribe())
    }

    pub fn listeners(&self) -> usize {
        self.listeners.receiver_count()
    }

    pub fn fill(&self) -> Fill {
        let ring = self.ring();
        let made = self.made.load(Relaxed);
        Fill { bytes: ring.bytes, bytes_max: self.bytes_max, records: made - ring.first, dropped: ring.first }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        let mut ring = self.ring();
        *ring = Ring { first: self.made.load(Relaxed), ..Ring::default() };
    }

    fn ring(&self) -> std::sync::MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HandleObserver for Recorder {
    fn observe(&self, call: &HandleCall<'_>) {
        coding::encode_call(call, |bytes| self.keep(bytes));
    }
}

impl Ring {
    fn push(&mut self, bytes: &[u8], bytes_max: usize) {
        if self.open.len() + bytes.len() > PIECE_BYTES && !self.open.is_empty() {
            self.sealed.push_back(Arc::from(self.open.as_slice()));
            self.counts.push_back(self.open_count);
            self.open.clear();
            self.open_count = 0;
        }
        while self.bytes + bytes.len() > bytes_max {
            let (Some(piece), Some(count)) = (self.sealed.pop_front(), self.counts.pop_front()) else { break };
            self.bytes -= piece.len();
            self.first += count;
        }
        self.open.extend_from_slice(bytes);
        self.open_count += 1;
        self.bytes += bytes.len();
    }
}

/// Hears of records as they are made.
pub struct Listener(broadcast::Receiver<Arc<[u8]>>);

/// What a listener hears.
#[derive(Debug)]
pub enum Heard {
    Record(Box<Record>),
    /// It was too slow for so many.
    Lost(u64),
}

impl Listener {
    /// The next, or `None` when there will be none.
    pub async fn next(&mut self) -> Option<Heard> {
        loop {
            match self.0.recv().await {
                Ok(bytes) => {
                    if let Some(record) = coding::decode_all(&bytes).next() {
                        return Some(Heard::Record(Box::new(record)));
                    }
                }
                Err(broadcast::error::RecvError::Lagged(lost)) => return Some(Heard::Lost(lost)),
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}
