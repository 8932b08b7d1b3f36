//! What SMB clients have open: the rows of the store tell what, and the record who and since which request.

use lazuli_http::recorder::Record;
use lazuli_model::AccountName;
use lazuli_model::file::FilePath;
use lazuli_model::file::arbiter::{Access, Caching};
use lazuli_store::{FileAt, HandleItem, ListHandles, ListShares};
use serde_json::{Value, json as value};

use super::{Caller, Refused, Told, json};
use crate::console::Console;

/// Handles that are shown, and refusals with each of them.
const OPENS_MAX: usize = 1000;
const REFUSED_MAX: usize = 20;

impl Console {
    pub(super) async fn live_opens(&self, caller: &Caller) -> Told {
        let accounts = match caller.sees()? {
            Some(account) => vec![account],
            None => self.account_names().await?,
        };
        let records = self.edge.recorder().map(|recorder| recorder.records()).unwrap_or_default();
        let mut opens = Vec::new();
        for account in accounts {
            let Ok(account) = AccountName::parse(&account) else { continue };
            self.opens_of(&account, &records, &mut opens).await?;
        }
        Ok(json(&value!({"opens": opens})))
    }

    async fn opens_of(&self, account: &AccountName, records: &[Record], opens: &mut Vec<Value>) -> Result<(), Refused> {
        let store = &self.data.store;
        let unread = |_| Refused::bad("the shares cannot be read");
        let mut marker = None;
        loop {
            let list = ListShares { prefix: String::new(), marker, most: 1000, snapshots: false, deleted: false };
            let page = store.list_shares(account, list).await.map_err(unread)?;
            for item in page.items {
                let left = OPENS_MAX.saturating_sub(opens.len());
                if left == 0 {
                    return Ok(());
                }
                let at = FileAt { account: account.clone(), share: item.name, path: FilePath::ROOT };
                let most = u32::try_from(left).unwrap_or(u32::MAX);
                let list = ListHandles { recursive: true, most, ..ListHandles::default() };
                // A share that was deleted meanwhile has none.
                let Ok(page) = store.list_handles(&at, list).await else { continue };
                opens.extend(page.items.iter().map(|item| shown(&at, item, records)));
            }
            marker = page.next;
            if marker.is_none() {
                return Ok(());
            }
        }
    }
}

fn shown(at: &FileAt, item: &HandleItem, records: &[Record]) -> Value {
    let opens = |record: &&Record| record.handle == Some(item.handle) && record.operation == "SmbOpen";
    let refused = records.iter().rev().filter(|record| record.is_refusal() && record.held_by == Some(item.handle));
    let path = if item.path.is_empty() { String::new() } else { format!("/{}", item.path) };
    let locks = item
        .locks
        .iter()
        .map(|lock| value!({"from": lock.from.to_string(), "to": lock.to.to_string(), "exclusive": lock.exclusive}));
    value!({
        "object": format!("file/{}/{}{path}", at.account.as_str(), at.share.as_str()),
        "handle": item.handle.to_string(),
        "session": item.session.to_string(),
        "client": item.client,
        "access": rights(item.access),
        "share": rights(item.sharing),
        "cache": letters(item.caching),
        "breaking_to": item.breaking.map(letters),
        "locks": locks.collect::<Vec<_>>(),
        "since": item.opened.to_iso(),
        "holder": records.iter().rev().find(opens),
        "refused": refused.take(REFUSED_MAX).collect::<Vec<_>>(),
    })
}

/// `read, write`; or `nothing`.
fn rights(access: Access) -> String {
    let named = [(access.read, "read"), (access.write, "write"), (access.delete, "delete")];
    let held: Vec<&str> = named.into_iter().filter(|(held, _)| *held).map(|(_, name)| name).collect();
    if held.is_empty() { "nothing".into() } else { held.join(", ") }
}

/// As leases of SMB are written: `RWH`.
fn letters(caching: Caching) -> String {
    let named = [(caching.read, 'R'), (caching.write, 'W'), (caching.handle, 'H')];
    named.into_iter().filter(|(held, _)| *held).map(|(_, letter)| letter).collect()
}
