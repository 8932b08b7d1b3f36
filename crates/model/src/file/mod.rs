//! Shares, directories and files: their records, and what each operation makes of them.
//!
//! A file's bytes and names are shared with SMB clients, who open, lock and cache them; `arbiter` judges who may, for both
//! protocols. Order of refusals: absent, the arbiter (sharing, locks, deletion), the lease, the read-only attribute.

pub mod arbiter;
mod attributes;
pub mod entry;
mod names;
mod node;
mod permission;
mod record;
mod requests;
pub mod share;
mod through;

pub use attributes::Attributes;
pub use names::{EntryName, FilePath, ShareName, fold};
pub use node::{FILE_MAX, RANGE_MAX, Spot};
pub use permission::{AskedRights, Format, PERMISSION_MAX, PermissionKey, Principal, Rights, Sddl};
pub use record::{
    CopiedFile, Entry, FileId, Kind, Node, PaidBursting, Posix, Protocol, RootSquash, Share, ShareTier, Smb,
};
pub use requests::*;
pub use through::{Disposition, Done, Frozen, SetBasic};
