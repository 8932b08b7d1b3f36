//! Finding blobs by their tags, by index.
//!
//! A container's index is in its own space and changes with its blobs. Which containers have a tag of some name is in the
//! root, where a blob's transaction cannot write; so it is written there before the first blob gets such a tag.
//!
//! Held true: while a blob of a container has a tag, the root has the row of that tag and that container. The sweeper
//! removes a row only long after it found it without use, and a write that is about to use it says so first (`announce`).

mod announce;
mod find;

pub(crate) use announce::Announced;
pub use find::{FindBlobs, FindInclude, FoundBlob, FoundPage};
