//! Watches on directories: an SMB client hears of what other SMB clients change in one, or also below it. REST changes raise nothing, as
//! Azure documents.
//!
//! Held true: a watch is a row from the moment it is set until its handle is closed, and what happens meanwhile is noticed in the
//! transaction that does it. A share without watches pays one look for each change.

use lazuli_model::Refusal;
use lazuli_model::file::{FileId, Kind};
use serde::{Deserialize, Serialize};

use super::HandleAt;
use super::notices::Notice;
use super::tree::Tree;
use crate::records::{decode, encode};
use crate::transact::Decided;
use crate::{Failure, Store};

/// Watches of one directory that are told of a change.
const WATCHES_MAX: usize = 1024;

/// What a watch wants to hear of: bits of [MS-SMB2] 2.2.35.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter(pub u32);

impl Filter {
    pub const FILE_NAME: Filter = Filter(0x1);
    pub const DIRECTORY_NAME: Filter = Filter(0x2);
    pub const ATTRIBUTES: Filter = Filter(0x4);
    pub const SIZE: Filter = Filter(0x8);
    pub const WRITTEN: Filter = Filter(0x10);
    pub const ACCESSED: Filter = Filter(0x20);
    pub const CREATED: Filter = Filter(0x40);
    pub const SECURITY: Filter = Filter(0x100);

    pub const fn with(self, other: Filter) -> Filter {
        Filter(self.0 | other.0)
    }

    fn meets(self, other: Filter) -> bool {
        self.0 & other.0 != 0
    }

    /// That a name of this kind comes or goes.
    pub fn name(kind: Kind) -> Filter {
        match kind {
            Kind::Directory => Filter::DIRECTORY_NAME,
            Kind::File | Kind::Symlink => Filter::FILE_NAME,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Happened {
    Added,
    Removed,
    Modified,
    RenamedFrom,
    RenamedTo,
}

/// One change, by the path from the directory that is watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub happened: Happened,
    pub path: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    pub gateway: u128,
    pub filter: Filter,
    pub recursive: bool,
}

impl Store {
    /// From now on, changes come as notices. A handle has one watch: the first, which later ones do not change.
    pub async fn watch(&self, at: &HandleAt, filter: Filter, recursive: bool) -> Result<(), Failure> {
        let (file, handle) = (at.file, at.handle);
        self.change_tree(&at.share, move |tree| {
            let standing = tree.standing(file)?;
            let gateway = standing.find(handle)?.gateway;
            let node = tree.node(file)?.ok_or(Refusal::ResourceNotFound)?;
            if node.kind != Kind::Directory {
                return Err(Refusal::ResourceTypeMismatch.into());
            }
            if standing.delete_pending {
                return Err(Refusal::DeletePending.into());
            }
            let key = tree.keys.watch(file, handle);
            if tree.txn.get(&key)?.is_none() {
                tree.txn.put(key, encode(&Watch { gateway, filter, recursive }));
            }
            Ok(())
        })
        .await
    }
}

impl Tree<'_, '_> {
    /// Something happened to a name in a directory.
    pub fn happened(&mut self, parent: FileId, changes: &[(Happened, &str)], filter: Filter) -> Decided<()> {
        let all = self.keys.all_watches();
        if self.txn.scan(&all, &all.after_prefix(), 1)?.is_empty() {
            return Ok(());
        }
        let (mut directory, mut above) = (parent, String::new());
        loop {
            let watches = self.keys.watches(directory);
            for (key, bytes) in self.txn.scan(&watches, &watches.after_prefix(), WATCHES_MAX)? {
                let watch: Watch = decode(&bytes)?;
                let handle = key.row().split_last_chunk().map(|(_, handle)| u64::from_be_bytes(*handle));
                if let Some(handle) = handle
                    && watch.filter.meets(filter)
                    && (watch.recursive || directory == parent)
                {
                    let change = |(happened, name): &(Happened, &str)| Change {
                        happened: *happened,
                        path: format!("{above}{name}"),
                    };
                    let changes = changes.iter().map(change).collect();
                    self.notify(watch.gateway, &Notice::Changed { handle, changes });
                }
            }
            if directory == FileId::ROOT {
                return Ok(());
            }
            let Some(node) = self.node(directory)? else { return Ok(()) };
            above = format!("{}\\{above}", node.name);
            directory = node.parent;
        }
    }

    /// A directory is to go with its last handle: who watches it is told.
    pub fn doomed(&mut self, directory: FileId) -> Decided<()> {
        let watches = self.keys.watches(directory);
        for (key, bytes) in self.txn.scan(&watches, &watches.after_prefix(), WATCHES_MAX)? {
            let watch: Watch = decode(&bytes)?;
            if let Some((_, handle)) = key.row().split_last_chunk() {
                self.notify(watch.gateway, &Notice::Doomed { handle: u64::from_be_bytes(*handle) });
            }
        }
        Ok(())
    }

    /// The handle was closed.
    pub fn unwatch(&mut self, file: FileId, handle: u64) -> Decided<()> {
        let key = self.keys.watch(file, handle);
        if self.txn.get(&key)?.is_some() {
            self.txn.delete(key);
        }
        Ok(())
    }
}
