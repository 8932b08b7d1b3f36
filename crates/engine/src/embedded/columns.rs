//! Columns that are known to be empty. Most containers have no versions, no soft-deleted blobs and no uncommitted blocks, and still each
//! write of a blob looks for its own. In a store with many tables, a lookup that finds nothing costs as much as one that finds something.
//!
//! Held true: a column that is marked empty has no key in the published state. Only the thread with the commit turn asks whether a
//! column is empty, and it reports the keys of each batch before they are published. A key in a column withdraws the question about that
//! column; so an answer whose question still stands holds for the published state.
//!
//! Finding the answer may take long where much was deleted, so it runs on a thread of its own.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};

use bytes::Bytes;
use foldhash::fast::RandomState;

use super::Shared;
use crate::Key;

/// After so many looks in vain it is worth a question; after each answer that did not last, after twice as many.
const WORTH_FIRST: u32 = 16;
const WORTH_MAX: u32 = 1 << 16;
/// So that there is a bound. With more, it begins anew.
const COLUMNS_MAX: usize = 4096;

type Head = [u8; Key::HEAD];

pub(super) struct Columns(Mutex<Known>);

struct Known {
    columns: HashMap<Head, Column, RandomState>,
    questions: u64,
    /// `None` when nobody answers any more.
    asker: Option<mpsc::Sender<Question>>,
}

struct Column {
    what: What,
    misses: u32,
    worth: u32,
}

#[derive(PartialEq)]
enum What {
    Unknown,
    /// By the question of this number.
    Asked(u64),
    Empty,
}

/// Whether there is anything in a column.
pub(super) struct Question {
    column: Head,
    number: u64,
}

impl Columns {
    pub fn new(asker: mpsc::Sender<Question>) -> Self {
        Self(Mutex::new(Known { columns: HashMap::default(), questions: 0, asker: Some(asker) }))
    }

    /// Whether there is nothing in the column of `key`, for all that is known.
    pub fn is_empty(&self, key: &Key) -> bool {
        self.known().columns.get(head(key)).is_some_and(|column| column.what == What::Empty)
    }

    /// Says that `key` was looked for in vain, and is not about to be written.
    pub fn missed(&self, key: &Key) {
        let Known { columns, questions, asker } = &mut *self.known();
        if columns.len() >= COLUMNS_MAX && !columns.contains_key(head(key)) {
            columns.clear();
        }
        let column = columns.entry(*head(key)).or_insert(Column::UNKNOWN);
        column.misses = column.misses.saturating_add(1);
        if column.what == What::Unknown
            && column.misses >= column.worth
            && let Some(asker) = asker
        {
            *questions += 1;
            column.what = What::Asked(*questions);
            // Who does not answer any more is about to stop.
            let _ = asker.send(Question { column: *head(key), number: *questions });
        }
    }

    /// Says that `keys` are about to be published with something in them.
    pub fn fill<'a>(&self, keys: impl Iterator<Item = &'a Key>) {
        let mut known = self.known();
        let mut last = None;
        for key in keys.map(head) {
            if last.replace(key) != Some(key)
                && let Some(column) = known.columns.get_mut(key)
            {
                column.fill();
            }
        }
    }

    fn answer(&self, question: &Question, is_empty: bool) {
        let mut known = self.known();
        let column = known.columns.get_mut(&question.column);
        if let Some(column) = column.filter(|column| column.what == What::Asked(question.number)) {
            column.what = What::Empty;
            if !is_empty {
                column.fill();
            }
        }
    }

    /// The state may be any now.
    pub fn forget_all(&self) {
        self.known().columns.clear();
    }

    /// Ends the thread that answers.
    pub fn close(&self) {
        self.known().asker = None;
    }

    /// How many are known to be empty.
    pub fn count_empty(&self) -> u64 {
        self.known().columns.values().filter(|column| column.what == What::Empty).count() as u64
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Column {
    const UNKNOWN: Self = Self { what: What::Unknown, misses: 0, worth: WORTH_FIRST };

    /// There is something in it.
    fn fill(&mut self) {
        if self.what != What::Unknown {
            self.what = What::Unknown;
            self.worth = (self.worth * 2).min(WORTH_MAX);
        }
        self.misses = 0;
    }
}

/// Answers questions until there are no more.
pub(super) fn answer(shared: &Shared, questions: &mpsc::Receiver<Question>) {
    for question in questions {
        let keys = shared.keys.read().unwrap_or_else(PoisonError::into_inner);
        let Some(keys) = keys.as_ref() else { continue };
        let from = Key::from_stored(Bytes::copy_from_slice(&question.column)).expect("a head is a key");
        let is_empty = keys.snapshot().range(&from, &from.after_prefix()).next().is_none();
        shared.columns.answer(&question, is_empty);
    }
}

fn head(key: &Key) -> &Head {
    key.as_bytes().first_chunk().expect("a key has a head")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Space};

    fn key(column: u8, row: u8) -> Key {
        Key::new(Space(1), Column(column), &[&[row]])
    }

    fn columns() -> (Columns, mpsc::Receiver<Question>) {
        let (asker, questions) = mpsc::channel();
        (Columns::new(asker), questions)
    }

    /// How many misses lead to a question.
    fn misses(columns: &Columns, questions: &mpsc::Receiver<Question>, key: &Key) -> (u32, Question) {
        (1..)
            .find_map(|count| {
                columns.missed(key);
                Some((count, questions.try_recv().ok()?))
            })
            .expect("there is a question at some time")
    }

    #[test]
    fn a_column_is_empty_once_it_was_answered_so_and_until_it_is_filled() {
        let (columns, questions) = columns();
        let (count, question) = misses(&columns, &questions, &key(1, 1));
        assert_eq!(count, WORTH_FIRST);
        assert!(!columns.is_empty(&key(1, 1)));
        columns.answer(&question, true);
        assert!(columns.is_empty(&key(1, 1)) && columns.is_empty(&key(1, 2)) && !columns.is_empty(&key(2, 1)));
        assert_eq!(columns.count_empty(), 1);
        columns.fill([key(0, 1), key(2, 1)].iter());
        assert!(columns.is_empty(&key(1, 1)));
        columns.fill([key(0, 1), key(1, 7)].iter());
        assert!(!columns.is_empty(&key(1, 1)));
        // It is asked again, but later.
        let (count, question) = misses(&columns, &questions, &key(1, 1));
        assert_eq!(count, 2 * WORTH_FIRST);
        columns.answer(&question, false);
        assert!(!columns.is_empty(&key(1, 1)));
        assert_eq!(misses(&columns, &questions, &key(1, 1)).0, 4 * WORTH_FIRST);
    }

    #[test]
    fn an_answer_is_nothing_to_a_question_that_was_taken_back() {
        let (columns, questions) = columns();
        let (_, question) = misses(&columns, &questions, &key(1, 1));
        columns.fill([key(1, 7)].iter());
        columns.answer(&question, true);
        assert!(!columns.is_empty(&key(1, 1)));
        // Nor to the next one.
        let (_, next) = misses(&columns, &questions, &key(1, 1));
        columns.answer(&question, true);
        assert!(!columns.is_empty(&key(1, 1)));
        columns.forget_all();
        columns.answer(&next, true);
        assert!(!columns.is_empty(&key(1, 1)));
    }

    #[test]
    fn columns_are_bounded() {
        let (columns, _questions) = columns();
        for space in 0..20_000 {
            columns.missed(&Key::new(Space(space), Column(1), &[]));
            assert!(columns.known().columns.len() <= COLUMNS_MAX);
        }
    }
}
