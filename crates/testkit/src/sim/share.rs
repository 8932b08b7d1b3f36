//! A share of a few files: ranges, renames, leases, listings, and snapshots that stay what they were.

use std::collections::BTreeMap;

use lazuli_http::Service;

use super::lease::{self, Act, Lease, guid};
use super::object::{Asked, Object};
use super::scene::Scene;
use super::wire::{Answer, Request, escape};
use crate::chance::Chance;
use crate::linear::Specification;

pub struct OneShare;

#[derive(Clone, Debug)]
pub enum Call {
    Create {
        name: &'static str,
        lease: Option<u8>,
    },
    /// A value of 0 clears.
    PutRange {
        name: &'static str,
        page: usize,
        value: u64,
        lease: Option<u8>,
    },
    Read {
        name: &'static str,
    },
    Delete {
        name: &'static str,
        lease: Option<u8>,
    },
    Rename {
        from: &'static str,
        to: &'static str,
        replace: bool,
    },
    Lease {
        name: &'static str,
        act: Act,
    },
    Snapshot,
    ReadSnapshot {
        snapshot: String,
        name: &'static str,
    },
    List,
}

type Content = [u64; PAGES];

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    files: BTreeMap<&'static str, (Content, Lease)>,
    snapshots: BTreeMap<String, BTreeMap<&'static str, Content>>,
}

const PAGES: usize = 3;
/// The last is too long for a record, so that its bytes lie in an extent.
const LENGTHS: [usize; PAGES] = [512, 1024, 20 << 10];
const NAMES: [&str; 3] = ["f", "g", "h"];

fn content(mut body: &[u8]) -> Option<Vec<u64>> {
    let of = |page: &[u8]| {
        let first = &page[..8];
        page.chunks(8).all(|part| part == first).then(|| u64::from_be_bytes(first.try_into().expect("eight bytes")))
    };
    let seen = LENGTHS.iter().map(|length| body.split_off(..*length).and_then(of)).collect();
    if body.is_empty() { seen } else { None }
}

fn names(answer: &Answer) -> Vec<String> {
    let text = answer.text();
    let name = |part: &str| part.split("<Name>").nth(1)?.split('<').next().map(str::to_owned);
    text.split("<File>").skip(1).filter_map(name).collect()
}

/// The state after, or why not.
fn apply(state: &State, call: &Call, now: u64) -> Result<State, Vec<&'static str>> {
    let mut next = state.clone();
    let barred = |name: &str, shown: Option<u8>| match state.files.get(name) {
        Some((_, lease)) => lease.bars(shown, true, now),
        None => vec![],
    };
    let absent = |name: &str| if state.files.contains_key(name) { vec![] } else { vec!["ResourceNotFound"] };
    let free = |why: Vec<&'static str>| if why.is_empty() { Ok(()) } else { Err(why) };
    match call {
        Call::Create { name, lease } => {
            let mut why = barred(name, *lease);
            if !state.files.contains_key(name) && lease.is_some() {
                why.push("LeaseNotPresentWithFileOperation");
            }
            free(why)?;
            let lease = state.files.get(name).map_or(Lease::Free, |(_, lease)| lease.after_write(now));
            next.files.insert(name, ([0; PAGES], lease));
        }
        Call::PutRange { name, page, value, lease } => {
            free([barred(name, *lease), absent(name)].concat())?;
            let (content, lease) = next.files.get_mut(name).expect("it is there");
            content[*page] = *value;
            *lease = lease.after_write(now);
        }
        Call::Read { name } => free(absent(name))?,
        Call::Delete { name, lease } => {
            free([barred(name, *lease), absent(name)].concat())?;
            next.files.remove(name);
        }
        Call::Rename { from, to, replace } => {
            let mut why = [barred(from, None), absent(from)].concat();
            if from != to && state.files.contains_key(to) {
                match replace {
                    true => why.extend(barred(to, None)),
                    false => why.push("ResourceAlreadyExists"),
                }
            }
            free(why)?;
            let (content, lease) = next.files.remove(from).expect("it is there");
            next.files.insert(to, (content, lease.after_write(now)));
        }
        Call::Lease { name, act } => {
            free(absent(name))?;
            let (_, lease) = next.files.get_mut(name).expect("it is there");
            *lease = lease.act(*act, now)?;
        }
        Call::Snapshot | Call::List => {}
        Call::ReadSnapshot { snapshot, name } => {
            let found = state.snapshots.get(snapshot).is_some_and(|files| files.contains_key(name));
            free(if found { vec![] } else { vec!["ResourceNotFound"] })?;
        }
    }
    Ok(next)
}

fn bind(mut state: State, call: &Call, answer: &Answer) -> Option<State> {
    let shows = |expected: &Content| content(&answer.body).is_some_and(|seen| seen == expected);
    let right = match call {
        Call::Read { name } => shows(&state.files.get(name)?.0),
        Call::ReadSnapshot { snapshot, name } => shows(state.snapshots.get(snapshot)?.get(name)?),
        Call::Snapshot => {
            let files = state.files.iter().map(|(name, (content, _))| (*name, *content)).collect();
            state.snapshots.insert(answer.header("x-ms-snapshot")?.to_owned(), files).is_none()
        }
        Call::List => names(answer) == state.files.keys().copied().collect::<Vec<_>>(),
        Call::Create { .. } | Call::PutRange { .. } | Call::Delete { .. } | Call::Rename { .. } => true,
        Call::Lease { .. } => true,
    };
    right.then_some(state)
}

impl Specification for OneShare {
    type State = State;
    type Op = Asked<Call>;
    type Answer = Answer;

    fn initial(&self) -> State {
        State::default()
    }

    fn step(&self, state: &State, op: &Asked<Call>, answer: Option<&Answer>) -> Vec<State> {
        // A file's lease has no end, and one that is broken is broken at once: so it is always the same moment, and a long call that happened
        // after a break does not find itself before it.
        let now = 0;
        let next = match (apply(state, &op.call, now), answer) {
            (Ok(next), None) => Some(next),
            (Ok(next), Some(answer)) if answer.good() => bind(next, &op.call, answer),
            (Err(_), None) => Some(state.clone()),
            (Err(why), Some(answer)) => {
                (!answer.good() && why.contains(&answer.code().as_str())).then(|| state.clone())
            }
            (Ok(_), Some(_)) => None,
        };
        next.into_iter().collect()
    }
}

impl Object for OneShare {
    type Call = Call;
    type Known = Vec<String>;
    const SERVICE: Service = Service::File;

    fn name(&self) -> String {
        "share sha".into()
    }

    fn setup(&self) -> Vec<Request> {
        vec![Request::new("PUT", "/sha?restype=share")]
    }

    fn choose(&self, _scene: &Scene, chance: &mut Chance, known: &Vec<String>, value: u64) -> Call {
        let name = *chance.pick(&NAMES);
        match chance.below(18) {
            0..=2 => Call::Create { name, lease: lease::shown(chance) },
            3..=6 => {
                let value = if chance.one_in(5) { 0 } else { value };
                Call::PutRange { name, page: chance.below(PAGES), value, lease: lease::shown(chance) }
            }
            7..=9 => Call::Read { name },
            10 => Call::Delete { name, lease: lease::shown(chance) },
            11..=12 => {
                let to = *chance.pick(&NAMES);
                Call::Rename { from: name, to, replace: chance.one_in(2) }
            }
            13 => Call::Snapshot,
            14 if !known.is_empty() => Call::ReadSnapshot { snapshot: chance.pick(known).clone(), name },
            14..=15 => Call::List,
            _ => Call::Lease { name, act: Act::choose(chance, false) },
        }
    }

    fn request(&self, call: &Call) -> Request {
        let leased = |request: Request, lease: &Option<u8>| request.with_some("x-ms-lease-id", lease.map(guid));
        match call {
            Call::Create { name, lease } => leased(Request::new("PUT", format!("/sha/{name}")), lease)
                .with("x-ms-type", "file")
                .with("x-ms-content-length", LENGTHS.iter().sum::<usize>().to_string()),
            Call::PutRange { name, page, value, lease } => {
                let from: usize = LENGTHS[..*page].iter().sum();
                let request = leased(Request::new("PUT", format!("/sha/{name}?comp=range")), lease)
                    .with("x-ms-range", format!("bytes={from}-{}", from + LENGTHS[*page] - 1));
                match value {
                    0 => request.with("x-ms-write", "clear"),
                    _ => request.with("x-ms-write", "update").body(value.to_be_bytes().repeat(LENGTHS[*page] / 8)),
                }
            }
            Call::Read { name } => Request::new("GET", format!("/sha/{name}")),
            Call::Delete { name, lease } => leased(Request::new("DELETE", format!("/sha/{name}")), lease),
            Call::Rename { from, to, replace } => Request::new("PUT", format!("/sha/{to}?comp=rename"))
                .with("x-ms-file-rename-source", format!("https://account.file.core.windows.net/sha/{from}"))
                .with("x-ms-file-rename-replace-if-exists", replace.to_string()),
            Call::Lease { name, act } => act.say(Request::new("PUT", format!("/sha/{name}?comp=lease"))),
            Call::Snapshot => Request::new("PUT", "/sha?restype=share&comp=snapshot"),
            Call::ReadSnapshot { snapshot, name } => {
                Request::new("GET", format!("/sha/{name}?sharesnapshot={}", escape(snapshot)))
            }
            Call::List => Request::new("GET", "/sha?restype=directory&comp=list"),
        }
    }

    fn learn(&self, _scene: &Scene, known: &mut Vec<String>, _call: &Call, answer: &Answer) {
        known.extend(answer.header("x-ms-snapshot").map(str::to_owned));
    }

    fn reads(call: &Call) -> bool {
        matches!(call, Call::Read { .. } | Call::ReadSnapshot { .. } | Call::List)
    }

    fn inspect(&self, known: &Vec<String>) -> Vec<Call> {
        let reads = NAMES.map(|name| Call::Read { name });
        let of = |snapshot: &String| NAMES.map(|name| Call::ReadSnapshot { snapshot: snapshot.clone(), name });
        [Call::List].into_iter().chain(reads).chain(known.iter().flat_map(of)).collect()
    }
}
