//! Why a request was refused: which other request was faster, as far as the record goes back.
//!
//! Held true: a winner is named only if the record proves it. What a decision saw (the ETag and the lease that were there) is in its record, so
//! the winner is found by what it left behind and not by who came first at some clock.

use lazuli_model::Timestamp;
use lazuli_store::Sighted;
use serde::Serialize;

use super::entry::{Record, RecordKind, made};
use super::history::{Found, History};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// It was not refused.
    Applied,
    /// It was not refused, and the engine broke before it said whether the change is durable.
    Uncertain,
    /// Another change ended the ETag that was named.
    Replaced,
    /// What must not be there was made by another.
    Created,
    Deleted,
    /// Another holds the lease.
    Leased,
    Broken,
    Released,
    Expired,
    /// The lease has another id now.
    Changed,
    /// The message was delivered again, or changed by its holder.
    Taken,
    /// An open, a lock or a copy under way holds it.
    Held,
    /// Nothing was changed since: a condition that asks for a change.
    Unchanged,
    /// The lab's rule refused it.
    Rehearsed,
    /// The winner is not in the record.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    pub record: Record,
    pub text: String,
    pub winner: Option<Record>,
    pub why: Why,
    pub certain: bool,
}

/// What the record says of a request; `None` if it is not in it.
pub fn explain(records: &[Record], request_id: &str) -> Option<Explanation> {
    let is_it = |record: &&Record| record.request_id.eq_ignore_ascii_case(request_id);
    let mine = records.iter().filter(is_it).max_by_key(|record| record.is_refusal())?;
    let history = History::of(records, mine);
    let (why, winner) = judge(records, mine, &history);
    let certain = !matches!(why, Why::Unknown | Why::Uncertain);
    let text = told(mine, why, winner, history.doubt());
    Some(Explanation { record: mine.clone(), text, winner: winner.cloned(), why, certain })
}

fn judge<'a>(records: &'a [Record], mine: &Record, history: &History<'a, '_>) -> Found<'a> {
    match mine.kind {
        RecordKind::Change => return (Why::Applied, None),
        RecordKind::Uncertain if mine.made().is_some_and(|made| was_seen(records, mine, made)) => {
            return (Why::Applied, None);
        }
        RecordKind::Uncertain => return (Why::Uncertain, None),
        RecordKind::Refusal => {}
    }
    if mine.rule.is_some() && matches!(mine.code.as_str(), "ServerBusy" | "InternalError") {
        return (Why::Rehearsed, None);
    }
    match mine.code.as_str() {
        "MessageNotFound" | "PopReceiptMismatch" => history.message(),
        "SharingViolation" | "FileLockConflict" | "LockNotGranted" | "ClientCacheFlushDelay" => history.holder(records),
        "CannotDeleteFileOrDirectory" => history.holder(records),
        "DeletePending" => history.marker(),
        "ObjectNameCollision" => history.creator(),
        "PendingCopyOperation" => history.copier(),
        "SourceConditionNotMet" | "NoPendingCopyOperation" | "CopyIdMismatch" => (Why::Unknown, None),
        "AppendPositionConditionNotMet" | "MaxBlobSizeConditionNotMet" => history.resizer(),
        code if code.starts_with("Lease") => history.lease(code),
        code if code.ends_with("AlreadyExists") => history.creator(),
        _ => history.condition(),
    }
}

fn told(mine: &Record, why: Why, winner: Option<&Record>, doubt: Option<&Record>) -> String {
    let mut text = format!("{} {}", mine.operation, mine.object);
    if !mine.is_refusal() {
        let status = if mine.status == 0 { String::new() } else { format!(", with {}", mine.status) };
        text.push_str(&match (mine.kind, why) {
            (RecordKind::Uncertain, Why::Applied) => {
                format!(
                    " was answered with {} {}, and was done all the same, at {}.",
                    mine.status,
                    mine.code,
                    mine.at.to_iso()
                )
            }
            (RecordKind::Uncertain, _) => format!(
                " was decided at {} and answered with {} {}: nobody knows whether it was done.",
                mine.at.to_iso(),
                mine.status,
                mine.code
            ),
            (RecordKind::Change | RecordKind::Refusal, _) => format!(" was done at {}{status}.", mine.at.to_iso()),
        });
        return text;
    }
    let status = if mine.status == 0 { String::new() } else { format!("{} ", mine.status) };
    text.push_str(&format!(" was refused at {} with {status}{}", mine.at.to_iso(), mine.code));
    let asked = said(mine);
    text.push_str(&if asked.is_empty() { ". ".to_owned() } else { format!(": {asked}. ") });
    let at = winner.map_or(String::new(), |winner| winner.at.to_iso());
    let who = winner.map_or(String::new(), Record::by_whom);
    text.push_str(&match why {
        Why::Applied | Why::Uncertain => String::new(),
        Why::Replaced => format!("{who}, replaced it at {at}."),
        Why::Created => format!("{who}, made it at {at}."),
        Why::Deleted => format!("{who}, deleted it at {at}."),
        Why::Leased => format!("The lease is held by {who}, since {at}."),
        Why::Broken => format!("{who}, broke the lease at {at}."),
        Why::Released => format!("{who}, released the lease at {at}."),
        Why::Expired if winner.is_some_and(is_made_to_expire) => format!("{who}, let the lease expire at {at}."),
        Why::Expired if winner.is_some() => format!("The lease had expired; {who}, took the next one at {at}."),
        Why::Expired if mine.receipt.is_some() => "The message had expired: its time to live was over.".to_owned(),
        Why::Expired => "The lease had expired: nobody renewed it in time.".to_owned(),
        Why::Changed => format!("{who}, gave the lease another id at {at}."),
        Why::Taken => format!("{who}, took or changed the message at {at}; the receipt was good until then."),
        Why::Held => held(mine, winner),
        Why::Unchanged => format!("Nothing has changed it since {who}, at {at}."),
        Why::Rehearsed => {
            format!("Nobody was faster: the lab's rule {} refused it on purpose.", mine.rule.unwrap_or_default())
        }
        Why::Unknown => match doubt {
            None => "What came before it is older than the record, or was never in it.".to_owned(),
            Some(doubt) => format!(
                "Perhaps because of {}, at {}: that was answered with {} {}, and nobody knows whether it was done.",
                doubt.by_whom(),
                doubt.at.to_iso(),
                doubt.status,
                doubt.code
            ),
        },
    });
    text
}

/// Whether another request saw what this one left.
fn was_seen(records: &[Record], mine: &Record, made: Timestamp) -> bool {
    let saw = |record: &Record| matches!(record.found, Sighted::Made(at, _) if at == made);
    records.iter().any(|record| record.object == mine.object && saw(record))
}

/// The lab ended the lease before its time.
fn is_made_to_expire(winner: &Record) -> bool {
    winner.lease.as_ref().is_some_and(|call| call.action == "expire")
}

/// What was in the way: something that another client has open, has locked, caches, or is copying.
fn held(mine: &Record, winner: Option<&Record>) -> String {
    match (winner, mine.held_by) {
        (Some(winner), Some(handle)) => {
            let did = if winner.locks.is_empty() { "opened it" } else { "locked a range of it" };
            let delay =
                if mine.code == "ClientCacheFlushDelay" { ", and did not give up in time what it caches" } else { "" };
            format!("{}, {did} at {}{delay}; its handle {handle} was in the way.", winner.by_whom(), winner.at.to_iso())
        }
        (Some(winner), None) => format!("{}, began at {} and is not done.", winner.by_whom(), winner.at.to_iso()),
        (None, Some(handle)) => {
            format!("The handle {handle} of an SMB client was in the way; its opening is older than the record.")
        }
        (None, None) => "An open handle, a lock or a cache of an SMB client is in the way.".to_owned(),
    }
}

/// What the refused request had asked for.
fn said(mine: &Record) -> String {
    let asked = &mine.asked;
    let when = |etag: &str| made(etag).map_or(String::new(), |at| format!(" (made at {})", at.to_iso()));
    let mut parts = Vec::new();
    if !asked.if_match.is_empty() {
        parts.push(format!("If-Match named {}{}", asked.if_match, when(&asked.if_match)));
    }
    if !asked.if_none_match.is_empty() {
        parts.push(format!("If-None-Match named {}{}", asked.if_none_match, when(&asked.if_none_match)));
    }
    if !asked.if_modified_since.is_empty() {
        parts.push(format!("If-Modified-Since named {}", asked.if_modified_since));
    }
    if !asked.if_unmodified_since.is_empty() {
        parts.push(format!("If-Unmodified-Since named {}", asked.if_unmodified_since));
    }
    match (asked.lease.as_str(), mine.code.as_str()) {
        ("", "LeaseIdMissing") => parts.push("it named no lease".to_owned()),
        ("", _) => {}
        (lease, _) => parts.push(format!("it named the lease {lease}")),
    }
    parts.join(" and ")
}
