//! Gateways: the processes that hold handles for their clients, and what becomes of the handles of one that is no more.
//!
//! Held true:
//! * a gateway's row is there before its first handle, and is renewed by its heartbeat; so a handle whose gateway has no row, read
//!   after the handle was seen, or one that is stale, is nobody's;
//! * to end a handle is to close it as its client would have: caches are given up, locks go, and what was to be deleted on close is;
//! * a gateway is fenced before anything of it is ended: nothing that it has under way counts any more;
//! * the row goes last, and only if it is still stale, so that if the process dies in between, another one finishes.

use std::collections::HashMap;

use lazuli_engine::Key;
use lazuli_model::Timestamp;
use lazuli_model::file::FileId;
use lazuli_model::file::arbiter::Open;

use super::keys::{self, ShareKeys};
use super::rows::{Born, Gateway};
use super::{ShareAt, keys::read_gateway};
use crate::records::decode;
use crate::transact::get;
use crate::{Failure, Store};

/// A gateway that has not been heard of for so long is no more: so its handles end within a minute, at the round of another gateway.
/// One heartbeat may be lost, and clocks may be ten seconds apart.
pub const STALE_SECONDS: u64 = 40;

/// How often a gateway renews its row.
pub const HEARTBEAT_SECONDS: u64 = 15;

/// Rows that one look goes over.
const PAGE: usize = 256;

/// Whose handles are to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// Everybody's but this gateway's: at the start of a process that has the engine to itself.
    AllBut(u128),
    /// Those of gateways that were not heard of for [`STALE_SECONDS`], or never.
    Silent,
}

impl Store {
    /// A gateway is alive. False when it had been taken for dead: its handles are gone, and it has to tell its clients.
    pub async fn beat(&self, gateway: u128, is_first: bool) -> Result<bool, Failure> {
        self.beat_listing(gateway, is_first).await
    }

    /// Whether there is a gateway that has fallen silent. Costs the gateways there are.
    pub async fn has_silent_gateway(&self) -> Result<bool, Failure> {
        Ok(!self.silent_gateways().await?.is_empty())
    }

    /// Closes every handle of those that are gone, in all shares, and forgets them. Gives how many it closed.
    pub async fn end_handles(&self, gone: Gone) -> Result<u64, Failure> {
        // Those whose row is to go: known before the first handle is looked at.
        let forgotten = match gone {
            Gone::Silent => self.silent_gateways().await?,
            Gone::AllBut(own) => self.gateways().await?.into_iter().filter(|(id, _)| *id != own).collect(),
        };
        // Whatever one of them still has under way comes too late from now on.
        for (gateway, _) in &forgotten {
            self.engine.fence(*gateway).await?;
        }
        let mut judged = HashMap::new();
        let mut closed = 0;
        let mut from = crate::keys::column(crate::keys::ROOT, keys::SHARES);
        let end = from.after_prefix();
        loop {
            let rows = self.rows(&from, &end, PAGE).await?;
            let Some((last, _)) = rows.last() else { break };
            from = last.successor();
            for (key, bytes) in &rows {
                let (born, Some((account, share))) = (decode::<Born>(bytes)?, keys::read_share(key)) else { continue };
                let at = ShareAt { account, share };
                closed += self.end_in_share(&at, &born, gone, &mut judged).await?;
                self.end_notices(&at, &born, gone, &mut judged).await?;
            }
        }
        for (gateway, seen) in forgotten {
            self.forget_gateway(gateway, seen).await?;
        }
        Ok(closed)
    }

    /// What was to be told to the clients of a gateway that is no more.
    async fn end_notices(
        &self,
        at: &ShareAt,
        born: &Born,
        gone: Gone,
        judged: &mut HashMap<u128, bool>,
    ) -> Result<(), Failure> {
        let mut from = ShareKeys::new(born.id).all_notices();
        let end = from.after_prefix();
        loop {
            let rows = self.rows(&from, &end, 1).await?;
            let Some((key, _)) = rows.first() else { return Ok(()) };
            let Some(gateway) = key.row().first_chunk().map(|id| u128::from_be_bytes(*id)) else { return Ok(()) };
            if self.is_gone(gateway, gone, judged).await? {
                match self.take_notices(at, gateway).await {
                    Ok(_) | Err(Failure::Refused(_)) => {}
                    Err(broken) => return Err(broken),
                }
            }
            from = ShareKeys::new(born.id).notices(gateway).after_prefix();
        }
    }

    async fn end_in_share(
        &self,
        at: &ShareAt,
        born: &Born,
        gone: Gone,
        judged: &mut HashMap<u128, bool>,
    ) -> Result<u64, Failure> {
        let mut from = ShareKeys::new(born.id).all_opens();
        let end = from.after_prefix();
        let mut closed = 0;
        loop {
            let rows = self.rows(&from, &end, PAGE).await?;
            let Some((last, _)) = rows.last() else { return Ok(closed) };
            from = last.successor();
            for (key, bytes) in &rows {
                let open: Open = decode(bytes)?;
                let Some(file) = file_of(key) else { continue };
                if !self.is_gone(open.gateway, gone, judged).await? {
                    continue;
                }
                match self.close_handle(at, file, open.handle).await {
                    Ok(_) => closed += 1,
                    Err(Failure::Refused(_)) => {} // closed meanwhile, or the share was deleted
                    Err(broken) => return Err(broken),
                }
            }
        }
    }

    /// A gateway is judged once in a round, after a handle of it was seen.
    async fn is_gone(&self, gateway: u128, gone: Gone, judged: &mut HashMap<u128, bool>) -> Result<bool, Failure> {
        if let Some(judgement) = judged.get(&gateway) {
            return Ok(*judgement);
        }
        let is_gone = match gone {
            Gone::AllBut(own) => gateway != own,
            Gone::Silent => {
                let row: Option<Gateway> =
                    self.look(&keys::gateway_partition(gateway), |txn| get(txn, &keys::gateway(gateway))).await?;
                row.is_none_or(|row| is_silent(row.seen, self.now()))
            }
        };
        judged.insert(gateway, is_gone);
        Ok(is_gone)
    }

    async fn gateways(&self) -> Result<Vec<(u128, Timestamp)>, Failure> {
        let all = crate::keys::column(crate::keys::ROOT, keys::GATEWAYS);
        let rows = self.rows(&all, &all.after_prefix(), PAGE).await?;
        let mut gateways = Vec::with_capacity(rows.len());
        for (key, bytes) in &rows {
            let Gateway { seen, .. } = decode(bytes)?;
            gateways.extend(read_gateway(key).map(|id| (id, seen)));
        }
        Ok(gateways)
    }

    async fn silent_gateways(&self) -> Result<Vec<(u128, Timestamp)>, Failure> {
        let now = self.now();
        let all = self.gateways().await?;
        Ok(all.into_iter().filter(|(_, seen)| is_silent(*seen, now)).collect())
    }

    /// Unless it was heard of since.
    async fn forget_gateway(&self, gateway: u128, seen: Timestamp) -> Result<(), Failure> {
        let key = keys::gateway(gateway);
        let pins = self.pins_of(gateway).await?;
        let is_forgotten = self
            .transact(keys::gateway_partition(gateway), move |txn| {
                let row: Option<Gateway> = get(txn, &key)?;
                let is_gone = row.is_some_and(|row| row.seen == seen);
                if is_gone {
                    txn.delete(key.clone());
                    pins.iter().for_each(|pin| txn.delete(pin.clone()));
                }
                Ok(is_gone)
            })
            .await?;
        if let Some(recovery) = self.content.recovery().filter(|_| is_forgotten) {
            recovery.ended(gateway);
            self.sweep.wake();
        }
        Ok(())
    }
}

fn is_silent(seen: Timestamp, now: Timestamp) -> bool {
    seen.plus_seconds(STALE_SECONDS) <= now
}

fn file_of(key: &Key) -> Option<FileId> {
    key.row().first_chunk().map(|id| FileId(u64::from_be_bytes(*id)))
}
