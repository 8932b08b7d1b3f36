//! One queue under concurrent producers and consumers, and the sequential specification of it.
//!
//! The time of a put, a get that found something and an update is learnt from the answer: it is in the message's place. Of the
//! others it is known that it lies between call and return, by the store's own clock, which the clients push forward.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use lazuli_model::queue::{DeleteMessage, GetMessages, Message, Place, PutMessage, Receipt, UpdateMessage};
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{Refusal, Timestamp};

use crate::chance::Chance;
use crate::linear::{Event, Specification};

#[derive(Clone, Debug)]
pub enum Call {
    Put(PutMessage),
    Get(GetMessages),
    Peek { most: u32 },
    Update(UpdateMessage),
    Delete(DeleteMessage),
    Clear,
}

/// A call, and the time between which it happened.
#[derive(Clone, Debug)]
pub struct Op {
    pub call: Call,
    pub from: Timestamp,
    pub until: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Put(Message),
    Got(Vec<(Message, String)>),
    Peeked(Vec<(Message, String)>),
    Updated(Message),
    Deleted,
    Cleared,
    Refused(Refusal),
}

pub type QueueEvent = Event<Op, Answer>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State(BTreeMap<Place, (Message, String)>);

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (place, (message, text)) in &self.0 {
            (place.visible.ticks(), place.inserted.ticks(), message.version, text).hash(state);
        }
    }
}

impl State {
    /// What can be seen at `now`, oldest first.
    fn visible(&self, now: Timestamp, most: u32) -> Vec<(Message, String)> {
        let seen = self.0.values().take_while(|(message, _)| message.place.visible <= now);
        seen.take(most as usize).cloned().collect()
    }

    fn put(&mut self, message: Message, text: String) {
        self.0.insert(message.place, (message, text));
    }

    fn at(&self, receipt: Receipt) -> Option<&Message> {
        self.0.get(&receipt.place).map(|(message, _)| message)
    }
}

pub struct OneQueue;

impl Specification for OneQueue {
    type State = State;
    type Op = Op;
    type Answer = Answer;

    fn initial(&self) -> State {
        State::default()
    }

    fn step(&self, state: &State, op: &Op, answer: Option<&Answer>) -> Vec<State> {
        let mut moments = vec![moment(&op.call, answer).unwrap_or(op.from)];
        if moment(&op.call, answer).is_none() {
            // Whatever comes into view meanwhile makes another moment of it.
            let shown = state.0.keys().map(|place| place.visible);
            moments.extend(shown.filter(|visible| (op.from..=op.until).contains(visible)));
        }
        let mut next = Vec::new();
        for now in moments {
            let (given, after) = match apply(state, &op.call, now) {
                Ok(done) => done,
                Err(refusal) => (Answer::Refused(refusal), state.clone()),
            };
            if answer.is_none_or(|seen| *seen == given) && !next.contains(&after) {
                next.push(after);
            }
        }
        next
    }
}

/// When it happened, if the answer tells.
fn moment(call: &Call, answer: Option<&Answer>) -> Option<Timestamp> {
    let before = |message: &Message, hidden: u32| {
        Timestamp::from_ticks(message.place.visible.ticks() - u64::from(hidden) * TICKS_PER_SECOND)
    };
    match (call, answer?) {
        (Call::Put(_), Answer::Put(message)) => Some(message.place.inserted),
        (Call::Get(get), Answer::Got(found)) => found.first().map(|(message, _)| before(message, get.hidden_seconds)),
        (Call::Update(update), Answer::Updated(message)) => Some(before(message, update.hidden_seconds)),
        (_, Answer::Put(_) | Answer::Got(_) | Answer::Updated(_)) => None,
        (_, Answer::Peeked(_) | Answer::Deleted | Answer::Cleared | Answer::Refused(_)) => None,
    }
}

fn apply(state: &State, call: &Call, now: Timestamp) -> Result<(Answer, State), Refusal> {
    let mut next = state.clone();
    let answer = match call {
        Call::Put(put) => {
            let message = put.decide(now);
            next.put(message.clone(), put.text.clone());
            Answer::Put(message)
        }
        Call::Get(get) => {
            let mut taken = Vec::new();
            for (message, text) in state.visible(now, get.most) {
                next.0.remove(&message.place);
                let message = message.taken(get.hidden_seconds, now);
                next.put(message.clone(), text.clone());
                taken.push((message, text));
            }
            Answer::Got(taken)
        }
        Call::Peek { most } => Answer::Peeked(state.visible(now, *most)),
        Call::Update(update) => {
            let message = update.decide(state.at(update.receipt), now)?;
            let (_, text) = next.0.remove(&update.receipt.place).ok_or(Refusal::MessageNotFound)?;
            next.put(message.clone(), update.text.clone().unwrap_or(text));
            Answer::Updated(message)
        }
        Call::Delete(delete) => {
            delete.decide(state.at(delete.receipt), now)?;
            next.0.remove(&delete.receipt.place);
            Answer::Deleted
        }
        Call::Clear => {
            next.0.clear();
            Answer::Cleared
        }
    };
    Ok((answer, next))
}

impl Call {
    /// Whether it leaves nothing behind that only its answer could explain, so that its caller may hang up.
    pub fn may_be_lost(&self) -> bool {
        match self {
            Call::Peek { .. } | Call::Delete(_) | Call::Clear => true,
            Call::Put(_) | Call::Get(_) | Call::Update(_) => false,
        }
    }
}

/// The next call of a client, who remembers the receipts it was given.
pub fn choose(chance: &mut Chance, known: &[(u128, Receipt)], value: u64) -> Call {
    let hidden = |chance: &mut Chance| *chance.pick(&[1, 2, 5, 30]);
    match (chance.below(20), known) {
        (0..=5, _) => Call::Put(PutMessage {
            id: value.into(),
            // Some texts are long enough to have a row of their own.
            text: format!("{value} ").repeat(if chance.one_in(3) { 600 } else { 1 }),
            hidden_seconds: if chance.one_in(4) { 2 } else { 0 },
            lives_seconds: None,
        }),
        (6..=11, _) => Call::Get(GetMessages { most: 1 + chance.below(3) as u32, hidden_seconds: hidden(chance) }),
        (12..=16, [_, ..]) => {
            let (id, receipt) = *chance.pick(known);
            if chance.one_in(3) {
                let text = chance.one_in(2).then(|| format!("updated {value}"));
                Call::Update(UpdateMessage { id, receipt, hidden_seconds: hidden(chance), text })
            } else {
                Call::Delete(DeleteMessage { id, receipt })
            }
        }
        (12..=18, _) => Call::Peek { most: 1 + chance.below(4) as u32 },
        _ => match chance.below(3) {
            0 => Call::Clear,
            _ => Call::Peek { most: 32 },
        },
    }
}
