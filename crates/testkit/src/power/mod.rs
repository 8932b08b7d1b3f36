//! Power cuts, simulated: every disk that one could leave, rebuilt from a record of what was asked of the disk.
//!
//! A workload runs on the real engine and real extents under `powercut/shim.c`, which records each change of a file and
//! each sync, in order; the workload's own marks (issued, acknowledged, refused, seen) are in the same record.
//! For a moment in that record, [`World::image`] draws one disk from those that the following model allows:
//!
//! * what was done to a file before a completed sync of it began is there;
//! * each later write, truncation or punch is kept or lost by itself, and a write may be kept in some of its 512-byte
//!   sectors only; where none was kept there are zeros or what was there before, never bytes of others;
//! * a file's length is what the operations kept make it;
//! * names (create, rename, remove) that were there before a completed sync of their directory began are there; later ones
//!   survive up to some moment: one moment for all directories (*ordered*, as in ext4's journal), or one for each
//!   directory (*loose*, which no common file system does, but POSIX allows). A rename within a directory is atomic;
//! * syncing a file says nothing about its name.
//!
//! [`check`] then opens engine and extents on that disk and asks for all that was promised.

mod check;
mod image;
mod trace;
mod workload;
mod world;

pub use check::check;
pub use image::Pages;
pub use trace::{Change, Trace};
pub use workload::{End, Marks, run as run_workload};
pub use world::{Disk, Lies, Order, World, save};

/// Where the marks are, below the watched directory.
pub const MARKS: &str = "marks";
/// Where engine and extents are, below the watched directory.
pub const DATA: &str = "data";
