//! The records of file systems, beside those of blobs.

use lazuli_model::blob::Deleted;
use lazuli_model::lake::{AccessControl, Node};
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

/// What a [`Node`] was before clients could name the request that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstNode {
    pub parent: u128,
    pub name: String,
    pub is_directory: bool,
    pub access: AccessControl,
    pub context: Option<String>,
}

impl From<FirstNode> for Node {
    fn from(first: FirstNode) -> Self {
        let FirstNode { parent, name, is_directory, access, context } = first;
        Self { parent, name, is_directory, access, context, transaction: None }
    }
}
