//! What the recorder is told of a request, when its operation has ended: also if its client has gone by then.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::header::{HeaderName, USER_AGENT};
use http::{HeaderMap, HeaderValue};
use lazuli_model::table::{Action, Change, Expect, Place, Tag};
use lazuli_model::{LeaseId, Timestamp};
use lazuli_store::{Sight, Witness};

use super::{Ask, Edge};
use crate::answer::{Answer, name};
use crate::auth::Identity;
use crate::blob;
use crate::head::{Head, Target};
use crate::operation::{self, On, Spec};
use crate::recorder::{EntityAct, EntityKey, Message, Note, RecordKind, Touched, is_conflict};
use crate::refusal::{Failure, Refusal};
use crate::status::{self, Subject};

/// What is gathered for a record while an operation runs.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub witness: Arc<Witness>,
    touched: Mutex<Touched>,
    /// The lab's rule that had a hand in it.
    pub rule: u64,
    /// Its operation changes what is stored.
    writes: bool,
}

impl Watch {
    /// For a request of which anything could be recorded: it changes something, or may be refused because of what others changed. `rule` is the
    /// lab's rule that had a hand in it; 0 if none had.
    pub fn over(spec: &Spec, head: &Head, rule: u64) -> Option<Self> {
        const ASKED: [&str; 5] =
            ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "x-ms-lease-id"];
        let may_be_open = matches!(spec.on, On::File | On::Directory);
        let writes = spec.writes();
        let is_worth = writes || may_be_open || ASKED.iter().any(|header| head.says(header));
        is_worth.then(|| Self { rule, writes, ..Self::default() })
    }
}

impl Ask {
    fn touched(&self) -> Option<MutexGuard<'_, Touched>> {
        self.watch.as_ref().map(|watch| watch.touched.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// It is about these entities of `table`.
    pub(crate) fn touches_entities<'a>(&self, table: &str, changes: impl IntoIterator<Item = &'a Change>) {
        if let Some(mut touched) = self.touched() {
            touched.entities = changes.into_iter().map(|change| entity(table, change)).collect();
        }
    }

    /// The one of its entities that the whole of it was refused for.
    pub(crate) fn refused_for(&self, index: usize, refusal: &Refusal) {
        if let Some(mut touched) = self.touched() {
            touched.refused = Some((index, refusal.clone()));
        }
    }

    pub(crate) fn touches_message(&self, message: &lazuli_model::queue::Message) {
        if let Some(mut touched) = self.touched() {
            let (dequeues, visible) = (message.dequeued, message.place.visible);
            touched.messages.push(Message { id: message.id, dequeues, visible, version: message.version });
        }
    }
}

/// Records `outcome`, if it is a change, or a refusal that another request is the cause of.
pub(super) fn note(ask: &Ask, row: usize, outcome: &Result<Answer, Failure>) {
    let (Some(recorder), Some(watch)) = (ask.edge.recorder(), &ask.watch) else { return };
    let touched = watch.touched.lock().unwrap_or_else(PoisonError::into_inner);
    let sight = watch.witness.sight();
    let refusal = match (outcome, &touched.refused) {
        (Err(Failure::Refused(refusal)), _) => Some(refusal),
        (Ok(_), Some((_, refusal))) => Some(refusal),
        (Ok(_), None) if watch.writes && !is_empty(ask, &touched) => None,
        (Err(Failure::Broken(_)), _) if sight.submitted => None,
        (Ok(_), None) | (Err(Failure::Broken(_)), _) => return,
    };
    if refusal.is_some_and(|refusal| !is_conflict(refusal)) {
        return;
    }
    let (kind, status, code) = match (refusal, outcome) {
        (Some(refusal), _) => {
            let said = status::of_failure(&Failure::Refused(inner(refusal).clone()), subject(ask.spec.on));
            (RecordKind::Refusal, said.status, said.code)
        }
        (None, Ok(answer)) => (RecordKind::Change, answer.status.as_u16(), ""),
        (None, Err(failure)) => {
            let said = status::of_failure(failure, subject(ask.spec.on));
            (RecordKind::Uncertain, said.status, said.code)
        }
    };
    let answered = |header: &HeaderName| {
        let answer = outcome.as_ref().ok().filter(|_| refusal.is_none())?;
        answer.headers.get(header).and_then(|value| value.to_str().ok())
    };
    let lease_call = ask.spec.comp == Some("lease");
    let one = Note {
        head: &ask.head,
        identity: &ask.identity,
        row,
        status,
        code,
        kind,
        etag: answered(&name::ETAG),
        lease_call,
        lease: if lease_call { answered(&name::LEASE_ID) } else { None },
        sight,
        entity: None,
        messages: &touched.messages,
        receipt: receipt(&ask.head),
        rule: watch.rule,
    };
    match (refusal, touched.entities.as_slice()) {
        (_, []) => recorder.note(&one),
        (None, entities) => {
            // What one batch writes has one ETag.
            let (found, tag) = (watch.witness.each(), Tag(Timestamp::from_ticks(one.sight.at.0)).to_string());
            for (index, entity) in entities.iter().enumerate() {
                let found = found.get(index).copied().unwrap_or_default();
                let etag = (kind == RecordKind::Change && entity.act == EntityAct::Write).then_some(tag.as_str());
                let mut sight = one.sight;
                sight.found = found;
                recorder.note(&Note { entity: Some(entity), etag, sight, ..one });
            }
        }
        (Some(_), entities) => {
            let index = touched.refused.as_ref().map_or(0, |(index, _)| *index);
            recorder.note(&Note { entity: entities.get(index), ..one });
        }
    }
}

/// A refusal that a rule of the lab made up.
pub(super) fn rehearsed(ask: &Ask, row: usize, refusal: &Refusal) {
    let (Some(recorder), Some(watch)) = (ask.edge.recorder(), &ask.watch) else { return };
    let said = status::of_failure(&Failure::Refused(refusal.clone()), subject(ask.spec.on));
    recorder.note(&Note {
        head: &ask.head,
        identity: &ask.identity,
        row,
        status: said.status,
        code: said.code,
        kind: RecordKind::Refusal,
        etag: None,
        lease_call: false,
        lease: None,
        sight: watch.witness.sight(),
        entity: None,
        messages: &[],
        receipt: receipt(&ask.head),
        rule: watch.rule,
    });
}

/// A lease of a blob that the lab let expire before its time.
pub struct LabExpiry {
    pub rule: u64,
    pub id: LeaseId,
    pub at: Timestamp,
    /// The record has to be called something.
    pub request_id: u128,
}

impl Edge {
    /// Records what the lab did to the lease of the blob that the request of `head` names, before that request runs: as a call of the lab's own.
    pub fn note_expiry(&self, head: &Head, expiry: &LabExpiry) {
        let Some(recorder) = self.recorder() else { return };
        let Some(row) = operation::blob_row(&blob::lease_blob::BREAK) else { return };
        let client = format!("lab-rule-{}-{:032x}", expiry.rule, expiry.request_id);
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static("lazuli-lab"));
        headers.insert("x-ms-lease-action", HeaderValue::from_static("expire"));
        headers
            .extend(HeaderValue::from_str(&client).map(|id| (HeaderName::from_static("x-ms-client-request-id"), id)));
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let head = Head { headers: headers.into(), peer, request_id: expiry.request_id, ..head.clone() };
        let mut sight = Sight::default();
        sight.at.0 = expiry.at.ticks();
        recorder.note(&Note {
            head: &head,
            identity: &Identity::Owner,
            row,
            status: 200,
            code: "",
            kind: RecordKind::Change,
            etag: None,
            lease_call: true,
            lease: Some(&expiry.id.to_string()),
            sight,
            entity: None,
            messages: &[],
            receipt: None,
            rule: expiry.rule,
        });
    }
}

fn entity(table: &str, change: &Change) -> EntityKey {
    let (act, expects) = match &change.action {
        Action::Insert(_) | Action::Replace(Place::Anywhere, _) | Action::Merge(Place::Anywhere, _) => {
            (EntityAct::Write, None)
        }
        Action::Replace(Place::Found(expects), _) | Action::Merge(Place::Found(expects), _) => {
            (EntityAct::Write, Some(expects))
        }
        Action::Delete(expects) => (EntityAct::Delete, Some(expects)),
    };
    let expects = match expects {
        Some(Expect::Tag(tag)) => *tag,
        Some(Expect::Any) | None => None,
    };
    EntityKey { table: table.into(), key: change.key.clone(), act, expects }
}

/// Which of a message's receipts a request names.
fn receipt(head: &Head) -> Option<u32> {
    let named = matches!(head.target, Target::Message { .. }).then(|| head.query.get("popreceipt")).flatten()?;
    lazuli_model::queue::Receipt::parse(named).map(|receipt| receipt.version)
}

/// A change by name that changed nothing: a get that got no message, a batch of blobs, whose parts are recorded by themselves.
fn is_empty(ask: &Ask, touched: &Touched) -> bool {
    match ask.spec.on {
        On::Messages => ask.spec.name == crate::queue::get_messages::SPEC.name && touched.messages.is_empty(),
        On::Service | On::Container => ask.spec.name.ends_with("Batch") || ask.spec.name.ends_with("BatchByPath"),
        On::Batch => touched.entities.is_empty(),
        On::Blob | On::Queue | On::Message | On::Share | On::Directory | On::File => false,
        On::Tables | On::Table | On::Entities | On::Entity => false,
    }
}

fn inner(refusal: &Refusal) -> &Refusal {
    if let Refusal::InBatch { refusal, .. } = refusal { refusal } else { refusal }
}

/// Whose words a refusal is told in.
pub(super) fn subject(on: On) -> Subject {
    match on {
        On::Container => Subject::Container,
        On::Share => Subject::Share,
        On::Directory | On::File => Subject::File,
        On::Service | On::Blob | On::Queue | On::Messages | On::Message => Subject::Blob,
        On::Tables | On::Table | On::Entities | On::Entity | On::Batch => Subject::Blob,
    }
}
