//! How deep readers go. A reader that calls itself hands a [`Depth`] down and stops where it ends, so that no input decides how much
//! stack is used, for reading or for dropping what was read. The bounds of all formats are here.

/// Levels that are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth(u16);

/// A document of XML; deeper than any of the protocol. Atom is read without recursion.
pub const XML: Depth = Depth(16);
/// `$filter`: parentheses and `not`s within each other.
pub const FILTER: Depth = Depth(100);
/// `x-ms-if-tags`: ten logical operations have no use for more.
pub const TAGS: Depth = Depth(11);
/// Expressions of Query Blob Contents.
pub const SQL: Depth = Depth(64);
/// JSON of clients. The reader itself counts to this (serde_json's own limit), entities are flat.
pub const JSON: Depth = Depth(128);
/// Structs, lists, sets and maps of Thrift within each other.
pub const THRIFT: Depth = Depth(16);
/// Groups of a Parquet schema.
pub const SCHEMA: Depth = Depth(32);

impl Depth {
    /// One level further down, or `None` where there is none left.
    pub fn deeper(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }

    pub const fn levels(self) -> usize {
        self.0 as usize
    }
}
