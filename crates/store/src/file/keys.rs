//! The keys of a share's space, which is one partition with the empty name. docs/keys.md draws them.
//!
//! Rows that a snapshot has to remember end in an epoch, the newest first, so that one seek finds what a reader of any epoch sees.

use bytes::Bytes;
use lazuli_engine::{Column, Key, Partition, Space};
use lazuli_model::file::{FileId, PermissionKey, ShareName};
use lazuli_model::{AccountName, Timestamp};

use crate::ShareAt;
use crate::keys::{BlobKeys, ROOT};

// Columns of the root.
pub const SHARES: Column = Column(b'F');
pub const DELETED_SHARES: Column = Column(b'G');
pub const GATEWAYS: Column = Column::volatile(b'W');

// Columns of a share's space: capitals, so that a key shows whose it is.
pub const BUILDS: Column = Column(b'J');
pub const CHILDREN: Column = Column(b'C');
pub const HEADS: Column = Column(b'H');
pub const NODES: Column = Column(b'I');
pub const HELD: Column = Column(b'L');
pub const NAMES: Column = Column(b'A');
pub const PERMISSIONS: Column = Column(b'P');
pub const PROPERTIES: Column = Column(b'Q');
pub const SNAPSHOTS: Column = Column(b'T');
pub const SUPERSEDED: Column = Column(b'Z');
pub const USAGE: Column = Column(b'U');
// What lives only as long as the gateway that it is for.
pub const BENEATH: Column = Column::volatile(b'K');
pub const DELETE_PENDING: Column = Column::volatile(b'D');
pub const NOTICES: Column = Column::volatile(b'N');
pub const OPENS: Column = Column::volatile(b'O');
pub const WATCHES: Column = Column::volatile(b'V');

const NUL: &[u8] = &[0];

/// Two NULs keep it apart from the container of the same name.
pub fn share_partition(at: &ShareAt) -> Partition {
    Partition::new(ROOT, share_name(at))
}

fn share_name(at: &ShareAt) -> Bytes {
    [at.account.as_str().as_bytes(), NUL, b"f", NUL, at.share.as_str().as_bytes()].concat().into()
}

pub fn share(at: &ShareAt) -> Key {
    shares(&at.account, at.share.as_str().as_bytes())
}

/// The prefix of all shares of an account whose names begin with `prefix`.
pub fn shares(account: &AccountName, prefix: &[u8]) -> Key {
    Key::new(ROOT, SHARES, &[account.as_str().as_bytes(), NUL, prefix])
}

pub fn deleted_share(at: &ShareAt, version: u64) -> Key {
    let version = version.to_be_bytes();
    Key::new(ROOT, DELETED_SHARES, &[at.account.as_str().as_bytes(), NUL, at.share.as_str().as_bytes(), NUL, &version])
}

pub fn deleted_shares(account: &AccountName, prefix: &[u8]) -> Key {
    Key::new(ROOT, DELETED_SHARES, &[account.as_str().as_bytes(), NUL, prefix])
}

/// A name that begins with 1 is no account's.
pub fn gateway_partition(id: u128) -> Partition {
    Partition::new(ROOT, [&[1], &id.to_be_bytes()[..]].concat())
}

pub fn gateway(id: u128) -> Key {
    Key::new(ROOT, GATEWAYS, &[&id.to_be_bytes()])
}

pub fn read_gateway(key: &Key) -> Option<u128> {
    key.row().first_chunk().map(|id| u128::from_be_bytes(*id))
}

/// The account and the name in the key of a share.
pub fn read_share(key: &Key) -> Option<(AccountName, ShareName)> {
    let row = key.row();
    let mut parts = row.splitn(3, |byte| *byte == 0);
    let mut text = || parts.next().and_then(|part| std::str::from_utf8(part).ok());
    Some((AccountName::parse(text()?).ok()?, ShareName::parse(text()?).ok()?))
}

pub fn read_version(key: &Key) -> Option<u64> {
    key.row().split_last_chunk().map(|(_, version)| u64::from_be_bytes(*version))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareKeys {
    /// For what shares have in common with blobs: sparse content, claims and garbage.
    pub content: BlobKeys,
}

impl ShareKeys {
    pub fn new(share: u128) -> Self {
        Self { content: BlobKeys::of(Space(share), Bytes::new()) }
    }

    pub fn space(&self) -> Space {
        self.content.space
    }

    pub fn partition(&self) -> Partition {
        Partition::new(self.space(), Bytes::new())
    }

    pub fn head(&self) -> Key {
        self.row(HEADS, &[])
    }

    /// Apart from the head, which every call reads: a call that changes a file's length conflicts with no other.
    pub fn usage(&self) -> Key {
        self.row(USAGE, &[])
    }

    pub fn properties(&self) -> Key {
        self.row(PROPERTIES, &[])
    }

    pub fn snapshot(&self, time: Timestamp) -> Key {
        self.row(SNAPSHOTS, &[&time.ticks().to_be_bytes()])
    }

    pub fn snapshots(&self) -> Key {
        self.row(SNAPSHOTS, &[])
    }

    /// Without the epoch: the prefix of a node's rows.
    pub fn node(&self, id: FileId) -> Key {
        self.row(NODES, &[&id.0.to_be_bytes()])
    }

    /// Without the epoch: the prefix of a name's rows.
    pub fn name(&self, parent: FileId, folded: &str) -> Key {
        self.row(NAMES, &[&parent.0.to_be_bytes(), folded.as_bytes(), NUL])
    }

    /// The names in a directory that begin with `prefix`.
    pub fn names(&self, parent: FileId, prefix: &[u8]) -> Key {
        self.row(NAMES, &[&parent.0.to_be_bytes(), prefix])
    }

    pub fn children(&self, id: FileId) -> Key {
        self.row(CHILDREN, &[&id.0.to_be_bytes()])
    }

    pub fn beneath(&self, id: FileId) -> Key {
        self.row(BENEATH, &[&id.0.to_be_bytes()])
    }

    pub fn held(&self, id: FileId) -> Key {
        self.row(HELD, &[&id.0.to_be_bytes()])
    }

    /// There while a file is to go with its last handle.
    pub fn delete_pending(&self, id: FileId) -> Key {
        self.row(DELETE_PENDING, &[&id.0.to_be_bytes()])
    }

    pub fn opens(&self, id: FileId) -> Key {
        self.row(OPENS, &[&id.0.to_be_bytes()])
    }

    pub fn all_opens(&self) -> Key {
        self.row(OPENS, &[])
    }

    pub fn open(&self, id: FileId, handle: u64) -> Key {
        self.row(OPENS, &[&id.0.to_be_bytes(), &handle.to_be_bytes()])
    }

    pub fn notices(&self, gateway: u128) -> Key {
        self.row(NOTICES, &[&gateway.to_be_bytes()])
    }

    pub fn notice(&self, gateway: u128, stamp: u64, number: u32) -> Key {
        self.row(NOTICES, &[&gateway.to_be_bytes(), &stamp.to_be_bytes(), &number.to_be_bytes()])
    }

    pub fn all_notices(&self) -> Key {
        self.row(NOTICES, &[])
    }

    pub fn all_watches(&self) -> Key {
        self.row(WATCHES, &[])
    }

    pub fn watches(&self, directory: FileId) -> Key {
        self.row(WATCHES, &[&directory.0.to_be_bytes()])
    }

    pub fn watch(&self, directory: FileId, handle: u64) -> Key {
        self.row(WATCHES, &[&directory.0.to_be_bytes(), &handle.to_be_bytes()])
    }

    pub fn permission(&self, key: PermissionKey) -> Key {
        self.row(PERMISSIONS, &[&key.0.to_be_bytes()])
    }

    pub fn build(&self, content: u64) -> Key {
        self.row(BUILDS, &[&content.to_be_bytes()])
    }

    pub fn builds(&self) -> Key {
        self.row(BUILDS, &[])
    }

    /// What was superseded while `snapshot` was the newest one.
    pub fn superseded(&self, snapshot: u64) -> Key {
        self.row(SUPERSEDED, &[&snapshot.to_be_bytes()])
    }

    pub fn superseded_row(&self, snapshot: u64, row: &Key) -> Key {
        self.row(SUPERSEDED, &[&snapshot.to_be_bytes(), &[row.column().0], &row.row()])
    }

    pub fn superseded_content(&self, snapshot: u64, content: u64) -> Key {
        self.row(SUPERSEDED, &[&snapshot.to_be_bytes(), &[crate::keys::WINDOWS.0], &content.to_be_bytes()])
    }

    fn row(&self, column: Column, parts: &[&[u8]]) -> Key {
        Key::new(self.space(), column, parts)
    }
}

/// A row at an epoch, given its prefix.
pub fn at_epoch(prefix: &Key, epoch: u64) -> Key {
    Key::new(prefix.space(), prefix.column(), &[&prefix.row(), &(!epoch).to_be_bytes()])
}

/// The prefix and the epoch of a row.
pub fn read_epoch(key: &Key) -> Option<(Key, u64)> {
    let row = key.row();
    let (prefix, epoch) = row.split_last_chunk()?;
    Some((Key::new(key.space(), key.column(), &[prefix]), !u64::from_be_bytes(*epoch)))
}

/// The folded name in the key of a name's row, and its epoch.
pub fn read_name(key: &Key) -> Option<(Bytes, u64)> {
    let row = key.row();
    let name = row.get(8..row.len().checked_sub(9)?)?;
    let (_, epoch) = row.split_last_chunk()?;
    Some((row.slice_ref(name), !u64::from_be_bytes(*epoch)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_order_and_the_newest_epoch_comes_first() {
        let keys = ShareKeys::new(7);
        let names = ["A", "A\u{1}", "A!", "AA", "B"];
        for pair in names.windows(2) {
            let (lesser, greater) = (keys.name(FileId(1), pair[0]), keys.name(FileId(1), pair[1]));
            assert!(at_epoch(&lesser, 0) < at_epoch(&greater, u64::MAX), "{pair:?}");
        }
        let name = keys.name(FileId(1), "A");
        assert!(at_epoch(&name, 2) < at_epoch(&name, 1));
        assert_eq!(read_epoch(&at_epoch(&name, 2)), Some((name.clone(), 2)));
        assert_eq!(read_name(&at_epoch(&name, 5)), Some((Bytes::from_static(b"A"), 5)));
    }

    #[test]
    fn shares_are_read_back() {
        let at =
            ShareAt { account: AccountName::parse("account").unwrap(), share: ShareName::parse("share-1").unwrap() };
        assert_eq!(read_share(&share(&at)), Some((at.account.clone(), at.share.clone())));
        let deleted = deleted_share(&at, 9);
        assert_eq!(read_share(&deleted), Some((at.account.clone(), at.share.clone())));
        assert_eq!(read_version(&deleted), Some(9));
    }
}
