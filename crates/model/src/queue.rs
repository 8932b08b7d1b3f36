//! Queues and messages: their records, and what each operation makes of them.
//!
//! A message has a place in the queue: the time from which it can be seen, then the time at which it was put. A client that
//! gets or updates it moves it to another place, and the receipt that is handed out names that place; so a receipt is
//! good for as long as nobody else moved the message, and no longer ("Get Messages", "Update Message").

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::access::StoredPolicy;
use crate::{Metadata, Refusal, Timestamp};

/// Bytes of a message's text, in UTF-8.
pub const TEXT_MAX: usize = 64 << 10;
/// Messages of one Get or Peek.
pub const BATCH_MAX: u32 = 32;
/// A week: the longest that a message can be kept from view, and how long it lives when nobody says.
pub const WEEK_SECONDS: u32 = 7 * 24 * 60 * 60;
/// How long a message that was handed out is kept from others when nobody says.
pub const VISIBILITY_SECONDS: u32 = 30;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// The space of its messages. Clearing the queue gives it another, as creating it anew does.
    pub id: u128,
    pub metadata: Metadata,
    pub policies: Vec<StoredPolicy>,
}

/// Where a message stands. Ordered: what can be seen first comes first, and of those what was put first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    pub visible: Timestamp,
    pub inserted: Timestamp,
}

/// A message without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub id: u128,
    pub place: Place,
    /// `None`: never.
    pub expires: Option<Timestamp>,
    pub dequeued: u32,
    /// Raised by every move, so that no two receipts of a message are equal.
    pub version: u32,
}

/// What a holder shows to delete or update a message. Printed in Base64, 20 bytes, as long as Azure's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub place: Place,
    pub version: u32,
}

impl Receipt {
    /// Reads what `to_string` printed. A `+` that the client forgot to encode has been read as a blank.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.replace(' ', "+")).ok()?;
        let bytes: [u8; 20] = bytes.try_into().ok()?;
        let ticks = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let version = u32::from_be_bytes(bytes[16..].try_into().expect("four bytes"));
        let [visible, inserted] = [ticks(0), ticks(8)].map(Timestamp::from_ticks);
        Some(Self { place: Place { visible, inserted }, version })
    }
}

impl std::fmt::Display for Receipt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut bytes = [0; 20];
        bytes[..8].copy_from_slice(&self.place.visible.ticks().to_be_bytes());
        bytes[8..16].copy_from_slice(&self.place.inserted.ticks().to_be_bytes());
        bytes[16..].copy_from_slice(&self.version.to_be_bytes());
        f.write_str(&STANDARD.encode(bytes))
    }
}

impl Message {
    pub fn receipt(&self) -> Receipt {
        Receipt { place: self.place, version: self.version }
    }

    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// The same message, out of sight until `visible`. Every move has a new place and a new version.
    fn moved(&self, visible: Timestamp) -> Message {
        let place = Place { visible, ..self.place };
        Message { place, version: self.version.wrapping_add(1), ..self.clone() }
    }

    /// Handed to somebody at `now`. It may stay hidden beyond its expiry.
    pub fn taken(&self, hidden_seconds: u32, now: Timestamp) -> Message {
        Message { dequeued: self.dequeued.saturating_add(1), ..self.moved(now.plus_seconds(hidden_seconds.into())) }
    }
}

#[derive(Clone, Debug)]
pub struct CreateQueue {
    pub id: u128,
    pub metadata: Metadata,
}

/// What Create Queue came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    New(Queue),
    /// It was there already, with the same metadata.
    Same,
}

impl CreateQueue {
    pub fn decide(&self, current: Option<&Queue>) -> Result<Created, Refusal> {
        match current {
            None => Ok(Created::New(Queue { id: self.id, metadata: self.metadata.clone(), policies: Vec::new() })),
            Some(queue) if same(&queue.metadata, &self.metadata) => Ok(Created::Same),
            Some(_) => Err(Refusal::QueueAlreadyExists),
        }
    }
}

/// Headers come in any order, and their names in any case.
fn same(one: &Metadata, other: &Metadata) -> bool {
    one.len() == other.len() && one.iter().all(|(name, value)| other.get(name) == Some(value))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutMessage {
    pub id: u128,
    pub text: String,
    pub hidden_seconds: u32,
    /// `None`: forever.
    pub lives_seconds: Option<u32>,
}

impl PutMessage {
    pub fn decide(&self, now: Timestamp) -> Message {
        let visible = now.plus_seconds(self.hidden_seconds.into());
        let expires = self.lives_seconds.map(|seconds| now.plus_seconds(seconds.into()));
        assert!(self.text.len() <= TEXT_MAX, "the length of a text is checked when it is read");
        assert!(visible >= now, "a message stands at or after the time at which it was put");
        Message { id: self.id, place: Place { visible, inserted: now }, expires, dequeued: 0, version: 0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GetMessages {
    pub most: u32,
    pub hidden_seconds: u32,
}

/// What becomes of the next message in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// It is handed out.
    Take,
    /// It is over, and is collected on the way.
    Expired,
    /// There are as many as were asked for.
    Enough,
}

/// Which messages a Get or a Peek of at most `most` takes: those that have not expired, in the order of their places.
pub fn pick(most: u32, taken: usize, message: &Message, now: Timestamp) -> Pick {
    if taken >= most as usize {
        Pick::Enough
    } else if message.has_expired(now) {
        Pick::Expired
    } else {
        Pick::Take
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateMessage {
    pub id: u128,
    pub receipt: Receipt,
    pub hidden_seconds: u32,
    /// `None`: the text stays.
    pub text: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeleteMessage {
    pub id: u128,
    pub receipt: Receipt,
}

/// The message that `receipt` is for, given what stands at its place. A stale receipt is a message that is not found, as
/// the service was seen to answer; one that belongs to another message does not match.
fn held(current: Option<&Message>, id: u128, receipt: Receipt, now: Timestamp) -> Result<&Message, Refusal> {
    match current {
        Some(message) if message.id != id => Err(Refusal::PopReceiptMismatch),
        Some(message) if message.version == receipt.version && !message.has_expired(now) => Ok(message),
        Some(_) | None => Err(Refusal::MessageNotFound),
    }
}

impl UpdateMessage {
    pub fn decide(&self, current: Option<&Message>, now: Timestamp) -> Result<Message, Refusal> {
        let message = held(current, self.id, self.receipt, now)?;
        // Beyond its expiry, too: the service was seen to allow it (azure-sdk-for-java#105), though its page denied it then.
        Ok(message.moved(now.plus_seconds(self.hidden_seconds.into())))
    }
}

impl DeleteMessage {
    pub fn decide(&self, current: Option<&Message>, now: Timestamp) -> Result<(), Refusal> {
        held(current, self.id, self.receipt, now).map(|_| ())
    }
}

#[cfg(test)]
mod tests;
