//! The keys of file systems, and how what hangs on an id is told from what hangs on a name (docs/keys.md).
//!
//! Held true: what a node's name begins with, no name of a flat container and no row of a share begins with.

use bytes::Bytes;
use lazuli_engine::{Key, Partition, Space};

use crate::keys::{BlobKeys, ENTRIES, PATH_NODES, REMOVED};

const NUL: &[u8] = &[0];

/// What the name of a blob begins with that hangs on an id: no name has a NUL, and no content id of a share begins with all ones.
pub(crate) const NODE: [u8; 2] = [0, 0xff];
const NODE_ID: usize = 9;
pub(crate) const NODE_NAME: usize = NODE.len() + NODE_ID;

/// What the rows of a blob hang on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Located {
    /// Its name, which is its partition.
    Flat(Bytes),
    /// Its id, in a file system, which is one partition.
    Node(u128),
}

/// The least of an id: the stamp of the transaction that made it, and which of those that it made.
pub fn node_id(stamp: u64, nth: u8) -> u128 {
    u128::from(stamp) << 8 | u128::from(nth)
}

pub(crate) fn id_bytes(id: u128) -> [u8; NODE_ID] {
    let bytes = id.to_be_bytes();
    std::array::from_fn(|at| bytes[bytes.len() - NODE_ID + at])
}

pub(crate) fn read_id(bytes: &[u8]) -> Option<u128> {
    let id = bytes.first_chunk::<NODE_ID>()?;
    Some(id.iter().fold(0, |id, byte| id << 8 | u128::from(*byte)))
}

/// The partition that has what hangs on a name.
pub fn owner_of(name: &Bytes) -> Bytes {
    if name.starts_with(&NODE) { Bytes::new() } else { name.clone() }
}

/// The keys of a file system: one partition, whose names hang on the ids of directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeKeys {
    pub space: Space,
}

/// The root directory.
pub const ROOT_NODE: u128 = 0;
/// Where nothing ever is: what a name that is not there stands for.
pub const NOWHERE: u128 = (1 << (8 * NODE_ID)) - 1;

impl TreeKeys {
    pub fn new(container: u128) -> Self {
        Self { space: Space(container) }
    }

    pub fn partition(&self) -> Partition {
        Partition::new(self.space, Bytes::new())
    }

    /// The names in a directory.
    pub fn entries(&self, directory: u128) -> Key {
        self.entry(directory, "")
    }

    pub fn entry(&self, directory: u128, name: &str) -> Key {
        Key::new(self.space, ENTRIES, &[&id_bytes(directory), name.as_bytes()])
    }

    /// Where the names end of the directory that an entry is in.
    pub fn end_of_entries(&self, entry: &Key) -> Key {
        let row = entry.row();
        Key::new(self.space, ENTRIES, &[row.get(..NODE_ID).unwrap_or(&row)]).after_prefix()
    }

    /// The name in the key of an entry.
    pub fn read_entry(key: &Key) -> Option<String> {
        String::from_utf8(key.row().get(NODE_ID..)?.to_vec()).ok()
    }

    pub fn node(&self, id: u128) -> Key {
        Key::new(self.space, PATH_NODES, &[&id_bytes(id)])
    }

    pub fn blob(&self, id: u128) -> BlobKeys {
        BlobKeys::node(self.space, id)
    }

    pub fn removed(&self, path: &str, deletion: u64) -> Key {
        Key::new(self.space, REMOVED, &[path.as_bytes(), NUL, &deletion.to_be_bytes()])
    }

    /// What has left for another file system, and had this path.
    pub fn departing(&self, to: &TreeKeys, path: &str, id: u64) -> Key {
        self.removed(&format!("{DEPARTING}{:032x}{path}", to.space.0), id)
    }

    pub fn departing_to(&self, to: &TreeKeys) -> Key {
        self.removed_under(&format!("{DEPARTING}{:032x}", to.space.0))
    }

    /// What comes from another file system and has no name yet; and that it has one.
    pub fn arriving(&self, from: &TreeKeys, id: u64) -> Key {
        self.removed(&format!("{ARRIVING}{:032x}", from.space.0), id)
    }

    pub fn arrived(&self, from: &TreeKeys, id: u64) -> Key {
        self.removed(&format!("{ARRIVED}{:032x}", from.space.0), id)
    }

    /// All that was deleted whose path begins so.
    pub fn removed_under(&self, prefix: &str) -> Key {
        Key::new(self.space, REMOVED, &[prefix.as_bytes()])
    }

    /// The path and the id of a deletion.
    pub fn read_removed(key: &Key) -> Option<(String, u64)> {
        let row = key.row();
        let (rest, deletion) = row.split_last_chunk()?;
        let path = rest.strip_suffix(NUL)?;
        Some((String::from_utf8(path.to_vec()).ok()?, u64::from_be_bytes(*deletion)))
    }
}

/// What stands where deleted paths have their path, of moves between file systems: no path has a NUL.
const DEPARTING: &str = "\0departing\0";
const ARRIVING: &str = "\0arriving\0";
const ARRIVED: &str = "\0arrived\0";

/// What a row says of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moving {
    Departing { to: Space, path: String },
    Arriving,
    Arrived { from: Space },
}

impl Moving {
    /// Of the path of a deleted path's row; none, if it is one.
    pub fn read(text: &str) -> Option<Self> {
        let space = |hex: &str| u128::from_str_radix(hex, 16).ok().map(Space);
        if let Some(rest) = text.strip_prefix(DEPARTING) {
            let (hex, path) = rest.split_at_checked(32)?;
            return Some(Moving::Departing { to: space(hex)?, path: path.to_owned() });
        }
        if text.starts_with(ARRIVING) {
            return Some(Moving::Arriving);
        }
        Some(Moving::Arrived { from: space(text.strip_prefix(ARRIVED)?)? })
    }
}
