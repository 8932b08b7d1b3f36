//! Undelete: a path that was deleted comes back under its name, with all that was below it.

use lazuli_engine::Txn;
use lazuli_model::Refusal;
use lazuli_model::blob::Blob;
use lazuli_model::lake::{LakePath, Node, Right, permit};

use super::address::PathAddress;
use super::tree::{self, link, standing};
use super::{Address, PathAt};
use crate::keys::TreeKeys;
use crate::records::{RemovedPath, decode};
use crate::transact::{Decided, get, now};
use crate::{Failure, Store};

#[derive(Clone, Debug)]
pub struct UndeletedPath {
    pub blob: Blob,
    pub is_directory: bool,
}

impl Store {
    pub async fn undelete_path(&self, at: &PathAt, deletion: u64) -> Result<UndeletedPath, Failure> {
        let Address::Path(path) = self.path_address(at).await? else {
            return Err(Refusal::HierarchicalNamespaceNotEnabled.into());
        };
        self.transact(path.keys.partition(), move |txn| restore(txn, &path, deletion)).await
    }

    /// Undelete Blob without an id brings back what was deleted last.
    pub(crate) async fn undelete_newest(&self, path: PathAddress) -> Result<(), Failure> {
        let restored = self.transact(path.keys.partition(), move |txn| {
            let name = path.path.to_string();
            let (first, end) = (path.keys.removed(&name, 0), path.keys.removed(&name, u64::MAX));
            let newest = txn.last(&first, &end)?;
            match newest.and_then(|(key, _)| TreeKeys::read_removed(&key)) {
                Some((_, deletion)) => restore(txn, &path, deletion).map(drop),
                // Nothing to do for what is there; refused for what never was.
                None => match tree::lookup(txn, &path.keys, &path.caller, &path.path)? {
                    Some(_) => Ok(()),
                    None => Err(Refusal::BlobNotFound.into()),
                },
            }
        });
        restored.await
    }
}

fn restore(txn: &mut Txn<'_>, path: &PathAddress, deletion: u64) -> Decided<UndeletedPath> {
    let key = path.keys.removed(&path.path.to_string(), deletion);
    let time = now(txn);
    let removed: Option<RemovedPath> = get(txn, &key)?;
    let removed = removed.filter(|removed| !removed.deleted.is_over(time)).ok_or(Refusal::BlobNotFound)?;
    let making = path.make_parents(txn)?;
    if let Some(entry) = making.entry {
        return Err(Refusal::PathAlreadyExists { is_directory: entry.is_directory }.into());
    }
    // It puts a name into a directory, as a rename does.
    permit(&path.caller, &tree::node(txn, &path.keys, making.parent)?.access, Right::Link)?;
    let node = tree::node(txn, &path.keys, removed.node.id)?;
    link(txn, &path.keys, removed.node.id, &Node { parent: making.parent, name: making.name, ..node });
    txn.delete(key);
    let found = standing(txn, &path.keys, removed.node.id)?.ok_or(Refusal::BlobNotFound)?;
    Ok(UndeletedPath { blob: found.blob, is_directory: found.node.is_directory })
}

/// What was deleted under a path, for listings: rows in the order of paths and times.
pub(super) fn read(key: &lazuli_engine::Key, bytes: &[u8]) -> Decided<Option<(String, u64, RemovedPath)>> {
    let Some((path, deletion)) = TreeKeys::read_removed(key) else { return Ok(None) };
    let known = LakePath::parse(&path).is_ok();
    let removed: RemovedPath = decode(bytes)?;
    Ok(known.then_some((path, deletion, removed)))
}
