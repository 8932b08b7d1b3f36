//! Operations on an account's Blob service.

mod list_containers;
mod properties;
