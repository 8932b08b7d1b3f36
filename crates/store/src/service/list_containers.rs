//! List Containers.

use bytes::Bytes;
use lazuli_engine::{Fault, Key};
use lazuli_model::container::Container;
use lazuli_model::{AccountName, ContainerName};

use crate::listing::{decode_marker, encode_marker};
use crate::records::decode;
use crate::{ContainerItem, ContainerPage, Failure, ListContainers, Store, keys};

/// Containers of the service itself, shown when asked for ("List Containers": `include=system`). There are few of
/// them, so passing over them does not make a page dearer.
const SYSTEM: [&str; 2] = ["$logs", "$blobchangefeed"];

/// Rows per look.
const BATCH: usize = 1000;

impl Store {
    pub async fn list_containers(&self, account: &AccountName, list: ListContainers) -> Result<ContainerPage, Failure> {
        let all = keys::containers(account, list.prefix.as_bytes());
        let end = all.after_prefix();
        let from = match &list.marker {
            Some(marker) => keys::containers(account, &decode_marker(marker)?),
            None => all.clone(),
        };
        let mut from = from.max(all);
        let mut items: Vec<ContainerItem> = Vec::new();
        loop {
            let limit = (list.most as usize).saturating_sub(items.len()).saturating_add(1).min(BATCH);
            let rows = self.look(|txn| Ok(txn.scan(&from, &end, limit)?)).await?;
            let ended = rows.len() < limit;
            for (key, bytes) in rows {
                from = key.successor();
                let name = name(&key, account)?;
                if SYSTEM.contains(&name.as_str()) && !list.system {
                    continue;
                }
                if items.len() == list.most as usize {
                    return Ok(ContainerPage { items, next: Some(encode_marker(name.as_str().as_bytes())) });
                }
                items.push(ContainerItem { name, container: decode::<Container>(&bytes)? });
            }
            if ended {
                return Ok(ContainerPage { items, next: None });
            }
        }
    }
}

fn name(key: &Key, account: &AccountName) -> Result<ContainerName, Fault> {
    let row: Bytes = key.row();
    let name = row.get(account.as_str().len() + 1..).and_then(|name| std::str::from_utf8(name).ok());
    let name = name.and_then(|name| ContainerName::parse(name).ok());
    name.ok_or_else(|| Fault::Corrupt(format!("the key of a container has no name: {row:?}")))
}
