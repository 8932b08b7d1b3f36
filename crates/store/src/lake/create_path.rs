//! Create: an empty file, or a directory. Over a file it is another file; over a directory, the same one with what is in it.

use lazuli_engine::Txn;
use lazuli_model::blob::{Blob, Keeping};
use lazuli_model::lake::{CreatePath, Node, Right, permit};
use lazuli_model::{Metadata, Refusal};

use super::address::PathAddress;
use super::tree::{self, link, standing};
use super::{Address, PathAt};
use crate::blob::{base_to_write, drop_pending, replace};
use crate::claims::Trash;
use crate::feed::TrackedKeys;
use crate::keys::BlobKeys;
use crate::records::Kept;
use crate::transact::{Decided, now};
use crate::{Failure, Store};

/// Says that a blob of a flat container stands for a directory.
pub(super) const FOLDER: &str = "hdi_isfolder";

impl Store {
    pub async fn create_path(&self, at: &PathAt, create: CreatePath) -> Result<Blob, Failure> {
        let address = self.path_address(at).await?;
        let (blob, keys, trash) = self
            .transact(address.written(), move |txn| match &address {
                Address::Flat(keys) => create_flat(txn, keys, &create),
                Address::Path(path) => create_in_tree(txn, path, &create),
            })
            .await?;
        if let Some(expires) = blob.expires {
            self.hint_expiry(expires, keys);
        }
        self.hint_left(trash);
        Ok(blob)
    }
}

/// The record, its keys, and where garbage was left.
type Created = (Blob, TrackedKeys, Option<BlobKeys>);

fn create_in_tree(txn: &mut Txn<'_>, path: &PathAddress, create: &CreatePath) -> Decided<Created> {
    let making = path.make_parents(txn)?;
    let current = match making.entry {
        Some(entry) => standing(txn, &path.keys, entry.id)?,
        None => None,
    };
    let parent = tree::node(txn, &path.keys, making.parent)?.access;
    match &current {
        Some(current) => permit(&path.caller, &current.node.access, Right::Write)?,
        None => permit(&path.caller, &parent, Right::Link)?,
    }
    let mut new = create.decide(current.as_ref().map(|current| current.both()), now(txn))?;
    let id = match making.entry {
        Some(entry) => {
            // A directory that is made again keeps its list, as far as nothing is said of it.
            let before =
                current.as_ref().filter(|current| current.node.is_directory).map(|current| &current.node.access);
            let access = create.access(&parent, before, &path.caller)?;
            let (parent, name) = (making.parent, making.name.clone());
            let is_directory = create.is_directory;
            let (context, transaction) = (create.context.clone(), create.transaction.clone());
            let node = Node { parent, name, is_directory, access, context, transaction };
            link(txn, &path.keys, entry.id, &node);
            entry.id
        }
        None => path.link_new(txn, &making, create)?,
    };
    let keys = TrackedKeys::from(path.keys.blob(id));
    let mut trash = Trash::default();
    let old = base_to_write(txn, &keys)?;
    replace(txn, &keys, &Keeping::NOTHING, old.as_ref(), &mut new, Kept::Nothing, &mut trash)?;
    drop_pending(txn, &keys, &mut trash)?;
    let left = trash.leave(txn, &keys);
    Ok((new, keys, left))
}

/// In a flat container a directory is a blob that says so.
fn create_flat(txn: &mut Txn<'_>, keys: &TrackedKeys, create: &CreatePath) -> Decided<Created> {
    let old = base_to_write(txn, keys)?;
    let node = Node { is_directory: old.as_ref().is_some_and(is_folder), ..Node::root() };
    let mut new = create.decide(old.as_ref().map(|old| (old, &node)), now(txn))?;
    if create.is_directory {
        let own = new.metadata.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(FOLDER));
        let pairs = own.chain([(FOLDER, "true")]).map(|(name, value)| (name.to_owned(), value.to_owned()));
        new.metadata = Metadata::new(pairs.collect()).map_err(|_| Refusal::InvalidMetadata)?;
    }
    let mut trash = Trash::default();
    replace(txn, keys, &Keeping::NOTHING, old.as_ref(), &mut new, Kept::Nothing, &mut trash)?;
    drop_pending(txn, keys, &mut trash)?;
    Ok((new, keys.clone(), trash.leave(txn, keys)))
}

pub(super) fn is_folder(blob: &Blob) -> bool {
    blob.metadata.get(FOLDER).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}
