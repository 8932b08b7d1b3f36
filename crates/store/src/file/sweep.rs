//! What the sweeper does in a share: it collects what only a deleted snapshot saw, and what copies left behind.
//!
//! A row or a content that was superseded is noted under the snapshot that was the newest then. When that snapshot goes, each note
//! either moves to the next older snapshot that still sees the thing, or the thing goes.

use lazuli_engine::{Column, Fault, Key, Space, Txn};
use lazuli_model::Timestamp;

use super::ShareAt;
use super::keys::{self, ShareKeys, read_epoch};
use super::rows::{Born, Build, Buried, Head, NameRow, NodeRow, Superseded};
use crate::keys::{BlobKeys, ROOT, column};
use crate::records::{Garbage, decode, encode};
use crate::sparse::Forgetting;
use crate::transact::{Decided, get};
use crate::{Failure, Store};

/// Notes that one transaction goes over.
const NOTES: usize = 128;

/// A copy that has not moved for so long has been abandoned.
const BUILD_SECONDS: u64 = 7 * 24 * 60 * 60;

/// Rows that one step of a round looks at.
const PAGE: usize = 256;

/// One step about a snapshot that is no more; what it makes garbage of is added. True when that was all.
pub(crate) fn collect_superseded(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    snapshot: u64,
    garbage: &mut Vec<Garbage>,
) -> Decided<bool> {
    let keys = ShareKeys { content: keys.clone() };
    let Some(head) = get::<Head>(txn, &keys.head())? else { return Ok(true) };
    let older = head.snapshots.iter().rev().find(|epoch| **epoch < snapshot).copied();
    let all = keys.superseded(snapshot);
    let rows = txn.scan(&all, &all.after_prefix(), NOTES)?;
    for (note, bytes) in &rows {
        txn.delete(note.clone());
        let what: Superseded = decode(bytes)?;
        let since = match what {
            Superseded::Row { since } | Superseded::Content { since, .. } => since,
        };
        let kept_for = older.filter(|older| *older >= since);
        if let Some(older) = kept_for {
            let moved = Key::new(note.space(), note.column(), &[&older.to_be_bytes(), &note.row()[8..]]);
            let before: Option<Superseded> = get(txn, &moved)?;
            txn.put(moved, encode(&stronger(before, what)));
        }
        match (what, noted(note)) {
            (Superseded::Row { .. }, Some(Noted::Row(row))) if kept_for.is_none() => forget_row(txn, row)?,
            (Superseded::Row { .. }, _) => {}
            (Superseded::Content { dead, .. }, Some(Noted::Content(content))) => {
                garbage.push(Garbage::Sparse(forgetting(&head, content, dead.then_some(snapshot))));
            }
            (Superseded::Content { .. }, Some(Noted::Row(_)) | None) => {}
        }
    }
    Ok(rows.len() < NOTES)
}

/// Two notes about one thing: that it is dead is the later news.
fn stronger(before: Option<Superseded>, what: Superseded) -> Superseded {
    match before {
        Some(dead @ Superseded::Content { dead: true, .. }) => dead,
        Some(Superseded::Content { dead: false, .. } | Superseded::Row { .. }) | None => what,
    }
}

enum Noted {
    Row(Key),
    Content(u64),
}

/// What a note is about: after the snapshot's epoch, the column and the row.
fn noted(note: &Key) -> Option<Noted> {
    let row = note.row();
    let (letter, rest) = (*row.get(8)?, row.get(9..)?);
    if letter == crate::keys::WINDOWS.0 {
        return rest.try_into().ok().map(|content| Noted::Content(u64::from_be_bytes(content)));
    }
    Some(Noted::Row(Key::new(note.space(), Column(letter), &[rest])))
}

/// All that nobody sees: of a content that lives, no snapshot and no reader of the present; of one that died, no snapshot up to the
/// last that saw it.
fn forgetting(head: &Head, content: u64, last: Option<u64>) -> Forgetting {
    let mut visible = head.snapshots.clone();
    match last {
        Some(last) => visible.retain(|epoch| *epoch <= last),
        None => visible.push(head.epoch),
    }
    Forgetting { until: head.epoch, visible, ..Forgetting::all(content) }
}

/// The row goes; and so does one that says that nothing is there, when nothing is left behind it.
fn forget_row(txn: &mut Txn<'_>, row: Key) -> Decided<()> {
    txn.delete(row.clone());
    let Some((prefix, _)) = read_epoch(&row) else { return Ok(()) };
    if let Some((oldest, bytes)) = txn.last(&prefix, &prefix.after_prefix())?
        && says_nothing(prefix.column(), &bytes)?
    {
        txn.delete(oldest);
    }
    Ok(())
}

fn says_nothing(column: Column, bytes: &[u8]) -> Result<bool, Fault> {
    Ok(match column {
        keys::NAMES => decode::<NameRow>(bytes)?.0.is_none(),
        keys::NODES => decode::<NodeRow>(bytes)?.0.is_none(),
        _ => false,
    })
}

/// How far a round over the shares has come.
pub(crate) enum ShareRound {
    Shares(Key),
    /// The abandoned copies of a share; then shares from `next` on.
    Builds {
        at: ShareAt,
        space: Space,
        next: Key,
    },
    Deleted(Key),
}

impl ShareRound {
    pub fn begin() -> Self {
        ShareRound::Shares(column(ROOT, keys::SHARES))
    }
}

impl Store {
    /// One step of a round over the shares; nothing when it is over.
    pub(crate) async fn share_round(&self, round: ShareRound, now: Timestamp) -> Result<Option<ShareRound>, Failure> {
        match round {
            ShareRound::Shares(from) => self.visit_share(from).await.map(Some),
            ShareRound::Builds { at, space, next } => {
                self.visit_builds(&at, space, now).await?;
                Ok(Some(ShareRound::Shares(next)))
            }
            ShareRound::Deleted(from) => self.visit_deleted(from, now).await,
        }
    }

    async fn visit_share(&self, from: Key) -> Result<ShareRound, Failure> {
        let end = column(ROOT, keys::SHARES).after_prefix();
        let rows = self.rows(&from, &end, 1).await?;
        let Some((key, bytes)) = rows.first() else {
            return Ok(ShareRound::Deleted(column(ROOT, keys::DELETED_SHARES)));
        };
        let born: Born = decode(bytes)?;
        let next = key.successor();
        let Some((account, share)) = keys::read_share(key) else { return Ok(ShareRound::Shares(next)) };
        let at = ShareAt { account, share };
        let share_keys = ShareKeys::new(born.id);
        let head: Option<Head> = self.look(&share_keys.partition(), |txn| get(txn, &share_keys.head())).await?;
        if head.and_then(|head| head.ended).is_some_and(|ended| ended.life == born.life) {
            self.bury_share(&at).await?;
            return Ok(ShareRound::Shares(next));
        }
        self.hint(true, share_keys.content.clone());
        Ok(ShareRound::Builds { at, space: share_keys.space(), next })
    }

    async fn visit_builds(&self, at: &ShareAt, space: Space, now: Timestamp) -> Result<(), Failure> {
        let all = ShareKeys::new(space.0).builds();
        let rows = self.rows(&all, &all.after_prefix(), PAGE).await?;
        for (key, bytes) in rows {
            let build: Build = decode(&bytes)?;
            let content = key.row().first_chunk().map(|content| u64::from_be_bytes(*content));
            if let Some(content) = content
                && build.touched.plus_seconds(BUILD_SECONDS) <= now
            {
                let found = self.found_share(at).await?;
                self.drop_build(found, crate::sparse::Seen { content, epoch: 0 }).await?;
            }
        }
        Ok(())
    }

    async fn visit_deleted(&self, from: Key, now: Timestamp) -> Result<Option<ShareRound>, Failure> {
        let end = column(ROOT, keys::DELETED_SHARES).after_prefix();
        let rows = self.rows(&from, &end, PAGE).await?;
        for (key, bytes) in &rows {
            let (Some((account, share)), Some(version)) = (keys::read_share(key), keys::read_version(key)) else {
                continue;
            };
            if decode::<Buried>(bytes)?.until <= now {
                self.end_buried(ShareAt { account, share }, version).await?;
            }
        }
        Ok(rows.last().filter(|_| rows.len() == PAGE).map(|(last, _)| ShareRound::Deleted(last.successor())))
    }
}
