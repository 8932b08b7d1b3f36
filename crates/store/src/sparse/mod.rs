//! Sparse content: bytes written here and there in a length that costs nothing. Page blobs, append blobs and files are made of it.
//!
//! A content is cut into windows of 1 MiB; a row per window lists what was written in it (docs/keys.md, "Sparse content").
//! Held true:
//! * A write at epoch E changes only the rows of epoch E. Who reads at an earlier epoch (a snapshot) sees what was there when
//!   its owner moved on to the next: moving on is all that a snapshot costs.
//! * Of a window's rows, those that name a piece or small bytes stand next to each other: what was overwritten never comes back.
//!   So a claim counts *windows*, not rows, and a row that changes looks at its neighbours only.
//! * Only the owner of the greatest epoch writes, in the one partition that the content is in, whichever that is.

mod copy;
mod edit;
mod forget;
mod ranges;
mod reader;
mod rows;
mod window;
mod within;

pub(crate) use copy::{Copy, Described, Wanted, describe};
pub(crate) use edit::{Editor, Fill};
pub(crate) use forget::{Forgetting, forget_some};
pub use ranges::{Difference, Range};
pub(crate) use ranges::{Stretch, diff, ranges};
pub(crate) use reader::{Batch, SparseReader};
#[cfg(test)]
pub(crate) use window::Span;
pub(crate) use window::{Place as WindowPlace, Window};

/// What one row is about.
pub(crate) const WINDOW: u64 = 1 << 20;

/// How many windows `from..to` touches: the most rows that a pass over it can see.
pub(crate) fn windows_of(from: u64, to: u64) -> usize {
    usize::try_from(to.div_ceil(WINDOW).saturating_sub(from / WINDOW)).unwrap_or(usize::MAX)
}

/// A content in its partition, as it is seen at an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub content: u64,
    pub epoch: u64,
}

#[cfg(test)]
mod tests;
