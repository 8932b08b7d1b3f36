//! List Shares. Of each name: the snapshots from the oldest to the newest, the share, and those that were deleted.

use lazuli_engine::{Fault, Key, Txn};
use lazuli_model::file::{Share, ShareName};
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{AccountName, Timestamp};

use super::{Born, ShareKeys, born, keys, living};
use crate::file::rows::{Buried, Snapshot};
use crate::listing::{decode_marker, encode_marker};
use crate::records::decode;
use crate::transact::{Decided, now};
use crate::{Failure, ShareAt, Store};

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

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
        self.look(|txn| page(txn, account, &list, &position)).await
    }
}

/// `name 00`, then the place within the name: the version of a deleted one, a snapshot's time, or the share itself, which comes last
/// (observed).
fn place(name: &ShareName, item: &ShareItem) -> Vec<u8> {
    let (time, version) = match (&item.snapshot, &item.deleted) {
        (Some(time), _) => (time.ticks(), 0),
        (None, None) => (u64::MAX, 0),
        (None, Some(deleted)) => (0, u64::from_str_radix(&deleted.version, 16).unwrap_or(u64::MAX)),
    };
    [name.as_str().as_bytes(), &[0], &time.to_be_bytes(), &version.to_be_bytes()].concat()
}

fn page(txn: &mut Txn<'_>, account: &AccountName, list: &ListShares, position: &[u8]) -> Decided<SharePage> {
    let mut page = SharePage { items: Vec::new(), next: None };
    let begun = position.split(|byte| *byte == 0).next().unwrap_or_default();
    let mut from = begun.max(list.prefix.as_bytes()).to_vec();
    while let Some(name) = next_name(txn, account, list, &from)? {
        for item in items(txn, account, list, &name)? {
            let place = place(&name, &item);
            if place.as_slice() < position {
                continue;
            }
            if page.items.len() == list.most as usize {
                page.next = Some(encode_marker(&place));
                return Ok(page);
            }
            page.items.push(item);
        }
        from = [name.as_str().as_bytes(), &[0]].concat();
    }
    Ok(page)
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

fn items(txn: &mut Txn<'_>, account: &AccountName, list: &ListShares, name: &ShareName) -> Decided<Vec<ShareItem>> {
    let at = ShareAt { account: account.clone(), share: name.clone() };
    let mut items = if list.deleted { buried(txn, &at)? } else { Vec::new() };
    let found: Option<Born> = born(txn, &at)?;
    if let Some(born) = found
        && let Some((share, _)) = living(txn, &born)?
    {
        if list.snapshots {
            let all = ShareKeys::new(born.id).snapshots();
            for (key, bytes) in txn.scan(&all, &all.after_prefix(), usize::MAX)? {
                let time = keys::read_version(&key).map(Timestamp::from_ticks);
                let share = decode::<Snapshot>(&bytes)?.share;
                items.push(ShareItem { name: name.clone(), snapshot: time, deleted: None, share });
            }
        }
        items.push(ShareItem { name: name.clone(), snapshot: None, deleted: None, share });
    }
    Ok(items)
}

fn buried(txn: &mut Txn<'_>, at: &ShareAt) -> Decided<Vec<ShareItem>> {
    let now = now(txn);
    let (from, to) = (keys::deleted_share(at, 0), keys::deleted_share(at, u64::MAX));
    let mut items = Vec::new();
    for (key, bytes) in txn.scan(&from, &to, usize::MAX)? {
        let buried: Buried = decode(&bytes)?;
        if now < buried.until {
            let version = format!("{:016X}", keys::read_version(&key).unwrap_or_default());
            // Observed: the dates count, so on its last day a share has none left.
            let remaining_days = u32::try_from(day(buried.until) - day(now)).unwrap_or(u32::MAX);
            let deleted = DeletedShare { version, deleted: buried.deleted, remaining_days };
            items.push(ShareItem {
                name: at.share.clone(),
                snapshot: None,
                deleted: Some(deleted),
                share: buried.share,
            });
        }
    }
    Ok(items)
}

fn day(time: Timestamp) -> u64 {
    time.ticks() / (SECONDS_PER_DAY * TICKS_PER_SECOND)
}
