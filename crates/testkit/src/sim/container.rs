//! One container: its life, its metadata and its lease.

use lazuli_http::Service;

use super::lease::{self, Act, Lease, guid};
use super::object::{Asked, Object};
use super::scene::{Scene, beat};
use super::wire::{Answer, Request};
use crate::chance::Chance;
use crate::linear::Specification;

pub struct OneContainer;

#[derive(Clone, Debug)]
pub enum Call {
    Create { value: u64 },
    Delete { lease: Option<u8> },
    SetMetadata { value: u64, lease: Option<u8> },
    Get { lease: Option<u8> },
    Lease { act: Act },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// The metadata, where there is a container.
    meta: Option<u64>,
    etag: Option<u64>,
    lease: Lease,
    latest: u64,
}

const PATH: &str = "/box?restype=container";

fn apply(state: &State, call: &Call, now: u64) -> Result<State, Vec<&'static str>> {
    let mut next = state.clone();
    let mut why = vec![];
    match call {
        Call::Create { .. } if state.meta.is_some() => return Err(vec!["ContainerAlreadyExists"]),
        Call::Create { .. } => {}
        Call::Delete { .. } | Call::SetMetadata { .. } | Call::Get { .. } | Call::Lease { .. } => {
            if state.meta.is_none() {
                return Err(vec!["ContainerNotFound"]);
            }
        }
    }
    match call {
        Call::Create { value } => (next.meta, next.etag, next.lease) = (Some(*value), None, Lease::Free),
        Call::Delete { lease } => {
            why = state.lease.bars(*lease, true, now);
            (next.meta, next.etag, next.lease) = (None, None, Lease::Free);
        }
        // Metadata is not locked by a lease; but a lease that is named must be there ("Lease Container").
        Call::SetMetadata { value, lease } => {
            why = state.lease.bars(*lease, false, now);
            (next.meta, next.etag) = (Some(*value), None);
        }
        Call::Get { lease } => why = state.lease.bars(*lease, false, now),
        Call::Lease { act } => next.lease = state.lease.act(*act, now)?,
    }
    if why.is_empty() { Ok(next) } else { Err(why) }
}

/// The state after a call that showed `answer`, if it can have.
fn bind(mut state: State, call: &Call, answer: &Answer) -> Option<State> {
    match call {
        Call::Delete { .. } => return Some(state),
        Call::Get { .. } => {
            let meta = answer.header("x-ms-meta-m").and_then(|text| text.parse().ok());
            if meta != state.meta {
                return None;
            }
        }
        Call::Create { .. } | Call::SetMetadata { .. } | Call::Lease { .. } => {}
    }
    let etag = answer.etag()?;
    match state.etag {
        Some(known) if known != etag => return None,
        None if etag <= state.latest => return None,
        Some(_) | None => {}
    }
    state.etag = Some(etag);
    state.latest = state.latest.max(etag);
    Some(state)
}

impl Specification for OneContainer {
    type State = State;
    type Op = Asked<Call>;
    type Answer = Answer;

    fn initial(&self) -> State {
        State::default()
    }

    fn step(&self, state: &State, op: &Asked<Call>, answer: Option<&Answer>) -> Vec<State> {
        let stamped = matches!(op.call, Call::Create { .. } | Call::SetMetadata { .. });
        let told = answer.filter(|answer| answer.good() && stamped).and_then(Answer::etag).map(beat);
        let mut after: Vec<State> = Vec::new();
        for now in op.moments(told) {
            let next = match (apply(state, &op.call, now), answer) {
                (Ok(next), None) => Some(next),
                (Ok(next), Some(answer)) if answer.good() => bind(next, &op.call, answer),
                (Err(_), None) => Some(state.clone()),
                (Err(why), Some(answer)) => {
                    (!answer.good() && why.contains(&answer.code().as_str())).then(|| state.clone())
                }
                (Ok(_), Some(_)) => None,
            };
            after.extend(next.filter(|next| !after.contains(next)));
        }
        after
    }
}

impl Object for OneContainer {
    type Call = Call;
    type Known = ();
    const SERVICE: Service = Service::Blob;

    fn name(&self) -> String {
        "container box".into()
    }

    fn setup(&self) -> Vec<Request> {
        vec![]
    }

    fn choose(&self, _scene: &Scene, chance: &mut Chance, _known: &(), value: u64) -> Call {
        match chance.below(12) {
            0..=2 => Call::Create { value },
            3 => Call::Delete { lease: lease::shown(chance) },
            4..=5 => Call::SetMetadata { value, lease: lease::shown(chance) },
            6..=8 => Call::Get { lease: lease::shown(chance) },
            _ => Call::Lease { act: Act::choose(chance, true) },
        }
    }

    fn request(&self, call: &Call) -> Request {
        match call {
            Call::Create { value } => Request::new("PUT", PATH).with("x-ms-meta-m", value.to_string()),
            Call::Delete { lease } => Request::new("DELETE", PATH).with_some("x-ms-lease-id", lease.map(guid)),
            Call::SetMetadata { value, lease } => Request::new("PUT", format!("{PATH}&comp=metadata"))
                .with("x-ms-meta-m", value.to_string())
                .with_some("x-ms-lease-id", lease.map(guid)),
            Call::Get { lease } => Request::new("GET", PATH).with_some("x-ms-lease-id", lease.map(guid)),
            Call::Lease { act } => act.say(Request::new("PUT", format!("{PATH}&comp=lease"))),
        }
    }

    fn learn(&self, _scene: &Scene, _known: &mut (), _call: &Call, _answer: &Answer) {}

    fn reads(call: &Call) -> bool {
        matches!(call, Call::Get { .. })
    }

    fn inspect(&self, _known: &Self::Known) -> Vec<Call> {
        vec![Call::Get { lease: None }]
    }
}
