//! The whole key space; docs/keys.md draws it. Names never contain NUL, so `name 00 …` keeps the order of names.

use bytes::Bytes;
use lazuli_engine::content::Piece;
use lazuli_engine::{Column, Key, Partition, Space, Want};
use lazuli_model::blob::Which;
use lazuli_model::queue::Place;
use lazuli_model::replication::SourceChange;
use lazuli_model::service::Of;
use lazuli_model::{AccountName, BlockId, Timestamp};

use crate::feed::Noting;
pub use crate::lake::keys::{Located, Moving, NOWHERE, ROOT_NODE, TreeKeys, node_id, owner_of};
use crate::lake::keys::{NODE, NODE_NAME, id_bytes, read_id};
use crate::transact::Target;
use crate::{ContainerAt, QueueAt, TableAt};

pub const ROOT: Space = Space(0);

// Columns of the root.
pub const ACCOUNTS: Column = Column(b'a');
pub const CONTAINERS: Column = Column(b'c');
pub const PROPERTIES: Column = Column(b'p');
pub const QUEUES: Column = Column(b'q');
pub const LENT: Column = Column(b'l');
pub const TABLES: Column = Column(b't');
pub const DEAD_SPACES: Column = Column(b'x');
pub const DELETED_CONTAINERS: Column = Column(b'C');
pub const TAG_NAMES: Column = Column(b'T');
pub const UNFINISHED: Column = Column(b'g');
pub const FEEDS: Column = Column(b'f');
pub const IMPORTS: Column = Column(b'I');
// What the readers of a gateway hold: volatile, as its heartbeat is.
pub const CONTENT_PINS: Column = Column::volatile(b'r');
pub const PIECE_PINS: Column = Column::volatile(b's');

// Columns of a container's space.
pub const BASES: Column = Column(b'b');
pub const SNAPSHOTS: Column = Column(b's');
pub const CUTS: Column = Column(b'X');
pub const VERSIONS: Column = Column(b'n');
pub const PENDING: Column = Column(b'm');
pub const BLOCKS: Column = Column(b'u');
pub const CHUNKS: Column = Column(b'k');
pub const SHARED: Column = Column(b'r');
pub const CLAIMS: Column = Column(b'e');
pub const GARBAGE: Column = Column(b'd');
pub const LONG_COPIES: Column = Column(b'g');
pub const TAGGED: Column = Column(b'i');
/// Of versions, and of what was deleted softly.
pub const PAST_TAGGED: Column = Column(b'p');
pub const DUE: Column = Column(b'o');
// What was deleted softly has the letters of what it was, as capitals.
pub const DELETED_BASES: Column = Column(b'B');
pub const DELETED_SNAPSHOTS: Column = Column(b'S');
pub const DELETED_VERSIONS: Column = Column(b'N');
pub const VERSIONS_ONLY: Column = Column(b'V');
pub const EXPIRIES: Column = Column(b'z');
pub const GUARDS: Column = Column(b'j');
pub const WINDOWS: Column = Column(b'w');
pub const SMALLS: Column = Column(b'y');
pub const NOTED: Column = Column(b'f');
pub const SOURCE_NOTES: Column = Column(b'c');

// Columns of a file system's space, beside those of a container: names, and what they stand for.
pub const ENTRIES: Column = Column(b'D');
pub const PATH_NODES: Column = Column(b'M');
pub const REMOVED: Column = Column(b'R');

// Columns of a queue's space. None of their letters is one of a container's, so that a key shows whose it is.
pub const HEADS: Column = Column(b'h');
pub const TEXTS: Column = Column(b't');
pub const MESSAGES: Column = Column(b'v');

// The column of a table's space.
pub const ENTITIES: Column = Column(b'E');

const NUL: &[u8] = &[0];

/// The row of a container, which is also the name of its partition.
pub fn container_row(at: &ContainerAt) -> Bytes {
    [at.account.as_str().as_bytes(), NUL, at.container.as_str().as_bytes()].concat().into()
}

pub fn container_partition(at: &ContainerAt) -> Partition {
    Partition::new(ROOT, container_row(at))
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

/// The partition of a table's record.
pub fn table_partition(at: &TableAt) -> Bytes {
    [at.account.as_str().as_bytes(), NUL, b"t", NUL, at.table.folded().as_bytes()].concat().into()
}

pub fn table(at: &TableAt) -> Key {
    tables(&at.account, at.table.folded().as_bytes())
}

/// The prefix of all tables of an account whose names, in lower case, begin with `prefix`.
pub fn tables(account: &AccountName, prefix: &[u8]) -> Key {
    Key::new(ROOT, TABLES, &[account.as_str().as_bytes(), NUL, prefix])
}

pub fn properties(account: &AccountName, of: Of) -> (Partition, Key) {
    let letter: &[u8] = match of {
        Of::Blob => b"b",
        Of::Queue => b"q",
        Of::File => b"f",
        Of::Table => b"t",
    };
    let key = Key::new(ROOT, PROPERTIES, &[account.as_str().as_bytes(), NUL, letter]);
    (account_partition(account), key)
}

/// Whose properties a row has.
pub fn read_properties(key: &Key) -> Option<(AccountName, Of)> {
    let row = key.row();
    let (letter, account) = row.split_last()?;
    let of = match letter {
        b'b' => Of::Blob,
        b'q' => Of::Queue,
        b'f' => Of::File,
        b't' => Of::Table,
        _ => return None,
    };
    let account = std::str::from_utf8(account.strip_suffix(NUL)?).ok()?;
    Some((AccountName::parse(account).ok()?, of))
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

/// `owner` is the name of the partition in the root whose space it was.
pub fn dead_space(space: Space, owner: &[u8]) -> Key {
    Key::new(ROOT, DEAD_SPACES, &[&space.0.to_be_bytes(), owner])
}

/// The row of one dead space, with any owner. Rows of earlier versions end here, and have their owner in the value only.
pub fn dead_spaces(space: Space) -> Key {
    dead_space(space, &[])
}

pub fn read_dead_space(key: &Key) -> Option<Space> {
    key.row().first_chunk().map(|id| Space(u128::from_be_bytes(*id)))
}

/// An import to this store is under way.
pub fn import() -> Key {
    Key::new(ROOT, IMPORTS, &[])
}

pub fn import_partition() -> Partition {
    Partition::new(ROOT, Bytes::from_static(&[0, b'i']))
}

/// The rows of what is lent of one extent change together. No account's name begins with NUL.
pub fn lent_partition(extent: u64) -> Partition {
    Partition::new(ROOT, Bytes::from([NUL, &extent.to_be_bytes()].concat()))
}

/// All holders of a piece that is lent.
pub fn lent_of((extent, offset): (u64, u64)) -> Key {
    Key::new(ROOT, LENT, &[&extent.to_be_bytes(), &offset.to_be_bytes()])
}

pub fn lent((extent, offset): (u64, u64), holder: &BlobKeys) -> Key {
    let (extent, offset, space) = (extent.to_be_bytes(), offset.to_be_bytes(), holder.space.0.to_be_bytes());
    Key::new(ROOT, LENT, &[&extent, &offset, &space, &holder.name])
}

/// The piece's extent and offset, and the holder.
pub fn read_lent(key: &Key) -> Option<(u64, u64, BlobKeys)> {
    let row = key.row();
    let (extent, rest) = row.split_first_chunk()?;
    let (offset, rest) = rest.split_first_chunk()?;
    let (space, name) = rest.split_first_chunk()?;
    let holder = BlobKeys::of(Space(u128::from_be_bytes(*space)), row.slice_ref(name));
    Some((u64::from_be_bytes(*extent), u64::from_be_bytes(*offset), holder))
}

/// Everything in a column.
pub fn column(space: Space, column: Column) -> Key {
    Key::new(space, column, &[])
}

/// The claims on one extent, in one space.
pub fn claims_on(space: Space, extent: u64) -> Key {
    Key::new(space, CLAIMS, &[&extent.to_be_bytes()])
}

/// The claim of the partition `name` on a piece.
pub fn claim_of(space: Space, piece: &Piece, name: &[u8]) -> Key {
    Key::new(space, CLAIMS, &[&piece.extent.to_be_bytes(), &piece.offset.to_be_bytes(), name])
}

/// What a claim's key says: the piece's extent and offset, and the partition that holds it.
pub fn read_claim(key: &Key) -> Option<(u64, u64, Bytes)> {
    let row = key.row();
    let number =
        |at: usize| row.get(at..at + 8).map(|bytes| u64::from_be_bytes(bytes.try_into().expect("eight bytes")));
    Some((number(0)?, number(8)?, row.slice(16..)))
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

/// The name that a row of most of a container's columns begins with.
pub fn name_of(key: &Key) -> Bytes {
    let row = key.row();
    if row.starts_with(&NODE) && row.len() >= NODE_NAME {
        return row.slice(..NODE_NAME);
    }
    let end = row.iter().position(|byte| *byte == 0).unwrap_or(row.len());
    row.slice(..end)
}

/// The rows of a tag name and, if given, of one value.
pub fn tagged(space: Space, tag: &str, value: Option<&str>) -> Key {
    match value {
        None => Key::new(space, TAGGED, &[tag.as_bytes(), NUL]),
        Some(value) => Key::new(space, TAGGED, &[tag.as_bytes(), NUL, value.as_bytes(), NUL]),
    }
}

/// The tag, its value, and the blob that has it.
pub fn read_tagged(key: &Key) -> Option<(Bytes, Bytes, Bytes)> {
    let row = key.row();
    let first = row.iter().position(|byte| *byte == 0)?;
    let second = first + 1 + row[first + 1..].iter().position(|byte| *byte == 0)?;
    Some((row.slice(..first), row.slice(first + 1..second), row.slice(second + 1..)))
}

/// The rows of a tag name and, if given, of one value, of what is not the blob itself.
pub fn past_tagged(space: Space, tag: &str, value: Option<&str>) -> Key {
    Key::new(space, PAST_TAGGED, &[&tagged(space, tag, value).row()])
}

/// The blob, and which of its past.
pub fn read_past_tagged(key: &Key) -> Option<(Bytes, Past)> {
    let (_, _, rest) = read_tagged(key)?;
    let end = rest.len().checked_sub(10).filter(|end| rest[*end] == 0)?;
    let time = Timestamp::from_ticks(u64::from_be_bytes(rest[end + 2..].try_into().ok()?));
    let past = match rest[end + 1] {
        b'n' => Past { which: Which::Version(time), is_deleted: false },
        b'B' => Past { which: Which::Current, is_deleted: true },
        b'N' => Past { which: Which::Version(time), is_deleted: true },
        _ => return None,
    };
    Some((rest.slice(..end), past))
}

/// What is not a blob any more, or not yet again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Past {
    pub which: Which,
    /// Softly.
    pub is_deleted: bool,
}

/// When something that was deleted softly goes, the name it is of, and which it is.
pub fn read_due(key: &Key) -> Option<(Timestamp, Bytes, Which)> {
    let row = key.row();
    let number =
        |from: usize| row.get(from..from + 8).map(|bytes| u64::from_be_bytes(bytes.try_into().expect("eight")));
    let end = row.len().checked_sub(9).filter(|end| *end >= 9 && row[*end] == 0)?;
    let time = Timestamp::from_ticks(number(end + 1)?);
    let which = match row[8] {
        b'b' => Which::Current,
        b's' => Which::Snapshot(time),
        b'n' => Which::Version(time),
        _ => return None,
    };
    Some((Timestamp::from_ticks(number(0)?), row.slice(9..end), which))
}

/// Everything of a space that is due before `until`.
pub fn due_before(space: Space, until: Timestamp) -> Key {
    Key::new(space, DUE, &[&until.ticks().to_be_bytes()])
}

/// A container that was deleted softly, by when.
pub fn deleted_container(at: &ContainerAt, deleted: Timestamp) -> Key {
    Key::new(ROOT, DELETED_CONTAINERS, &[&container_row(at), NUL, &deleted.ticks().to_be_bytes()])
}

/// The prefix of all containers of an account that were deleted softly and whose names begin with `prefix`.
pub fn deleted_containers(account: &AccountName, prefix: &[u8]) -> Key {
    Key::new(ROOT, DELETED_CONTAINERS, &[account.as_str().as_bytes(), NUL, prefix])
}

/// The account and the container of a row of [`DELETED_CONTAINERS`], as they stand in [`container_row`], and the time.
pub fn read_deleted_container(key: &Key) -> Option<(Bytes, Timestamp)> {
    let row = key.row();
    let end = row.len().checked_sub(9).filter(|end| row[*end] == 0)?;
    let ticks = row[end + 1..].try_into().ok().map(u64::from_be_bytes)?;
    Some((row.slice(..end), Timestamp::from_ticks(ticks)))
}

/// That a container has, or lately had, blobs with a tag of this name.
pub fn tag_name(account: &str, tag: &str, container: &str) -> Key {
    Key::new(ROOT, TAG_NAMES, &[account.as_bytes(), NUL, tag.as_bytes(), NUL, container.as_bytes()])
}

/// The account, the tag and the container of a row of [`TAG_NAMES`].
pub fn read_tag_name(key: &Key) -> Option<(String, String, String)> {
    let row = key.row();
    let mut parts = std::str::from_utf8(&row).ok()?.split('\0').map(str::to_owned);
    Some((parts.next()?, parts.next()?, parts.next()?))
}

/// Copies that are pending are few, and change together.
pub fn unfinished_partition() -> Partition {
    Partition::new(ROOT, Bytes::from_static(&[0, b'g']))
}

/// A copy to a blob is pending, or was.
pub fn unfinished(keys: &BlobKeys, copy: u128) -> Key {
    Key::new(ROOT, UNFINISHED, &[&keys.space.0.to_be_bytes(), &copy.to_be_bytes(), &keys.name])
}

/// The blob, and the copy.
pub fn read_unfinished(key: &Key) -> Option<(BlobKeys, u128)> {
    let row = key.row();
    let number =
        |at: usize| row.get(at..at + 16).map(|bytes| u128::from_be_bytes(bytes.try_into().expect("sixteen bytes")));
    Some((BlobKeys::of(Space(number(0)?), row.slice(32..)), number(16)?))
}

/// How far the change feed of an account has come.
pub fn feed(account: &AccountName) -> Key {
    Key::new(ROOT, FEEDS, &[account.as_str().as_bytes()])
}

/// The partition that a row of [`NOTED`] belongs to.
pub fn noted_by(key: &Key) -> Bytes {
    let row = key.row();
    let end = row.len().saturating_sub(10);
    row.slice(end.min(8)..end)
}

/// The time of a row of [`NOTED`].
pub fn noted_at(key: &Key) -> Option<Timestamp> {
    key.row().first_chunk().map(|ticks| Timestamp::from_ticks(u64::from_be_bytes(*ticks)))
}

/// The partition that a row of [`SOURCE_NOTES`] belongs to.
pub fn noted_source(key: &Key) -> Bytes {
    let row = key.row();
    let end = row.len().saturating_sub(2);
    row.slice(end.min(8)..end)
}

/// The end of what is noted until `now`.
pub fn noted_until(space: Space, now: Timestamp) -> Key {
    Key::new(space, NOTED, &[&now.ticks().saturating_add(1).to_be_bytes()])
}

/// The keys of one blob's partition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlobKeys {
    pub space: Space,
    pub name: Bytes,
}

impl BlobKeys {
    pub fn new(container: u128, name: &str) -> Self {
        Self::of(Space(container), Bytes::copy_from_slice(name.as_bytes()))
    }

    pub fn of(space: Space, name: Bytes) -> Self {
        Self { space, name }
    }

    /// Of a file or directory, which is known by its id.
    pub fn node(space: Space, id: u128) -> Self {
        Self::of(space, [&NODE[..], &id_bytes(id)].concat().into())
    }

    pub fn located(&self) -> Located {
        match self.name.strip_prefix(&NODE[..]).and_then(read_id) {
            Some(id) => Located::Node(id),
            None => Located::Flat(self.name.clone()),
        }
    }

    /// A change that is told, at `time`.
    pub fn noted(&self, time: Timestamp, what: Noting, which: Which) -> Key {
        let ticks = match which {
            Which::Current => 0,
            Which::Snapshot(time) | Which::Version(time) => time.ticks(),
        };
        let (time, ticks) = (time.ticks().to_be_bytes(), ticks.to_be_bytes());
        Key::new(self.space, NOTED, &[&time, &self.name, NUL, &[what as u8], &ticks])
    }

    /// A change at `time` that has to be made at the copies, too.
    pub fn source_note(&self, time: Timestamp, change: SourceChange) -> Key {
        let letter = match change {
            SourceChange::Deleted => b'1',
            SourceChange::Written => b'2',
            SourceChange::Changed => b'3',
        };
        Key::new(self.space, SOURCE_NOTES, &[&time.ticks().to_be_bytes(), &self.name, NUL, &[letter]])
    }

    pub fn partition(&self) -> Partition {
        Partition::new(self.space, owner_of(&self.name))
    }

    /// For a transaction that writes the blob: it asks first for these rows, of which most names have one at most.
    pub fn written(&self) -> Target {
        let keys = self.clone();
        Target::wanting(self.partition(), move || {
            let rows = [keys.base(), keys.versions_only(), keys.deleted(Which::Current), keys.pending(), keys.cut()];
            rows.into_iter().map(Want::Get).collect()
        })
    }

    pub fn base(&self) -> Key {
        Key::new(self.space, BASES, &[&self.name])
    }

    pub fn pending(&self) -> Key {
        Key::new(self.space, PENDING, &[&self.name])
    }

    /// Hides snapshots that are yet to be deleted.
    pub fn cut(&self) -> Key {
        Key::new(self.space, CUTS, &[&self.name])
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

    /// There is a copy under way to this blob.
    pub fn long_copy(&self) -> Key {
        Key::new(self.space, LONG_COPIES, &[&self.name])
    }

    pub fn garbage(&self, stamp: u64) -> Key {
        self.numbered(GARBAGE, stamp)
    }

    /// The transaction that left a garbage row, whose stamp is also the id of the content that it wrote.
    pub fn garbage_stamp(&self, row: &Key) -> Option<u64> {
        row.row().get(self.name.len() + 1..)?.first_chunk().map(|stamp| u64::from_be_bytes(*stamp))
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
        claim_of(self.space, piece, &self.name)
    }

    /// There is no blob of this name, and there are versions of it.
    pub fn versions_only(&self) -> Key {
        Key::new(self.space, VERSIONS_ONLY, &[&self.name])
    }

    /// A blob, snapshot or version that was deleted softly.
    pub fn deleted(&self, which: Which) -> Key {
        match which {
            Which::Current => Key::new(self.space, DELETED_BASES, &[&self.name]),
            Which::Snapshot(time) => self.numbered(DELETED_SNAPSHOTS, time.ticks()),
            Which::Version(id) => self.numbered(DELETED_VERSIONS, id.ticks()),
        }
    }

    /// All snapshots, or all versions, that were deleted softly.
    pub fn all_deleted(&self, column: Column) -> Key {
        Key::new(self.space, column, &[&self.name, NUL])
    }

    /// The note of when something that was deleted softly goes.
    pub fn due(&self, until: Timestamp, which: Which) -> Key {
        let (letter, ticks) = match which {
            Which::Current => (b'b', 0),
            Which::Snapshot(time) => (b's', time.ticks()),
            Which::Version(id) => (b'n', id.ticks()),
        };
        let (until, ticks) = (until.ticks().to_be_bytes(), ticks.to_be_bytes());
        Key::new(self.space, DUE, &[&until, &[letter], &self.name, NUL, &ticks])
    }

    pub fn tagged(&self, tag: &str, value: &str) -> Key {
        Key::new(self.space, TAGGED, &[tag.as_bytes(), NUL, value.as_bytes(), NUL, &self.name])
    }

    /// `None` for what is not in the index: snapshots.
    pub fn past_tagged(&self, tag: &str, value: &str, past: Past) -> Option<Key> {
        let (letter, ticks) = match (past.which, past.is_deleted) {
            (Which::Version(id), false) => (b'n', id.ticks()),
            (Which::Version(id), true) => (b'N', id.ticks()),
            (Which::Current, true) => (b'B', 0),
            (Which::Current, false) | (Which::Snapshot(_), _) => return None,
        };
        let parts = [tag.as_bytes(), NUL, value.as_bytes(), NUL, &self.name, NUL, &[letter], &ticks.to_be_bytes()];
        Some(Key::new(self.space, PAST_TAGGED, &parts))
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

/// The keys of one table's entities. A partition is one PartitionKey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableKeys {
    pub space: Space,
}

impl TableKeys {
    pub fn new(table: u128) -> Self {
        Self { space: Space(table) }
    }

    pub fn partition(&self, partition: &str) -> Partition {
        Partition::new(self.space, Bytes::copy_from_slice(partition.as_bytes()))
    }

    pub fn entity(&self, partition: &str, row: &str) -> Key {
        self.raw(&[partition.as_bytes(), NUL, row.as_bytes()])
    }

    pub fn all(&self) -> Key {
        column(self.space, ENTITIES)
    }

    /// The partition that all of `ranges` lie in, if there is one. Ranges are within a partition if both their ends begin
    /// with its name and what may follow one (NUL, or U+0001 behind it all).
    pub fn single_partition(&self, ranges: &[(Key, Key)]) -> Option<Partition> {
        let named = |key: &Key| {
            let row = key.row();
            row.iter().position(|byte| *byte <= 1).map(|end| row.slice(..end))
        };
        let name = named(&ranges.first()?.0)?;
        let within = |(from, to): &(Key, Key)| {
            [from, to].into_iter().all(|key| key.column() == ENTITIES && named(key).as_ref() == Some(&name))
                && from.row().get(name.len()) == Some(&0)
        };
        ranges.iter().all(within).then(|| Partition::new(self.space, name))
    }

    /// A place among the entities, which need not be one's.
    pub fn raw(&self, parts: &[&[u8]]) -> Key {
        Key::new(self.space, ENTITIES, parts)
    }
}

/// The PartitionKey and the RowKey of an entity.
pub fn read_entity(key: &[u8]) -> Option<(&str, &str)> {
    let row = key.get(Key::HEAD..)?;
    let end = row.iter().position(|byte| *byte == 0)?;
    Some((std::str::from_utf8(&row[..end]).ok()?, std::str::from_utf8(&row[end + 1..]).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout;

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
            assert_eq!(layout(&key), Some(keys.partition()));
        }
    }

    #[test]
    fn names_and_claims_are_read_back() {
        let keys = BlobKeys::new(7, "dir/blob");
        let piece = Piece { extent: 3, offset: 9, length: 1, seal: 0 };
        assert_eq!(read_claim(&keys.claim(&piece)), Some((3, 9, keys.name.clone())));
        assert_eq!(read_lent(&lent((3, 9), &keys)), Some((3, 9, keys.clone())));
        for key in [keys.base(), keys.pending(), keys.chunk(1, 2), keys.garbage(0), keys.shared(5), keys.small(1, 2, 3)]
        {
            assert_eq!(name_of(&key), keys.name);
        }
        let time = Timestamp::from_ticks(0x0100_0000_0000_0001);
        for which in [Which::Current, Which::Snapshot(time), Which::Version(time)] {
            let key = keys.due(time, which);
            assert_eq!(read_due(&key), Some((time, keys.name.clone(), which)));
        }
        let key = keys.tagged("tag", "");
        assert_eq!(read_tagged(&key), Some((Bytes::from("tag"), Bytes::new(), keys.name.clone())));
        assert_eq!(read_unfinished(&unfinished(&keys, 8)), Some((keys.clone(), 8)));
        let past = |which, is_deleted| Past { which, is_deleted };
        for past in [past(Which::Version(time), false), past(Which::Version(time), true), past(Which::Current, true)] {
            let key = keys.past_tagged("tag", "value", past).unwrap();
            assert_eq!(read_past_tagged(&key), Some((keys.name.clone(), past)));
        }
        assert_eq!(keys.past_tagged("tag", "value", past(Which::Snapshot(time), true)), None);
        let key = tag_name("account", "tag", "box");
        assert_eq!(read_tag_name(&key), Some(("account".into(), "tag".into(), "box".into())));
        assert_eq!(BlobKeys::read_window(&keys.window(3, 4, 5)), Some((4, 5)));
        assert!(keys.window(3, 4, 6) < keys.window(3, 4, 5) && keys.window(3, 4, 0) < keys.window(3, 5, u64::MAX));
    }
}
