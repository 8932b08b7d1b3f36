//! List Shares. Of each name: the snapshots from the oldest to the newest, the share, and those that were deleted.

use std::ops::ControlFlow;

use lazuli_engine::{Entry, Fault, Key, Txn};
use lazuli_model::file::share::SNAPSHOTS_MAX;
use lazuli_model::file::{Share, ShareName};
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{AccountName, Timestamp};

use super::{Born, ShareKeys, born, keys, living};
use crate::file::rows::{Buried, Snapshot};
use crate::keys::ROOT;
use crate::listing::{decode_marker, encode_marker};
use crate::records::decode;
use crate::transact::{Decided, now};
use crate::{Failure, ShareAt, Store};

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;
/// Names that one scan of the root finds.
const NAMES: usize = 512;

#[derive(Clone, Debug, Default)]
pub struct ListShares {
    pub prefix: String,
    /// What `SharePage::next` said.
    pub marker: Option<String>,
    /// 1..=5000.
    pub most: u32,
    pub snapshots: bool,
    pub deleted: bool,
}

#[derive(Clone, Debug)]
pub struct ShareItem {
    pub name: ShareName,
    pub snapshot: Option<Timestamp>,
    pub deleted: Option<DeletedShare>,
    /// Of a snapshot, as it was then; its lease is its own.
    pub share: Share,
}

#[derive(Clone, Debug)]
pub struct DeletedShare {
    /// Tells it from others that were deleted under the same name: `01D8DA93665D1D85`.
    pub version: String,
    pub deleted: Timestamp,
    pub remaining_days: u32,
}

#[derive(Clone, Debug)]
pub struct SharePage {
    pub items: Vec<ShareItem>,
    pub next: Option<String>,
}

impl Store {
    pub async fn list_shares(&self, account: &AccountName, list: ListShares) -> Result<SharePage, Failure> {
        let position = list.marker.as_deref().map(decode_marker).transpose()?.unwrap_or_default();
        let begun = position.split(|byte| *byte == 0).next().unwrap_or_default();
        let mut from = begun.max(list.prefix.as_bytes()).to_vec();
        let mut page = SharePage { items: Vec::new(), next: None };
        // One scan of the root finds some names; each share says itself what it has.
        loop {
            let limit = (list.most as usize).saturating_sub(page.items.len()).clamp(1, NAMES);
            let names = self.scan(ROOT, |txn| names(txn, account, &list, &position, &from, limit)).await?;
            let Some(last) = names.last() else { return Ok(page) };
            from = [last.0.as_str().as_bytes(), &[0]].concat();
            for (name, born, buried) in names {
                for item in self.items(name, born, buried, list.snapshots).await? {
                    let place = place(&item);
                    if place.as_slice() < position.as_slice() {
                        continue;
                    }
                    if page.items.len() == list.most as usize {
                        page.next = Some(encode_marker(&place));
                        return Ok(page);
                    }
                    page.items.push(item);
                }
            }
        }
    }

    /// All that a listing shows of one name, in order.
    async fn items(
        &self,
        name: ShareName,
        born: Option<Born>,
        mut items: Vec<ShareItem>,
        snapshots: bool,
    ) -> Result<Vec<ShareItem>, Failure> {
        let Some(born) = born else { return Ok(items) };
        let share_keys = ShareKeys::new(born.id);
        let partition = share_keys.partition();
        let share = self.look(&partition, |txn| {
            let Some(share) = living(txn, &born)? else { return Ok(None) };
            let all = share_keys.snapshots();
            let rows = if snapshots { txn.scan(&all, &all.after_prefix(), SNAPSHOTS_MAX)? } else { Vec::new() };
            Ok(Some((share, rows)))
        });
        let Some((share, rows)) = share.await? else { return Ok(items) };
        for (key, bytes) in rows {
            let time = keys::read_version(&key).map(Timestamp::from_ticks);
            let share = decode::<Snapshot>(&bytes)?.share;
            items.push(ShareItem { name: name.clone(), snapshot: time, deleted: None, share });
        }
        items.push(ShareItem { name, snapshot: None, deleted: None, share });
        Ok(items)
    }
}

/// `name 00`, then the place within the name: the version of a deleted one, a snapshot's time, or the share itself, which comes last
/// (observed).
fn place(item: &ShareItem) -> Vec<u8> {
    let (time, version) = match (&item.snapshot, &item.deleted) {
        (Some(time), _) => (time.ticks(), 0),
        (None, None) => (u64::MAX, 0),
        (None, Some(deleted)) => (0, u64::from_str_radix(&deleted.version, 16).unwrap_or(u64::MAX)),
    };
    [item.name.as_str().as_bytes(), &[0], &time.to_be_bytes(), &version.to_be_bytes()].concat()
}

type Named = (ShareName, Option<Born>, Vec<ShareItem>);

/// Names that are not before `from`, with what the root has of each: its row, and the deleted ones that are not before `position`. Names
/// and deleted shares are about `limit` together; of the last name there is one more than would fill a page, if there are so many.
fn names(
    txn: &mut Txn<'_>,
    account: &AccountName,
    list: &ListShares,
    position: &[u8],
    from: &[u8],
    limit: usize,
) -> Decided<Vec<Named>> {
    let (mut from, mut found, mut count) = (from.to_vec(), Vec::new(), 0);
    while count < limit
        && let Some(name) = next_name(txn, account, list, &from)?
    {
        from = [name.as_str().as_bytes(), &[0]].concat();
        let first = first_version(position, &from);
        let at = ShareAt { account: account.clone(), share: name };
        let buried = if list.deleted { buried(txn, &at, first, list.most as usize + 1)? } else { Vec::new() };
        count += 1 + buried.len();
        found.push((at.share.clone(), born(txn, &at)?, buried));
    }
    Ok(found)
}

/// The first version of a deleted share that a page shows which begins at `position`, among those of one name: `name 00`.
fn first_version(position: &[u8], name: &[u8]) -> u64 {
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes).ok();
    match position.strip_prefix(name).map(|within| within.split_at(within.len().min(8))) {
        Some((time, version)) if number(time) == Some(0) => number(version).unwrap_or_default(),
        // Snapshots and the share itself come after what was deleted.
        Some((time, _)) if number(time).is_some() => u64::MAX,
        Some(_) | None => 0,
    }
}

/// The first name that is not before `from`, among the shares and, if wanted, the deleted ones.
fn next_name(txn: &mut Txn<'_>, account: &AccountName, list: &ListShares, from: &[u8]) -> Decided<Option<ShareName>> {
    let prefix = list.prefix.as_bytes();
    let first = |txn: &mut Txn<'_>, from: Key, all: Key| -> Decided<Option<ShareName>> {
        let rows = txn.scan(&from.max(all.clone()), &all.after_prefix(), 1)?;
        let Some((key, _)) = rows.first() else { return Ok(None) };
        let lost = || Fault::Corrupt(format!("the key of a share has no name: {key:?}"));
        Ok(Some(keys::read_share(key).ok_or_else(lost)?.1))
    };
    let living = first(txn, keys::shares(account, from), keys::shares(account, prefix))?;
    if !list.deleted {
        return Ok(living);
    }
    // A deleted share's name is followed by its version, so the same name has to be passed as a whole.
    let passed = from.strip_suffix(&[0]).map(|name| [name, &[1]].concat());
    let from = keys::deleted_shares(account, passed.as_deref().unwrap_or(from));
    let dead = first(txn, from, keys::deleted_shares(account, prefix))?;
    Ok(match (living, dead) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    })
}

/// Up to `limit` of the deleted shares of a name that can be brought back.
fn buried(txn: &mut Txn<'_>, at: &ShareAt, first: u64, limit: usize) -> Decided<Vec<ShareItem>> {
    let now = now(txn);
    let (from, to) = (keys::deleted_share(at, first), keys::deleted_share(at, u64::MAX));
    let mut kept: Vec<(Key, Result<Buried, Fault>)> = Vec::new();
    txn.walk(&from, &to, &mut |entry: &Entry<'_>| {
        let (key, bytes) = entry.keep();
        let read = decode::<Buried>(&bytes);
        if read.as_ref().map_or(true, |buried| now < buried.until) {
            kept.push((key, read));
        }
        if kept.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    let mut items = Vec::new();
    for (key, read) in kept {
        let buried = read?;
        let version = format!("{:016X}", keys::read_version(&key).unwrap_or_default());
        // Observed: the dates count, so on its last day a share has none left.
        let remaining_days = u32::try_from(day(buried.until) - day(now)).unwrap_or(u32::MAX);
        let deleted = DeletedShare { version, deleted: buried.deleted, remaining_days };
        items.push(ShareItem { name: at.share.clone(), snapshot: None, deleted: Some(deleted), share: buried.share });
    }
    Ok(items)
}

fn day(time: Timestamp) -> u64 {
    time.ticks() / (SECONDS_PER_DAY * TICKS_PER_SECOND)
}
