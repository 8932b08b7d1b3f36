//! The Blob service: one file per operation, and the two tables that name them all.

pub mod abort_copy_blob;
pub mod append_block;
pub mod append_block_from_url;
pub mod batch;
pub mod copy_blob;
pub mod copy_blob_from_url;
pub mod create_container;
pub mod create_session;
pub mod delete_blob;
pub mod delete_container;
pub mod delete_immutability_policy;
pub mod find_blobs;
pub mod get_account_info;
pub mod get_blob;
pub mod get_blob_metadata;
pub mod get_blob_properties;
pub mod get_blob_tags;
pub mod get_block_list;
pub mod get_container_acl;
pub mod get_container_metadata;
pub mod get_container_properties;
pub mod get_page_ranges;
pub mod get_service_properties;
pub mod get_service_stats;
pub mod get_user_delegation_key;
pub mod incremental_copy_blob;
pub mod lease_blob;
pub mod lease_container;
pub mod list_blobs;
pub mod list_containers;
pub mod put_append_blob;
pub mod put_blob;
pub mod put_blob_from_url;
pub mod put_block;
pub mod put_block_from_url;
pub mod put_block_list;
pub mod put_page;
pub mod put_page_blob;
pub mod put_page_from_url;
pub mod query_blob_contents;
pub mod restore_container;
pub mod seal_append_blob;
pub mod set_blob_expiry;
pub mod set_blob_metadata;
pub mod set_blob_properties;
pub mod set_blob_tags;
pub mod set_blob_tier;
pub mod set_container_acl;
pub mod set_container_metadata;
pub mod set_immutability_policy;
pub mod set_legal_hold;
pub mod set_page_properties;
pub mod set_service_properties;
pub mod snapshot_blob;
pub mod undelete_blob;

mod arrow_listing;
pub(crate) mod copied;
mod copy_source;
pub(crate) mod encryption;
pub(crate) mod headers;
pub(crate) mod protection;

use crate::operation::{Operation, served_table};

/// Every operation that is served, the busiest first.
pub static SERVED: &[Operation] = served_table![
    get_blob::SPEC,
    get_blob_properties::SPEC,
    put_blob::SPEC,
    put_block::SPEC,
    put_block_list::SPEC,
    list_blobs::SPEC,
    delete_blob::SPEC,
    delete_blob::VERSION,
    delete_blob::PERMANENT,
    undelete_blob::SPEC,
    get_block_list::SPEC,
    get_blob_metadata::SPEC,
    get_blob_tags::SPEC,
    set_blob_metadata::SPEC,
    set_blob_properties::SPEC,
    set_blob_tags::SPEC,
    snapshot_blob::SPEC,
    append_block::SPEC,
    put_page::SPEC,
    get_page_ranges::SPEC,
    get_page_ranges::DIFF,
    put_append_blob::SPEC,
    put_page_blob::SPEC,
    seal_append_blob::SPEC,
    set_page_properties::RESIZE,
    set_page_properties::SEQUENCE,
    set_blob_tier::SPEC,
    set_blob_expiry::SPEC,
    set_immutability_policy::SPEC,
    delete_immutability_policy::SPEC,
    set_legal_hold::SPEC,
    lease_blob::ACQUIRE,
    lease_blob::RENEW,
    lease_blob::CHANGE,
    lease_blob::RELEASE,
    lease_blob::BREAK,
    create_container::SPEC,
    delete_container::SPEC,
    restore_container::SPEC,
    create_session::SPEC,
    find_blobs::IN_CONTAINER,
    find_blobs::IN_ACCOUNT,
    get_container_properties::SPEC,
    get_container_metadata::SPEC,
    set_container_metadata::SPEC,
    get_container_acl::SPEC,
    set_container_acl::SPEC,
    lease_container::ACQUIRE,
    lease_container::RENEW,
    lease_container::CHANGE,
    lease_container::RELEASE,
    lease_container::BREAK,
    list_containers::SPEC,
    get_service_properties::SPEC,
    set_service_properties::SPEC,
    get_service_stats::SPEC,
    get_user_delegation_key::SPEC,
    query_blob_contents::SPEC,
    get_account_info::OF_SERVICE,
    get_account_info::OF_CONTAINER,
    get_account_info::OF_BLOB,
    copy_blob::SPEC,
    copy_blob_from_url::SPEC,
    incremental_copy_blob::SPEC,
    abort_copy_blob::SPEC,
    put_blob_from_url::SPEC,
    put_block_from_url::SPEC,
    append_block_from_url::SPEC,
    put_page_from_url::SPEC,
    batch::SERVICE,
    batch::SERVICE_BY_PATH,
    batch::CONTAINER,
];
