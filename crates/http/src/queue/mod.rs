//! The Queue service: one file per operation, and the two tables that name them all.

pub mod clear_messages;
pub mod create_queue;
pub mod delete_message;
pub mod delete_queue;
pub mod get_messages;
pub mod get_queue_acl;
pub mod get_queue_metadata;
pub mod get_service_properties;
pub mod get_service_stats;
pub mod get_user_delegation_key;
pub mod list_queues;
mod parameters;
pub mod peek_messages;
pub mod put_message;
pub mod set_queue_acl;
pub mod set_queue_metadata;
pub mod set_service_properties;
pub mod update_message;

use crate::answer::{Answer, name};
use crate::operation::{Operation, served_table};

/// Every operation that is served, the busiest first.
pub static SERVED: &[Operation] = served_table![
    get_messages::SPEC,
    delete_message::SPEC,
    put_message::SPEC,
    update_message::SPEC,
    peek_messages::SPEC,
    get_queue_metadata::SPEC,
    create_queue::SPEC,
    delete_queue::SPEC,
    set_queue_metadata::SPEC,
    get_queue_acl::SPEC,
    set_queue_acl::SPEC,
    clear_messages::SPEC,
    list_queues::SPEC,
    get_service_properties::SPEC,
    set_service_properties::SPEC,
    get_service_stats::SPEC,
    get_user_delegation_key::SPEC,
];

/// A message of 64 KiB, however much of it has to be escaped.
const DOCUMENT_MAX: u64 = 6 * (64 << 10) + 4096;

/// Reads of this service tell caches to keep away.
fn fresh(answer: Answer) -> Answer {
    answer.constant(&name::CACHE_CONTROL, "no-cache")
}
