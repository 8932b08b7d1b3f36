//! The Blob service: one file per operation, and the two tables that name them all.

pub mod batch;
pub mod create_container;
pub mod delete_blob;
pub mod delete_container;
pub mod delete_immutability_policy;
pub mod get_account_info;
pub mod get_blob;
pub mod get_blob_metadata;
pub mod get_blob_properties;
pub mod get_blob_tags;
pub mod get_block_list;
pub mod get_container_acl;
pub mod get_container_metadata;
pub mod get_container_properties;
pub mod get_service_properties;
pub mod get_service_stats;
pub mod get_user_delegation_key;
pub mod lease_blob;
pub mod lease_container;
pub mod list_blobs;
pub mod list_containers;
pub mod put_blob;
pub mod put_block;
pub mod put_block_list;
pub mod set_blob_expiry;
pub mod set_blob_metadata;
pub mod set_blob_properties;
pub mod set_blob_tags;
pub mod set_blob_tier;
pub mod set_container_acl;
pub mod set_container_metadata;
pub mod set_immutability_policy;
pub mod set_legal_hold;
pub mod set_service_properties;
pub mod snapshot_blob;

pub(crate) mod content;
pub(crate) mod encryption;
pub(crate) mod headers;
pub(crate) mod lease;
pub(crate) mod page;
pub(crate) mod protection;

use crate::operation::When::{Header, HeaderIs, HeaderIsNot, NoHeader, NoQuery, Query};
use crate::operation::{On, Operation, Spec, served_table};

/// Every operation that is served, the busiest first.
pub static SERVED: &[Operation] = served_table![
    get_blob::SPEC,
    get_blob_properties::SPEC,
    put_blob::SPEC,
    put_block::SPEC,
    put_block_list::SPEC,
    list_blobs::SPEC,
    delete_blob::SPEC,
    get_block_list::SPEC,
    get_blob_metadata::SPEC,
    get_blob_tags::SPEC,
    set_blob_metadata::SPEC,
    set_blob_properties::SPEC,
    set_blob_tags::SPEC,
    snapshot_blob::SPEC,
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
    get_account_info::OF_SERVICE,
    get_account_info::OF_CONTAINER,
    get_account_info::OF_BLOB,
    batch::SERVICE,
    batch::SERVICE_BY_PATH,
    batch::CONTAINER,
];

const BLOB: Spec = Spec { methods: &["PUT"], on: On::Blob, ..Spec::PLAIN };
const CONTAINER: Spec = Spec { methods: &["PUT"], on: On::Container, restype: Some("container"), ..Spec::PLAIN };

/// What Azure has and we do not, yet: 501, by name. SDKs retry a 500 for a minute, and a 501 not at all.
#[rustfmt::skip]
pub static NOT_YET: &[Spec] = &[
    Spec { name: "PutAppendBlob", when: &[HeaderIs("x-ms-blob-type", "AppendBlob"), NoHeader("x-ms-copy-source")], ..BLOB },
    Spec { name: "AppendBlock", comp: Some("appendblock"), when: &[NoHeader("x-ms-copy-source")], ..BLOB },
    Spec { name: "AppendBlockFromURL", comp: Some("appendblock"), when: &[Header("x-ms-copy-source")], ..BLOB },
    Spec { name: "SealAppendBlob", comp: Some("seal"), ..BLOB },
    Spec { name: "PutPageBlob", when: &[HeaderIs("x-ms-blob-type", "PageBlob"), NoHeader("x-ms-copy-source")], ..BLOB },
    Spec { name: "PutPage", comp: Some("page"), when: &[NoHeader("x-ms-copy-source")], ..BLOB },
    Spec { name: "PutPageFromURL", comp: Some("page"), when: &[Header("x-ms-copy-source")], ..BLOB },
    Spec { name: "GetPageRanges", methods: &["GET"], comp: Some("pagelist"), when: &[NoQuery("prevsnapshot")], ..BLOB },
    Spec { name: "GetPageRangesDiff", methods: &["GET"], comp: Some("pagelist"), when: &[Query("prevsnapshot")], ..BLOB },
    Spec { name: "ResizePageBlob", comp: Some("properties"), when: &[Header("x-ms-blob-content-length")], ..BLOB },
    Spec { name: "SetSequenceNumber", comp: Some("properties"), when: &[Header("x-ms-sequence-number-action"), NoHeader("x-ms-blob-content-length")], ..BLOB },
    Spec { name: "IncrementalCopyBlob", comp: Some("incrementalcopy"), ..BLOB },
    Spec { name: "PutBlobFromURL", when: &[Header("x-ms-copy-source"), Header("x-ms-blob-type")], ..BLOB },
    Spec { name: "CopyBlobFromURL", when: &[Header("x-ms-copy-source"), NoHeader("x-ms-blob-type"), HeaderIs("x-ms-requires-sync", "true")], ..BLOB },
    Spec { name: "CopyBlob", when: &[Header("x-ms-copy-source"), NoHeader("x-ms-blob-type"), HeaderIsNot("x-ms-requires-sync", "true")], ..BLOB },
    Spec { name: "AbortCopyBlob", comp: Some("copy"), ..BLOB },
    Spec { name: "PutBlockFromURL", comp: Some("block"), when: &[Header("x-ms-copy-source")], ..BLOB },
    Spec { name: "UndeleteBlob", comp: Some("undelete"), ..BLOB },
    Spec { name: "QueryBlobContents", methods: &["POST"], comp: Some("query"), ..BLOB },
    Spec { name: "FindBlobsByTagsInContainer", methods: &["GET"], comp: Some("blobs"), ..CONTAINER },
    Spec { name: "RenameContainer", comp: Some("rename"), ..CONTAINER },
    Spec { name: "RestoreContainer", comp: Some("undelete"), ..CONTAINER },
    Spec { name: "CreateSession", methods: &["POST"], comp: Some("session"), ..CONTAINER },
    Spec { name: "FindBlobsByTags", methods: &["GET"], comp: Some("blobs"), ..Spec::PLAIN },
];
