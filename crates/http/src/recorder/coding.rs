//! A record as it is kept, which is a run of bytes:
//!
//! ```text
//! length u32 │ seq u64 │ at u64 │ found u8, one u64, two u128, three u64 │ request u128 │ row u16 │ status u16 │ kind u8
//! │ address 17 bytes │ rule u64 │ handle u64 │ deletes u8 │ receipt u64 │ texts, each u16 + bytes
//! │ count u16, of messages: id u128, dequeues u32, visible u64, version u32
//! │ count u16, of locks: from u64, to u128, exclusive u8
//! ```
//!
//! A call through an SMB handle has a row from [`SMB_ROWS`] on, and the numbers of its session and its message as the id of its request.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv6Addr};

use http::header::USER_AGENT;
use lazuli_model::file::arbiter::{Lock, Obstacle};
use lazuli_model::{LeaseId, Timestamp};
use lazuli_store::{HandleAct, HandleCall, Sighted};

use super::entry::{Conditional, EntityAct, EntityKey, LeaseCall, LockedRange, Message, Note, Record, RecordKind};
use crate::auth::Identity;
use crate::head::{Head, Query, Service, Target, guid};
use crate::operation;
use crate::table;

/// Longer texts are cut: who writes them has no use for the rest, and who fills the record should not.
const OBJECT_MAX: usize = 2_400;
const TEXT_MAX: usize = 128;
const LOCKS_MAX: usize = 64;
/// What comes before the texts, behind the length and the number.
const FIXED_BYTES: usize = 8 + (1 + 8 + 16 + 8) + 16 + 2 + 2 + 1 + 17 + 8 + 8 + 1 + 8;
/// More than most records have.
const USUAL_BYTES: usize = 1024;
const CLIENT_REQUEST_ID: &str = "x-ms-client-request-id";
/// What a refused request is recorded with.
const ASKED: [&str; 5] = ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "x-ms-lease-id"];
/// Rows from here on are calls through SMB handles, in the order of [`HandleAct::ALL`].
const SMB_ROWS: u16 = 0xFF00;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Hands the bytes of a record to `done`, which writes its number.
pub(super) fn encode(note: &Note<'_>, done: impl FnOnce(&mut [u8])) {
    filled(done, |out| {
        let head = note.head;
        let at = if note.sight.at.0 == 0 { head.now.ticks() } else { note.sight.at.0 };
        fixed(
            out,
            &Fixed {
                at,
                found: note.sight.found,
                request: head.request_id,
                row: u16::try_from(note.row).unwrap_or(u16::MAX),
                status: note.status,
                kind: note.kind,
                address: head.peer,
                rule: note.rule,
                handle: 0,
                deletes: deletes(note),
                receipt: note.receipt,
            },
        );
        texts(out, note);
        counted(out, note.messages, u16::MAX.into(), |out, message| {
            out.extend_from_slice(&message.id.to_le_bytes());
            out.extend_from_slice(&message.dequeues.to_le_bytes());
            out.extend_from_slice(&message.visible.ticks().to_le_bytes());
            out.extend_from_slice(&message.version.to_le_bytes());
        });
        out.extend_from_slice(&[0; 2]);
    });
}

/// The same of a call through an SMB handle.
pub(super) fn encode_call(call: &HandleCall<'_>, done: impl FnOnce(&mut [u8])) {
    filled(done, |out| {
        let row = HandleAct::ALL.iter().position(|act| *act == call.act).and_then(|row| u16::try_from(row).ok());
        fixed(
            out,
            &Fixed {
                at: call.at.ticks(),
                found: call.found,
                request: u128::from(call.session) << 64 | u128::from(call.message),
                row: SMB_ROWS + row.unwrap_or_default(),
                status: 0,
                kind: if call.refused.is_some() { RecordKind::Refusal } else { RecordKind::Change },
                address: call.peer,
                rule: 0,
                handle: call.handle,
                deletes: call.act == HandleAct::CloseAndDelete,
                receipt: None,
            },
        );
        framed(out, OBJECT_MAX, |out| {
            let parts = [call.share.account.as_str(), call.share.share.as_str(), call.path];
            out.extend_from_slice(b"file");
            for part in parts.into_iter().filter(|part| !part.is_empty()) {
                out.push(b'/');
                out.extend_from_slice(part.as_bytes());
            }
        });
        // No id of its own, the agent, who it is; of an HTTP request's other texts only the code.
        for said in ["", "SMB", "smb", call.refused.unwrap_or_default(), "", "", "", "", "", "", ""] {
            text(out, said);
        }
        out.extend_from_slice(&[0; 2]);
        counted(out, call.locks, LOCKS_MAX, |out, lock| {
            out.extend_from_slice(&lock.from.to_le_bytes());
            out.extend_from_slice(&lock.to.to_le_bytes());
            out.push(u8::from(lock.exclusive));
        });
    });
}

fn filled(done: impl FnOnce(&mut [u8]), write: impl FnOnce(&mut Vec<u8>)) {
    SCRATCH.with_borrow_mut(|out| {
        out.clear();
        out.reserve(USUAL_BYTES);
        out.extend_from_slice(&[0; 12]);
        write(out);
        let length = u32::try_from(out.len()).unwrap_or(u32::MAX);
        out[..4].copy_from_slice(&length.to_le_bytes());
        done(out);
    });
}

/// What every record has.
struct Fixed {
    at: u64,
    found: Sighted,
    request: u128,
    row: u16,
    status: u16,
    kind: RecordKind,
    address: IpAddr,
    rule: u64,
    handle: u64,
    deletes: bool,
    receipt: Option<u32>,
}

/// Written in one piece: most of what a record costs is in how often bytes are appended.
fn fixed(out: &mut Vec<u8>, fixed: &Fixed) {
    let (found, one, two, three) = match fixed.found {
        Sighted::Unknown => (0u8, 0, 0, 0),
        Sighted::Nothing => (1, 0, 0, 0),
        Sighted::Made(made, None) => (2, made.ticks(), 0, 0),
        Sighted::Made(made, Some(LeaseId(id))) => (3, made.ticks(), id, 0),
        Sighted::Entry(None) => (4, 0, 0, 0),
        Sighted::Entry(Some(LeaseId(id))) => (5, 0, id, 0),
        Sighted::Held(Obstacle { handle, lock: None }) => (6, handle, 0, 0),
        Sighted::Held(Obstacle { handle, lock: Some(lock) }) => {
            (7 + u8::from(lock.exclusive), handle, lock.to, lock.from)
        }
    };
    let kind = match fixed.kind {
        RecordKind::Change => 0,
        RecordKind::Refusal => 1,
        RecordKind::Uncertain => 2,
    };
    let (version, address) = match fixed.address.to_canonical() {
        IpAddr::V4(address) => (4, address.to_ipv6_mapped().octets()),
        IpAddr::V6(address) => (6, address.octets()),
    };
    let receipt = fixed.receipt.map_or(u64::MAX, u64::from);
    let mut bytes = [0; FIXED_BYTES];
    let mut rest = &mut bytes[..];
    put(&mut rest, fixed.at.to_le_bytes());
    put(&mut rest, [found]);
    put(&mut rest, one.to_le_bytes());
    put(&mut rest, two.to_le_bytes());
    put(&mut rest, three.to_le_bytes());
    put(&mut rest, fixed.request.to_le_bytes());
    put(&mut rest, fixed.row.to_le_bytes());
    put(&mut rest, fixed.status.to_le_bytes());
    put(&mut rest, [kind, version]);
    put(&mut rest, address);
    put(&mut rest, fixed.rule.to_le_bytes());
    put(&mut rest, fixed.handle.to_le_bytes());
    put(&mut rest, [u8::from(fixed.deletes)]);
    put(&mut rest, receipt.to_le_bytes());
    debug_assert!(rest.is_empty());
    out.extend_from_slice(&bytes);
}

#[inline(always)]
fn put<const N: usize>(rest: &mut &mut [u8], value: [u8; N]) {
    let (here, behind) = std::mem::take(rest).split_at_mut(N);
    here.copy_from_slice(&value);
    *rest = behind;
}

/// By the name of the operation; a batch says it of each entity.
fn deletes(note: &Note<'_>) -> bool {
    match note.entity {
        Some(entity) => entity.act == EntityAct::Delete,
        None => {
            let name = operation::name(note.row);
            if !name.starts_with("Delete") {
                return name == "ClearMessages";
            }
            // A snapshot or a version goes, and the blob stays.
            let part = ["snapshot", "sharesnapshot"].iter().any(|name| note.head.query.get(name).is_some())
                || note.head.text("x-ms-delete-snapshots").is_some_and(|which| which.eq_ignore_ascii_case("only"));
            !part && !["DeleteBlobVersion", "DeleteBlobPermanently", "DeleteBlobImmutabilityPolicy"].contains(&name)
        }
    }
}

/// Up to `most` of them, behind their number.
fn counted<T>(out: &mut Vec<u8>, all: &[T], most: usize, write: impl Fn(&mut Vec<u8>, &T)) {
    let count = u16::try_from(all.len().min(most)).unwrap_or(u16::MAX);
    out.extend_from_slice(&count.to_le_bytes());
    all.iter().take(count.into()).for_each(|one| write(out, one));
}

fn texts(out: &mut Vec<u8>, note: &Note<'_>) {
    let head = note.head;
    framed(out, OBJECT_MAX, |out| object(out, head, note.entity));
    let (client, agent) = who(head);
    bytes(out, client.trim_ascii());
    bytes(out, agent.trim_ascii());
    framed(out, TEXT_MAX, |out| principal(out, note.identity, head));
    text(out, note.code);
    text(out, note.etag.unwrap_or_default());
    // What a change asked for was met, and is not looked up: most requests are plain changes.
    if note.kind == RecordKind::Change && !note.lease_call {
        return out.extend_from_slice(&[0; 2 * ASKED.len() + 2]);
    }
    let said = |name: &str| head.text(name).unwrap_or_default();
    let expects = note.entity.and_then(|entity| entity.expects).filter(|_| note.kind == RecordKind::Refusal);
    for name in ASKED {
        match expects.filter(|_| name == "if-match") {
            Some(tag) => text(out, &tag.to_string()),
            None => text(out, said(name)),
        }
    }
    let action = if note.lease_call { said("x-ms-lease-action") } else { "" };
    text(out, action);
    if !action.is_empty() {
        text(out, note.lease.unwrap_or_default());
        text(out, said("x-ms-proposed-lease-id"));
        let seconds = head.text("x-ms-lease-duration").or(head.text("x-ms-lease-break-period"));
        text(out, seconds.unwrap_or_default());
    }
}

/// The client's own id of the request, and its agent: in one walk, which is cheaper than two look-ups.
fn who(head: &Head) -> (&[u8], &[u8]) {
    let (mut client, mut agent) = (&[][..], &[][..]);
    for (name, value) in head.headers.iter() {
        if *name == USER_AGENT {
            agent = value.as_bytes();
        } else if name.as_str().len() == CLIENT_REQUEST_ID.len() && name.as_str() == CLIENT_REQUEST_ID {
            client = value.as_bytes();
        }
    }
    (client, agent)
}

/// A text behind its length. Most are empty, or short.
fn bytes(out: &mut Vec<u8>, text: &[u8]) {
    let text = &text[..text.len().min(TEXT_MAX)];
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    if !text.is_empty() {
        out.extend_from_slice(text);
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    bytes(out, text.as_bytes());
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
    match identity {
        Identity::Owner | Identity::Anonymous => {}
        Identity::Token(principal) | Identity::Delegated(_, principal) => {
            out.push(b':');
            out.extend_from_slice(principal.oid.as_bytes());
        }
        Identity::AccountSas(_) | Identity::ServiceSas(_) => out.extend_from_slice(head.query.sas_fields(sas_fields)),
    }
}

/// The fields of a SAS that say what it is for. Its signature is none of them.
fn sas_fields(query: &Query) -> Vec<u8> {
    let mut out = Vec::new();
    let mut between = b':';
    let is_told = |name: &str| ["sr", "ss", "srt", "sp", "se", "si"].contains(&name);
    for (name, value) in query.iter().filter(|(name, value)| is_told(name) && !value.is_empty()) {
        out.push(between);
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        out.extend_from_slice(value.as_bytes());
        between = b';';
    }
    out.truncate(TEXT_MAX);
    out
}

/// How a request of SMB is named: by its session and its message, as the access log has them.
fn smb_request_id(session: u64, message: u64) -> String {
    format!("smb-{session}-{message}")
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
    let (found, one, two, three) = (bytes.u8()?, bytes.u64()?, bytes.u128()?, bytes.u64()?);
    let (made, lease) = (Timestamp::from_ticks(one), LeaseId(two));
    let found = match found {
        1 => Sighted::Nothing,
        2 => Sighted::Made(made, None),
        3 => Sighted::Made(made, Some(lease)),
        4 => Sighted::Entry(None),
        5 => Sighted::Entry(Some(lease)),
        6 => Sighted::Held(Obstacle { handle: one, lock: None }),
        7 | 8 => {
            Sighted::Held(Obstacle { handle: one, lock: Some(Lock { from: three, to: two, exclusive: found == 8 }) })
        }
        _ => Sighted::Unknown,
    };
    let (request, row, status) = (bytes.u128()?, bytes.u16()?, bytes.u16()?);
    let kind = match bytes.u8()? {
        1 => RecordKind::Refusal,
        2 => RecordKind::Uncertain,
        _ => RecordKind::Change,
    };
    let (version, address) = (bytes.u8()?, Ipv6Addr::from(bytes.take::<16>()?));
    let address = if version == 4 { IpAddr::V6(address).to_canonical() } else { IpAddr::V6(address) };
    let (rule, handle) = (bytes.u64()?, bytes.u64()?);
    let (deletes, receipt) = (bytes.u8()? == 1, u32::try_from(bytes.u64()?).ok());
    let object = bytes.text()?;
    let (client_request_id, agent, principal, code, etag) =
        (bytes.text()?, bytes.text()?, bytes.text()?, bytes.text()?, bytes.text()?);
    let asked = Conditional {
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
            // Who was not answered was told no id: it is the one that was proposed.
            let unanswered = if kind == RecordKind::Uncertain { proposed.clone() } else { String::new() };
            let id = [id, unanswered, asked.lease.clone()].into_iter().find(|id| !id.is_empty()).unwrap_or_default();
            Some(LeaseCall { action, id, proposed, seconds: seconds.parse().ok() })
        }
    };
    let count = bytes.u16()?;
    let messages = (0..count).map(|_| {
        let (id, dequeues) = (bytes.u128()?, bytes.u32()?);
        Some(Message { id, dequeues, visible: Timestamp::from_ticks(bytes.u64()?), version: bytes.u32()? })
    });
    let messages = messages.collect::<Option<Vec<_>>>()?;
    let count = bytes.u16()?;
    let locks =
        (0..count).map(|_| Some(LockedRange { from: bytes.u64()?, to: bytes.u128()?, exclusive: bytes.u8()? == 1 }));
    let locks = locks.collect::<Option<Vec<_>>>()?;
    let by_handle = row.checked_sub(SMB_ROWS).and_then(|row| HandleAct::ALL.get(usize::from(row)));
    Some(Record {
        seq,
        at,
        request_id: match by_handle {
            Some(_) => smb_request_id((request >> 64) as u64, request as u64),
            None => guid(request),
        },
        client_request_id,
        object,
        operation: match (by_handle, &lease) {
            (Some(act), _) => act.name(),
            // Only the lab can do this, and no client can ask for it.
            (None, Some(call)) if call.action == "expire" => "ExpireLease",
            (None, _) => operation::name(row.into()),
        },
        status,
        code,
        kind,
        principal,
        address,
        agent,
        etag_before: match found {
            Sighted::Made(made, _) => Some(made),
            Sighted::Unknown | Sighted::Nothing | Sighted::Entry(_) | Sighted::Held(_) => None,
        },
        etag,
        asked,
        lease,
        messages,
        handle: Some(handle).filter(|handle| *handle > 0),
        held_by: match found {
            Sighted::Held(obstacle) => Some(obstacle.handle),
            Sighted::Unknown | Sighted::Nothing | Sighted::Made(..) | Sighted::Entry(_) => None,
        },
        locks,
        rule: Some(rule).filter(|rule| *rule > 0),
        found,
        deletes,
        receipt,
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
