//! List Queues.

use bytes::Bytes;
use lazuli_engine::{Fault, Key};
use lazuli_model::queue::Queue;
use lazuli_model::{AccountName, QueueName, Refusal};

use crate::listing::{decode_marker, encode_marker};
use crate::records::decode;
use crate::{Failure, Store, keys};

#[derive(Clone, Debug, Default)]
pub struct ListQueues {
    pub prefix: String,
    /// What `QueuePage::next` said.
    pub marker: Option<String>,
    /// 1..=5000.
    pub most: u32,
}

#[derive(Clone, Debug)]
pub struct QueueItem {
    pub name: QueueName,
    pub queue: Queue,
}

#[derive(Clone, Debug)]
pub struct QueuePage {
    pub items: Vec<QueueItem>,
    pub next: Option<String>,
}

impl Store {
    pub async fn list_queues(&self, account: &AccountName, list: ListQueues) -> Result<QueuePage, Failure> {
        let all = keys::queues(account, list.prefix.as_bytes());
        let end = all.after_prefix();
        let from = match &list.marker {
            Some(marker) => {
                keys::queues(account, &decode_marker(marker).map_err(|_| Refusal::OutOfRangeInput)?).max(all)
            }
            None => all,
        };
        let limit = (list.most as usize).saturating_add(1);
        let rows = self.rows(&from, &end, limit).await?;
        let mut page = QueuePage { items: Vec::with_capacity(rows.len()), next: None };
        for (key, bytes) in rows {
            let name = name(&key, account)?;
            if page.items.len() == list.most as usize {
                page.next = Some(encode_marker(name.as_str().as_bytes()));
                break;
            }
            page.items.push(QueueItem { name, queue: decode(&bytes)? });
        }
        Ok(page)
    }
}

fn name(key: &Key, account: &AccountName) -> Result<QueueName, Fault> {
    let row: Bytes = key.row();
    let name = row.get(account.as_str().len() + 1..).and_then(|name| std::str::from_utf8(name).ok());
    let name = name.and_then(|name| QueueName::parse(name).ok());
    name.ok_or_else(|| Fault::Corrupt(format!("the key of a queue has no name: {row:?}")))
}
