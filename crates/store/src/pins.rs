//! What the readers of other gateways hold, so that no sweeper gives back what another gateway streams.
//!
//! A gateway that shares its engine and its content with others writes down what its readers hold, with each heartbeat: rows in its
//! own partition, volatile as the heartbeat is. Nothing is written for a read that ends before the next heartbeat, so a read costs
//! nothing; and a sweeper waits for a heartbeat instead.
//!
//! Why that is enough, with clocks that differ. A heartbeat lists the readers that there are after the heartbeat before it was
//! acknowledged, and names that one (`after`). The sweeper sees that something is dead, and then which heartbeats are the latest. A
//! heartbeat whose `after` is later than what it saw began to list after that; so it lists every reader that may have found what
//! is dead, or that reader has left. Stamps are compared only within the partition of one gateway, where they grow.
//!
//! A gateway whose heartbeat is over is fenced before its row goes (`file::gateways`): nothing that it does counts any more. Its readers
//! may find that a piece is gone, and give a fault; never other bytes, because every piece is verified.
//!
//! A store that is alone has none of this: its own readers are all there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lazuli_engine::{Key, Partition, Space};
use lazuli_model::Timestamp;

use crate::file::keys as file;
use crate::file::rows::Gateway;
use crate::keys::{self, BlobKeys, ROOT};
use crate::readers::Held;
use crate::records::{Count, Dead, Garbage, Run, decode, encode};
use crate::transact::{get, now};
use crate::{Failure, Store};

/// Gateways, and pins of one thing, that one look goes over. There are few of both.
const PAGE: usize = 4096;

/// One of several gateways to the same engine and content.
pub(crate) struct Sharing {
    pub gateway: u128,
    state: Mutex<State>,
    /// One heartbeat at a time.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    /// The last heartbeat that was acknowledged.
    last: Option<Timestamp>,
    /// The rows that it left.
    listed: BTreeSet<Key>,
}

/// The latest heartbeats of the other gateways, at some moment.
pub(crate) type Heard = Arc<BTreeMap<u128, Gateway>>;

impl Sharing {
    pub fn new(gateway: u128) -> Self {
        Self { gateway, state: Mutex::default(), turn: tokio::sync::Mutex::new(()) }
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Store {
    /// This store is one of several gateways to the same engine and the same content, and is called `gateway`. It has to send
    /// heartbeats ([`Store::beat`]) before it serves, and for as long as it does.
    pub fn shared_as(self, gateway: u128) -> Self {
        Self { sharing: Some(Arc::new(Sharing::new(gateway))), ..self }
    }

    /// A heartbeat: that this gateway is alive, and what its readers hold. False when it had been taken for dead.
    pub(crate) async fn beat_listing(&self, gateway: u128, is_first: bool) -> Result<bool, Failure> {
        let Some(sharing) = self.sharing.as_ref().filter(|sharing| sharing.gateway == gateway) else {
            return self.write_beat(gateway, is_first, None, Vec::new(), Vec::new()).await.map(|(known, _)| known);
        };
        let _turn = sharing.turn.lock().await;
        let (after, before) = sharing.with(|state| (state.last, state.listed.clone()));
        let held = self.readers.held().await;
        let listed: BTreeMap<Key, Bytes> = rows_of(gateway, &held).into_iter().collect();
        let gone = before.iter().filter(|key| !listed.contains_key(key)).cloned().collect();
        let fresh: Vec<_> = listed.iter().filter(|(key, _)| !before.contains(key)).collect();
        let fresh = fresh.into_iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        // Whatever becomes of it, what it may have left is known.
        sharing.with(|state| state.listed.extend(listed.keys().cloned()));
        let (known, seen) = self.write_beat(gateway, is_first, after, fresh, gone).await?;
        sharing.with(|state| *state = State { last: Some(seen), listed: listed.into_keys().collect() });
        Ok(known)
    }

    async fn write_beat(
        &self,
        gateway: u128,
        is_first: bool,
        after: Option<Timestamp>,
        fresh: Vec<(Key, Bytes)>,
        gone: Vec<Key>,
    ) -> Result<(bool, Timestamp), Failure> {
        let key = file::gateway(gateway);
        self.transact(file::gateway_partition(gateway), move |txn| {
            let known: Option<Gateway> = get(txn, &key)?;
            let seen = now(txn);
            txn.put(key.clone(), encode(&Gateway { seen, after }));
            fresh.iter().for_each(|(key, value)| txn.put(key.clone(), value.clone()));
            gone.iter().for_each(|key| txn.delete(key.clone()));
            Ok((is_first || known.is_some(), seen))
        })
        .await
    }

    /// The latest heartbeats of the others. Nothing, and at no cost, for a store that is alone.
    pub(crate) async fn heard(&self) -> Result<Heard, Failure> {
        let Some(sharing) = &self.sharing else { return Ok(Heard::default()) };
        let all = keys::column(ROOT, file::GATEWAYS);
        let mut heard = BTreeMap::new();
        for (key, bytes) in self.rows(&all, &all.after_prefix(), PAGE).await? {
            heard.extend(file::read_gateway(&key).filter(|id| *id != sharing.gateway).zip(decode(&bytes).ok()));
        }
        Ok(Arc::new(heard))
    }

    /// Whether nobody elsewhere holds what a garbage row is about.
    pub(crate) async fn none_pinned(&self, keys: &BlobKeys, dead: &Dead) -> Result<bool, Failure> {
        if self.sharing.is_none() {
            return Ok(true);
        }
        for item in &dead.0 {
            let pinned = match item {
                Garbage::Content { id, .. } => self.is_pinned(&content_pins(keys.space, *id, &keys.name)).await?,
                Garbage::Sparse(forget) => {
                    self.is_pinned(&content_pins(keys.space, forget.content, &keys.name)).await?
                }
                Garbage::Pieces(runs) => self.any_piece_pinned(runs).await?,
                Garbage::Epoch { .. } | Garbage::Superseded { .. } | Garbage::Cut | Garbage::Purged { .. } => false,
            };
            if pinned {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn any_piece_pinned(&self, runs: &[Run]) -> Result<bool, Failure> {
        for run in runs {
            if self.is_pinned(&piece_pins(run.extent, Some(run.offset))).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// By another gateway than this one.
    async fn is_pinned(&self, prefix: &Key) -> Result<bool, Failure> {
        let Some(sharing) = &self.sharing else { return Ok(false) };
        let rows = self.rows(prefix, &prefix.after_prefix(), PAGE).await?;
        Ok(rows.iter().any(|(key, _)| pinned_by(key).is_some_and(|gateway| gateway != sharing.gateway)))
    }

    /// The names of a space under which some other gateway holds a content.
    pub(crate) async fn names_pinned(&self, space: Space) -> Result<BTreeSet<Bytes>, Failure> {
        if self.sharing.is_none() {
            return Ok(BTreeSet::new());
        }
        let all = Key::new(ROOT, keys::CONTENT_PINS, &[&space.0.to_be_bytes()]);
        let rows = self.rows(&all, &all.after_prefix(), PAGE).await?;
        Ok(rows.iter().filter_map(|(key, _)| Some(key.row().slice(24..key.row().len().checked_sub(16)?))).collect())
    }

    /// Offset and length of the pieces of an extent that some other gateway holds.
    pub(crate) async fn pieces_pinned(&self, extent: u64) -> Result<Vec<(u64, u64)>, Failure> {
        if self.sharing.is_none() {
            return Ok(Vec::new());
        }
        let all = piece_pins(extent, None);
        let mut pieces = Vec::new();
        for (key, bytes) in self.rows(&all, &all.after_prefix(), PAGE).await? {
            let offset = key.row().get(8..16).and_then(|bytes| Some(u64::from_be_bytes(bytes.try_into().ok()?)));
            pieces.extend(offset.zip(Some(u64::from(decode::<Count>(&bytes)?.0))));
        }
        Ok(pieces)
    }
}

/// Whether each gateway of `then` has listed its readers since, or is no more, as `now` says.
pub(crate) fn have_listed(then: &Heard, now: &Heard) -> bool {
    then.iter().all(|(gateway, heard)| {
        now.get(gateway).is_none_or(|latest| latest.after.is_some_and(|after| after > heard.seen))
    })
}

impl Store {
    /// What a gateway has pinned.
    pub(crate) async fn pins_of(&self, gateway: u128) -> Result<Vec<Key>, Failure> {
        let mut pins = Vec::new();
        for column in [keys::CONTENT_PINS, keys::PIECE_PINS] {
            let (mut from, end) = (keys::column(ROOT, column), keys::column(ROOT, column).after_prefix());
            loop {
                let rows = self.rows(&from, &end, PAGE).await?;
                pins.extend(rows.iter().map(|(key, _)| key.clone()).filter(|key| pinned_by(key) == Some(gateway)));
                match rows.last() {
                    Some((last, _)) if rows.len() == PAGE => from = last.successor(),
                    Some(_) | None => break,
                }
            }
        }
        Ok(pins)
    }
}

/// The partition of the gateway that a pin is of.
pub(crate) fn owner(row: &Bytes) -> Option<Partition> {
    row.last_chunk().map(|gateway| file::gateway_partition(u128::from_be_bytes(*gateway)))
}

fn pinned_by(key: &Key) -> Option<u128> {
    key.row().last_chunk().map(|gateway| u128::from_be_bytes(*gateway))
}

fn content_pins(space: Space, content: u64, name: &[u8]) -> Key {
    Key::new(ROOT, keys::CONTENT_PINS, &[&space.0.to_be_bytes(), &content.to_be_bytes(), name])
}

fn piece_pins(extent: u64, offset: Option<u64>) -> Key {
    let offset = offset.map(u64::to_be_bytes);
    Key::new(ROOT, keys::PIECE_PINS, &[&extent.to_be_bytes(), offset.as_ref().map_or(&[], |offset| &offset[..])])
}

fn rows_of(gateway: u128, held: &Held) -> Vec<(Key, Bytes)> {
    let gateway = gateway.to_be_bytes();
    let pin = |prefix: Key| Key::new(ROOT, prefix.column(), &[&prefix.row(), &gateway]);
    let contents = held.contents.iter().map(|(space, name, id)| (pin(content_pins(*space, *id, name)), Bytes::new()));
    let pieces = held.pieces.iter().map(|((extent, offset), length)| {
        let length = u32::try_from(*length).unwrap_or(u32::MAX);
        (pin(piece_pins(*extent, Some(*offset))), encode(&Count(length)))
    });
    contents.chain(pieces).collect()
}
