//! What a file or directory is beside its record: its name, and who may.

use serde::{Deserialize, Serialize};

use super::acl::{AccessControl, Mode};

/// The owner of what nobody in particular made.
pub const SUPERUSER: &str = "$superuser";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The id of the directory that it is in.
    pub parent: u128,
    pub name: String,
    pub is_directory: bool,
    pub access: AccessControl,
    /// What an application keeps with it to find the key of its own encryption.
    pub context: Option<String>,
    /// By what its client knows the create or rename that put it here, if the answer was lost: Hadoop asks for it ("Path - Get Properties").
    pub transaction: Option<String>,
}

impl Node {
    /// The root directory of a file system, until somebody changes it.
    pub fn root() -> Self {
        let access = AccessControl::new(SUPERUSER, SUPERUSER, Mode::of(0o750));
        Self { parent: 0, name: String::new(), is_directory: true, access, context: None, transaction: None }
    }
}
