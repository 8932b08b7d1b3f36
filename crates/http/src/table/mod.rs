//! The Table service: one file per operation, the table that names them all, and how this service speaks: OData, in JSON, or in Atom
//! with clients of old versions.

pub mod batch;
pub mod create_table;
pub mod delete_entity;
pub mod delete_table;
pub mod get_entity;
pub mod get_service_properties;
pub mod get_service_stats;
pub mod get_table;
pub mod get_table_acl;
pub mod insert_entity;
pub mod merge_entity;
pub mod query_entities;
pub mod query_tables;
pub mod set_service_properties;
pub mod set_table_acl;
pub mod status;
pub mod update_entity;

mod access;
mod answers;
pub mod ask;
pub mod atom;
mod continuation;
mod errors;
pub mod format;
pub mod json;
mod links;
mod numbers;
pub mod selection;
mod target;

pub use access::{CHALLENGE_SINCE, scope, signed_for, unauthenticated, untunnel};
pub use errors::Manner;
pub(crate) use links::encoded_key;
pub use target::{Target, target};

use crate::operation::{Operation, served_table};

/// Every operation that is served, the busiest first.
pub static SERVED: &[Operation] = served_table![
    get_entity::SPEC,
    insert_entity::SPEC,
    query_entities::SPEC,
    update_entity::UPDATE,
    update_entity::UPSERT,
    merge_entity::MERGE,
    merge_entity::UPSERT,
    delete_entity::SPEC,
    batch::SPEC,
    query_tables::SPEC,
    create_table::SPEC,
    get_table::SPEC,
    delete_table::SPEC,
    get_table_acl::SPEC,
    set_table_acl::SPEC,
    get_service_properties::SPEC,
    set_service_properties::SPEC,
    get_service_stats::SPEC,
];

/// An entity of 1 MiB, in whatever way it is written down; and a batch.
const DOCUMENT_MAX: u64 = 4 << 20;
