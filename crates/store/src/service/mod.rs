//! Operations on an account's services.

mod list_containers;
mod properties;
