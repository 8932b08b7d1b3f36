//! What the readers of this gateway hold, and the one question of the sweeper: may this be collected?
//!
//! Held true:
//! * A reader enters before it looks up the record that names a content, then holds that content, and only then leaves. Nothing
//!   that any look may have found is collected before all who entered earlier have held what they found, or left.
//! * A held content keeps its rows and, by their claims, its pieces. Pieces of a sparse content can lose their claim while it
//!   lives (they are overwritten), so its reader also holds the pieces that its last look found.
//! * A reader delays the collection of what it holds, and of nothing else.
//! * The sweeper draws a line when it has seen that something is dead. A reader that enters later sees that too. So it waits only for
//!   readers from before the line, and new ones cannot starve it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lazuli_engine::Space;
use tokio::sync::Notify;

use crate::keys::BlobKeys;
use crate::records::{Run, Start};
use crate::sweep::Sweep;

pub(crate) struct Readers {
    state: Mutex<State>,
    sweep: Arc<Sweep>,
    /// A reader has held what it found, or left.
    opened: Notify,
}

/// All that the readers of this gateway hold: for other gateways (`pins`).
#[derive(Default)]
pub(crate) struct Held {
    pub contents: Vec<Content>,
    /// With the length of each.
    pub pieces: Vec<(Start, u64)>,
}

/// A moment in the order in which readers enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Line(u64);

#[derive(Default)]
struct State {
    /// The number of the next reader.
    next: u64,
    opening: BTreeSet<u64>,
    contents: BTreeMap<Content, Holders>,
    pieces: BTreeMap<Start, HeldPiece>,
    /// Waits for the readers that entered before a line: partitions to collect from then on, or the sweeper itself (`None`).
    waiting: BTreeSet<(Line, Option<BlobKeys>)>,
}

/// Space, name and id.
pub(crate) type Content = (Space, Bytes, u64);

#[derive(Default)]
struct Holders {
    /// The numbers of those who hold it.
    by: BTreeSet<u64>,
    awaited: bool,
}

struct HeldPiece {
    length: u64,
    by: BTreeSet<u64>,
    awaited: BTreeSet<BlobKeys>,
}

/// A reader that has not held anything yet. It lives for a look, never for as long as a client takes.
pub(crate) struct Opening {
    readers: Arc<Readers>,
    number: u64,
}

/// Keeps a content, or pieces, for as long as it lives.
pub(crate) struct Hold {
    readers: Arc<Readers>,
    number: u64,
    what: What,
}

enum What {
    Content(Content),
    Pieces(Vec<Start>),
}

impl Readers {
    pub fn new(sweep: Arc<Sweep>) -> Self {
        Self { state: Mutex::default(), sweep, opened: Notify::new() }
    }

    /// What is held by all who have entered by now. Waits for those of them that have not held yet what they found.
    pub async fn held(&self) -> Held {
        let line = self.draw_line();
        loop {
            let mut opened = std::pin::pin!(self.opened.notified());
            opened.as_mut().enable();
            let held = self.with(|state| {
                let is_opened = state.opening.first().is_none_or(|first| *first >= line.0);
                is_opened.then(|| Held {
                    contents: state.contents.keys().cloned().collect(),
                    pieces: state.pieces.iter().map(|(start, piece)| (*start, piece.length)).collect(),
                })
            });
            match held {
                Some(held) => return held,
                None => opened.await,
            }
        }
    }

    pub fn enter(self: &Arc<Self>) -> Opening {
        let number = self.with(|state| {
            state.next += 1;
            state.opening.insert(state.next - 1);
            state.next - 1
        });
        Opening { readers: self.clone(), number }
    }

    pub fn draw_line(&self) -> Line {
        self.with(|state| Line(state.next))
    }

    /// Whether all who entered before `line` hold what they found. If not, the sweeper is woken when they do; and hinted at `whose`.
    pub fn have_opened(&self, line: Line, whose: Option<&BlobKeys>) -> bool {
        self.with(|state| {
            let opened = state.opening.first().is_none_or(|first| *first >= line.0);
            if !opened {
                state.waiting.insert((line, whose.cloned()));
            }
            opened
        })
    }

    /// Whether no reader from before `line` holds the content. If one does, the sweeper is hinted at the partition when it goes.
    pub fn may_collect(&self, keys: &BlobKeys, content: u64, line: Line) -> bool {
        self.with(|state| {
            let Some(held) = state.contents.get_mut(&content_of(keys, content)) else { return true };
            held.awaited |= is_held(&held.by, line);
            !is_held(&held.by, line)
        })
    }

    /// The same about pieces, which the partition `keys` has let go.
    pub fn may_free(&self, keys: &BlobKeys, runs: &[Run], line: Line) -> bool {
        self.with(|state| {
            for run in runs {
                if let Some(piece) = state.pieces.get_mut(&run.start())
                    && is_held(&piece.by, line)
                {
                    piece.awaited.insert(keys.clone());
                    return false;
                }
            }
            true
        })
    }

    /// The names of a space under which somebody holds a content.
    pub fn names_held(&self, space: Space) -> BTreeSet<Bytes> {
        self.with(|state| {
            let contents = state.contents.range_mut((space, Bytes::new(), 0)..);
            let contents = contents.take_while(|((held, ..), _)| *held == space);
            contents
                .map(|((_, name, _), held)| {
                    held.awaited = true;
                    name.clone()
                })
                .collect()
        })
    }

    /// Offset and length of the pieces of an extent that somebody holds.
    pub fn pieces_held(&self, extent: u64) -> Vec<(u64, u64)> {
        self.with(|state| {
            let pieces = state.pieces.range((extent, 0)..=(extent, u64::MAX));
            pieces.map(|((_, offset), piece)| (*offset, piece.length)).collect()
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn content_of(keys: &BlobKeys, content: u64) -> Content {
    (keys.space, keys.name.clone(), content)
}

fn is_held(by: &BTreeSet<u64>, line: Line) -> bool {
    by.first().is_some_and(|first| *first < line.0)
}

impl Opening {
    pub fn hold(&self, keys: &BlobKeys, content: u64) -> Hold {
        let content = content_of(keys, content);
        self.readers.with(|state| {
            assert!(state.opening.contains(&self.number), "a reader holds what it found before it leaves");
            state.contents.entry(content.clone()).or_default().by.insert(self.number)
        });
        Hold { readers: self.readers.clone(), number: self.number, what: What::Content(content) }
    }

    pub fn hold_pieces<'a>(&self, runs: impl Iterator<Item = &'a Run>) -> Hold {
        let mut starts = Vec::new();
        self.readers.with(|state| {
            for run in runs {
                let fresh = || HeldPiece { length: run.length, by: BTreeSet::new(), awaited: BTreeSet::new() };
                state.pieces.entry(run.start()).or_insert_with(fresh).by.insert(self.number);
                starts.push(run.start());
            }
        });
        Hold { readers: self.readers.clone(), number: self.number, what: What::Pieces(starts) }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let waited = self.readers.with(|state| {
            state.opening.remove(&self.number);
            state.take_opened()
        });
        self.readers.opened.notify_waiters();
        for (_, whose) in waited {
            match whose {
                Some(keys) => self.readers.sweep.hint_partition(keys),
                None => self.readers.sweep.wake(),
            }
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let sweep = &self.readers.sweep;
        match &self.what {
            What::Content(content) => {
                let awaited = self.readers.with(|state| state.let_go(content, self.number));
                if awaited {
                    sweep.hint_partition(BlobKeys::of(content.0, content.1.clone()));
                    sweep.hint_space(content.0);
                }
            }
            What::Pieces(starts) => {
                let awaited = self.readers.with(|state| state.let_go_pieces(starts, self.number));
                awaited.into_iter().for_each(|keys| sweep.hint_partition(keys));
            }
        }
    }
}

impl State {
    /// Those who waited for readers that have all left.
    fn take_opened(&mut self) -> BTreeSet<(Line, Option<BlobKeys>)> {
        match self.opening.first() {
            None => std::mem::take(&mut self.waiting),
            Some(first) => {
                let later = self.waiting.split_off(&(Line(first + 1), None));
                std::mem::replace(&mut self.waiting, later)
            }
        }
    }

    /// True when the sweeper asked for it.
    fn let_go(&mut self, content: &Content, number: u64) -> bool {
        let Some(held) = self.contents.get_mut(content) else { return false };
        held.by.remove(&number);
        let awaited = std::mem::take(&mut held.awaited);
        if held.by.is_empty() {
            self.contents.remove(content);
        }
        awaited
    }

    fn let_go_pieces(&mut self, starts: &[Start], number: u64) -> BTreeSet<BlobKeys> {
        let mut awaited = BTreeSet::new();
        for start in starts {
            let Some(piece) = self.pieces.get_mut(start) else { continue };
            piece.by.remove(&number);
            awaited.append(&mut piece.awaited);
            if piece.by.is_empty() {
                self.pieces.remove(start);
            }
        }
        awaited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readers() -> Arc<Readers> {
        Arc::new(Readers::new(Arc::new(Sweep::new())))
    }

    fn keys(name: &'static str) -> BlobKeys {
        BlobKeys::of(Space(7), Bytes::from_static(name.as_bytes()))
    }

    #[test]
    fn a_reader_holds_its_content_and_no_other() {
        let readers = readers();
        let hold = readers.enter().hold(&keys("a"), 1);
        let line = readers.draw_line();
        assert!(!readers.may_collect(&keys("a"), 1, line));
        assert!(readers.may_collect(&keys("a"), 2, line) && readers.may_collect(&keys("b"), 1, line));
        assert!(readers.have_opened(line, None));
        drop(hold);
        assert!(readers.may_collect(&keys("a"), 1, line));
    }

    #[test]
    fn a_reader_behind_the_line_is_not_waited_for() {
        let readers = readers();
        let first = readers.enter().hold(&keys("a"), 1);
        let line = readers.draw_line();
        let _second = readers.enter().hold(&keys("a"), 1);
        assert!(!readers.may_collect(&keys("a"), 1, line));
        drop(first);
        assert!(readers.may_collect(&keys("a"), 1, line));
        assert!(!readers.may_collect(&keys("a"), 1, readers.draw_line()));
    }

    #[test]
    fn a_reader_that_is_still_opening_may_have_found_anything() {
        let readers = readers();
        let opening = readers.enter();
        let line = readers.draw_line();
        let _later = readers.enter();
        assert!(!readers.have_opened(line, None));
        let hold = opening.hold(&keys("a"), 1);
        drop(opening);
        assert!(readers.have_opened(line, None) && !readers.may_collect(&keys("a"), 1, line));
        drop(hold);
    }

    #[test]
    fn pieces_are_held_by_those_who_found_them() {
        let readers = readers();
        let run = |offset| Run { extent: 3, offset, length: 10, seal: 0 };
        let hold = readers.enter().hold_pieces([run(0), run(64), run(64)].iter());
        let line = readers.draw_line();
        assert!(!readers.may_free(&keys("a"), &[run(32), run(64)], line));
        assert!(readers.may_free(&keys("a"), &[run(32)], line));
        assert_eq!(readers.pieces_held(3), [(0, 10), (64, 10)]);
        drop(hold);
        assert!(readers.may_free(&keys("a"), &[run(64)], line) && readers.pieces_held(3).is_empty());
    }
}
