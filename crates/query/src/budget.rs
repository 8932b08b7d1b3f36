//! What a query may cost. A step is about as much work as one node of an expression, or sixty-four bytes looked at once.
//!
//! Held true: code that runs for a query charges what it does; no record costs more than its bound, so a slice is over soon
//! after its steps are spent; and a query ends once it has cost more than its blob's length justifies.

use std::cell::Cell;

/// After so many steps others get their turn: some milliseconds.
pub const SLICE_STEPS: u64 = 1 << 18;
/// What one record may cost.
pub const RECORD_STEPS: u64 = 16 << 20;
/// Text that may be made out of one record.
pub const RECORD_TEXT: usize = 16 << 20;
/// What a query may cost, and how much more for each byte of the blob it went over.
pub const QUERY_STEPS: u64 = 1 << 28;
pub const QUERY_STEPS_PER_BYTE: u64 = 256;

/// Bytes that are looked at in one step.
const STEP_BYTES: usize = 64;

/// What there is too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    Steps,
    Text,
}

#[derive(Debug, Default)]
pub struct Budget {
    spent: Cell<u64>,
    slice_end: Cell<u64>,
    record_end: Cell<u64>,
    text: Cell<usize>,
}

impl Budget {
    pub fn begin_slice(&self) {
        self.slice_end.set(self.spent.get() + SLICE_STEPS);
    }

    pub fn begin_record(&self) {
        self.record_end.set(self.spent.get() + RECORD_STEPS);
        self.text.set(0);
    }

    pub fn steps(&self, steps: u64) -> Result<(), Exceeded> {
        let spent = self.spent.get().saturating_add(steps);
        self.spent.set(spent);
        if spent > self.record_end.get() { Err(Exceeded::Steps) } else { Ok(()) }
    }

    /// A look at so many bytes.
    pub fn look(&self, bytes: usize) -> Result<(), Exceeded> {
        self.steps(1 + (bytes / STEP_BYTES) as u64)
    }

    /// So many bytes of text that did not exist before.
    pub fn make(&self, bytes: usize) -> Result<(), Exceeded> {
        let text = self.text.get().saturating_add(bytes);
        self.text.set(text);
        self.look(bytes)?;
        if text > RECORD_TEXT { Err(Exceeded::Text) } else { Ok(()) }
    }

    pub fn is_slice_over(&self) -> bool {
        self.spent.get() >= self.slice_end.get()
    }

    /// Whether it has cost more than so many bytes of a blob justify.
    pub fn is_spent(&self, scanned: u64) -> bool {
        self.spent.get() > QUERY_STEPS.saturating_add(scanned.saturating_mul(QUERY_STEPS_PER_BYTE))
    }

    pub fn spent(&self) -> u64 {
        self.spent.get()
    }
}
