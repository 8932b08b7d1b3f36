//! Pieces that more than one partition holds, so that a copy moves no bytes.
//!
//! A claim is a row of its own partition (`claims`), and a partition gives a piece back without asking others. So a copy first writes
//! down both holders, the lender and the borrower, in the root: `l extent offset holder` (docs/keys.md, "Lent pieces").
//!
//! Why no piece is given back that another partition holds:
//! * A copy writes both rows, and only then checks that the lender still claims the piece. The sweeper looks for rows only after
//!   the claim has gone. So one of the two sees the other: either the copy finds no claim and copies the bytes, which its reader
//!   holds, or the sweeper finds the borrower.
//! * A borrower that has no claim yet may be about to claim. It claims within [`CLAIM_SECONDS`] of the time in its row, or not at all.
//!   Until twice that time has passed, it counts as a holder.
//! * A row is deleted only if its holder has no claim and the row has not changed since that was seen: a new borrower writes a new
//!   time into it.
//! * After a crash, claims are collected space by space (`sweep::settle`), and a claim that moves meanwhile might be missed. So
//!   pieces of an extent that is not settled are not shared. Where other gateways go on meanwhile, one of them may have begun to share
//!   before it knew; so what is written down as shared counts as live.
//!
//! Nothing leaks for ever: the last holder's `Pieces` row gives the bytes back, and rows without a holder go with it, or in a round.

use std::collections::BTreeMap;

use bytes::Bytes;
use lazuli_engine::content::PIECE_MAX;
use lazuli_engine::{Key, Txn};
use lazuli_model::Timestamp;

use crate::keys::{self, BlobKeys};
use crate::records::{Claim, Holding, Run, decode, encode};
use crate::transact::{Decided, get};
use crate::{Failure, Store};

/// How long a copy may take from its rows to its claims.
pub(crate) const CLAIM_SECONDS: u64 = 5 * 60;
/// How long a row without a claim is believed: with room for clocks that disagree and commits that are slow.
const BELIEVED_SECONDS: u64 = 2 * CLAIM_SECONDS;

/// Pieces that one transaction writes down, or one look is about.
const PAGE: usize = 500;
/// Holders of a piece that are looked at together; few pieces have more than two.
const HOLDERS: usize = 16;

/// What may be done about a piece that a partition has let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nobody else holds it.
    Free,
    /// Another does, and will see to it.
    Held,
    /// A copy may be on its way to claim it: look again then.
    Ask(Timestamp),
}

/// A row that has no holder any more, as it was seen.
pub(crate) type Stale = (Key, Bytes);

impl Store {
    /// Writes down that `to` is about to hold what `from` holds. Gives the time by which the claims count; `None` when the
    /// pieces cannot be lent, and their bytes have to be copied.
    pub(crate) async fn lend(
        &self,
        from: &BlobKeys,
        to: &BlobKeys,
        runs: &[Run],
    ) -> Result<Option<Timestamp>, Failure> {
        let unsettled = self.unsettled();
        if runs.iter().any(|run| unsettled.contains(&run.extent)) {
            return Ok(None);
        }
        let since = self.now();
        let mut by_extent: BTreeMap<u64, Vec<Run>> = BTreeMap::new();
        for run in runs {
            by_extent.entry(run.extent).or_default().push(*run);
        }
        let mut under_way = Vec::new();
        for (extent, runs) in by_extent {
            for page in runs.chunks(PAGE) {
                let (page, from, to) = (page.to_vec(), from.clone(), to.clone());
                under_way.push(
                    self.transact(keys::lent_partition(extent), move |txn| write_down(txn, &page, &from, &to, since)),
                );
            }
        }
        for written in under_way {
            written.await?;
        }
        for page in runs.chunks(PAGE) {
            if !self.look(&from.partition(), |txn| all_claimed(txn, from, page)).await? {
                return Ok(None);
            }
        }
        Ok(Some(since))
    }

    /// What may be done about each of `runs`, which lost their last claim in some partition; and rows that have no holder.
    pub(crate) async fn judge(&self, runs: &[Run], now: Timestamp) -> Result<(Vec<Verdict>, Vec<Stale>), Failure> {
        let (mut verdicts, mut stale) = (Vec::with_capacity(runs.len()), Vec::new());
        for run in runs {
            verdicts.push(self.judge_run(run, now, &mut stale).await?);
        }
        Ok((verdicts, stale))
    }

    /// Goes through the holders up to the first that claims the piece. Each is asked after its row was seen, which is what
    /// makes the order of the two sides' steps count.
    async fn judge_run(&self, run: &Run, now: Timestamp, stale: &mut Vec<Stale>) -> Result<Verdict, Failure> {
        let at = keys::lent_partition(run.extent);
        let prefix = keys::lent_of(run.start());
        let (mut from, end) = (prefix.clone(), prefix.after_prefix());
        let mut verdict = Verdict::Free;
        loop {
            let rows = self.look(&at, |txn| Ok(txn.scan(&from, &end, HOLDERS)?)).await?;
            let Some(last) = rows.last().map(|(key, _)| key.clone()) else { return Ok(verdict) };
            for (key, bytes) in rows {
                match self.holder_state(&key, &bytes, now).await? {
                    State::Claims => return Ok(Verdict::Held),
                    State::Gone => stale.push((key, bytes)),
                    State::MayClaim { until } => {
                        verdict = match verdict {
                            Verdict::Ask(earlier) => Verdict::Ask(earlier.max(until)),
                            Verdict::Free | Verdict::Held => Verdict::Ask(until),
                        }
                    }
                }
            }
            from = last.successor();
        }
    }

    /// Whether who is written down as a holder claims the piece, or may be about to.
    async fn holder_state(&self, key: &Key, bytes: &Bytes, now: Timestamp) -> Result<State, Failure> {
        let Some((extent, offset, holder)) = keys::read_lent(key) else { return Ok(State::Gone) };
        let claim = holder.claim(&Run { extent, offset, length: 0, seal: 0 }.piece());
        if self.look(&holder.partition(), |txn| get::<Claim>(txn, &claim)).await?.is_some() {
            return Ok(State::Claims);
        }
        let until = decode::<Holding>(bytes)?.since.map(|since| since.plus_seconds(BELIEVED_SECONDS));
        Ok(until.filter(|until| *until > now).map_or(State::Gone, |until| State::MayClaim { until }))
    }

    /// Removes rows that still say what was seen.
    pub(crate) async fn forget_lent(&self, stale: Vec<Stale>) -> Result<(), Failure> {
        let mut by_extent: BTreeMap<u64, Vec<Stale>> = BTreeMap::new();
        for row in stale {
            if let Some((extent, ..)) = keys::read_lent(&row.0) {
                by_extent.entry(extent).or_default().push(row);
            }
        }
        for (extent, rows) in by_extent {
            self.transact(keys::lent_partition(extent), move |txn| {
                for (key, seen) in &rows {
                    if txn.get(key)?.as_ref() == Some(seen) {
                        txn.delete(key.clone());
                    }
                }
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    /// What of an extent is written down as lent while it is settled. A store that is alone has lent nothing of it.
    pub(crate) async fn pieces_lent(&self, extent: u64) -> Result<Vec<(u64, u64)>, Failure> {
        if self.sharing.is_none() {
            return Ok(Vec::new());
        }
        let all = Key::new(keys::ROOT, keys::LENT, &[&extent.to_be_bytes()]);
        let rows =
            self.look(&keys::lent_partition(extent), |txn| Ok(txn.scan(&all, &all.after_prefix(), PAGE)?)).await?;
        // Its length is not known here; none is longer.
        Ok(rows.iter().filter_map(|(key, _)| Some((keys::read_lent(key)?.1, PIECE_MAX))).collect())
    }

    /// A page of all rows, for a round: those that have no holder are forgotten. Gives where to go on.
    pub(crate) async fn visit_lent(&self, from: &Key, now: Timestamp) -> Result<Option<Key>, Failure> {
        let end = keys::column(keys::ROOT, keys::LENT).after_prefix();
        let rows = self.rows(from, &end, PAGE).await?;
        let next = rows.last().filter(|_| rows.len() == PAGE).map(|(last, _)| last.successor());
        let mut stale = Vec::new();
        for (key, bytes) in rows {
            if let State::Gone = self.holder_state(&key, &bytes, now).await? {
                stale.push((key, bytes));
            }
        }
        self.forget_lent(stale).await?;
        Ok(next)
    }
}

fn write_down(txn: &mut Txn<'_>, runs: &[Run], from: &BlobKeys, to: &BlobKeys, since: Timestamp) -> Decided<()> {
    for run in runs {
        txn.put(keys::lent(run.start(), to), encode(&Holding { since: Some(since) }));
        let lender = keys::lent(run.start(), from);
        if txn.get(&lender)?.is_none() {
            txn.put(lender, encode(&Holding { since: None }));
        }
    }
    Ok(())
}

fn all_claimed(txn: &mut Txn<'_>, keys: &BlobKeys, runs: &[Run]) -> Decided<bool> {
    for run in runs {
        if txn.get(&keys.claim(&run.piece()))?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

enum State {
    Claims,
    MayClaim { until: Timestamp },
    Gone,
}
