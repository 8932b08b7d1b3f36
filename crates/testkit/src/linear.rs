//! Is a concurrent history linearizable? That is: can its operations be put in one order, each somewhere between its
//! call and its return, so that a sequential specification gives every answer that was seen?
//!
//! The search is Wing and Gong's with Lowe's memory of dead ends: a (set of operations done, state) that was once
//! without a way out is never entered again. Of orders that differ only in where something stands that changed nothing, one is tried. Histories of different objects are checked apart, because
//! linearizability is local.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;

/// What an object should do, one operation at a time.
pub trait Specification {
    type State: Clone + Eq + Hash + Debug;
    type Op: Debug;
    type Answer: Debug;

    fn initial(&self) -> Self::State;

    /// The states in which `op` may leave `state` when it answered `answer`; empty when it could not have.
    /// `None` is an operation whose answer nobody saw (a fault, a client that went away): the state it leaves if it happened.
    fn step(&self, state: &Self::State, op: &Self::Op, answer: Option<&Self::Answer>) -> Vec<Self::State>;

    /// Whether an answer says if the operation happened. One that did not happen leaves the state as it is.
    fn tells(&self, _answer: &Self::Answer) -> bool {
        true
    }

    /// Whether `op`, having answered so, changes nothing in whatever state.
    fn is_inert(&self, _op: &Self::Op, _answer: &Self::Answer) -> bool {
        false
    }
}

/// One operation as its client saw it. Times come from one counter.
#[derive(Clone, Debug)]
pub struct Event<O, A> {
    pub client: usize,
    pub op: O,
    pub called: u64,
    /// Answer and time of return; `None` if no answer was seen: it may take effect at any later time, or never.
    pub returned: Option<(A, u64)>,
}

/// The longest order that was found, when there is no whole one.
#[derive(Debug)]
pub struct Violation {
    pub done: usize,
    pub of: usize,
    pub story: String,
}

/// `Ok` if some order explains the history.
pub fn check<S: Specification>(spec: &S, history: &[Event<S::Op, S::Answer>]) -> Result<(), Violation> {
    check_within(spec, history, usize::MAX).map(|_| ())
}

/// As [`check`], but gives up after so many tries to go on: `Ok(false)` when nobody knows.
pub fn check_within<S: Specification>(
    spec: &S,
    history: &[Event<S::Op, S::Answer>],
    limit: usize,
) -> Result<bool, Violation> {
    assert!(history.len() <= 128, "a history is a bit set of at most 128 operations");
    let dead = HashSet::new();
    let mut search = Search { spec, history, dead, left: limit, best: 0, path: Vec::new(), best_path: Vec::new() };
    if search.explore(0, &spec.initial()) {
        return Ok(true);
    }
    if search.left == 0 {
        return Ok(false);
    }
    Err(Violation { done: search.best_path.len(), of: history.len(), story: search.story() })
}

struct Search<'a, S: Specification> {
    spec: &'a S,
    history: &'a [Event<S::Op, S::Answer>],
    dead: HashSet<(u128, S::State)>,
    /// How many more tries there are.
    left: usize,
    best: u32,
    path: Vec<usize>,
    best_path: Vec<usize>,
}

/// One operation, what is known of it beforehand, and the states it may leave.
struct Way<T> {
    at: usize,
    is_told: bool,
    is_inert: bool,
    after: Vec<T>,
}

impl<S: Specification> Search<'_, S> {
    /// Whether the operations not in `done` can follow from `state`.
    fn explore(&mut self, done: u128, state: &S::State) -> bool {
        if self.all_answered(done) {
            return true;
        }
        if !self.dead.insert((done, state.clone())) {
            return false;
        }
        if done.count_ones() >= self.best {
            self.best = done.count_ones();
            self.best_path = self.path.clone();
        }
        let horizon = self.earliest_return(done);
        let mut ways = Vec::new();
        for at in 0..self.history.len() {
            let event = &self.history[at];
            if done & (1 << at) != 0 || event.called > horizon {
                continue;
            }
            if self.left == 0 {
                return false;
            }
            self.left -= 1;
            let way = self.way(state, at, horizon);
            // What changes nothing and fits here may as well come here as anywhere else: the others do not notice. Unless something was
            // learnt by it, as the ETag of a write whose answer nobody saw: that may be the wrong one to learn it of.
            if way.is_inert && way.after.as_slice() == [state.clone()] {
                ways = vec![way];
                break;
            }
            ways.push(way);
        }
        // What is certain leads nowhere sooner.
        ways.sort_by_key(|way| !way.is_told);
        for Way { at, after, .. } in ways {
            for next in after {
                self.path.push(at);
                if self.explore(done | (1 << at), &next) {
                    return true;
                }
                self.path.pop();
            }
        }
        false
    }

    /// Where an operation that may come next leads to.
    fn way(&self, state: &S::State, at: usize, horizon: u64) -> Way<S::State> {
        let event = &self.history[at];
        let answer = event.returned.as_ref().map(|(answer, _)| answer);
        let is_told = answer.is_some_and(|answer| self.spec.tells(answer));
        let mut after = self.spec.step(state, &event.op, answer);
        // That it did not happen can be said as late as anything, so it is said when it has to be, which is never without a return.
        let must = event.returned.as_ref().is_some_and(|(_, returned)| *returned == horizon);
        if !is_told && !must {
            after.retain(|next| next != state);
        }
        let is_inert = answer.is_some_and(|answer| self.spec.is_inert(&event.op, answer));
        Way { at, is_told, is_inert, after }
    }

    /// Only what was answered must have happened.
    fn all_answered(&self, done: u128) -> bool {
        self.history.iter().enumerate().all(|(at, event)| done & (1 << at) != 0 || event.returned.is_none())
    }

    /// Nothing that was called after this may come next: the operation that returned then has to come before it.
    fn earliest_return(&self, done: u128) -> u64 {
        let pending = self.history.iter().enumerate().filter(|(at, _)| done & (1 << at) == 0);
        pending.filter_map(|(_, event)| event.returned.as_ref().map(|(_, at)| *at)).min().unwrap_or(u64::MAX)
    }

    fn story(&self) -> String {
        let line = |at: usize, mark: &str| {
            let event = &self.history[at];
            format!(
                "{mark} [{}..{:?}] client {}: {:?} -> {:?}\n",
                event.called,
                event.returned.as_ref().map(|r| r.1),
                event.client,
                event.op,
                event.returned.as_ref().map(|r| &r.0)
            )
        };
        let explained: String = self.best_path.iter().map(|at| line(*at, "  ")).collect();
        let stuck: String =
            (0..self.history.len()).filter(|at| !self.best_path.contains(at)).map(|at| line(at, "? ")).collect();
        format!("explained in this order:\n{explained}without a place:\n{stuck}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A register that starts at 0.
    struct Register;

    #[derive(Debug, Clone)]
    enum Op {
        Write(u8),
        Read,
    }

    impl Specification for Register {
        type State = u8;
        type Op = Op;
        type Answer = u8;

        fn initial(&self) -> u8 {
            0
        }

        fn step(&self, state: &u8, op: &Op, answer: Option<&u8>) -> Vec<u8> {
            match (op, answer) {
                (Op::Write(value), _) => vec![*value],
                (Op::Read, Some(seen)) if seen != state => vec![],
                (Op::Read, _) => vec![*state],
            }
        }

        fn is_inert(&self, op: &Op, _answer: &u8) -> bool {
            matches!(op, Op::Read)
        }
    }

    fn event(client: usize, op: Op, called: u64, returned: Option<(u8, u64)>) -> Event<Op, u8> {
        Event { client, op, called, returned }
    }

    #[test]
    fn a_read_may_see_either_side_of_a_write_it_overlaps() {
        for seen in [0, 7] {
            let history = [event(0, Op::Write(7), 0, Some((0, 10))), event(1, Op::Read, 1, Some((seen, 5)))];
            assert!(check(&Register, &history).is_ok(), "{seen}");
        }
    }

    #[test]
    fn a_read_after_a_write_returned_sees_it() {
        let history = [event(0, Op::Write(7), 0, Some((0, 1))), event(1, Op::Read, 2, Some((0, 3)))];
        assert!(check(&Register, &history).is_err());
    }

    #[test]
    fn time_does_not_run_backwards_between_two_reads() {
        let history = [
            event(0, Op::Write(7), 0, Some((0, 10))),
            event(1, Op::Read, 1, Some((7, 2))),
            event(2, Op::Read, 3, Some((0, 4))),
        ];
        assert!(check(&Register, &history).is_err());
    }

    #[test]
    fn a_write_of_what_is_there_may_be_needed_later() {
        let write = |value| event(usize::from(value), Op::Write(value), 0, Some((0, 10)));
        let history = [write(0), write(9), event(1, Op::Read, 11, Some((0, 12)))];
        assert!(check(&Register, &history).is_ok());
    }

    /// A register whose writes may end without a word: 1 says so.
    struct Silent;

    impl Specification for Silent {
        type State = u8;
        type Op = Op;
        type Answer = u8;

        fn initial(&self) -> u8 {
            0
        }

        fn step(&self, state: &u8, op: &Op, answer: Option<&u8>) -> Vec<u8> {
            let mut after = Register.step(state, op, answer);
            if matches!(op, Op::Write(_)) && answer == Some(&1) {
                after.push(*state);
            }
            after
        }

        fn tells(&self, answer: &u8) -> bool {
            *answer != 1
        }
    }

    #[test]
    fn a_write_that_ended_without_a_word_shows_by_then_or_never() {
        let silent = || event(0, Op::Write(7), 0, Some((1, 6)));
        let read = |called, seen| event(1, Op::Read, called, Some((seen, called + 1)));
        let table = [
            ([2, 0, 4, 0, 8, 0], true),
            ([2, 0, 4, 7, 8, 7], true),
            ([2, 0, 4, 0, 8, 7], true),
            ([2, 7, 4, 0, 8, 0], false),
        ];
        for (reads, fits) in table {
            let reads = reads.chunks(2).map(|each| read(each[0].into(), each[1]));
            let history: Vec<_> = [silent()].into_iter().chain(reads).collect();
            assert_eq!(check(&Silent, &history).is_ok(), fits, "{history:?}");
        }
        let late = [silent(), read(8, 0), read(10, 7)];
        assert!(check(&Silent, &late).is_err());
    }

    #[test]
    fn a_lost_write_may_show_late_or_never_but_not_undo_itself() {
        let lost = || event(0, Op::Write(7), 0, None);
        let read = |called, seen| event(1, Op::Read, called, Some((seen, called + 1)));
        assert!(check(&Register, &[lost(), read(5, 0), read(7, 0)]).is_ok());
        assert!(check(&Register, &[lost(), read(5, 0), read(7, 7)]).is_ok());
        assert!(check(&Register, &[lost(), read(5, 7), read(7, 0)]).is_err());
    }
}
