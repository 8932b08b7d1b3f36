//! What is true: Azure Storage's rules as values and pure functions. No clock, no randomness, no I/O, no async.

#![warn(unreachable_pub)]

pub mod access;
pub mod account;
pub mod analytics;
pub mod authorize;
pub mod avro;
pub mod blob;
pub mod conditions;
pub mod container;
pub mod depth;
pub mod etag;
pub mod feed;
pub mod file;
pub mod inventory;
pub mod lake;
pub mod lease;
pub mod lifecycle;
pub mod metadata;
pub mod names;
pub mod queue;
pub mod refusal;
pub mod replication;
pub mod roles;
pub mod service;
pub mod table;
pub mod tags;
pub mod time;
pub mod version;

pub use account::AccountSettings;
pub use conditions::Conditions;
pub use etag::ETag;
pub use lease::{Lease, LeaseId};
pub use metadata::Metadata;
pub use names::{AccountName, BlobName, BlockId, ContainerName, QueueName};
pub use refusal::Refusal;
pub use table::TableName;
pub use tags::Tags;
pub use time::Timestamp;
pub use version::Version;
