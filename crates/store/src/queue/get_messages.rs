//! Get Messages: hands out what can be seen, oldest first, and hides it. Since it is one transaction of the queue's partition,
//! no message is ever handed to two.

use lazuli_engine::Txn;
use lazuli_model::Timestamp;
use lazuli_model::queue::{GetMessages, Pick, Place, pick};
use lazuli_model::time::TICKS_PER_SECOND;

use super::{Delivery, QueueAt, after, fewer, head, put_head, remove, text, visible, write_row};
use crate::keys::QueueKeys;
use crate::records::{Head, Stored};
use crate::transact::{Decided, now};
use crate::{Failure, Store};

/// Expired messages that one transaction collects on its way.
const EXPIRED: usize = 256;

/// An empty queue that is polled is not written to each time: the head follows when it lags behind by this much.
const LAG_TICKS: u64 = 10 * TICKS_PER_SECOND;

impl Store {
    pub async fn get_messages(&self, at: &QueueAt, get: GetMessages) -> Result<Vec<Delivery>, Failure> {
        let keys = self.queue_keys(at).await?;
        loop {
            let keys = keys.clone();
            let taken = self.transact(keys.partition(), move |txn| take(txn, &keys, get)).await?;
            match taken {
                Taken::Got(deliveries) => return Ok(deliveries),
                Taken::OnlyExpired => {}
            }
        }
    }
}

enum Taken {
    Got(Vec<Delivery>),
    /// As many as one transaction may collect; there may be others behind them.
    OnlyExpired,
}

fn take(txn: &mut Txn<'_>, keys: &QueueKeys, get: GetMessages) -> Decided<Taken> {
    let now = now(txn);
    let mut head = head(txn, keys)?;
    let mut found = Vec::new();
    let mut expired = 0;
    let mut from = head.first;
    let ended = loop {
        let wanted = get.most as usize - found.len();
        if wanted == 0 || expired >= EXPIRED {
            break false;
        }
        let limit = if expired == 0 { wanted } else { EXPIRED };
        let rows = visible(txn, keys, from, now, limit)?;
        let ended = rows.len() < limit;
        for (stored, tail) in rows {
            let place = stored.message.place;
            match pick(get.most, found.len(), &stored.message, now) {
                Pick::Enough => break,
                Pick::Expired => {
                    remove(txn, keys, &stored);
                    expired += 1;
                }
                Pick::Take => found.push((stored, tail)),
            }
            from = next(place);
        }
        if ended {
            break found.len() < get.most as usize;
        }
    };
    head.count = fewer(head.count, expired as u64);
    if ended {
        from = after(now);
    }
    assert!(found.len() <= get.most as usize, "no more are handed out than were asked for");
    debug_assert!(from >= head.first, "a get goes on from the head");
    let none = found.is_empty();
    let deliveries = found.into_iter().map(|(stored, tail)| hand_out(txn, keys, get, now, stored, tail));
    let deliveries = deliveries.collect::<Decided<Vec<_>>>()?;
    let lags = from.visible.ticks().saturating_sub(head.first.visible.ticks()) > LAG_TICKS;
    if !none || expired > 0 || (lags && head.first != Head::default().first) {
        put_head(txn, keys, Head { first: from.max(head.first), ..head });
    }
    Ok(if none && !ended { Taken::OnlyExpired } else { Taken::Got(deliveries) })
}

fn hand_out(
    txn: &mut Txn<'_>,
    keys: &QueueKeys,
    get: GetMessages,
    now: Timestamp,
    stored: Stored,
    tail: bytes::Bytes,
) -> Decided<Delivery> {
    let text = text(txn, keys, &stored, tail.clone())?;
    txn.delete(keys.message(stored.message.place));
    let message = stored.message.taken(get.hidden_seconds, now);
    assert!(message.receipt() != stored.message.receipt(), "a message that is handed out has a new receipt");
    write_row(txn, keys, &Stored { message: message.clone(), inline: stored.inline }, tail);
    Ok(Delivery { message, text })
}

/// The least place after `place`.
pub(super) fn next(place: Place) -> Place {
    Place { inserted: Timestamp::from_ticks(place.inserted.ticks() + 1), ..place }
}
