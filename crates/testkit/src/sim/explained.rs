//! Whether the recorder explains refusals rightly, judged by a story of its own.
//!
//! Each request has a number that its client gave it, so the record says in which order requests were decided, and nothing else of it is believed: what a
//! request did is taken from what was sent and answered, leases from the reference's table, ETags and receipts from answers. That story says which request
//! ended an ETag, a lease or a receipt, or made what was in the way. The explanation must name that very request; if nobody was the cause, it must name nobody.
//! The order itself is checked too: a request that was answered before another began was decided before it.

use std::collections::HashMap;

use lazuli_http::recorder::{self, Record, RecordKind, Why};

use super::lease::{Act, IDS, Lease, guid};
use super::wire::{Answer, Request, etag};

/// One request as its client knows it, with the numbers of its beginning and its end.
pub struct Known {
    pub request: Request,
    pub called: u64,
    /// `None`: nobody was told.
    pub returned: Option<(Answer, u64)>,
}

/// A request that was decided.
#[derive(Clone, Copy)]
struct Event<'a> {
    known: &'a Known,
    record: &'a Record,
}

impl<'a> Event<'a> {
    fn header(&self, name: &str) -> Option<&'a str> {
        let headers = &self.known.request.headers;
        headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    fn has(&self, part: &str) -> bool {
        self.known.request.target.contains(part)
    }

    fn path(&self) -> &'a str {
        self.known.request.target.split('?').next().unwrap_or_default()
    }

    /// The answer, if its client got one.
    fn answer(&self) -> Option<&'a Answer> {
        self.known.returned.as_ref().map(|(answer, _)| answer).filter(|answer| answer.is_known())
    }

    /// The ETag that it left. Who was not told does not know it: then the record is believed.
    fn made(&self) -> Option<u64> {
        self.answer().map_or_else(|| etag(&self.record.etag), Answer::etag)
    }

    fn lease(&self) -> Option<u8> {
        id_of(self.header("x-ms-lease-id")?)
    }

    fn act(&self) -> Option<Act> {
        let number = |name: &str| self.header(name).and_then(|text| text.parse().ok());
        let id = self.lease();
        Some(match self.header("x-ms-lease-action")? {
            "acquire" => Act::Acquire {
                id: id_of(self.header("x-ms-proposed-lease-id")?)?,
                seconds: number("x-ms-lease-duration"),
            },
            "renew" => Act::Renew { id: id? },
            "change" => Act::Change { id: id?, to: id_of(self.header("x-ms-proposed-lease-id")?)? },
            "release" => Act::Release { id: id? },
            _ => Act::Break { seconds: number("x-ms-lease-break-period") },
        })
    }
}

fn id_of(text: &str) -> Option<u8> {
    IDS.into_iter().find(|id| guid(*id) == text)
}

/// What became of one blob, container or file.
#[derive(Default)]
struct Story<'a> {
    creator: Option<Event<'a>>,
    etag: Option<u64>,
    /// Who ended each ETag.
    ended: HashMap<u64, Event<'a>>,
    /// Who made the blob as long as it is.
    grown: Option<Event<'a>>,
    lease: Lease,
    holder: Option<Event<'a>>,
    breaker: Option<Event<'a>>,
    /// How each lease ended last; `None`: its time was over.
    leases: HashMap<u8, Option<Event<'a>>>,
}

/// What a lease is after a call that was done though the story has no lease for it: a call that was not answered had taken one. How long it lasts, nobody
/// was told.
fn proven(act: Act) -> Lease {
    match act {
        Act::Acquire { id, .. } | Act::Renew { id } | Act::Change { to: id, .. } => {
            Lease::Held { id, seconds: None, end: None }
        }
        Act::Release { .. } | Act::Break { .. } => Lease::Free,
    }
}

impl<'a> Story<'a> {
    fn now(event: &Event<'a>) -> u64 {
        event.record.at.ticks()
    }

    /// Under which id it is leased, or was until its time was over.
    fn leased(&self) -> Option<u8> {
        match self.lease {
            Lease::Held { id, .. } => Some(id),
            Lease::Breaking { .. } | Lease::Free => None,
        }
    }

    /// Ends the lease with what it was on. One whose time was over had ended before, and by nobody.
    fn end_lease(&mut self, by: Event<'a>) {
        let is_in_force = self.lease.holder(Self::now(&by)).is_some();
        if let Some(id) = self.leased() {
            self.leases.insert(id, is_in_force.then_some(by));
        }
        self.lease = Lease::Free;
    }

    fn lease_call(&mut self, event: Event<'a>, act: Act) {
        let before = self.leased();
        self.lease = self.lease.act(act, Self::now(&event)).unwrap_or_else(|_| proven(act));
        match (act, before) {
            (Act::Acquire { id, .. }, before) => {
                // The next one is who shows that the one before is over.
                before.filter(|before| *before != id).into_iter().for_each(|before| {
                    self.leases.insert(before, Some(event));
                });
                self.leases.remove(&id);
                self.holder = Some(event);
            }
            (Act::Change { to, .. }, before) => {
                before.filter(|before| *before != to).into_iter().for_each(|before| {
                    self.leases.insert(before, Some(event));
                });
                self.leases.remove(&to);
                self.holder = Some(event);
            }
            (Act::Release { id }, _) => {
                // One that was broken before had ended then.
                if before.is_some() {
                    self.leases.insert(id, Some(event));
                }
            }
            (Act::Break { .. }, before) => {
                before.into_iter().for_each(|before| {
                    self.leases.insert(before, Some(event));
                });
                self.breaker = Some(event);
            }
            (Act::Renew { id }, _) => {
                self.leases.remove(&id);
            }
        }
    }

    fn written(&mut self, event: Event<'a>) {
        if let (Some(old), true) = (self.etag, self.etag != event.made()) {
            self.ended.insert(old, event);
        }
        self.etag = event.made();
        self.creator.get_or_insert(event);
        let free = self.lease.holder(Self::now(&event)).is_none();
        if let (true, Some(id)) = (free, self.leased()) {
            self.leases.insert(id, None);
        }
        self.lease = self.lease.after_write(Self::now(&event));
    }

    fn deleted(&mut self, event: Event<'a>) {
        self.etag.take().into_iter().for_each(|old| {
            self.ended.insert(old, event);
        });
        self.creator = None;
        self.end_lease(event);
    }

    /// Something that was done.
    fn go_on(&mut self, event: Event<'a>) {
        let same = ["comp=snapshot", "comp=tags", "comp=tier"].iter().any(|comp| event.has(comp));
        match (event.act(), event.known.request.method) {
            (Some(act), _) => self.lease_call(event, act),
            (None, "DELETE") => self.deleted(event),
            (None, "PUT") if event.has("comp=block&") || same => {}
            (None, "PUT") => {
                let whole = !event.has("comp=");
                // The lease of a name that has only blocks guards those, and not what is put in their place.
                if whole && self.creator.is_none() {
                    self.end_lease(event);
                }
                // A container that is made was not there: somebody who was not told so had deleted the one before.
                if whole && event.has("restype=container") {
                    self.creator = None;
                }
                if whole || event.has("comp=appendblock") {
                    self.grown = Some(event);
                }
                // The lease of a container is none of its metadata's business.
                let lease = self.lease;
                self.written(event);
                if event.has("restype=container") {
                    self.lease = lease;
                }
            }
            (None, _) => {}
        }
    }

    /// Who is to blame for a refusal.
    fn cause(&self, event: &Event<'a>, code: &str) -> Cause<'a> {
        let named = event.header("if-match").and_then(etag);
        // The lease of a name that has only blocks is none of a whole blob's: then nobody is to blame.
        let is_whole = event.known.request.method == "PUT" && !event.has("comp=") && self.creator.is_none();
        match code {
            code if code.starts_with("Lease") && is_whole => Cause::Open,
            "ConditionNotMet" | "TargetConditionNotMet" => match named {
                Some(named) if self.etag != Some(named) => match self.ended.get(&named) {
                    Some(winner) => Cause::Is(*winner),
                    // Nobody here made it: it was another blob's, or is made up.
                    None => Cause::Open,
                },
                Some(_) | None if event.header("if-none-match").is_some() => Cause::of(self.creator),
                Some(_) | None => Cause::Open,
            },
            "AppendPositionConditionNotMet" => Cause::of(self.grown),
            code if code.ends_with("AlreadyExists") => Cause::of(self.creator),
            code if code.starts_with("LeaseIsBr") => Cause::of(self.breaker),
            "LeaseIdMissing" | "LeaseAlreadyPresent" => Cause::of(self.holder),
            code if code.starts_with("Lease") => match self.lease.holder(Self::now(event)) {
                Some(_) => Cause::of(self.holder),
                None => match event.lease().and_then(|named| self.leases.get(&named)) {
                    Some(Some(winner)) => Cause::Is(*winner),
                    Some(None) | None => Cause::Nobody,
                },
            },
            _ => Cause::Open,
        }
    }
}

/// Whom the story has to blame.
enum Cause<'a> {
    Is(Event<'a>),
    Nobody,
    /// The story does not say.
    Open,
}

impl<'a> Cause<'a> {
    fn of(event: Option<Event<'a>>) -> Self {
        event.map_or(Cause::Nobody, Cause::Is)
    }
}

/// Entities are told apart by their row.
#[derive(Default)]
struct Row<'a> {
    creator: Option<Event<'a>>,
    tag: Option<String>,
    ended: HashMap<String, Event<'a>>,
}

/// What a request says of one row: its method and If-Match.
fn said_of(event: &Event<'_>, row: &str) -> Option<(String, Option<String>)> {
    let request = &event.known.request;
    if !request.target.starts_with("/$batch") {
        return Some((request.method.into(), event.header("if-match").map(str::to_owned)));
    }
    let body = String::from_utf8_lossy(&request.body).into_owned();
    let is_it =
        |part: &&str| part.contains(&format!("RowKey='{row}'")) || part.contains(&format!("\"RowKey\":\"{row}\""));
    let part = body.split("--c\r\n").find(is_it)?.to_owned();
    let method = part.split("\r\n\r\n").nth(1)?.split(' ').next()?.to_owned();
    let wanted = part.split("If-Match: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    Some((method, wanted.map(str::to_owned)))
}

impl<'a> Row<'a> {
    fn go_on(&mut self, event: Event<'a>, row: &str) {
        let Some((method, _)) = said_of(&event, row) else { return };
        self.tag.take().into_iter().for_each(|old| {
            self.ended.insert(old, event);
        });
        if method == "DELETE" {
            self.creator = None;
            return;
        }
        // An insert succeeds only where nothing is: a call without an end had deleted what was there.
        if method == "POST" || self.creator.is_none() {
            self.creator = Some(event);
        }
        self.tag = Some(event.record.etag.clone());
    }

    fn cause(&self, event: &Event<'a>, row: &str, code: &str) -> Cause<'a> {
        match (code, said_of(event, row)) {
            ("EntityAlreadyExists", _) => Cause::of(self.creator),
            (_, Some((_, Some(wanted)))) => self.ended.get(&wanted).map_or(Cause::Open, |winner| Cause::Is(*winner)),
            (_, Some((_, None)) | None) => Cause::Open,
        }
    }
}

/// Messages are told apart by their receipts.
#[derive(Default)]
struct Messages<'a> {
    /// The receipt of each message that is good, if a client has it.
    good: HashMap<String, Option<String>>,
    /// Receipts that ended when all messages were deleted.
    cleared: HashMap<String, String>,
    ended: HashMap<String, Vec<Event<'a>>>,
}

fn inner<'t>(part: &'t str, tag: &str) -> Option<&'t str> {
    part.split(&format!("<{tag}>")).nth(1)?.split('<').next()
}

impl<'a> Messages<'a> {
    fn end(&mut self, receipt: String, by: Event<'a>) {
        self.ended.entry(receipt).or_default().push(by);
    }

    fn moved(&mut self, id: &str, receipt: Option<String>, by: Event<'a>) {
        if let Some(Some(old)) = self.good.insert(id.to_owned(), receipt) {
            self.end(old, by);
        }
        // A queue that is cleared goes on as another one, whose stamps are its own: this may have been before, and either is the cause.
        if let Some(old) = self.cleared.remove(id) {
            self.end(old, by);
        }
    }

    fn gone(&mut self, id: &str, by: Event<'a>) {
        if let Some(Some(old)) = self.good.remove(id) {
            self.end(old, by);
        }
        if let Some(old) = self.cleared.remove(id) {
            self.end(old, by);
        }
    }

    fn clear(&mut self, by: Event<'a>) {
        for (id, receipt) in std::mem::take(&mut self.good) {
            if let Some(receipt) = receipt {
                self.end(receipt.clone(), by);
                self.cleared.insert(id, receipt);
            }
        }
    }

    fn go_on(&mut self, event: Event<'a>) {
        let id = event.path().strip_prefix("/que/messages/").map(str::to_owned);
        match (event.known.request.method, id) {
            ("DELETE", Some(id)) => self.gone(&id, event),
            ("DELETE", None) => self.clear(event),
            ("PUT", Some(id)) => {
                let receipt = event.answer().and_then(|answer| answer.header("x-ms-popreceipt")).map(str::to_owned);
                self.moved(&id, receipt, event);
            }
            (_, _) => {
                let body = event.answer().map(Answer::text).unwrap_or_default();
                for message in &event.record.messages {
                    let id = id_text(message.id);
                    let is_it = |part: &&str| inner(part, "MessageId") == Some(&id);
                    let part = body.split("<QueueMessage>").find(is_it);
                    let receipt = part.and_then(|part| inner(part, "PopReceipt")).map(str::to_owned);
                    self.moved(&id, receipt, event);
                }
            }
        }
    }

    fn causes(&self, event: &Event<'a>) -> Vec<Cause<'a>> {
        let named = event.known.request.target.split("popreceipt=").nth(1).map(|rest| rest.split('&').next());
        let named = named.flatten().map(|text| text.replace("%2B", "+").replace("%2F", "/").replace("%3D", "="));
        match named.and_then(|named| self.ended.get(&named)) {
            Some(enders) => enders.iter().map(|winner| Cause::Is(*winner)).collect(),
            // The receipt is the last one: the message has expired.
            None => vec![Cause::Nobody],
        }
    }
}

fn id_text(id: u128) -> String {
    let hex = format!("{id:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// What became of everything that clients of one object use.
#[derive(Default)]
struct World<'a> {
    stories: HashMap<String, Story<'a>>,
    rows: HashMap<String, Row<'a>>,
    messages: Messages<'a>,
}

fn row_of(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}

impl<'a> World<'a> {
    fn go_on(&mut self, event: Event<'a>) {
        let name = event.record.object.as_str();
        match name.split('/').next() {
            Some("queue") => self.messages.go_on(event),
            Some("table") => self.rows.entry(name.into()).or_default().go_on(event, row_of(name)),
            Some(_) | None => {
                renamed(&mut self.stories, &event, name);
                self.stories.entry(name.into()).or_default().go_on(event);
            }
        }
    }

    /// Any of them.
    fn causes(&mut self, event: &Event<'a>) -> Vec<Cause<'a>> {
        let (name, code) = (event.record.object.as_str(), event.record.code.as_str());
        match name.split('/').next() {
            Some("queue") => self.messages.causes(event),
            Some("table") => vec![self.rows.entry(name.into()).or_default().cause(event, row_of(name), code)],
            // It may be the source or the destination of a rename that is in the way.
            Some(_) | None if event.header("x-ms-file-rename-source").is_some() => vec![Cause::Open],
            Some(_) | None => vec![self.stories.entry(name.into()).or_default().cause(event, code)],
        }
    }
}

/// How many refusals were explained with a winner; or which explanation is wrong.
pub fn check(calls: &[Known], records: &[Record]) -> Result<usize, String> {
    let by_number: HashMap<String, &Known> = calls.iter().map(|call| (call.called.to_string(), call)).collect();
    let mut events: Vec<Event<'_>> = Vec::new();
    for record in records {
        events.extend(by_number.get(&record.client_request_id).map(|known| Event { known, record }));
    }
    events.sort_by_key(|event| (event.record.at, event.record.seq));
    let (refusals, mut changes): (Vec<Event<'_>>, Vec<Event<'_>>) =
        events.into_iter().partition(|event| event.record.is_refusal());
    // Nobody knows whether these were done.
    let doubts: Vec<Event<'_>> = changes.extract_if(.., |event| event.record.kind == RecordKind::Uncertain).collect();
    in_order(&changes)?;
    let mut explained = 0;
    for refusal in refusals {
        let may_matter = |doubt: &&Event<'_>| {
            is_about(&doubt.record.object, &refusal.record.object) && doubt.known.called < ended(&refusal)
        };
        let perhaps: Vec<Event<'_>> = doubts.iter().filter(may_matter).copied().collect();
        let mut causes = causes_in(&changes, &refusal);
        // If one of those was done, then another request may be the cause: who wrote what it had deleted.
        for done in perhaps.iter().map(std::slice::from_ref).chain((perhaps.len() > 1).then_some(perhaps.as_slice())) {
            let mut changes = [changes.as_slice(), done].concat();
            changes.sort_by_key(|event| (event.record.at, event.record.seq));
            causes.extend(causes_in(&changes, &refusal).into_iter().filter(|cause| matches!(cause, Cause::Is(_))));
        }
        explained += judged(&refusal, &causes, &perhaps, records)
            .map_err(|what| format!("{what}\n{}", retold(&refusal.record.object, calls, records)))?;
    }
    Ok(explained)
}

/// When a request had ended, by the clients' numbers.
fn ended(event: &Event<'_>) -> u64 {
    event.known.returned.as_ref().map_or(u64::MAX, |(_, ended)| *ended)
}

/// The causes of a refusal, wherever among the changes it may have been. Stamps of changes are in their order. A refusal writes nothing, so a change
/// that came after it may have a lower stamp: it is placed by what clients saw.
fn causes_in<'a>(changes: &[Event<'a>], refusal: &Event<'a>) -> Vec<Cause<'a>> {
    let first = changes.iter().rposition(|change| change.answer().is_some() && ended(change) < refusal.known.called);
    let last = changes.iter().position(|change| ended(refusal) < change.known.called);
    let mut world = World::default();
    let mut causes = Vec::new();
    for place in 0..=last.unwrap_or(changes.len()) {
        if first.is_none_or(|first| place > first) {
            causes.extend(world.causes(refusal));
        }
        if let Some(change) = changes.get(place) {
            world.go_on(*change);
        }
    }
    causes
}

/// All that the record has of an object, in order: for those who look into a failure.
fn retold(object: &str, calls: &[Known], records: &[Record]) -> String {
    let mut all: Vec<&Record> = records.iter().filter(|record| record.object == object).collect();
    all.sort_by_key(|record| (record.at, record.seq));
    let line = |record: &&Record| {
        let known = calls.iter().find(|call| call.called.to_string() == record.client_request_id);
        let request = known.map(|known| (known.request.method, &known.request.target, &known.request.headers));
        let (at, found) = (record.at.to_iso(), record.found);
        format!("  {at} {} {} {} saw {found:?}: {request:?}\n", record.request_id, record.operation, record.code)
    };
    all.iter().map(line).collect()
}

/// A file that gets another name takes its story along; what the new name had is over.
fn renamed<'a>(stories: &mut HashMap<String, Story<'a>>, event: &Event<'a>, to: &str) {
    let Some(source) = event.header("x-ms-file-rename-source") else { return };
    let name = source.rsplit('/').next().unwrap_or_default();
    let from = format!("{}/{name}", to.rsplit_once('/').map_or("", |(parent, _)| parent));
    if from != to {
        let mut story = stories.remove(&from).unwrap_or_default();
        story.creator = Some(*event);
        stories.insert(to.to_owned(), story);
    }
}

/// Decisions are in an order that clients can have seen.
fn in_order(events: &[Event<'_>]) -> Result<(), String> {
    for (at, later) in events.iter().enumerate() {
        let ended = |event: &Event<'_>| event.known.returned.as_ref().map(|(_, ended)| *ended);
        let before = events[..at].iter().find(|earlier| {
            earlier.record.object == later.record.object
                && ended(later).is_some_and(|ended| later.answer().is_some() && ended < earlier.known.called)
        });
        if let Some(earlier) = before {
            return Err(format!(
                "{:?} is recorded as decided before {:?}, which had been answered when it began",
                earlier.known.request, later.known.request
            ));
        }
    }
    Ok(())
}

/// Whether what was done to `object` may be the cause of what came to `refused`: a message is in its queue.
fn is_about(object: &str, refused: &str) -> bool {
    object == refused
        || (object.starts_with("queue/") && refused.strip_prefix(object).is_some_and(|id| id.starts_with('/')))
}

/// Whether the explanation says what the story says, wherever in it the refusal may have been: 1 if it named a winner. Where a call that has no end may be
/// the cause, that one may be named instead, or nobody; never another.
fn judged(event: &Event<'_>, causes: &[Cause<'_>], perhaps: &[Event<'_>], records: &[Record]) -> Result<usize, String> {
    let Some(told) = recorder::explain(records, &event.record.request_id) else {
        return Err(format!("a refusal that is in the record is not explained: {:?}", event.known.request));
    };
    let named = told.winner.as_ref().map(|winner| winner.request_id.as_str());
    let is_doubtful = !perhaps.is_empty()
        && named.is_none_or(|named| perhaps.iter().any(|perhaps| perhaps.record.request_id == named));
    let fits = |cause: &Cause<'_>| match (cause, named) {
        (_, _) if is_doubtful => true,
        (Cause::Is(winner), Some(named)) => named == winner.record.request_id,
        (Cause::Is(_), None) => false,
        // What was over by time is shown by the next that took it.
        (Cause::Nobody, named) => named.is_none() || told.why == Why::Expired,
        (Cause::Open, _) => told.winner.as_ref().is_none_or(|winner| !winner.is_refusal()),
    };
    if causes.iter().any(fits) {
        return Ok(usize::from(named.is_some()));
    }
    let blamed: Vec<String> = causes
        .iter()
        .map(|cause| match cause {
            Cause::Is(winner) => format!("{} at {}", winner.record.request_id, winner.record.at.to_iso()),
            Cause::Nobody => "nobody".into(),
            Cause::Open => "anybody".into(),
        })
        .collect();
    let (request, answer) = (&event.known.request, event.answer());
    Err(format!(
        "the cause was one of {blamed:?}, and was told: {}\n{request:?} was answered with {answer:?}",
        told.text
    ))
}
