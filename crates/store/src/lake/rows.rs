//! The records of file systems, beside those of blobs.

use lazuli_model::blob::Deleted;
use serde::{Deserialize, Serialize};

/// What a name in a directory stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeId {
    pub id: u128,
    pub is_directory: bool,
}

/// A path that was deleted softly: all that hangs on its id is as it was, and what has its name now is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedPath {
    pub node: NodeId,
    pub deleted: Deleted,
}
