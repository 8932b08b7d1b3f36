//! Operations on shares, directories and files: one file each.

use lazuli_model::file::*;
use lazuli_model::lease::{Action, Outcome};
use lazuli_model::{AccountName, Lease, LeaseId, Metadata, Refusal, Timestamp};

use crate::{Failure, Received, Source, Store};

/// Where a share is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShareAt {
    pub account: AccountName,
    pub share: ShareName,
}

/// Where a file or a directory is. The empty path is the root directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileAt {
    pub account: AccountName,
    pub share: ShareName,
    pub path: FilePath,
}

impl FileAt {
    pub fn share_at(&self) -> ShareAt {
        ShareAt { account: self.account.clone(), share: self.share.clone() }
    }
}

#[derive(Clone, Debug, Default)]
pub struct ListShares {
    pub prefix: String,
    /// What `SharePage::next` said.
    pub marker: Option<String>,
    /// 1..=5000.
    pub most: u32,
    pub snapshots: bool,
    pub deleted: bool,
}

#[derive(Clone, Debug)]
pub struct ShareItem {
    pub name: ShareName,
    pub snapshot: Option<Timestamp>,
    pub deleted: Option<DeletedShare>,
    /// Of a snapshot, as it was then; its lease is its own.
    pub share: Share,
}

#[derive(Clone, Debug)]
pub struct DeletedShare {
    /// Tells it from others that were deleted under the same name: `01D8DA93665D1D85`.
    pub version: String,
    pub deleted: Timestamp,
    pub remaining_days: u32,
}

#[derive(Clone, Debug)]
pub struct SharePage {
    pub items: Vec<ShareItem>,
    pub next: Option<String>,
}

/// List Directories and Files, in the order of their names; `at` is the directory.
#[derive(Clone, Debug, Default)]
pub struct ListEntries {
    pub snapshot: Option<Timestamp>,
    pub prefix: String,
    /// What `EntryPage::next` said.
    pub marker: Option<String>,
    /// 1..=5000.
    pub most: u32,
}

#[derive(Clone, Debug)]
pub struct EntryItem {
    /// As it was given.
    pub name: String,
    pub node: Node,
}

#[derive(Clone, Debug)]
pub struct EntryPage {
    /// The directory itself.
    pub directory: FileId,
    pub items: Vec<EntryItem>,
    pub next: Option<String>,
}

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
    pub access: arbiter::Access,
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

/// The entry, and its ranges in order.
#[derive(Clone, Debug)]
pub struct RangeList {
    pub entry: Entry,
    pub ranges: Vec<FileRange>,
}

fn unfinished() -> Failure {
    Refusal::NotImplemented { what: "The File service".into() }.into()
}

/// A file opened for reading; holding it keeps its bytes from being given back.
pub struct FileReader {
    pub entry: Entry,
}

impl FileReader {
    /// Prepares to stream `from..to`; then call `next` until it gives `None`.
    pub fn seek(&mut self, _from: u64, _to: u64) {}

    pub async fn next(&mut self) -> Result<Option<bytes::Bytes>, Failure> {
        Err(unfinished())
    }
}

#[allow(unused_variables)]
impl Store {
    pub async fn create_share(&self, at: &ShareAt, create: CreateShare) -> Result<Share, Failure> {
        Err(unfinished())
    }
    pub async fn share(&self, at: &ShareAt, read: ReadShare) -> Result<Share, Failure> {
        Err(unfinished())
    }
    /// For judging who may: the stored policies.
    pub async fn share_for_access(&self, at: &ShareAt) -> Result<Option<Share>, Failure> {
        Err(unfinished())
    }
    /// Bytes that files take up.
    pub async fn share_usage(&self, at: &ShareAt, read: ReadShare) -> Result<(Share, u64), Failure> {
        Err(unfinished())
    }
    pub async fn set_share_properties(&self, at: &ShareAt, set: SetShareProperties) -> Result<Share, Failure> {
        Err(unfinished())
    }
    pub async fn set_share_metadata(&self, at: &ShareAt, set: SetShareMetadata) -> Result<Share, Failure> {
        Err(unfinished())
    }
    pub async fn set_share_acl(&self, at: &ShareAt, set: SetShareAcl) -> Result<Share, Failure> {
        Err(unfinished())
    }
    pub async fn lease_share(&self, at: &ShareAt, lease: LeaseShare) -> Result<(Share, Outcome), Failure> {
        Err(unfinished())
    }
    pub async fn delete_share(&self, at: &ShareAt, delete: DeleteShare) -> Result<(), Failure> {
        Err(unfinished())
    }
    /// The snapshot's time, and the share it was taken of.
    pub async fn snapshot_share(&self, at: &ShareAt, snapshot: SnapshotShare) -> Result<(Timestamp, Share), Failure> {
        Err(unfinished())
    }
    /// Brings back what was deleted as `deleted`, with the version that a listing gave, under the name of `at`.
    pub async fn restore_share(&self, at: &ShareAt, deleted: &ShareName, version: &str) -> Result<Share, Failure> {
        Err(unfinished())
    }
    pub async fn list_shares(&self, account: &AccountName, list: ListShares) -> Result<SharePage, Failure> {
        Err(unfinished())
    }
    pub async fn create_permission(
        &self,
        at: &ShareAt,
        text: String,
        format: Format,
    ) -> Result<PermissionKey, Failure> {
        Err(unfinished())
    }
    pub async fn permission(&self, at: &ShareAt, key: PermissionKey, format: Format) -> Result<String, Failure> {
        Err(unfinished())
    }

    pub async fn create_directory(&self, at: &FileAt, create: CreateDirectory) -> Result<Entry, Failure> {
        Err(unfinished())
    }
    /// Get Directory Properties and Metadata, also of the root.
    pub async fn directory(&self, at: &FileAt, snapshot: Option<Timestamp>) -> Result<Entry, Failure> {
        Err(unfinished())
    }
    pub async fn set_directory_properties(
        &self,
        at: &FileAt,
        set: SetDirectoryProperties,
    ) -> Result<Entry, Failure> {
        Err(unfinished())
    }
    pub async fn set_directory_metadata(&self, at: &FileAt, metadata: Metadata) -> Result<Entry, Failure> {
        Err(unfinished())
    }
    pub async fn delete_directory(&self, at: &FileAt) -> Result<(), Failure> {
        Err(unfinished())
    }
    pub async fn list_entries(&self, at: &FileAt, list: ListEntries) -> Result<EntryPage, Failure> {
        Err(unfinished())
    }
    /// Rename File and Rename Directory; `at` is the destination.
    pub async fn rename(&self, at: &FileAt, rename: Rename) -> Result<Entry, Failure> {
        Err(unfinished())
    }
    /// Of a file, a directory, or the whole share.
    pub async fn list_handles(&self, at: &FileAt, list: ListHandles) -> Result<HandlePage, Failure> {
        Err(unfinished())
    }
    pub async fn close_handles(
        &self,
        at: &FileAt,
        close: CloseHandles,
        list: ListHandles,
    ) -> Result<ClosedHandles, Failure> {
        Err(unfinished())
    }

    /// Create File; with a body, its first bytes are that, and the answer's `md5` is the caller's to know.
    pub async fn create_file(
        &self,
        at: &FileAt,
        create: CreateFile,
        body: Option<Received>,
    ) -> Result<Entry, Failure> {
        Err(unfinished())
    }
    pub async fn file(&self, at: &FileAt, read: ReadFile) -> Result<Entry, Failure> {
        Err(unfinished())
    }
    pub async fn open_file(&self, at: &FileAt, read: ReadFile) -> Result<FileReader, Failure> {
        Err(unfinished())
    }
    pub async fn set_file_properties(&self, at: &FileAt, set: SetFileProperties) -> Result<Entry, Failure> {
        Err(unfinished())
    }
    pub async fn set_file_metadata(&self, at: &FileAt, set: SetFileMetadata) -> Result<Entry, Failure> {
        Err(unfinished())
    }
    /// The links that are left.
    pub async fn delete_file(&self, at: &FileAt, lease: Option<LeaseId>) -> Result<u32, Failure> {
        Err(unfinished())
    }
    /// Put Range, and Put Range from URL with the bytes received from there.
    pub async fn put_range(&self, at: &FileAt, put: PutRange, body: Received) -> Result<Entry, Failure> {
        Err(unfinished())
    }
    pub async fn clear_range(&self, at: &FileAt, clear: ClearRange) -> Result<Entry, Failure> {
        Err(unfinished())
    }
    pub async fn list_ranges(&self, at: &FileAt, list: ListRanges) -> Result<RangeList, Failure> {
        Err(unfinished())
    }
    /// Copy File: `length` bytes from `source`, in place of what is there.
    pub async fn copy_file(
        &self,
        at: &FileAt,
        copy: CopyFile,
        source: &mut dyn Source,
        length: u64,
    ) -> Result<Entry, Failure> {
        Err(unfinished())
    }
    pub async fn lease_file(&self, at: &FileAt, action: Action) -> Result<(Entry, Outcome), Failure> {
        Err(unfinished())
    }
    pub async fn create_hard_link(&self, at: &FileAt, create: CreateHardLink) -> Result<Entry, Failure> {
        Err(unfinished())
    }
    pub async fn create_symbolic_link(&self, at: &FileAt, create: CreateSymbolicLink) -> Result<Entry, Failure> {
        Err(unfinished())
    }
    pub async fn symbolic_link(&self, at: &FileAt, snapshot: Option<Timestamp>) -> Result<Entry, Failure> {
        Err(unfinished())
    }
}

#[allow(dead_code)]
fn unused(_: Lease) {}
