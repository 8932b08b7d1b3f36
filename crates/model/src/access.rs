//! Who may do what: stored policies, public access, and the permission letters of a SAS.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PublicAccess {
    #[default]
    Off,
    Blob,
    Container,
}

/// A stored access policy. Each part may be left to the SAS that names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPolicy {
    pub id: String,
    pub start: Option<Timestamp>,
    pub expiry: Option<Timestamp>,
    pub permissions: Option<String>,
}
