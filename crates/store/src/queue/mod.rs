//! Operations on queues and their messages: one file each.
//!
//! Held true of the rows of a queue's space, which is one partition:
//! * a message has one `v` row, at its place, and, if its text is long, one `t` row;
//! * nothing lives before the head that the `h` row names, so that a get begins at its messages, and not at the
//!   tombstones of those before;
//! * the count in the `h` row is that of the `v` rows.

mod change;
mod clear_messages;
mod create_queue;
mod delete_message;
mod delete_queue;
mod get_messages;
mod get_queue;
mod list_queues;
mod peek_messages;
mod put_message;
mod update_message;

pub use get_queue::FoundQueue;
pub use list_queues::{ListQueues, QueueItem, QueuePage};

use bytes::Bytes;
use lazuli_engine::{Fault, Partition, Txn};
use lazuli_model::queue::{Message, Place, Queue};
use lazuli_model::{AccountName, QueueName, Refusal, Timestamp};

use crate::keys::{self, QueueKeys};
use crate::records::{Head, Stored, decode_with_tail, encode, encode_with_tail};
use crate::transact::{Decided, get, now};
use crate::{Failure, Store};

/// Longer texts have a row of their own, so that to hand a message out does not mean to write it again.
const INLINE_MAX: usize = 1024;

/// Where a queue is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueueAt {
    pub account: AccountName,
    pub queue: QueueName,
}

/// A message as it is handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub message: Message,
    pub text: String,
}

fn stored(txn: &mut Txn<'_>, at: &QueueAt) -> Decided<Option<Queue>> {
    get(txn, &keys::queue(at))
}

fn partition(at: &QueueAt) -> Partition {
    Partition::new(keys::ROOT, keys::queue_partition(at))
}

impl Store {
    /// The space in which the queue's messages are. A request that looked before it was cleared or deleted acts in a space that nobody
    /// looks into any more: as if just before.
    async fn queue_keys(&self, at: &QueueAt) -> Result<QueueKeys, Failure> {
        let queue = self.look(&partition(at), |txn| stored(txn, at)).await?.ok_or(Refusal::QueueNotFound)?;
        Ok(QueueKeys::new(queue.id))
    }
}

fn head(txn: &mut Txn<'_>, keys: &QueueKeys) -> Decided<Head> {
    let head: Head = get(txn, &keys.head())?.unwrap_or_default();
    // One that is later than now was left by a clock that was set back since: what was put after that stands before it.
    let first = if head.first > after(now(txn)) { Head::default().first } else { head.first };
    Ok(Head { first, ..head })
}

/// What stands at a place, with its inline text if that is there.
fn at_place(txn: &mut Txn<'_>, keys: &QueueKeys, place: Place) -> Decided<Option<(Stored, Bytes)>> {
    let bytes = txn.get(&keys.message(place))?;
    Ok(bytes.map(|bytes| decode_with_tail(&bytes)).transpose()?)
}

fn write(txn: &mut Txn<'_>, keys: &QueueKeys, message: Message, text: &Bytes) {
    let inline = text.len() <= INLINE_MAX;
    let place = message.place;
    if !inline {
        txn.put(keys.text(place.inserted), text.clone());
    }
    write_row(txn, keys, &Stored { message, inline }, text.clone());
}

/// The row alone: `tail` is the text if that is inline.
fn write_row(txn: &mut Txn<'_>, keys: &QueueKeys, stored: &Stored, tail: Bytes) {
    let tail = if stored.inline { tail } else { Bytes::new() };
    txn.put(keys.message(stored.message.place), encode_with_tail(stored, &[tail]));
}

fn remove(txn: &mut Txn<'_>, keys: &QueueKeys, stored: &Stored) {
    let place = stored.message.place;
    txn.delete(keys.message(place));
    if !stored.inline {
        txn.delete(keys.text(place.inserted));
    }
}

fn text(txn: &mut Txn<'_>, keys: &QueueKeys, stored: &Stored, tail: Bytes) -> Decided<String> {
    let bytes = if stored.inline { Some(tail) } else { txn.get(&keys.text(stored.message.place.inserted))? };
    let lost = || Fault::Corrupt(format!("the text of message {:032x} is lost or no text", stored.message.id));
    let bytes = bytes.ok_or_else(lost)?;
    Ok(std::str::from_utf8(&bytes).map_err(|_| lost())?.to_owned())
}

impl Store {
    /// Removes those of the messages that are still where they were, and expired. For the sweeper.
    pub(crate) async fn drop_expired(&self, keys: QueueKeys, places: Vec<Place>) -> Result<(), Failure> {
        self.transact(keys.partition(), move |txn| {
            let mut head = head(txn, &keys)?;
            for place in &places {
                let found = at_place(txn, &keys, *place)?.filter(|(stored, _)| stored.message.has_expired(now(txn)));
                if let Some((stored, _)) = found {
                    remove(txn, &keys, &stored);
                    head.count = fewer(head.count, 1);
                }
            }
            put_head(txn, &keys, head);
            Ok(())
        })
        .await
    }
}

/// A queue has as many messages as it counts, so a message that is removed was counted.
fn fewer(count: u64, removed: u64) -> u64 {
    count.saturating_sub(removed)
}

fn put_head(txn: &mut Txn<'_>, keys: &QueueKeys, head: Head) {
    txn.put(keys.head(), encode(&head));
}

/// Rows with `from <= place` that can be seen at `now`, in order.
fn visible(
    txn: &mut Txn<'_>,
    keys: &QueueKeys,
    from: Place,
    now: Timestamp,
    limit: usize,
) -> Decided<Vec<(Stored, Bytes)>> {
    let rows = txn.scan(&keys.message(from), &keys.message(after(now)), limit)?;
    debug_assert!(rows.len() <= limit);
    rows.into_iter().map(|(_, bytes)| Ok(decode_with_tail(&bytes)?)).collect()
}

/// The first place that cannot be seen at `now`.
fn after(now: Timestamp) -> Place {
    Place { visible: Timestamp::from_ticks(now.ticks().saturating_add(1)), inserted: Timestamp::from_ticks(0) }
}
