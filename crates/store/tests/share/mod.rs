//! A share of a false world, and short words for what is done with it.
#![allow(dead_code, reason = "each test file uses its own part")]

use lazuli_model::blob::ContentHeaders;
use lazuli_model::file::*;
use lazuli_model::{AccountName, Metadata, Refusal, Timestamp};
use lazuli_store::{Failure, FileAt, ListEntries, ShareAt};

use super::world::World;

pub fn share_at() -> ShareAt {
    ShareAt { account: AccountName::parse("account").unwrap(), share: ShareName::parse("box").unwrap() }
}

pub fn path(text: &str) -> FilePath {
    FilePath::parse(text, false).unwrap()
}

pub fn at(text: &str) -> FileAt {
    let share = share_at();
    FileAt { account: share.account, share: share.share, path: path(text) }
}

pub fn refused(refusal: Refusal) -> Option<Failure> {
    Some(Failure::Refused(refusal))
}

pub fn create_file(length: u64) -> CreateFile {
    CreateFile {
        length,
        headers: ContentHeaders::default(),
        smb: SetSmb::default(),
        posix: SetPosix::default(),
        metadata: Metadata::default(),
        lease: None,
        may_overwrite: true,
    }
}

pub fn copy() -> CopyFile {
    CopyFile {
        id: 1,
        source: "http://127.0.0.1/account/box/from".into(),
        headers: ContentHeaders::default(),
        metadata: Metadata::default(),
        smb: SetSmb::default(),
        posix: SetPosix::default(),
        ignore_read_only: false,
        set_archive: true,
        lease: None,
        may_overwrite: true,
    }
}

impl World {
    /// With a quota of 1 GiB.
    pub async fn create_share(&self, id: u128) {
        self.try_create_share(id).await.unwrap();
    }

    pub async fn try_create_share(&self, id: u128) -> Result<Share, Failure> {
        let settings = ShareSettings { quota_gib: Some(1), ..ShareSettings::default() };
        let create = CreateShare { id, metadata: Metadata::default(), settings, protocol: Protocol::Smb };
        self.store.create_share(&share_at(), create).await
    }

    pub async fn delete_share(
        &self,
        snapshots: Option<DeleteShareSnapshots>,
        retention_days: Option<u32>,
    ) -> Result<(), Failure> {
        let delete = DeleteShare { snapshot: None, snapshots, lease: None, retention_days };
        self.store.delete_share(&share_at(), delete).await
    }

    pub async fn snapshot_share(&self) -> Timestamp {
        self.store.snapshot_share(&share_at(), SnapshotShare { metadata: None }).await.unwrap().0
    }

    pub async fn delete_share_snapshot(&self, time: Timestamp) -> Result<(), Failure> {
        let delete = DeleteShare { snapshot: Some(time), snapshots: None, lease: None, retention_days: None };
        self.store.delete_share(&share_at(), delete).await
    }

    pub async fn usage(&self) -> u64 {
        self.store.share_usage(&share_at(), ReadShare::default()).await.unwrap().1
    }

    pub async fn make_directory(&self, path: &str) -> Result<Entry, Failure> {
        self.store.create_directory(&at(path), CreateDirectory::default()).await
    }

    pub async fn make_file(&self, path: &str, length: u64) -> Result<Entry, Failure> {
        self.store.create_file(&at(path), create_file(length), None).await
    }

    pub async fn write(&self, path: &str, from: u64, bytes: &[u8]) -> Result<Entry, Failure> {
        let body = self.receive(bytes).await;
        self.store.put_range(&at(path), PutRange { from, written: SetTime::Now, lease: None }, body).await
    }

    pub async fn clear(&self, path: &str, from: u64, to: u64) -> Result<Entry, Failure> {
        self.store.clear_range(&at(path), ClearRange { from, to, written: SetTime::Now, lease: None }).await
    }

    pub async fn read(&self, path: &str) -> Result<Vec<u8>, Failure> {
        self.read_at(path, None).await
    }

    pub async fn read_at(&self, path: &str, snapshot: Option<Timestamp>) -> Result<Vec<u8>, Failure> {
        let mut reader = self.store.open_file(&at(path), ReadFile { snapshot, lease: None }).await?;
        reader.seek(0, u64::MAX);
        let mut bytes = Vec::new();
        while let Some(part) = reader.next().await? {
            bytes.extend_from_slice(&part);
        }
        Ok(bytes)
    }

    pub async fn list(&self, path: &str) -> Vec<String> {
        self.list_at(path, None).await
    }

    pub async fn list_at(&self, path: &str, snapshot: Option<Timestamp>) -> Vec<String> {
        let list = ListEntries { snapshot, most: 5000, ..ListEntries::default() };
        let page = self.store.list_entries(&at(path), list).await.unwrap();
        page.items.into_iter().map(|item| item.name).collect()
    }

    pub async fn ranges(&self, path: &str, since: Option<Timestamp>) -> Result<Vec<(u64, u64, bool)>, Failure> {
        let list =
            ListRanges { snapshot: None, since, support_rename: false, from: 0, to: u64::MAX, most: None, lease: None };
        let list = self.store.list_ranges(&at(path), list).await?;
        Ok(list.ranges.into_iter().map(|range| (range.from, range.to, range.cleared)).collect())
    }

    pub async fn rename(&self, from: &str, to: &str, directory: bool) -> Result<Entry, Failure> {
        self.rename_over(from, to, directory, false).await
    }

    pub async fn rename_over(&self, from: &str, to: &str, directory: bool, replace: bool) -> Result<Entry, Failure> {
        let rename = Rename { directory, replace, ..rename(path(from)) };
        self.store.rename(&at(to), rename).await
    }
}

/// Of a file, over nothing.
pub fn rename(source: FilePath) -> Rename {
    Rename {
        source,
        directory: false,
        replace: false,
        ignore_read_only: false,
        source_lease: None,
        destination_lease: None,
        smb: SetSmb::default(),
        metadata: None,
        content_type: None,
    }
}
