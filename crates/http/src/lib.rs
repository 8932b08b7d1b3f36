//! How it is said: Azure Storage's REST API in front of [`lazuli_store`]. This crate cannot reach the engine, so no
//! request can go round the rules; and it reads no clock and makes no ids: both are handed in.

pub mod head;
pub mod operation;

pub use head::{Head, Query, Service, Style, Target};
pub use operation::Spec;
