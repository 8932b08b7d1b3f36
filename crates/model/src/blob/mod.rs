//! Blobs: their record, and what each operation makes of it. One file per family of operations.

mod record;
mod requests;

pub use record::{Blob, ContentHeaders, ContentRef, Kind, Tier};
pub use requests::*;
