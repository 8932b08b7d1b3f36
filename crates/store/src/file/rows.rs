//! What the rows of a share say.

use lazuli_model::file::{FileId, Kind, Node, Share};
use lazuli_model::{Lease, Timestamp};
use serde::{Deserialize, Serialize};

/// The share exists. It was made like this; what became of it is in its own space, which is the truth about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Born {
    /// The incarnation: a share made again under the same name is another space.
    pub id: u128,
    /// Counts how often it was brought back from among the deleted.
    pub life: u32,
    pub share: Share,
}

/// A share that was deleted and may be brought back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buried {
    pub born: Born,
    /// As it was last.
    pub share: Share,
    pub deleted: Timestamp,
    pub until: Timestamp,
}

/// What every write in a share has to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Moves on with every snapshot.
    pub epoch: u64,
    /// What earlier versions counted entries and handles with.
    pub next: u64,
    pub next_handle: u64,
    /// The lengths of all files together, if there is no row for that yet: an earlier version counted it here.
    pub usage: u64,
    pub quota_gib: u32,
    /// The epochs of the snapshots there are, ascending.
    pub snapshots: Vec<u64>,
    pub last_snapshot: Timestamp,
    pub ended: Option<Ended>,
}

/// The share was deleted, in that life of it. Its row in the root follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub life: u32,
    /// Until when it may be brought back.
    pub until: Option<Timestamp>,
}

impl Head {
    pub fn new(quota_gib: u32) -> Self {
        Self {
            epoch: 1,
            next: 1,
            next_handle: 1,
            usage: 0,
            quota_gib,
            snapshots: Vec::new(),
            last_snapshot: Timestamp::from_ticks(0),
            ended: None,
        }
    }
}

/// Bytes that the files of a share take up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage(pub u64);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub epoch: u64,
    /// As it was then; the lease is the snapshot's own.
    pub share: Share,
}

/// A row with an epoch: what is there from then on, or that nothing is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRow(pub Option<Node>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameRow(pub Option<Name>);

/// What a name in a directory is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    pub id: FileId,
    pub kind: Kind,
    /// As it was given.
    pub name: String,
}

/// What goes with a file and not with its snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    pub lease: Lease,
    /// It goes with its last handle. In a row of its own, which is volatile, as handles are.
    pub delete_pending: bool,
}

/// What outlives every handle. Absent when there is nothing to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRow {
    pub lease: Lease,
    /// Where earlier versions said that it is to be deleted.
    was_delete_pending: bool,
}

impl KeptRow {
    pub fn new(lease: Lease) -> Self {
        Self { lease, was_delete_pending: false }
    }
}

/// Something that only snapshots see any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Superseded {
    /// A row, from this epoch on.
    Row { since: u64 },
    /// Windows of a content that began then; `dead` when no node has the content any more.
    Content { since: u64, dead: bool },
}

/// A process that holds handles for its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gateway {
    /// When it was last heard of.
    pub seen: Timestamp,
    /// The heartbeat that it knew to have been heard before it listed what its readers hold (`pins`).
    pub after: Option<Timestamp>,
}

/// A content that no node has yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    pub touched: Timestamp,
}
