//! Data Lake Storage: paths in a hierarchical namespace, who may do what to them, and what each operation makes of them.
//!
//! A file or directory has the record of a blob (times, ETag, lease, metadata, content) and beside it a [`Node`]: what it is called,
//! whose it is and who may. The rules of blobs hold for the record; what is here is what a hierarchy adds.

mod access;
mod acl;
mod node;
mod path;
mod requests;

pub use access::{Caller, Right, permit, permit_removal};
pub use acl::{AccessControl, Acl, AclScope, Bits, Change, Entry, Kind, Mode};
pub use node::{Node, SUPERUSER};
pub use path::{DEPTH_MAX, LakePath};
pub use requests::{
    AppendData, CreatePath, FlushData, Flushed, LeaseStep, RenameMode, RenamePath, SetAccessControl, SetPathProperties,
    permit_rename,
};
