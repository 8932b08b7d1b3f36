//! Properties of paths, and who may: getAccessControl, setAccessControl and its recursive form, setProperties; and where paths are.

use lazuli_engine::Txn;
use lazuli_model::Refusal;
use lazuli_model::blob::{Blob, ContentRef, Encryption, Kind, ReadBlob};
use lazuli_model::lake::{Acl, Change, Node, Right, SetAccessControl, SetPathProperties};

use super::address::PathAddress;
use super::tree::{self, Standing, lookup};
use super::walk::{Begin, Visit, Walk, segments};
use super::{Address, PathAt};
use crate::blob::{base, base_to_write, change};
use crate::keys::{ROOT_NODE, TreeKeys};
use crate::listing::{decode_marker, encode_marker};
use crate::records::{NodeId, encode};
use crate::transact::{Decided, now};
use crate::{Failure, Store};

/// What there is to say of a path.
#[derive(Clone, Debug)]
pub struct PathAccess {
    pub blob: Blob,
    /// None in a flat container.
    pub node: Option<Node>,
}

/// One call of setAccessControlRecursive.
#[derive(Clone, Debug)]
pub struct AccessWalk {
    pub change: Change,
    pub acl: Acl,
    /// Entries to be tried.
    pub most: usize,
    /// Go on after a failure.
    pub force: bool,
    pub continuation: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessFailure {
    pub path: String,
    pub is_directory: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessWalked {
    pub directories: u64,
    pub files: u64,
    pub failures: Vec<AccessFailure>,
    pub next: Option<String>,
}

impl Store {
    /// Where a path is, in the container that exists right now.
    pub(crate) async fn path_address(&self, at: &PathAt) -> Result<Address, Failure> {
        let home = self.home(&at.container_at()).await?;
        if home.hierarchical {
            return Ok(Address::Path(self.path_in(home, at.path.clone())));
        }
        if at.path.is_root() {
            return Ok(Address::Flat(crate::keys::BlobKeys::new(home.id, "").into()));
        }
        self.address(&at.blob_at()?).await
    }

    /// Makes the root directory of a new file system, with its own times.
    pub(crate) async fn create_root(&self, container: u128) -> Result<(), Failure> {
        let keys = TreeKeys::new(container);
        self.transact(keys.partition(), move |txn| {
            let root = Blob::new(Kind::Block, ContentRef::EMPTY, now(txn));
            txn.put(keys.blob(ROOT_NODE).base(), encode(&root));
            txn.put(keys.node(ROOT_NODE), encode(&Node::root()));
            Ok(())
        })
        .await
    }

    /// What a path is beside its record; nothing in a flat container, or where nothing is.
    pub async fn path_node(&self, at: &PathAt) -> Result<Option<Node>, Failure> {
        let Address::Path(path) = self.path_address(at).await? else { return Ok(None) };
        let look = |txn: &mut Txn<'_>| lookup(txn, &path.keys, &path.caller, &path.path);
        Ok(self.look(&path.keys.partition(), look).await?.map(|found| found.node))
    }

    /// How a file is encrypted; as if by the service where nothing is.
    pub async fn blob_encryption(&self, at: &crate::BlobAt) -> Result<Encryption, Failure> {
        let look = self.look_blob_by(at, Right::Traverse, |txn, keys| Ok(base(txn, keys)?.map(|blob| blob.encryption)));
        Ok(look.await?.1.unwrap_or_default())
    }

    /// Of a path that the caller can reach. In a flat container there is nothing to say of who may. `keyless`: a customer's key
    /// need not be shown.
    pub async fn path_access(&self, at: &PathAt, read: ReadBlob, keyless: bool) -> Result<PathAccess, Failure> {
        match self.path_address(at).await? {
            Address::Path(path) => {
                self.look(&path.keys.partition(), |txn| {
                    let found = lookup(txn, &path.keys, &path.caller, &path.path)?;
                    let own = found.as_ref().map(|found| &found.blob.encryption);
                    let read = match own {
                        Some(Encryption::Customer(hash)) if keyless => ReadBlob { key: Some(*hash), ..read.clone() },
                        Some(_) | None => read.clone(),
                    };
                    read.decide(found.as_ref().map(|found| &found.blob), now(txn))?;
                    let found = found.ok_or(Refusal::BlobNotFound)?;
                    Ok(PathAccess { blob: found.blob, node: Some(found.node) })
                })
                .await
            }
            Address::Flat(_) => {
                let blob = self.blob(&at.blob_at()?, read).await?;
                Ok(PathAccess { blob, node: None })
            }
        }
    }

    pub async fn set_access_control(&self, at: &PathAt, set: SetAccessControl) -> Result<Blob, Failure> {
        let path = self.tree_address(at).await?;
        self.transact(path.keys.partition(), move |txn| {
            let found = lookup(txn, &path.keys, &path.caller, &path.path)?;
            let access = set.decide(found.as_ref().map(Standing::both), &path.caller, now(txn))?;
            let found = found.ok_or(Refusal::BlobNotFound)?;
            txn.put(path.keys.node(found.id), encode(&Node { access, ..found.node }));
            Ok(found.blob)
        })
        .await
    }

    /// Changes the lists of a directory and of all below it, so many at a time.
    pub async fn set_access_recursive(&self, at: &PathAt, walk: AccessWalk) -> Result<AccessWalked, Failure> {
        let path = self.tree_address(at).await?;
        self.transact(path.keys.partition(), move |txn| change_below(txn, &path, &walk)).await
    }

    pub async fn set_path_properties(&self, at: &PathAt, set: SetPathProperties) -> Result<Blob, Failure> {
        let address = self.path_address(at).await?;
        self.transact(address.written(), move |txn| {
            let keys = address.find(txn, Right::Write)?;
            let current = base_to_write(txn, &keys)?;
            let new = set.decide(current.as_ref(), now(txn))?;
            change(txn, &keys, &current.ok_or(Refusal::BlobNotFound)?, &new);
            Ok(new)
        })
        .await
    }

    async fn tree_address(&self, at: &PathAt) -> Result<PathAddress, Failure> {
        match self.path_address(at).await? {
            Address::Path(path) => Ok(path),
            Address::Flat(_) => Err(Refusal::HierarchicalNamespaceNotEnabled.into()),
        }
    }
}

fn change_below(txn: &mut Txn<'_>, path: &PathAddress, walk: &AccessWalk) -> Decided<AccessWalked> {
    let found = lookup(txn, &path.keys, &path.caller, &path.path)?.ok_or(Refusal::BlobNotFound)?;
    let mut done = AccessWalked::default();
    let after = walk.continuation.as_deref().map(continued).transpose()?;
    let own = path.path.to_string();
    let mut last = None;
    if after.is_none() {
        let entry = NodeId { id: found.id, is_directory: found.node.is_directory };
        change_one(txn, path, walk, &own, entry, &mut done)?;
        last = Some(own.clone());
    }
    let stopped = |done: &AccessWalked| !walk.force && !done.failures.is_empty();
    if !found.node.is_directory || stopped(&done) {
        return Ok(done);
    }
    let depth = path.path.segments().len();
    let after = after.map(|after| after.get(depth..).unwrap_or_default().to_vec()).filter(|after| !after.is_empty());
    // The caller of this need not be able to list.
    let everybody = lazuli_model::lake::Caller::superuser();
    let all = Walk { keys: path.keys, caller: &everybody, recursive: true, prefix: "" };
    let begin = after.as_deref().map_or(Begin::First, Begin::Behind);
    let full = all.go(txn, found.id, &own, begin, &mut |txn, own, entry| {
        if done.tried() >= walk.most || stopped(&done) {
            return Ok(Visit::Full);
        }
        change_one(txn, path, walk, own, entry, &mut done)?;
        last = Some(own.to_owned());
        Ok(Visit::Taken)
    })?;
    if full && !stopped(&done) {
        done.next = last.map(|last| encode_marker(last.as_bytes()));
    }
    Ok(done)
}

impl AccessWalked {
    fn tried(&self) -> usize {
        usize::try_from(self.directories + self.files).unwrap_or(usize::MAX) + self.failures.len()
    }
}

fn change_one(
    txn: &mut Txn<'_>,
    path: &PathAddress,
    walk: &AccessWalk,
    own: &str,
    entry: NodeId,
    done: &mut AccessWalked,
) -> Decided<()> {
    let node = tree::node(txn, &path.keys, entry.id)?;
    let mut access = node.access.clone();
    if access.permit_change(&path.caller, None, None).is_err() {
        done.failures.push(AccessFailure { path: own.to_owned(), is_directory: entry.is_directory });
        return Ok(());
    }
    access.change(walk.change, &walk.acl, entry.is_directory)?;
    if access != node.access {
        txn.put(path.keys.node(entry.id), encode(&Node { access, ..node }));
    }
    match entry.is_directory {
        true => done.directories += 1,
        false => done.files += 1,
    }
    Ok(())
}

fn continued(token: &str) -> Result<Vec<String>, Refusal> {
    let bytes = decode_marker(token).map_err(|_| Refusal::InvalidContinuation)?;
    let path = String::from_utf8(bytes).map_err(|_| Refusal::InvalidContinuation)?;
    Ok(segments(&path))
}
