//! Who may still be reading chunk rows of a content that is dead by now. A pin keeps *pieces*; this keeps *rows*.
//!
//! A reader of a content with several chunks enters before it looks the record up, and leaves when it is done. The sweeper
//! draws a line after it has seen the garbage record: whoever enters later sees that the content is dead. When all
//! who entered before the line have left, the rows can go.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::sweep::Sweep;

pub(crate) struct Readers {
    generation: Mutex<Arc<Generation>>,
    /// Earlier generations that still had readers when the last line was drawn.
    earlier: Mutex<Vec<Weak<Generation>>>,
    sweep: Arc<Sweep>,
}

/// Readers hold it; its end wakes the sweeper.
pub(crate) struct Generation(Arc<Sweep>);

impl Drop for Generation {
    fn drop(&mut self) {
        self.0.wake();
    }
}

/// Passed when all who entered before it was drawn have left.
pub(crate) struct Line(Vec<Weak<Generation>>);

impl Line {
    pub fn passed(&self) -> bool {
        self.0.iter().all(|generation| generation.strong_count() == 0)
    }
}

impl Readers {
    pub fn new(sweep: Arc<Sweep>) -> Self {
        let generation = Mutex::new(Arc::new(Generation(sweep.clone())));
        Self { generation, earlier: Mutex::default(), sweep }
    }

    pub fn enter(&self) -> Arc<Generation> {
        self.generation.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn draw_line(&self) -> Line {
        let mut earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
        let next = Arc::new(Generation(self.sweep.clone()));
        let ended = std::mem::replace(&mut *self.generation.lock().unwrap_or_else(PoisonError::into_inner), next);
        earlier.push(Arc::downgrade(&ended));
        drop(ended);
        earlier.retain(|generation| generation.strong_count() > 0);
        Line(earlier.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_waits_for_those_before_it_only() {
        let readers = Readers::new(Arc::new(Sweep::new()));
        assert!(readers.draw_line().passed());
        let first = readers.enter();
        let line = readers.draw_line();
        let second = readers.enter();
        assert!(!line.passed());
        let later = readers.draw_line();
        drop(first);
        assert!(line.passed() && !later.passed());
        drop(second);
        assert!(later.passed());
    }
}
