//! One record, as it is noted, kept and shown. Kept is a run of bytes:
//!
//! ```text
//! length u32 │ seq u64 │ at u64 │ found u8, made u64, lease u128 │ request u128 │ row u16 │ status u16 │ refused u8
//! │ address 17 bytes │ rule u64 │ texts, each u16 + bytes │ count u16, of messages: id u128, dequeues u32, visible u64
//! ```

use std::cell::RefCell;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv6Addr};

use lazuli_model::table::Key;
use lazuli_model::{LeaseId, Refusal, Timestamp};
use lazuli_store::{Sight, Sighted};
use serde::{Serialize, Serializer};

use crate::auth::Identity;
use crate::head::{Head, Service, Target, guid};
use crate::operation;
use crate::table;

/// Longer texts are cut: who writes them has no use for the rest, and who fills the record should not.
const OBJECT_MAX: usize = 2_400;
const TEXT_MAX: usize = 128;

/// What an operation has told of what it touched, where the request itself does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    pub entities: Vec<EntityKey>,
    pub messages: Vec<Message>,
    /// Of the one among the entities that a batch was refused for, though it was answered.
    pub refused: Option<(usize, Refusal)>,
}

/// Which entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntityKey {
    pub table: String,
    pub key: Key,
}

/// What is noted of a request that has been decided.
pub(crate) struct Note<'a> {
    pub head: &'a Head,
    pub identity: &'a Identity,
    pub row: usize,
    pub status: u16,
    /// Empty for a change.
    pub code: &'static str,
    pub refused: bool,
    pub etag: Option<&'a str>,
    /// The lease id that the answer names.
    pub lease: Option<&'a str>,
    pub sight: Sight,
    /// Of an entity that the path does not name.
    pub entity: Option<&'a EntityKey>,
    pub messages: &'a [Message],
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
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Asked {
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
    pub status: u16,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub code: String,
    #[serde(rename = "kind", serialize_with = "as_kind")]
    pub refused: bool,
    pub principal: String,
    pub address: IpAddr,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_etag")]
    pub etag_before: Option<Timestamp>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub etag: String,
    #[serde(skip_serializing_if = "is_empty")]
    pub asked: Asked,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseCall>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Message>,
    #[serde(rename = "rehearsed", skip_serializing_if = "Option::is_none")]
    pub rule: Option<u64>,
    /// What the decision saw.
    #[serde(skip)]
    pub found: Sighted,
}

impl Record {
    pub fn account(&self) -> &str {
        self.object.split('/').nth(1).unwrap_or_default()
    }

    /// The ETag that it left, as the moment at which that was made.
    pub fn made(&self) -> Option<Timestamp> {
        made(&self.etag)
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

fn is_empty(asked: &Asked) -> bool {
    *asked == Asked::default()
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

fn as_guid<S: Serializer>(id: &u128, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&guid(*id))
}

fn as_kind<S: Serializer>(refused: &bool, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(if *refused { "refusal" } else { "change" })
}

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Hands the bytes of a record to `done`, which writes its number.
pub(super) fn encode(note: &Note<'_>, done: impl FnOnce(&mut [u8])) {
    SCRATCH.with_borrow_mut(|out| {
        out.clear();
        write(out, note);
        let length = u32::try_from(out.len()).unwrap_or(u32::MAX);
        out[..4].copy_from_slice(&length.to_le_bytes());
        done(out);
    });
}

fn write(out: &mut Vec<u8>, note: &Note<'_>) {
    let head = note.head;
    out.extend_from_slice(&[0; 12]);
    let at = if note.sight.at.0 == 0 { head.now.ticks() } else { note.sight.at.0 };
    out.extend_from_slice(&at.to_le_bytes());
    let (found, made, lease) = match note.sight.found {
        Sighted::Unknown => (0u8, 0, 0),
        Sighted::Nothing => (1, 0, 0),
        Sighted::Made(made, None) => (2, made.ticks(), 0),
        Sighted::Made(made, Some(LeaseId(id))) => (3, made.ticks(), id),
    };
    out.push(found);
    out.extend_from_slice(&made.to_le_bytes());
    out.extend_from_slice(&lease.to_le_bytes());
    out.extend_from_slice(&head.request_id.to_le_bytes());
    out.extend_from_slice(&u16::try_from(note.row).unwrap_or(u16::MAX).to_le_bytes());
    out.extend_from_slice(&note.status.to_le_bytes());
    out.push(u8::from(note.refused));
    match head.peer.to_canonical() {
        IpAddr::V4(address) => {
            out.push(4);
            out.extend_from_slice(&address.to_ipv6_mapped().octets());
        }
        IpAddr::V6(address) => {
            out.push(6);
            out.extend_from_slice(&address.octets());
        }
    }
    out.extend_from_slice(&note.rule.to_le_bytes());
    texts(out, note);
    out.extend_from_slice(&u16::try_from(note.messages.len()).unwrap_or(u16::MAX).to_le_bytes());
    for message in note.messages.iter().take(u16::MAX.into()) {
        out.extend_from_slice(&message.id.to_le_bytes());
        out.extend_from_slice(&message.dequeues.to_le_bytes());
        out.extend_from_slice(&message.visible.ticks().to_le_bytes());
    }
}

fn texts(out: &mut Vec<u8>, note: &Note<'_>) {
    let head = note.head;
    let said = |name: &str| head.text(name).unwrap_or_default();
    framed(out, OBJECT_MAX, |out| object(out, head, note.entity));
    text(out, said("x-ms-client-request-id"));
    text(out, said("user-agent"));
    framed(out, TEXT_MAX, |out| principal(out, note.identity, head));
    text(out, note.code);
    text(out, note.etag.unwrap_or_default());
    for name in ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "x-ms-lease-id"] {
        text(out, said(name));
    }
    let action = said("x-ms-lease-action");
    text(out, action);
    if !action.is_empty() {
        text(out, note.lease.unwrap_or_default());
        text(out, said("x-ms-proposed-lease-id"));
        let seconds = head.text("x-ms-lease-duration").or(head.text("x-ms-lease-break-period"));
        text(out, seconds.unwrap_or_default());
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    framed(out, TEXT_MAX, |out| out.extend_from_slice(text.as_bytes()));
}

/// What `write` writes, cut at `most` bytes, behind its length.
fn framed(out: &mut Vec<u8>, most: usize, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 2]);
    write(out);
    out.truncate(at + 2 + most);
    let length = u16::try_from(out.len() - at - 2).unwrap_or(u16::MAX);
    out[at..at + 2].copy_from_slice(&length.to_le_bytes());
}

/// `blob/account/container/name`
fn object(out: &mut Vec<u8>, head: &Head, entity: Option<&EntityKey>) {
    out.extend_from_slice(match head.service {
        Service::Blob | Service::Dfs => b"blob",
        Service::Queue => b"queue",
        Service::Table => b"table",
        Service::File => b"file",
    });
    let mut push = |part: &str| {
        out.push(b'/');
        out.extend_from_slice(part.as_bytes());
    };
    push(&head.account);
    match &head.target {
        Target::Service => {}
        Target::Container(name) | Target::Queue(name) | Target::Messages(name) | Target::Share(name) => push(name),
        Target::Blob { container, blob } => [container, blob].into_iter().for_each(|part| push(part)),
        Target::Message { queue, id } => [queue, id].into_iter().for_each(|part| push(part)),
        Target::Path { share, path } if path.is_empty() => push(share),
        Target::Path { share, path } => [share, path].into_iter().for_each(|part| push(part)),
        Target::Table(target) => {
            let name = entity.map(|entity| entity.table.as_str()).or(target.table());
            // Tables have one name in whatever case it is written.
            name.into_iter().for_each(|name| push(&name.to_ascii_lowercase()));
            let key = entity.map(|entity| &entity.key).or(target.key());
            key.into_iter().flat_map(|key| [&key.partition, &key.row]).for_each(|part| push(&table::encoded_key(part)));
        }
    }
}

/// Who asked, without what proves it.
fn principal(out: &mut Vec<u8>, identity: &Identity, head: &Head) {
    out.extend_from_slice(identity.kind().as_bytes());
    let mut more = String::new();
    match identity {
        Identity::Owner | Identity::Anonymous => {}
        Identity::Token(principal) | Identity::Delegated(_, principal) => {
            let _ = write!(more, ":{}", principal.oid);
        }
        Identity::AccountSas(_) | Identity::ServiceSas(_) => {
            for name in ["sr", "ss", "srt", "sp", "se", "si"] {
                if let Some(value) = head.query.get(name) {
                    let _ = write!(more, "{}{name}={value}", if more.is_empty() { ':' } else { ';' });
                }
            }
        }
    }
    out.extend_from_slice(more.as_bytes());
}

/// The records in `bytes`, one behind the other.
pub(super) fn decode_all(mut bytes: &[u8]) -> impl Iterator<Item = Record> {
    std::iter::from_fn(move || {
        let length = usize::try_from(u32::from_le_bytes(*bytes.first_chunk()?)).ok()?;
        let (one, rest) = bytes.split_at_checked(length)?;
        bytes = rest;
        decode(&mut Bytes(one.get(4..)?))
    })
}

fn decode(bytes: &mut Bytes<'_>) -> Option<Record> {
    let (seq, at) = (bytes.u64()?, Timestamp::from_ticks(bytes.u64()?));
    let (found, made, lease) = (bytes.u8()?, Timestamp::from_ticks(bytes.u64()?), LeaseId(bytes.u128()?));
    let found = match found {
        1 => Sighted::Nothing,
        2 => Sighted::Made(made, None),
        3 => Sighted::Made(made, Some(lease)),
        _ => Sighted::Unknown,
    };
    let (request, row, status, refused) = (bytes.u128()?, bytes.u16()?, bytes.u16()?, bytes.u8()? == 1);
    let (version, address) = (bytes.u8()?, Ipv6Addr::from(bytes.take::<16>()?));
    let address = if version == 4 { IpAddr::V6(address).to_canonical() } else { IpAddr::V6(address) };
    let rule = bytes.u64()?;
    let object = bytes.text()?;
    let (client_request_id, agent, principal, code, etag) =
        (bytes.text()?, bytes.text()?, bytes.text()?, bytes.text()?, bytes.text()?);
    let asked = Asked {
        if_match: bytes.text()?,
        if_none_match: bytes.text()?,
        if_modified_since: bytes.text()?,
        if_unmodified_since: bytes.text()?,
        lease: bytes.text()?,
    };
    let action = bytes.text()?.to_ascii_lowercase();
    let lease = match action.is_empty() {
        true => None,
        false => {
            let (id, proposed, seconds) = (bytes.text()?, bytes.text()?, bytes.text()?);
            let id = [id, asked.lease.clone()].into_iter().find(|id| !id.is_empty()).unwrap_or_default();
            Some(LeaseCall { action, id, proposed, seconds: seconds.parse().ok() })
        }
    };
    let count = bytes.u16()?;
    let messages = (0..count).map(|_| {
        Some(Message { id: bytes.u128()?, dequeues: bytes.u32()?, visible: Timestamp::from_ticks(bytes.u64()?) })
    });
    let messages = messages.collect::<Option<Vec<_>>>()?;
    Some(Record {
        seq,
        at,
        request_id: guid(request),
        client_request_id,
        object,
        operation: operation::name(row.into()),
        status,
        code,
        refused,
        principal,
        address,
        agent,
        etag_before: match found {
            Sighted::Made(made, _) => Some(made),
            Sighted::Unknown | Sighted::Nothing => None,
        },
        etag,
        asked,
        lease,
        messages,
        rule: Some(rule).filter(|rule| *rule > 0),
        found,
    })
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn u128(&mut self) -> Option<u128> {
        self.take().map(u128::from_le_bytes)
    }

    /// A cut may have gone through a letter.
    fn text(&mut self) -> Option<String> {
        let length = self.u16()?;
        let (text, rest) = self.0.split_at_checked(length.into())?;
        self.0 = rest;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}
