//! List Containers, with those that were deleted softly merged in: of each name its past lives, oldest first, then the one it has.
//!
//! A *position* is `name 00 ticks` for one that was deleted, and `name 00 ff…ff` for one that is there.

use bytes::Bytes;
use lazuli_engine::{Fault, Key, Txn};
use lazuli_model::container::Container;
use lazuli_model::{AccountName, ContainerName, Refusal};

use crate::listing::{decode_marker, encode_marker};
use crate::records::{DeletedContainer, decode};
use crate::transact::{Decided, now};
use crate::{ContainerItem, ContainerPage, Failure, ListContainers, Store, keys};

/// Containers of the service itself, shown when asked for ("List Containers": `include=system`). There are few of
/// them, so passing over them does not make a page dearer.
const SYSTEM: [&str; 2] = ["$logs", "$blobchangefeed"];

/// Rows per column and look.
const BATCH: usize = 1000;

/// The last position of a name.
const LIVE: [u8; 9] = [0, 255, 255, 255, 255, 255, 255, 255, 255];

impl Store {
    pub async fn list_containers(&self, account: &AccountName, list: ListContainers) -> Result<ContainerPage, Failure> {
        let marker = list.marker.as_deref().map(decode_marker).transpose();
        // Rule B20.
        let marker = marker.map_err(|_| Refusal::OutOfRangeInput)?.unwrap_or_default();
        let mut from = marker.max(list.prefix.as_bytes().to_vec());
        let mut items: Vec<ContainerItem> = Vec::new();
        loop {
            let limit = (list.most as usize).saturating_sub(items.len()).saturating_add(1).min(BATCH);
            let (rows, horizon) = self.scan(keys::ROOT, |txn| rows(txn, account, &list, &from, limit)).await?;
            for (position, item) in rows {
                let Some(item) = item.filter(|item| list.system || !SYSTEM.contains(&item.name.as_str())) else {
                    continue;
                };
                if items.len() == list.most as usize {
                    return Ok(ContainerPage { items, next: Some(encode_marker(&position)) });
                }
                items.push(item);
            }
            match horizon {
                Some(horizon) => from = [&horizon[..], &[0]].concat(),
                None => return Ok(ContainerPage { items, next: None }),
            }
        }
    }
}

type Rows = Vec<(Vec<u8>, Option<ContainerItem>)>;

/// A batch in order, and how far it is complete if not to the end. Without an item: one that is past its time.
fn rows(
    txn: &mut Txn<'_>,
    account: &AccountName,
    list: &ListContainers,
    from: &[u8],
    limit: usize,
) -> Decided<(Rows, Option<Vec<u8>>)> {
    let skip = account.as_str().len() + 1;
    let mut all: Rows = Vec::new();
    let mut horizon: Option<Vec<u8>> = None;
    let mut reached = |full: bool, last: Option<&(Vec<u8>, Option<ContainerItem>)>| {
        if let (true, Some((last, _))) = (full, last) {
            horizon = Some(horizon.take().map_or(last.clone(), |horizon| horizon.min(last.clone())));
        }
    };
    let end = keys::containers(account, list.prefix.as_bytes()).after_prefix();
    let found = txn.scan(&keys::containers(account, &name_bound(from)), &end, limit)?;
    let full = found.len() == limit;
    for (key, bytes) in found {
        let name = name(&key, key.row().get(skip..).unwrap_or_default())?;
        let position = [name.as_str().as_bytes(), &LIVE].concat();
        let container: Container = decode(&bytes)?;
        all.push((position, Some(ContainerItem { name, container, deleted: None })));
    }
    reached(full, all.last());
    if list.deleted {
        let end = keys::deleted_containers(account, list.prefix.as_bytes()).after_prefix();
        let found = txn.scan(&keys::deleted_containers(account, from), &end, limit)?;
        let full = found.len() == limit;
        for (key, bytes) in found {
            let position = key.row().slice(skip.min(key.row().len())..);
            let end = position.len().saturating_sub(LIVE.len());
            let name = name(&key, &position[..end])?;
            let gone: DeletedContainer = decode(&bytes)?;
            let is_there = gone.is_there(now(txn));
            let item = ContainerItem { name, container: gone.container, deleted: Some(gone.deleted) };
            all.push((position.to_vec(), Some(item).filter(|_| is_there)));
        }
        reached(full, all.last());
        all.sort_by(|a, b| a.0.cmp(&b.0));
        if let Some(horizon) = &horizon {
            all.retain(|(position, _)| position <= horizon);
        }
    }
    Ok((all, horizon))
}

/// The least name whose position is not before `from`.
fn name_bound(from: &[u8]) -> Vec<u8> {
    match from.iter().position(|byte| *byte == 0) {
        Some(end) if from[end..] > LIVE[..] => [&from[..end], &[0]].concat(),
        Some(end) => from[..end].to_vec(),
        None => from.to_vec(),
    }
}

fn name(key: &Key, name: &[u8]) -> Result<ContainerName, Fault> {
    let name = std::str::from_utf8(name).ok().and_then(|name| ContainerName::parse(name).ok());
    let row: Bytes = key.row();
    name.ok_or_else(|| Fault::Corrupt(format!("the key of a container has no name: {row:?}")))
}
