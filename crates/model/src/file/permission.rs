//! Security descriptors and the keys by which a share knows them. A key is made of the descriptor alone, so the same one
//! has the same key in every share.

use serde::{Deserialize, Serialize};

use crate::Refusal;

/// Printed as two numbers with a star between them; the second was the same in all recorded answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PermissionKey(pub u64);

const SECOND: &str = "9622787259914961209";

impl PermissionKey {
    pub fn parse(text: &str) -> Option<Self> {
        let (first, second) = text.trim().split_once('*')?;
        (second == SECOND).then(|| first.parse().ok().map(Self))?
    }
}

impl std::fmt::Display for PermissionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}*{SECOND}", self.0)
    }
}

/// `x-ms-file-permission-format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Sddl,
    /// A self-relative descriptor in Base64.
    Binary,
}

/// A security descriptor as text. Without a SACL it says so: observed, the service adds `S:NO_ACCESS_CONTROL`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sddl(String);
