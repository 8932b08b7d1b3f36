//! Who may do what to a file that others have open: one set of rules for REST and SMB.

/// What a handle may do with the file. Sharing uses the same three: what others may do meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Access {
    pub read: bool,
    pub write: bool,
    pub delete: bool,
}
