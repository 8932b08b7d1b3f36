//! The whole key space; docs/keys.md draws it. Names never contain NUL, so `name 00 …` keeps the order of names.

use bytes::Bytes;
use lazuli_engine::content::Piece;
use lazuli_engine::{Column, Key, Partition, Space};
use lazuli_model::queue::Place;
use lazuli_model::service::Of;
use lazuli_model::{AccountName, BlockId, Timestamp};

use crate::{ContainerAt, QueueAt};

pub const ROOT: Space = Space(0);

// Columns of the root.
pub const ACCOUNTS: Column = Column(b'a');
pub const CONTAINERS: Column = Column(b'c');
pub const PROPERTIES: Column = Column(b'p');
pub const QUEUES: Column = Column(b'q');
pub const DEAD_SPACES: Column = Column(b'x');

// Columns of a container's space.
pub const BASES: Column = Column(b'b');
pub const SNAPSHOTS: Column = Column(b's');
pub const VERSIONS: Column = Column(b'n');
pub const PENDING: Column = Column(b'm');
pub const BLOCKS: Column = Column(b'u');
pub const CHUNKS: Column = Column(b'k');
pub const SHARED: Column = Column(b'r');
pub const CLAIMS: Column = Column(b'e');
pub const GARBAGE: Column = Column(b'd');
pub const EXPIRIES: Column = Column(b'z');
pub const GUARDS: Column = Column(b'j');
pub const WINDOWS: Column = Column(b'w');
pub const SMALLS: Column = Column(b'y');

// Columns of a queue's space. None of their letters is one of a container's, so that a key shows whose it is.
pub const HEADS: Column = Column(b'h');
pub const TEXTS: Column = Column(b't');
pub const MESSAGES: Column = Column(b'v');

const NUL: &[u8] = &[0];

/// The row of a container, which is also the name of its partition.
pub fn container_row(at: &ContainerAt) -> Bytes {
    [at.account.as_str().as_bytes(), NUL, at.container.as_str().as_bytes()].concat().into()
}

pub fn container(account: &str, container: &str) -> Key {
    Key::new(ROOT, CONTAINERS, &[account.as_bytes(), NUL, container.as_bytes()])
}

/// The prefix of all containers of an account whose names begin with `prefix`.
pub fn containers(account: &AccountName, prefix: &[u8]) -> Key {
    Key::new(ROOT, CONTAINERS, &[account.as_str().as_bytes(), NUL, prefix])
}

/// The partition of a queue's record. Two NULs keep it apart from the container of the same name.
pub fn queue_partition(at: &QueueAt) -> Bytes {
    [at.account.as_str().as_bytes(), NUL, b"q", NUL, at.queue.as_str().as_bytes()].concat().into()
}

pub fn queue(at: &QueueAt) -> Key {
    queues(&at.account, at.queue.as_str().as_bytes())
}

/// The prefix of all queues of an account whose names begin with `prefix`.
pub fn queues(account: &AccountName, prefix: &[u8]) -> Key {
    Key::new(ROOT, QUEUES, &[account.as_str().as_bytes(), NUL, prefix])
}

pub fn properties(account: &AccountName, of: Of) -> (Partition, Key) {
    let letter: &[u8] = match of {
        Of::Blob => b"b",
        Of::Queue => b"q",
        Of::File => b"f",
    };
    let key = Key::new(ROOT, PROPERTIES, &[account.as_str().as_bytes(), NUL, letter]);
    (account_partition(account), key)
}

/// The prefix of the properties of all services of an account.
pub fn all_properties(account: &AccountName) -> Key {
    Key::new(ROOT, PROPERTIES, &[account.as_str().as_bytes(), NUL])
}

/// An account's settings and the properties of its services change together. Without a NUL, no other partition has its name.
pub fn account_partition(account: &AccountName) -> Partition {
    Partition::new(ROOT, Bytes::copy_from_slice(account.as_str().as_bytes()))
}

pub fn account(account: &AccountName) -> Key {
    Key::new(ROOT, ACCOUNTS, &[account.as_str().as_bytes()])
}

pub fn dead_space(space: Space) -> Key {
    Key::new(ROOT, DEAD_SPACES, &[&space.0.to_be_bytes()])
}

pub fn read_dead_space(key: &Key) -> Option<Space> {
    key.row()[..].try_into().ok().map(|id| Space(u128::from_be_bytes(id)))
}

/// Everything in a column.
pub fn column(space: Space, column: Column) -> Key {
    Key::new(space, column, &[])
}

/// The claims on one extent, in one space.
pub fn claims_on(space: Space, extent: u64) -> Key {
    Key::new(space, CLAIMS, &[&extent.to_be_bytes()])
}

/// What a claim's key says: the piece's extent and offset, and the partition that holds it.
pub fn read_claim(key: &Key) -> Option<(u64, u64, Bytes)> {
    let row = key.row();
    let number =
        |at: usize| row.get(at..at + 8).map(|bytes| u64::from_be_bytes(bytes.try_into().expect("eight bytes")));
    Some((number(0)?, number(8)?, row.slice(16..)))
}

/// The partition that a row of a dead space belongs to.
pub fn owner(key: &Key) -> Bytes {
    match key.column() {
        HEADS | TEXTS | MESSAGES => Bytes::new(),
        column if crate::file::keys::COLUMNS.contains(&column) => Bytes::new(),
        CLAIMS => read_claim(key).map_or_else(Bytes::new, |claim| claim.2),
        EXPIRIES => read_expiry(key).map_or_else(Bytes::new, |expiry| expiry.1),
        _ => name_of(key),
    }
}

/// When a blob expires, and its name.
pub fn read_expiry(key: &Key) -> Option<(Timestamp, Bytes)> {
    let row = key.row();
    let ticks = row.get(..8).map(|bytes| u64::from_be_bytes(bytes.try_into().expect("eight bytes")))?;
    Some((Timestamp::from_ticks(ticks), row.slice(8..)))
}

/// The end of the rows of all that has expired at `now`.
pub fn expired_until(space: Space, now: Timestamp) -> Key {
    Key::new(space, EXPIRIES, &[&now.ticks().saturating_add(1).to_be_bytes()])
}

/// The name that a row of any of a container's columns but the claims and expiries begins with.
pub fn name_of(key: &Key) -> Bytes {
    let row = key.row();
    let end = row.iter().position(|byte| *byte == 0).unwrap_or(row.len());
    row.slice(..end)
}

/// The keys of one blob's partition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlobKeys {
    pub space: Space,
    pub name: Bytes,
}

impl BlobKeys {
    pub fn new(container: u128, name: &str) -> Self {
        Self { space: Space(container), name: Bytes::copy_from_slice(name.as_bytes()) }
    }

    pub fn partition(&self) -> Partition {
        Partition::new(self.space, self.name.clone())
    }

    pub fn base(&self) -> Key {
        Key::new(self.space, BASES, &[&self.name])
    }

    pub fn pending(&self) -> Key {
        Key::new(self.space, PENDING, &[&self.name])
    }

    pub fn snapshots(&self) -> Key {
        Key::new(self.space, SNAPSHOTS, &[&self.name, NUL])
    }

    pub fn snapshot(&self, time: Timestamp) -> Key {
        self.numbered(SNAPSHOTS, time.ticks())
    }

    pub fn versions(&self) -> Key {
        Key::new(self.space, VERSIONS, &[&self.name, NUL])
    }

    pub fn version(&self, id: Timestamp) -> Key {
        self.numbered(VERSIONS, id.ticks())
    }

    pub fn blocks(&self, epoch: u64) -> Key {
        self.numbered(BLOCKS, epoch)
    }

    pub fn block(&self, epoch: u64, id: &BlockId) -> Key {
        Key::new(self.space, BLOCKS, &[&self.name, NUL, &epoch.to_be_bytes(), id.as_bytes()])
    }

    pub fn chunks(&self, content: u64) -> Key {
        self.numbered(CHUNKS, content)
    }

    pub fn chunk(&self, content: u64, offset: u64) -> Key {
        Key::new(self.space, CHUNKS, &[&self.name, NUL, &content.to_be_bytes(), &offset.to_be_bytes()])
    }

    pub fn shared(&self, content: u64) -> Key {
        self.numbered(SHARED, content)
    }

    pub fn garbage(&self, stamp: u64) -> Key {
        self.numbered(GARBAGE, stamp)
    }

    /// The garbage of a blob that had expired: beside that of the operation that met it.
    pub fn expired_garbage(&self, stamp: u64) -> Key {
        Key::new(self.space, GARBAGE, &[&self.name, NUL, &stamp.to_be_bytes(), b"z"])
    }

    pub fn expiry(&self, at: Timestamp) -> Key {
        Key::new(self.space, EXPIRIES, &[&at.ticks().to_be_bytes(), &self.name])
    }

    pub fn guard(&self) -> Key {
        Key::new(self.space, GUARDS, &[&self.name])
    }

    pub fn claim(&self, piece: &Piece) -> Key {
        Key::new(self.space, CLAIMS, &[&piece.extent.to_be_bytes(), &piece.offset.to_be_bytes(), &self.name])
    }

    /// All windows of a sparse content, whatever their epoch.
    pub fn windows(&self, content: u64) -> Key {
        self.numbered(WINDOWS, content)
    }

    /// Windows from `number` on.
    pub fn windows_from(&self, content: u64, number: u64) -> Key {
        Key::new(self.space, WINDOWS, &[&self.name, NUL, &content.to_be_bytes(), &number.to_be_bytes()])
    }

    /// The newest epoch comes first, so that one seek finds the newest row that is not newer than an epoch.
    pub fn window(&self, content: u64, number: u64, epoch: u64) -> Key {
        let (content, number, epoch) = (content.to_be_bytes(), number.to_be_bytes(), (!epoch).to_be_bytes());
        Key::new(self.space, WINDOWS, &[&self.name, NUL, &content, &number, &epoch])
    }

    /// The number and the epoch of a window's row.
    pub fn read_window(key: &Key) -> Option<(u64, u64)> {
        let row = key.row();
        let (rest, epoch) = row.split_last_chunk()?;
        let (_, number) = rest.split_last_chunk()?;
        Some((u64::from_be_bytes(*number), !u64::from_be_bytes(*epoch)))
    }

    /// Small bytes of a sparse content.
    pub fn small(&self, content: u64, stamp: u64, part: u32) -> Key {
        let (content, stamp, part) = (content.to_be_bytes(), stamp.to_be_bytes(), part.to_be_bytes());
        Key::new(self.space, SMALLS, &[&self.name, NUL, &content, &stamp, &part])
    }

    fn numbered(&self, column: Column, number: u64) -> Key {
        Key::new(self.space, column, &[&self.name, NUL, &number.to_be_bytes()])
    }
}

/// The keys of one queue's messages, which are one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueKeys {
    pub space: Space,
}

impl QueueKeys {
    pub fn new(queue: u128) -> Self {
        Self { space: Space(queue) }
    }

    pub fn partition(&self) -> Partition {
        Partition::new(self.space, Bytes::new())
    }

    pub fn head(&self) -> Key {
        column(self.space, HEADS)
    }

    pub fn message(&self, place: Place) -> Key {
        let (visible, inserted) = (place.visible.ticks().to_be_bytes(), place.inserted.ticks().to_be_bytes());
        Key::new(self.space, MESSAGES, &[&visible, &inserted])
    }

    pub fn text(&self, inserted: Timestamp) -> Key {
        Key::new(self.space, TEXTS, &[&inserted.ticks().to_be_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_the_order_of_names() {
        let names = ["a", "a\u{1}", "a!", "aa", "b"];
        for pair in names.windows(2) {
            let (lesser, greater) = (BlobKeys::new(1, pair[0]), BlobKeys::new(1, pair[1]));
            let most = Timestamp::from_ticks(u64::MAX);
            assert!(lesser.snapshot(most) < greater.snapshot(Timestamp::from_ticks(0)), "{pair:?}");
            assert!(lesser.chunk(u64::MAX, u64::MAX) < greater.chunk(0, 0), "{pair:?}");
        }
    }

    #[test]
    fn messages_are_in_the_order_of_their_places() {
        let keys = QueueKeys::new(7);
        let place = |visible: u64, inserted: u64| Place {
            visible: Timestamp::from_ticks(visible),
            inserted: Timestamp::from_ticks(inserted),
        };
        let places = [place(0, 9), place(1, 0), place(1, 256), place(256, 1), place(u64::MAX, 0)];
        for pair in places.windows(2) {
            assert!(pair[0] < pair[1] && keys.message(pair[0]) < keys.message(pair[1]), "{pair:?}");
        }
        for key in [keys.head(), keys.message(places[2]), keys.text(Timestamp::from_ticks(3))] {
            assert_eq!(owner(&key), keys.partition().name);
        }
    }

    #[test]
    fn names_and_claims_are_read_back() {
        let keys = BlobKeys::new(7, "dir/blob");
        let piece = Piece { extent: 3, offset: 9, length: 1, seal: 0 };
        assert_eq!(read_claim(&keys.claim(&piece)), Some((3, 9, keys.name.clone())));
        for key in [keys.base(), keys.pending(), keys.chunk(1, 2), keys.garbage(0), keys.shared(5), keys.small(1, 2, 3)]
        {
            assert_eq!(name_of(&key), keys.name);
        }
        assert_eq!(BlobKeys::read_window(&keys.window(3, 4, 5)), Some((4, 5)));
        assert!(keys.window(3, 4, 6) < keys.window(3, 4, 5) && keys.window(3, 4, 0) < keys.window(3, 5, u64::MAX));
    }
}
