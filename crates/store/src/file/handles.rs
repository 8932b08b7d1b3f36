//! List Handles and Force Close Handles: REST's view of what SMB clients hold.

use lazuli_engine::{Fault, Key};
use lazuli_model::Timestamp;
use lazuli_model::file::arbiter::{Access, Caching, Lock, Open};
use lazuli_model::file::{CloseHandles, FileId, Node};

use super::FileAt;
use super::tree::Tree;
use crate::listing::{decode_marker, encode_marker};
use crate::records::decode;
use crate::transact::Decided;
use crate::{Failure, Store};

/// Handles that one look goes over.
const BATCH: usize = 256;

#[derive(Clone, Debug, Default)]
pub struct ListHandles {
    pub snapshot: Option<Timestamp>,
    /// Also of all that is below a directory.
    pub recursive: bool,
    pub marker: Option<String>,
    pub most: u32,
}

#[derive(Clone, Debug)]
pub struct HandleItem {
    pub handle: u64,
    pub path: String,
    pub file: FileId,
    pub parent: FileId,
    pub session: u64,
    /// `10.0.0.4:445`.
    pub client: String,
    pub client_name: String,
    pub opened: Timestamp,
    pub reconnected: Option<Timestamp>,
    pub access: Access,
    pub sharing: Access,
    pub caching: Caching,
    /// A break of its cache is under way, down to this.
    pub breaking: Option<Caching>,
    pub locks: Vec<Lock>,
}

#[derive(Clone, Debug)]
pub struct HandlePage {
    pub items: Vec<HandleItem>,
    pub next: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedHandles {
    pub closed: u32,
    pub failed: u32,
    pub next: Option<String>,
}

impl Store {
    /// Of a file, a directory, or the whole share. A snapshot cannot be opened for more than an instant: it has none.
    pub async fn list_handles(&self, at: &FileAt, list: ListHandles) -> Result<HandlePage, Failure> {
        let marker = list.marker.as_deref().map(decode_marker).transpose()?.unwrap_or_default();
        self.look_tree(&at.share_at(), list.snapshot, |tree| page(tree, at, &list, &marker)).await
    }

    /// Those that a listing would show, or the one of them that has the id.
    pub async fn close_handles(
        &self,
        at: &FileAt,
        close: CloseHandles,
        list: ListHandles,
    ) -> Result<ClosedHandles, Failure> {
        // An id is of the whole share: observed, a handle of a file is closed by an id sent to the share without recursion.
        let recursive = list.recursive || (at.path.is_root() && matches!(close, CloseHandles::One(_)));
        let list = ListHandles { recursive, most: if list.most == 0 { BATCH as u32 } else { list.most }, ..list };
        let (mut closed, mut failed, mut marker) = (0, 0, list.marker.clone());
        loop {
            let page = self.list_handles(at, ListHandles { marker: marker.clone(), ..list.clone() }).await?;
            for item in &page.items {
                let wanted = match close {
                    CloseHandles::All => true,
                    CloseHandles::One(handle) => handle == item.handle,
                };
                if !wanted {
                    continue;
                }
                match self.force_close(&at.share_at(), item.file, item.handle).await {
                    Ok(_) => closed += 1,
                    Err(Failure::Refused(_)) => {} // closed by its client meanwhile
                    Err(Failure::Broken(fault)) => {
                        tracing::warn!(?fault, "a handle could not be closed");
                        failed += 1;
                    }
                }
            }
            marker = page.next;
            let is_done = marker.is_none() || (close == CloseHandles::All && closed + failed > 0);
            if is_done {
                return Ok(ClosedHandles { closed, failed, next: marker });
            }
        }
    }
}

fn page(tree: &mut Tree<'_, '_>, at: &FileAt, list: &ListHandles, marker: &[u8]) -> Decided<HandlePage> {
    let (node, _) = tree.find(&at.path)?;
    let mut page = HandlePage { items: Vec::new(), next: None };
    if tree.is_snapshot() {
        return Ok(page);
    }
    let all = if list.recursive { tree.keys.all_opens() } else { tree.keys.opens(node.id) };
    let end = all.after_prefix();
    let mut from = Key::new(all.space(), all.column(), &[marker]).max(all);
    loop {
        let rows = tree.txn.scan(&from, &end, BATCH)?;
        let Some((last, _)) = rows.last() else { return Ok(page) };
        from = last.successor();
        let is_last = rows.len() < BATCH;
        for (key, bytes) in rows {
            let open: Open = decode(&bytes)?;
            let file = file_of(&key)?;
            let Some((path, opened)) = below(tree, file, node.id)? else { continue };
            if page.items.len() == list.most.max(1) as usize {
                page.next = Some(encode_marker(&key.row()));
                return Ok(page);
            }
            page.items.push(item(open, &opened, path));
        }
        if is_last {
            return Ok(page);
        }
    }
}

fn file_of(key: &Key) -> Result<FileId, Fault> {
    let id = key.row().first_chunk().map(|id| FileId(u64::from_be_bytes(*id)));
    id.ok_or_else(|| Fault::Corrupt(format!("the key of a handle: {key:?}")))
}

/// The path of a file from the root, and the file, if `top` is on the way or is the file itself.
fn below(tree: &mut Tree<'_, '_>, file: FileId, top: FileId) -> Decided<Option<(String, Node)>> {
    let Some(node) = tree.node(file)? else { return Ok(None) };
    let mut steps = Vec::new();
    let mut met = false;
    let mut at = node.clone();
    loop {
        met |= at.id == top;
        if at.id == FileId::ROOT {
            break;
        }
        steps.push(at.name.clone());
        match tree.node(at.parent)? {
            Some(parent) => at = parent,
            None => break,
        }
    }
    steps.reverse();
    Ok(met.then(|| (steps.join("/"), node)))
}

fn item(open: Open, node: &Node, path: String) -> HandleItem {
    HandleItem {
        handle: open.handle,
        path,
        file: node.id,
        parent: node.parent,
        session: open.session,
        client: open.client,
        client_name: open.client_name,
        opened: open.opened,
        reconnected: open.reconnected,
        access: open.access,
        sharing: open.sharing,
        caching: open.caching,
        breaking: open.breaking.map(|breaking| breaking.to),
        locks: open.locks,
    }
}
