//! How it is said: Azure Storage's REST API in front of [`lazuli_store`]. This crate cannot reach the engine, so no
//! request can go round the rules; and it reads no clock and makes no ids: both are handed in.

pub mod accounts;
mod analytics;
pub mod answer;
pub mod auth;
pub mod blob;
pub mod body;
pub mod client;
pub mod cors;
mod fault_log;
pub mod file;
pub mod head;
mod header_case;
mod heads;
pub mod lake;
pub mod metrics;
pub mod operation;
pub mod queue;
pub mod recorder;
pub mod refusal;
pub mod rehearsal;
pub mod serve;
mod service;
pub mod sources;
pub mod status;
pub mod table;
pub mod versions;
pub mod wire;
mod workers;

pub use accounts::Accounts;
pub use head::{Head, Query, Service, Style, Target};
pub use operation::Spec;
pub use serve::{Edge, Ids, MovedBy, Options, WallClock};
