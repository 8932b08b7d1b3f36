//! The File service: one file per operation, and the two tables that name them all.
//!
//! A request names a share, or a path in one. The same path is a directory's or a file's; `restype` says which, and where it says
//! nothing the operation is on a file. Names are judged after the request has been authorised.

pub mod abort_copy;
pub mod copy_file;
pub mod create_directory;
pub mod create_file;
pub mod create_hard_link;
pub mod create_permission;
pub mod create_share;
pub mod create_symbolic_link;
pub mod delete_directory;
pub mod delete_file;
pub mod delete_share;
pub(crate) mod describe;
pub mod force_close_handles;
pub mod get_directory_metadata;
pub mod get_directory_properties;
pub mod get_file;
pub mod get_file_metadata;
pub mod get_file_properties;
pub mod get_permission;
pub mod get_service_properties;
pub mod get_share_acl;
pub mod get_share_metadata;
pub mod get_share_properties;
pub mod get_share_stats;
pub mod get_symbolic_link;
pub mod get_user_delegation_key;
mod json;
mod lease;
pub mod lease_file;
pub mod lease_share;
pub mod list_files;
pub mod list_handles;
pub mod list_ranges;
pub mod list_shares;
pub mod place;
pub mod put_range;
pub mod put_range_from_url;
pub mod rename_directory;
pub mod rename_file;
pub mod restore_share;
pub mod set_directory_metadata;
pub mod set_directory_properties;
pub mod set_file_metadata;
pub mod set_file_properties;
pub mod set_service_properties;
pub mod set_share_acl;
pub mod set_share_metadata;
pub mod set_share_properties;
mod settings;
mod smb;
pub mod snapshot_share;
pub mod source;

use crate::operation::{Operation, served_table};

/// Every operation that is served, the busiest first.
pub static SERVED: &[Operation] = served_table![
    get_file::SPEC,
    put_range::UPDATE,
    put_range::CLEAR,
    get_file_properties::SPEC,
    create_file::SPEC,
    list_files::SPEC,
    get_directory_properties::SPEC,
    create_directory::SPEC,
    delete_file::SPEC,
    delete_directory::SPEC,
    list_ranges::SPEC,
    put_range_from_url::SPEC,
    copy_file::SPEC,
    abort_copy::SPEC,
    set_file_properties::SPEC,
    set_file_metadata::SPEC,
    get_file_metadata::SPEC,
    set_directory_properties::SPEC,
    set_directory_metadata::SPEC,
    get_directory_metadata::SPEC,
    rename_file::SPEC,
    rename_directory::SPEC,
    lease_file::ACQUIRE,
    lease_file::CHANGE,
    lease_file::RELEASE,
    lease_file::BREAK,
    create_hard_link::SPEC,
    create_symbolic_link::SPEC,
    get_symbolic_link::SPEC,
    list_handles::SPEC,
    force_close_handles::SPEC,
    get_share_properties::SPEC,
    get_share_metadata::SPEC,
    set_share_properties::SPEC,
    set_share_metadata::SPEC,
    get_share_acl::SPEC,
    set_share_acl::SPEC,
    get_share_stats::SPEC,
    create_share::SPEC,
    delete_share::SPEC,
    restore_share::SPEC,
    snapshot_share::SPEC,
    lease_share::ACQUIRE,
    lease_share::RENEW,
    lease_share::CHANGE,
    lease_share::RELEASE,
    lease_share::BREAK,
    create_permission::SPEC,
    get_permission::SPEC,
    list_shares::SPEC,
    get_service_properties::SPEC,
    set_service_properties::SPEC,
    get_user_delegation_key::SPEC,
];

/// Most bytes that one range, or the body of Create File, may carry.
const RANGE_MAX: u64 = 4 << 20;
