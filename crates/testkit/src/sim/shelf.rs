//! A container that is listed while blobs come and go. What a page shows of one blob, or that it does not show it, is of one
//! moment of the call; two blobs may be of two moments, as in Azure, so each name is judged by itself.

use lazuli_http::Service;

use super::object::{Asked, Object, Record};
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
    /// What such a page says of one name: this is for the judge, and is not asked.
    Look {
        name: &'static str,
        most: usize,
        from: String,
    },
}

/// Whether the blob is there, and its ETag, unless nobody has seen that yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    blob: Option<Option<u64>>,
    latest: u64,
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

impl State {
    fn learn(&mut self, etag: u64) -> Option<()> {
        match self.blob.as_mut()? {
            Some(known) => (*known == etag).then_some(()),
            slot @ None => {
                if etag <= self.latest {
                    return None;
                }
                (*slot, self.latest) = (Some(etag), etag);
                Some(())
            }
        }
    }

    /// Whether a page can have been written when this was so of `name`. Beyond the next page's first name it says nothing.
    fn fits(&mut self, name: &str, most: usize, from: &str, answer: &Answer) -> bool {
        let (shown, next) = (page(answer), marker(answer).map(|(_, name)| name));
        let in_order =
            shown.windows(2).all(|pair| pair[0].0 < pair[1].0) && shown.iter().all(|(name, _)| name.as_str() >= from);
        let whole = shown.len() <= most && next.as_ref().is_none_or(|_| shown.len() == most);
        let covered = name >= from && next.as_ref().is_none_or(|next| name < next.as_str());
        let fits = match shown.iter().find(|(shown, _)| shown == name) {
            Some((_, etag)) => covered && self.learn(*etag).is_some(),
            None => !covered || self.blob.is_none(),
        };
        // A page ends before a name that was there at the time.
        answer.good() && in_order && whole && fits && (next.as_deref() != Some(name) || self.blob.is_some())
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
            Call::Put { .. } => {
                next.blob = Some(None);
                good && answer.is_none_or(|answer| answer.etag().and_then(|etag| next.learn(etag)).is_some())
            }
            Call::Delete { .. } => match next.blob.take() {
                Some(_) => good,
                None => answer.is_none_or(|answer| answer.code() == "BlobNotFound"),
            },
            Call::Look { name, most, from } => answer.is_none_or(|answer| next.fits(name, *most, from, answer)),
            Call::List { .. } => unreachable!("a page is judged name by name"),
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
            Call::Look { .. } => unreachable!("nobody asks this"),
        }
    }

    fn apart(&self, history: &[Record<Self>]) -> Vec<Vec<Record<Self>>> {
        let of = |name: &'static str| {
            history.iter().filter_map(move |record| {
                let mut record = record.clone();
                match &record.op.call {
                    Call::Put { name: other, .. } | Call::Delete { name: other } if *other != name => return None,
                    Call::Put { .. } | Call::Delete { .. } | Call::Look { .. } => {}
                    Call::List { most, from } => {
                        let from = from.as_ref().map(|(_, name)| name.clone()).unwrap_or_default();
                        record.op.call = Call::Look { name, most: *most, from };
                    }
                }
                Some(record)
            })
        };
        NAMES.into_iter().map(|name| of(name).collect()).collect()
    }

    fn learn(&self, _scene: &Scene, known: &mut Self::Known, call: &Call, answer: &Answer) {
        if let Call::List { .. } = call {
            *known = marker(answer);
        }
    }

    fn reads(call: &Call) -> bool {
        matches!(call, Call::List { .. } | Call::Look { .. })
    }

    fn inspect(&self, _known: &Self::Known) -> Vec<Call> {
        vec![Call::List { most: 9, from: None }]
    }
}
