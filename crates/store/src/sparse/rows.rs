//! Finding windows: the newest row that is not newer than the epoch, of each window that has one. Holes are skipped by seeking.

use bytes::Bytes;
use lazuli_engine::{Fault, Key, Txn};

use super::{Seen, Window};
use crate::keys::BlobKeys;
use crate::records::decode;
use crate::transact::Decided;

/// Up to so many windows are asked for one by one, by the key that the newest row has if it was changed at this epoch. A scan has to
/// pass over every state that a row has had since the store last wrote its memory out, and what is written again and again has many.
const ASKED: u64 = 2;
/// Rows per scan: few, and more while every one of them is of use.
const BATCH_LEAST: usize = 4;
const BATCH_MOST: usize = 128;

pub(super) struct Row {
    pub number: u64,
    /// When the row was last changed, as an epoch.
    pub epoch: u64,
    pub bytes: Bytes,
}

impl Row {
    pub fn read(key: &Key, bytes: Bytes) -> Result<Self, Fault> {
        let (number, epoch) = BlobKeys::read_window(key).ok_or_else(|| Fault::Corrupt("the key of a window".into()))?;
        Ok(Self { number, epoch, bytes })
    }

    pub fn window(&self) -> Result<Window, Fault> {
        decode(&self.bytes)
    }
}

/// The visible rows of windows `from..to`, at most `most` of them, and the window to go on with if there may be more.
pub(super) fn visible(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    seen: Seen,
    from: u64,
    to: u64,
    most: usize,
) -> Decided<(Vec<Row>, Option<u64>)> {
    let mut found: Vec<Row> = Vec::new();
    let mut batch = BATCH_LEAST;
    let mut next = from;
    let end = keys.windows_from(seen.content, to);
    while next < to {
        let key = keys.window(seen.content, next, seen.epoch);
        if to - from <= ASKED
            && let Some(bytes) = txn.get(&key)?
        {
            found.push(Row::read(&key, bytes)?);
            next += 1;
            if found.len() == most {
                return Ok((found, (next < to).then_some(next)));
            }
            continue;
        }
        let rows = txn.scan(&key, &end, batch)?;
        let ended = rows.len() < batch;
        let mut wasted = false;
        for (key, bytes) in rows {
            let row = Row::read(&key, bytes)?;
            // Older than one that was taken, or newer than the epoch: seek past it.
            if row.number < next || row.epoch > seen.epoch {
                wasted = true;
                next = next.max(row.number);
                break;
            }
            next = row.number + 1;
            found.push(row);
            if found.len() == most {
                return Ok((found, (next < to).then_some(next)));
            }
        }
        if ended && !wasted {
            break;
        }
        batch = if wasted { BATCH_LEAST } else { (batch * 2).min(BATCH_MOST) };
    }
    Ok((found, None))
}

/// The row of one window that is seen, and the one before it.
pub(super) fn newest(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    seen: Seen,
    number: u64,
) -> Decided<(Option<Row>, Option<Row>)> {
    let end = keys.windows_from(seen.content, number + 1);
    let key = keys.window(seen.content, number, seen.epoch);
    let own = txn.get(&key)?;
    let (from, most) = if own.is_some() { (key.successor(), 1) } else { (key.clone(), 2) };
    let own = own.map(|bytes| (key, bytes));
    let rows = own.into_iter().chain(txn.scan(&from, &end, most)?);
    let mut rows = rows.map(|(key, bytes)| Row::read(&key, bytes));
    Ok((rows.next().transpose()?, rows.next().transpose()?))
}
