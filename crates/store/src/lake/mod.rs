//! File systems: containers of accounts with a hierarchical namespace. Names hang on the ids of directories, and a file or directory is a
//! blob whose rows hang on its own id (docs/keys.md, "A file system").
//!
//! Held true:
//! * A file system is one partition. A path is resolved in the transaction that acts on it, so nobody meets a rename half done.
//! * Every entry has one node, which names the entry; the root has none above it. An entry without a record is not there for anybody: only
//!   blocks wait for it, or a copy is on its way to it.
//! * What a decision does to a path, it is asked for: rights of the directories above are looked at as they are passed.

mod access;
mod address;
mod append;
mod between;
mod create_path;
mod delete_path;
pub(crate) mod keys;
mod list_paths;
mod rename_path;
pub(crate) mod rows;
mod sweep;
mod tree;
mod undelete_path;
mod walk;

pub use access::{AccessFailure, AccessWalk, AccessWalked, PathAccess};
pub(crate) use address::{Address, PathAddress};
pub use delete_path::{DeletePath, DeletedPath};
pub(crate) use list_paths::list_tree;
pub use list_paths::{ListPaths, PathItem, PathPage};
pub(crate) use sweep::{RemovedRound, collect_subtree};
pub(crate) use tree::forget_name;
pub use undelete_path::UndeletedPath;

use lazuli_model::lake::LakePath;
use lazuli_model::{AccountName, BlobName, ContainerName, Refusal};

use crate::{BlobAt, ContainerAt};

/// Where a file or directory is; without a path, the root directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathAt {
    pub account: AccountName,
    pub container: ContainerName,
    pub path: LakePath,
}

impl PathAt {
    pub fn container_at(&self) -> ContainerAt {
        ContainerAt { account: self.account.clone(), container: self.container.clone() }
    }

    /// As a blob of a flat container.
    pub fn blob_at(&self) -> Result<BlobAt, Refusal> {
        let blob = BlobName::parse(&self.path.to_string())?;
        Ok(BlobAt { account: self.account.clone(), container: self.container.clone(), blob })
    }

    pub fn of_blob(at: &BlobAt) -> Result<Self, Refusal> {
        let path = LakePath::parse(at.blob.as_str())?;
        Ok(Self { account: at.account.clone(), container: at.container.clone(), path })
    }
}
