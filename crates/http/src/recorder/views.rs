//! What is going on, as the record tells it: leases that are held, messages in flight, objects that requests fight for.

use std::collections::{BTreeMap, HashMap};

use lazuli_model::lease::{self, Action, Length};
use lazuli_model::{Lease, LeaseId, Timestamp};
use serde::Serialize;

use super::entry::{LeaseCall, Record, RecordKind};
use crate::head::guid;

/// Refusals that are shown with a lease, and objects among the hottest.
const REFUSED_MAX: usize = 20;
const HOT_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveLease {
    pub object: String,
    pub id: String,
    pub state: &'static str,
    /// The call that made the lease what it is.
    pub holder: Record,
    pub since: String,
    pub renewals: u32,
    /// `None` for ever, or if nobody knows.
    pub seconds_left: Option<f64>,
    /// Who was refused because of it, latest first.
    pub refused: Vec<Record>,
}

struct Held<'a> {
    lease: Lease,
    holder: &'a Record,
    renewals: u32,
    refused: Vec<&'a Record>,
}

/// The leases that are held at `now`. The calls are played back through the rules that decided them.
pub fn leases(records: &[Record], now: Timestamp) -> Vec<LiveLease> {
    let mut held: BTreeMap<&str, Held<'_>> = BTreeMap::new();
    for record in in_order(records) {
        if record.kind == RecordKind::Uncertain {
            continue;
        }
        if record.is_refusal() {
            if let Some(held) = held.get_mut(record.object.as_str())
                && record.code.starts_with("Lease")
            {
                held.refused.push(record);
            }
            continue;
        }
        match &record.lease {
            Some(call) => play(&mut held, record, call),
            None if record.deletes => {
                held.remove(record.object.as_str());
            }
            None => {}
        }
    }
    held.into_iter().filter_map(|(object, held)| shown(object, held, now)).collect()
}

fn play<'a>(held: &mut BTreeMap<&'a str, Held<'a>>, record: &'a Record, call: &LeaseCall) {
    let before = held.get(record.object.as_str()).map_or(Lease::Available, |held| held.lease);
    let id = LeaseId::parse(&call.id);
    let outcome = action(record, call).and_then(|action| lease::act(before, action, record.at).ok());
    let after = outcome.map(|outcome| outcome.lease);
    // A renewal of a lease whose beginning is not in the record any more.
    let after = match (after, call.action.as_str(), id) {
        (None, "renew", Some(id)) => Some(Lease::Leased { id, length: Length::Infinite, until: None }),
        (after, _, _) => after,
    };
    match (after, call.action.as_str()) {
        (None | Some(Lease::Available), _) => {
            held.remove(record.object.as_str());
        }
        (Some(lease), "renew" | "break") if held.contains_key(record.object.as_str()) => {
            if let Some(held) = held.get_mut(record.object.as_str()) {
                held.lease = lease;
                held.renewals += u32::from(call.action == "renew");
            }
        }
        (Some(lease), _) => {
            held.insert(&record.object, Held { lease, holder: record, renewals: 0, refused: Vec::new() });
        }
    }
}

fn action(record: &Record, call: &LeaseCall) -> Option<Action> {
    let id = LeaseId::parse(&call.id);
    let seconds = call.seconds.and_then(|seconds| u32::try_from(seconds).ok());
    match call.action.as_str() {
        "acquire" => Some(Action::Acquire { proposed: id?, length: seconds.map_or(Length::Infinite, Length::Seconds) }),
        "renew" => Some(Action::Renew { id: id? }),
        // The answer names the new id.
        "change" => Some(Action::Change { id: LeaseId::parse(&record.asked.lease)?, to: id? }),
        "release" => Some(Action::Release { id: id? }),
        "break" => Some(Action::Break { period_seconds: seconds }),
        _ => None,
    }
}

fn shown(object: &str, held: Held<'_>, now: Timestamp) -> Option<LiveLease> {
    let (state, id, until) = match held.lease.at(now) {
        Lease::Leased { id, until, .. } => ("leased", id, until),
        Lease::Breaking { id, until, .. } => ("breaking", id, Some(until)),
        Lease::Available | Lease::Broken { .. } | Lease::Expired { .. } => return None,
    };
    let refused = held.refused.iter().rev().take(REFUSED_MAX).map(|record| (*record).clone());
    Some(LiveLease {
        object: object.to_owned(),
        id: id.to_string(),
        state,
        since: held.holder.at.to_iso(),
        holder: held.holder.clone(),
        renewals: held.renewals,
        seconds_left: until.map(|until| seconds(now, until)),
        refused: refused.collect(),
    })
}

fn seconds(now: Timestamp, until: Timestamp) -> f64 {
    until.ticks().saturating_sub(now.ticks()) as f64 / 1e7
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InFlight {
    /// The queue.
    pub object: String,
    pub id: String,
    /// The call that took it, or hid it again.
    pub holder: Record,
    pub dequeues: u32,
    pub seconds_left: f64,
}

/// The messages that somebody has taken and nobody else can see at `now`.
pub fn in_flight(records: &[Record], now: Timestamp) -> Vec<InFlight> {
    let mut taken: BTreeMap<(&str, u128), (&Record, u32, Timestamp)> = BTreeMap::new();
    for record in in_order(records).filter(|record| record.is_change() && record.object.starts_with("queue/")) {
        let queue = match record.operation {
            "UpdateMessage" | "DeleteMessage" => record.object.rsplit_once('/').map_or("", |(queue, _)| queue),
            _ => &record.object,
        };
        match record.operation {
            "GetMessages" | "UpdateMessage" => {
                taken.extend(record.messages.iter().map(|one| ((queue, one.id), (record, one.dequeues, one.visible))))
            }
            "DeleteMessage" => {
                let id = record.object.rsplit('/').next().unwrap_or_default();
                taken.retain(|(of, one), _| *of != queue || guid(*one) != id);
            }
            "ClearMessages" | "DeleteQueue" => taken.retain(|(of, _), _| *of != queue),
            _ => {}
        }
    }
    let live = taken.into_iter().filter(|(_, (_, _, visible))| *visible > now);
    live.map(|((queue, id), (holder, dequeues, visible))| InFlight {
        object: queue.to_owned(),
        id: guid(id),
        holder: holder.clone(),
        dequeues,
        seconds_left: seconds(now, visible),
    })
    .collect()
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Hot {
    pub object: String,
    pub refusals: u64,
    pub by_code: BTreeMap<String, u64>,
    pub changes: u64,
}

/// The objects with most refusals since a moment.
pub fn hot(records: &[Record], since: Timestamp) -> Vec<Hot> {
    let mut objects: HashMap<&str, Hot> = HashMap::new();
    for record in records.iter().filter(|record| record.at >= since) {
        let hot = objects.entry(&record.object).or_default();
        if record.is_refusal() {
            hot.refusals += 1;
            *hot.by_code.entry(record.code.clone()).or_default() += 1;
        } else {
            hot.changes += 1;
        }
    }
    let mut objects: Vec<Hot> =
        objects.into_iter().map(|(object, hot)| Hot { object: object.to_owned(), ..hot }).collect();
    objects.retain(|hot| hot.refusals > 0);
    objects.sort_by(|a, b| b.refusals.cmp(&a.refusals).then_with(|| a.object.cmp(&b.object)));
    objects.truncate(HOT_MAX);
    objects
}

fn in_order(records: &[Record]) -> impl Iterator<Item = &Record> {
    let mut sorted: Vec<&Record> = records.iter().collect();
    sorted.sort_by_key(|record| (record.at, record.seq));
    sorted.into_iter()
}
