//! One record, as it is noted and shown.

use std::net::IpAddr;

use lazuli_model::Timestamp;
use lazuli_model::table::{Key, Tag};
use lazuli_store::{Sight, Sighted};
use serde::{Serialize, Serializer};

use crate::auth::Identity;
use crate::head::{Head, guid};
use crate::refusal::Refusal;

/// What an operation has told of what it touched, where the request itself does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    pub entities: Vec<EntityKey>,
    pub messages: Vec<Message>,
    /// Of the one among the entities that a batch was refused for, though it was answered.
    pub refused: Option<(usize, Refusal)>,
}

/// Which entity, and what is done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntityKey {
    pub table: String,
    pub key: Key,
    pub act: EntityAct,
    /// The ETag that this change of a batch names.
    pub expects: Option<Tag>,
}

/// As far as those who come later mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntityAct {
    Write,
    Delete,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordKind {
    Change,
    Refusal,
    /// It was decided and given to the engine, which broke before it said whether the change is durable. The client was answered with an error.
    Uncertain,
}

/// What is noted of a request that has been decided.
pub(crate) struct Note<'a> {
    pub head: &'a Head,
    pub identity: &'a Identity,
    pub row: usize,
    pub status: u16,
    /// Empty for a change.
    pub code: &'static str,
    pub kind: RecordKind,
    pub etag: Option<&'a str>,
    /// It is about a lease.
    pub lease_call: bool,
    /// The lease id that the answer names.
    pub lease: Option<&'a str>,
    pub sight: Sight,
    /// Of an entity that the path does not name.
    pub entity: Option<&'a EntityKey>,
    pub messages: &'a [Message],
    /// The version of the message that the receipt of the request names.
    pub receipt: Option<u32>,
    /// The rule of the lab that had a hand in it; 0 if none had.
    pub rule: u64,
}

/// A message that was put, taken or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    #[serde(serialize_with = "as_guid")]
    pub id: u128,
    pub dequeues: u32,
    #[serde(serialize_with = "as_iso")]
    pub visible: Timestamp,
    /// Raised whenever a receipt is given: each names one.
    #[serde(skip)]
    pub version: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Conditional {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub if_match: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub if_none_match: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub if_modified_since: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub if_unmodified_since: String,
    /// The lease id that the request named.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub lease: String,
}

/// A call about a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeaseCall {
    pub action: String,
    /// That it was about, or made.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub proposed: String,
    /// Of an acquire, its length; of a break, its period. −1 is for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<i64>,
}

/// A range of bytes that was locked or given up; `to` is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LockedRange {
    #[serde(serialize_with = "as_digits")]
    pub from: u64,
    #[serde(serialize_with = "as_digits")]
    pub to: u128,
    pub exclusive: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Record {
    pub seq: u64,
    #[serde(serialize_with = "as_iso")]
    pub at: Timestamp,
    pub request_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client_request_id: String,
    /// `SERVICE/ACCOUNT/REST`
    pub object: String,
    pub operation: &'static str,
    /// Of HTTP; zero for SMB, whose statuses have names.
    #[serde(skip_serializing_if = "is_zero")]
    pub status: u16,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub code: String,
    pub kind: RecordKind,
    pub principal: String,
    pub address: IpAddr,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_etag")]
    pub etag_before: Option<Timestamp>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub etag: String,
    #[serde(skip_serializing_if = "is_empty")]
    pub asked: Conditional,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseCall>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Message>,
    /// The SMB handle that it opened or used.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_digits_of")]
    pub handle: Option<u64>,
    /// The SMB handle that was in its way.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_digits_of")]
    pub held_by: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<LockedRange>,
    #[serde(rename = "rehearsed", skip_serializing_if = "Option::is_none")]
    pub rule: Option<u64>,
    /// What the decision saw.
    #[serde(skip)]
    pub found: Sighted,
    /// It deleted what it is about.
    #[serde(skip)]
    pub deletes: bool,
    /// The version of the message that its receipt named.
    #[serde(skip)]
    pub receipt: Option<u32>,
}

impl Record {
    pub fn account(&self) -> &str {
        self.object.split('/').nth(1).unwrap_or_default()
    }

    pub fn is_change(&self) -> bool {
        self.kind == RecordKind::Change
    }

    pub fn is_refusal(&self) -> bool {
        self.kind == RecordKind::Refusal
    }

    /// The ETag that it left, as the moment at which that was made. Of a request whose end is uncertain, the one that it would have left:
    /// stamps are unique, so if anybody ever saw it, the change was made.
    pub fn made(&self) -> Option<Timestamp> {
        match self.kind {
            RecordKind::Change | RecordKind::Refusal => made(&self.etag),
            RecordKind::Uncertain => Some(self.at).filter(|_| self.lease.is_none() && !self.deletes),
        }
    }

    /// `PutBlob by 10.0.0.7, client request id …`
    pub fn by_whom(&self) -> String {
        let client = match self.client_request_id.as_str() {
            "" => format!("request id {}", self.request_id),
            id => format!("client request id {id}"),
        };
        let lab = self.rule.map_or(String::new(), |rule| format!(", made by the lab's rule {rule}"));
        format!("{} by {} ({}), {client}{lab}", self.operation, self.address, self.principal)
    }
}

/// When an ETag was made: those of blobs and those of entities tell.
pub(super) fn made(etag: &str) -> Option<Timestamp> {
    let etag = etag.trim();
    let of_blob = lazuli_model::ETag::parse(etag).map(lazuli_model::ETag::made);
    of_blob.or_else(|| lazuli_model::table::Tag::parse(etag).map(|tag| tag.0))
}

fn is_zero(status: &u16) -> bool {
    *status == 0
}

fn is_empty(asked: &Conditional) -> bool {
    *asked == Conditional::default()
}

fn as_iso<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&at.to_iso())
}

fn as_etag<S: Serializer>(made: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
    match made {
        Some(made) => to.serialize_str(&format!("0x{:X}", made.ticks())),
        None => to.serialize_none(),
    }
}

/// Browsers have no numbers of 64 bits.
fn as_digits<S: Serializer>(number: &impl ToString, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&number.to_string())
}

fn as_digits_of<S: Serializer>(number: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => as_digits(number, to),
        None => to.serialize_none(),
    }
}

fn as_guid<S: Serializer>(id: &u128, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&guid(*id))
}
