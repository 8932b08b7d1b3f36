//! A container that is listed while blobs come and go: a page of a listing is one moment of all of them.

use std::collections::BTreeMap;

use lazuli_http::Service;

use super::object::{Asked, Object};
use super::scene::Scene;
use super::wire::{Answer, Request, escape, etag};
use crate::chance::Chance;
use crate::linear::Specification;

pub struct Shelf;

#[derive(Clone, Debug)]
pub enum Call {
    Put {
        name: &'static str,
        value: u64,
    },
    Delete {
        name: &'static str,
    },
    /// The page that a marker begins, and the name that it begins with.
    List {
        most: usize,
        from: Option<(String, String)>,
    },
}

/// Names and ETags; an ETag that nobody has seen yet is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    blobs: BTreeMap<&'static str, Option<u64>>,
    latest: BTreeMap<&'static str, u64>,
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

impl State {
    fn learn(&mut self, name: &str, etag: u64) -> Option<()> {
        let name = NAMES.into_iter().find(|known| *known == name)?;
        let latest = self.latest.entry(name).or_default();
        match self.blobs.get_mut(name)? {
            Some(known) => (*known == etag).then_some(()),
            slot @ None => {
                if etag <= *latest {
                    return None;
                }
                (*slot, *latest) = (Some(etag), etag);
                Some(())
            }
        }
    }
}

/// Names and ETags of a page.
fn page(answer: &Answer) -> Vec<(String, u64)> {
    let text = answer.text();
    let inner = |part: &str, tag: &str| part.split(&format!("<{tag}>")).nth(1)?.split('<').next().map(str::to_owned);
    let of = |part: &str| Some((inner(part, "Name")?, etag(&inner(part, "Etag")?)?));
    text.split("<Blob>").skip(1).filter_map(of).collect()
}

/// A marker, and the name that is in it: the next one at the moment of the page. To clients it is only a word.
fn marker(answer: &Answer) -> Option<(String, String)> {
    let text = answer.text();
    let marker = text.split("<NextMarker>").nth(1)?.split('<').next()?.to_owned();
    let name = char::from(u8::from_str_radix(marker.split('!').nth(1)?.get(..2)?, 16).ok()?);
    Some((marker, name.to_string()))
}

impl Specification for Shelf {
    type State = State;
    type Op = Asked<Call>;
    type Answer = Answer;

    fn initial(&self) -> State {
        State::default()
    }

    fn step(&self, state: &State, op: &Asked<Call>, answer: Option<&Answer>) -> Vec<State> {
        let mut next = state.clone();
        let good = answer.is_none_or(Answer::good);
        let fits = match &op.call {
            Call::Put { name, .. } => {
                next.blobs.insert(name, None);
                good && answer.is_none_or(|answer| answer.etag().and_then(|etag| next.learn(name, etag)).is_some())
            }
            Call::Delete { name } => match next.blobs.remove(name) {
                Some(_) => good,
                None => answer.is_none_or(|answer| answer.code() == "BlobNotFound"),
            },
            Call::List { most, from } => answer.is_none_or(|answer| {
                let from = from.as_ref().map_or("", |(_, name)| name.as_str());
                let rest: Vec<&str> = state.blobs.keys().copied().filter(|name| *name >= from).collect();
                let shown = page(answer);
                let names: Vec<&str> = shown.iter().map(|(name, _)| name.as_str()).collect();
                good && names == rest[..rest.len().min(*most)]
                    && marker(answer).map(|(_, name)| name).as_deref() == rest.get(*most).copied()
                    && shown.iter().all(|(name, etag)| next.learn(name, *etag).is_some())
            }),
        };
        if fits { vec![next] } else { vec![] }
    }
}

impl Object for Shelf {
    type Call = Call;
    type Known = Option<(String, String)>;
    const SERVICE: Service = Service::Blob;

    fn name(&self) -> String {
        "listing of shelf".into()
    }

    fn setup(&self) -> Vec<Request> {
        vec![Request::new("PUT", "/shelf?restype=container")]
    }

    fn choose(&self, _scene: &Scene, chance: &mut Chance, known: &Self::Known, value: u64) -> Call {
        match chance.below(10) {
            kind @ 0..=5 => {
                let name = *chance.pick(&NAMES);
                if kind < 4 { Call::Put { name, value } } else { Call::Delete { name } }
            }
            6..=7 if known.is_some() => Call::List { most: 2, from: known.clone() },
            8 => Call::List { most: 2, from: None },
            _ => Call::List { most: 9, from: None },
        }
    }

    fn request(&self, call: &Call) -> Request {
        match call {
            Call::Put { name, value } => Request::new("PUT", format!("/shelf/{name}"))
                .with("x-ms-blob-type", "BlockBlob")
                .body(super::blob::bytes(*value)),
            Call::Delete { name } => Request::new("DELETE", format!("/shelf/{name}")),
            Call::List { most, from } => {
                let marker = from.as_ref().map(|(marker, _)| format!("&marker={}", escape(marker)));
                let marker = marker.unwrap_or_default();
                Request::new("GET", format!("/shelf?restype=container&comp=list&maxresults={most}{marker}"))
            }
        }
    }

    fn learn(&self, _scene: &Scene, known: &mut Self::Known, call: &Call, answer: &Answer) {
        if let Call::List { .. } = call {
            *known = marker(answer);
        }
    }

    fn reads(call: &Call) -> bool {
        matches!(call, Call::List { .. })
    }

    fn inspect(&self, _known: &Self::Known) -> Vec<Call> {
        vec![Call::List { most: 9, from: None }]
    }
}
