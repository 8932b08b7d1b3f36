//! A history that has no order, made smaller. Only what leaves the rest judgeable is taken away: the end of the history, from
//! some moment on, and calls that changed nothing.

use super::object::{Asked, Object, Record};
use super::wire::Answer;
use crate::chance::number;
use crate::linear::{Specification, Violation, check_within};

/// Tries after which nobody knows: one history in some hundreds takes more. `LAZULI_TRIES` says how many.
const LIMIT: u64 = 200_000;

/// A call that nobody was told the end of happened before it was given up, or did not.
struct Judging<'a, O>(&'a O);

impl<O: Object> Specification for Judging<'_, O> {
    type State = O::State;
    type Op = Asked<O::Call>;
    type Answer = Answer;

    fn initial(&self) -> O::State {
        self.0.initial()
    }

    fn step(&self, state: &O::State, op: &Asked<O::Call>, answer: Option<&Answer>) -> Vec<O::State> {
        if answer.is_none_or(Answer::is_known) {
            return self.0.step(state, op, answer);
        }
        let mut after = self.0.step(state, op, None);
        if !after.contains(state) {
            after.push(state.clone());
        }
        after
    }

    fn tells(&self, answer: &Answer) -> bool {
        answer.is_known()
    }

    fn is_inert(&self, op: &Asked<O::Call>, answer: &Answer) -> bool {
        inert::<O>(&op.call, answer)
    }
}

/// What was refused, and what only looks, changes nothing.
fn inert<O: Object>(call: &O::Call, answer: &Answer) -> bool {
    answer.is_known() && (O::reads(call) || !answer.good())
}

/// False when nobody knows.
fn check<O: Object>(object: &O, history: &[Record<O>]) -> Result<bool, Violation> {
    check_within(&Judging(object), history, number("LAZULI_TRIES", LIMIT) as usize)
}

/// False when the search was given up.
pub fn judge<O: Object>(object: &O, history: &[Record<O>]) -> Result<bool, String> {
    let mut known = true;
    for history in object.apart(history) {
        known &= judge_one(object, &history)?;
    }
    Ok(known)
}

fn judge_one<O: Object>(object: &O, history: &[Record<O>]) -> Result<bool, String> {
    if let Ok(known) = check(object, history) {
        return Ok(known);
    }
    let (history, violation) = shrink(object, history.to_vec());
    let Violation { done, of, story } = violation;
    Err(format!("{}: {done} of {of} calls explained, of {} that matter\n{story}", object.name(), history.len()))
}

fn shrink<O: Object>(object: &O, mut history: Vec<Record<O>>) -> (Vec<Record<O>>, Violation) {
    let mut ends: Vec<u64> = history.iter().filter_map(|record| Some(record.returned.as_ref()?.1)).collect();
    ends.sort_unstable();
    // The first moment by which it had gone wrong: what goes wrong stays wrong.
    let wrong_by = ends.partition_point(|end| check(object, &until::<O>(&history, *end)).is_ok());
    if let Some(end) = ends.get(wrong_by) {
        history = until::<O>(&history, *end);
    }
    for at in (0..history.len()).rev() {
        let record = &history[at];
        let inert = match &record.returned {
            Some((answer, _)) => O::reads(&record.op.call) || inert::<O>(&record.op.call, answer),
            None => O::reads(&record.op.call),
        };
        if inert {
            let taken = history.remove(at);
            if check(object, &history).is_ok() {
                history.insert(at, taken);
            }
        }
    }
    let violation = check(object, &history).expect_err("it was only made smaller while it stayed wrong");
    (history, violation)
}

/// As it looked at `end`: what had not returned by then has not returned.
fn until<O: Object>(history: &[Record<O>], end: u64) -> Vec<Record<O>> {
    let begun = history.iter().filter(|record| record.called <= end).cloned();
    begun
        .map(|mut record| {
            record.returned = record.returned.filter(|(_, at)| *at <= end);
            record
        })
        .collect()
}
