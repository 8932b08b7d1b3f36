//! One queue: no message is lost, invented, handed to two or seen after its time; receipts are obeyed.
//!
//! Which of the visible messages is handed out is the queue's affair; that it is handed out, is not.

use lazuli_http::Service;

use super::object::{Asked, Object};
use super::scene::Scene;
use super::wire::{Answer, Request, escape};
use crate::chance::Chance;
use crate::linear::Specification;

pub struct OneQueue;

#[derive(Clone, Debug)]
pub enum Call {
    Put { value: u64, hidden: u64, lives: Option<u64> },
    Get { most: usize, hidden: u64 },
    Peek { most: usize },
    Update { held: Held, value: Option<u64>, hidden: u64 },
    Delete { held: Held },
    Clear,
}

/// What somebody was handed.
#[derive(Clone, Debug)]
pub struct Held {
    id: String,
    receipt: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// The id and the receipt are not known of what nobody was told.
    id: Option<String>,
    receipt: Option<String>,
    value: u64,
    dequeued: u64,
    visible: u64,
    expires: Option<u64>,
}

type State = Vec<Message>;

const SECOND: u64 = 10_000_000;
const DAY: u64 = 24 * 60 * 60;
const WEEK: u64 = 7 * DAY;

/// A message of an answer.
#[derive(Debug)]
struct Shown {
    id: String,
    receipt: Option<String>,
    value: Option<u64>,
    dequeued: Option<u64>,
}

/// Long texts have a row of their own.
fn text(value: u64) -> String {
    format!("{value} ").repeat(if value.is_multiple_of(4) { 600 } else { 1 })
}

fn number(shown: &str) -> Option<u64> {
    let value = shown.split(' ').next()?.parse().ok()?;
    (text(value) == shown).then_some(value)
}

fn inner(part: &str, tag: &str) -> Option<String> {
    Some(part.split(&format!("<{tag}>")).nth(1)?.split('<').next()?.to_owned())
}

/// The second of the day at which a call happened, if its answer tells: when a message was inserted, or how long it is hidden.
fn second(call: &Call, answer: &Answer) -> Option<u64> {
    let (told, later) = match call {
        Call::Put { .. } => (inner(&answer.text(), "InsertionTime"), 0),
        Call::Get { hidden, .. } => (inner(&answer.text(), "TimeNextVisible"), *hidden),
        Call::Update { hidden, .. } => (answer.header("x-ms-time-next-visible").map(str::to_owned), *hidden),
        Call::Peek { .. } | Call::Delete { .. } | Call::Clear => (None, 0),
    };
    // Sat, 29 Nov 2025 08:00:10 GMT
    let told = told?;
    let time = told.split(' ').nth(4)?.split(':').map(|part| part.parse::<u64>().ok());
    let seconds = time.reduce(|sum, part| Some(sum? * 60 + part?))??;
    Some((seconds + DAY - later) % DAY)
}

fn shown(answer: &Answer) -> Vec<Shown> {
    let body = answer.text();
    let of = |part: &str| Shown {
        id: inner(part, "MessageId").unwrap_or_default(),
        receipt: inner(part, "PopReceipt"),
        value: inner(part, "MessageText").as_deref().and_then(number),
        dequeued: inner(part, "DequeueCount").and_then(|text| text.parse().ok()),
    };
    body.split("<QueueMessage>").skip(1).map(of).collect()
}

impl Message {
    fn alive(&self, now: u64) -> bool {
        self.expires.is_none_or(|expires| expires > now)
    }

    fn visible(&self, now: u64) -> bool {
        self.alive(now) && self.visible <= now
    }

    /// Whether it is the one that was shown; then its id is known.
    fn is(&mut self, shown: &Shown) -> bool {
        Some(self.value) == shown.value && *self.id.get_or_insert_with(|| shown.id.clone()) == shown.id
    }
}

fn holds(state: &State, held: &Held, now: u64) -> Option<usize> {
    state.iter().position(|message| {
        message.id.as_ref() == Some(&held.id) && message.receipt.as_ref() == Some(&held.receipt) && message.alive(now)
    })
}

/// The state after `call` at `now`, if it can have been answered so.
fn after(state: &State, call: &Call, now: u64, answer: Option<&Answer>) -> Option<State> {
    // What has expired stays in the state: a look may be at a later time than a change that is seen after it.
    let mut next = state.clone();
    let good = answer.is_none_or(Answer::good);
    match call {
        Call::Put { value, hidden, lives } => {
            let told = answer.map(shown).unwrap_or_default().pop();
            let expires = Some(now + lives.unwrap_or(WEEK) * SECOND);
            let visible = now + hidden * SECOND;
            let (id, receipt) = told.map(|told| (Some(told.id), told.receipt)).unwrap_or_default();
            next.push(Message { id, receipt, value: *value, dequeued: 0, visible, expires });
            good.then_some(next)
        }
        Call::Get { most, hidden } => {
            let count = next.iter().filter(|message| message.visible(now)).count().min(*most);
            let answer = answer?;
            let found = shown(answer);
            if !good || found.len() != count {
                return None;
            }
            for one in found {
                let at = next.iter_mut().position(|message| message.visible(now) && message.is(&one))?;
                let message = &mut next[at];
                message.dequeued += 1;
                (message.visible, message.receipt) = (now + hidden * SECOND, Some(one.receipt?));
                if one.dequeued != Some(message.dequeued) {
                    return None;
                }
            }
            Some(next)
        }
        Call::Peek { most } => {
            let Some(answer) = answer else { return Some(next) };
            let count = next.iter().filter(|message| message.visible(now)).count().min(*most);
            let found = shown(answer);
            let right = |one: &Shown| {
                next.iter_mut()
                    .any(|message| message.visible(now) && message.is(one) && one.dequeued == Some(message.dequeued))
            };
            (good && found.len() == count && found.iter().all(right)).then_some(next)
        }
        Call::Update { held, value, hidden } => match holds(&next, held, now) {
            Some(at) => {
                next[at].visible = now + hidden * SECOND;
                next[at].value = value.unwrap_or(next[at].value);
                next[at].receipt = answer.and_then(|answer| answer.header("x-ms-popreceipt")).map(str::to_owned);
                (good && (answer.is_none() || next[at].receipt.is_some())).then_some(next)
            }
            None => stale(answer).then_some(next),
        },
        Call::Delete { held } => match holds(&next, held, now) {
            Some(at) => {
                next.remove(at);
                good.then_some(next)
            }
            None => stale(answer).then_some(next),
        },
        Call::Clear => {
            next.clear();
            good.then_some(next)
        }
    }
}

/// The states after a Get that nobody was told the end of: it may have taken any of what could be seen.
fn taken_unseen(state: &State, most: usize, hidden: u64, now: u64) -> Vec<State> {
    let visible: Vec<usize> = (0..state.len()).filter(|at| state[*at].visible(now)).collect();
    let count = visible.len().min(most);
    let choices = (0_u32..1 << visible.len()).filter(|choice| choice.count_ones() as usize == count);
    let take = |choice: u32| {
        let mut next = state.clone();
        let chosen = visible.iter().enumerate().filter(|(bit, _)| choice & (1 << bit) != 0);
        for (_, at) in chosen {
            (next[*at].visible, next[*at].receipt) = (now + hidden * SECOND, None);
            next[*at].dequeued += 1;
        }
        next
    };
    choices.map(take).collect()
}

fn stale(answer: Option<&Answer>) -> bool {
    answer.is_none_or(|answer| ["MessageNotFound", "PopReceiptMismatch"].contains(&answer.code().as_str()))
}

impl Specification for OneQueue {
    type State = State;
    type Op = Asked<Call>;
    type Answer = Answer;

    fn initial(&self) -> State {
        State::new()
    }

    fn step(&self, state: &State, op: &Asked<Call>, answer: Option<&Answer>) -> Vec<State> {
        let mut states: Vec<State> = Vec::new();
        let second = answer.and_then(|answer| second(&op.call, answer));
        for now in op.moments(None) {
            if second.is_some_and(|second| now / SECOND % DAY != second) {
                continue;
            }
            let next = match (&op.call, answer) {
                (Call::Get { most, hidden }, None) => taken_unseen(state, *most, *hidden, now),
                (call, answer) => after(state, call, now, answer).into_iter().collect(),
            };
            for next in next {
                if !states.contains(&next) {
                    states.push(next);
                }
            }
        }
        states
    }
}

impl Object for OneQueue {
    type Call = Call;
    type Known = Vec<Held>;
    const SERVICE: Service = Service::Queue;

    fn name(&self) -> String {
        "queue que".into()
    }

    fn setup(&self) -> Vec<Request> {
        vec![Request::new("PUT", "/que")]
    }

    fn choose(&self, _scene: &Scene, chance: &mut Chance, known: &Vec<Held>, value: u64) -> Call {
        let hidden = *chance.pick(&[1, 5, 30]);
        match (chance.below(16), known.is_empty()) {
            (0..=4, _) => {
                let lives = chance.one_in(4).then(|| *chance.pick(&[9, 20]));
                Call::Put { value, hidden: if chance.one_in(4) { 5 } else { 0 }, lives }
            }
            (5..=8, _) => Call::Get { most: 1 + chance.below(3), hidden },
            (9..=10, false) => {
                let value = chance.one_in(2).then_some(value);
                Call::Update { held: chance.pick(known).clone(), value, hidden: *chance.pick(&[0, 5, 30]) }
            }
            (11..=13, false) => Call::Delete { held: chance.pick(known).clone() },
            (14, _) if chance.one_in(3) => Call::Clear,
            _ => Call::Peek { most: *chance.pick(&[1, 2, 32]) },
        }
    }

    fn request(&self, call: &Call) -> Request {
        let document = |value: u64| format!("<QueueMessage><MessageText>{}</MessageText></QueueMessage>", text(value));
        let at = |held: &Held| format!("/que/messages/{}?popreceipt={}", held.id, escape(&held.receipt));
        match call {
            Call::Put { value, hidden, lives } => {
                let lives = lives.map(|lives| format!("&messagettl={lives}")).unwrap_or_default();
                Request::new("POST", format!("/que/messages?visibilitytimeout={hidden}{lives}")).body(document(*value))
            }
            Call::Get { most, hidden } => {
                Request::new("GET", format!("/que/messages?numofmessages={most}&visibilitytimeout={hidden}"))
            }
            Call::Peek { most } => Request::new("GET", format!("/que/messages?peekonly=true&numofmessages={most}")),
            Call::Update { held, value, hidden } => {
                let request = Request::new("PUT", format!("{}&visibilitytimeout={hidden}", at(held)));
                request.body(value.map(document).unwrap_or_default())
            }
            Call::Delete { held } => Request::new("DELETE", at(held)),
            Call::Clear => Request::new("DELETE", "/que/messages"),
        }
    }

    fn learn(&self, _scene: &Scene, known: &mut Vec<Held>, call: &Call, answer: &Answer) {
        let handed = shown(answer).into_iter().filter_map(|one| Some(Held { id: one.id, receipt: one.receipt? }));
        known.extend(handed);
        if let (Call::Update { held, .. }, Some(receipt)) = (call, answer.header("x-ms-popreceipt")) {
            known.push(Held { id: held.id.clone(), receipt: receipt.to_owned() });
        }
    }

    fn reads(call: &Call) -> bool {
        matches!(call, Call::Peek { .. })
    }

    fn inspect(&self, _known: &Self::Known) -> Vec<Call> {
        vec![Call::Peek { most: 32 }]
    }
}
