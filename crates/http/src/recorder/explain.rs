//! Why a request was refused: which other request was faster, as far as the record goes back.
//!
//! Held true: a winner is named only if the record proves it. What a decision saw (the ETag and the lease that were there) is in its record, so
//! the winner is found by what it left behind and not by who came first at some clock.

use lazuli_model::Timestamp;
use lazuli_model::file::arbiter::Obstacle;
use lazuli_store::{HandleAct, Sighted};
use serde::Serialize;

use super::entry::{Record, made};
use crate::head::guid;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// It was not refused.
    Applied,
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
    let mine = records.iter().filter(is_it).max_by_key(|record| record.refused)?;
    let (why, winner) = judge(records, mine);
    let certain = why != Why::Unknown;
    Some(Explanation { record: mine.clone(), text: told(mine, why, winner), winner: winner.cloned(), why, certain })
}

type Found<'a> = (Why, Option<&'a Record>);

fn judge<'a>(records: &'a [Record], mine: &Record) -> Found<'a> {
    if !mine.refused {
        return (Why::Applied, None);
    }
    if mine.rule.is_some() && matches!(mine.code.as_str(), "ServerBusy" | "InternalError") {
        return (Why::Rehearsed, None);
    }
    let history = History::of(records, mine);
    match mine.code.as_str() {
        "MessageNotFound" | "PopReceiptMismatch" => history.message(),
        "SharingViolation" | "FileLockConflict" | "LockNotGranted" | "ClientCacheFlushDelay" => history.holder(records),
        "CannotDeleteFileOrDirectory" => history.holder(records),
        "DeletePending" => history.last(marks_for_deletion, Why::Deleted),
        "ObjectNameCollision" => history.creator(),
        "PendingCopyOperation" => history.last(|change| change.operation.starts_with("Copy"), Why::Held),
        "SourceConditionNotMet" | "NoPendingCopyOperation" | "CopyIdMismatch" => (Why::Unknown, None),
        "AppendPositionConditionNotMet" | "MaxBlobSizeConditionNotMet" => history.last(resizes, Why::Replaced),
        code if code.starts_with("Lease") => history.lease(code),
        code if code.ends_with("AlreadyExists") => history.creator(),
        _ => history.condition(),
    }
}

/// The changes of one object before a refusal, in order.
struct History<'a, 'b> {
    mine: &'b Record,
    changes: Vec<&'a Record>,
}

fn deletes(change: &Record) -> bool {
    change.deletes
}

impl<'a> History<'a, '_> {
    fn of<'b>(records: &'a [Record], mine: &'b Record) -> History<'a, 'b> {
        let is_of = |record: &&Record| !record.refused && same_object(record, mine) && before(record, mine);
        let mut changes: Vec<&Record> = records.iter().filter(is_of).collect();
        // What concerns a message is done to its queue.
        if let Some((queue, id)) = message_of(mine) {
            let about =
                |record: &Record| deletes(record) || record.messages.iter().any(|message| guid(message.id) == id);
            let is_of =
                |record: &&Record| !record.refused && record.object == queue && before(record, mine) && about(record);
            changes.extend(records.iter().filter(is_of));
        }
        changes.sort_by_key(|record| (record.at, record.seq));
        History { mine, changes }
    }

    fn last(&self, is_it: impl Fn(&Record) -> bool, why: Why) -> Found<'a> {
        match self.changes.iter().rev().find(|change| is_it(change)) {
            Some(winner) => (why, Some(winner)),
            None => (Why::Unknown, None),
        }
    }

    /// Whose handle or lock was in the way, or whose lease.
    fn holder(&self, records: &'a [Record]) -> Found<'a> {
        match self.mine.found {
            Sighted::Held(obstacle) => {
                let winner = records.iter().rev().find(|record| !record.refused && made_obstacle(record, obstacle));
                (Why::Held, winner)
            }
            Sighted::Entry(Some(_)) => self.lease(""),
            Sighted::Unknown | Sighted::Nothing | Sighted::Made(..) | Sighted::Entry(None) => (Why::Held, None),
        }
    }

    /// Who gave the message another receipt than the one that was named, or deleted it.
    fn message(&self) -> Found<'a> {
        let (Some(named), Some((_, id))) = (self.mine.receipt, message_of(self.mine)) else {
            return (Why::Unknown, None);
        };
        let version = |change: &Record| {
            change.messages.iter().find(|message| guid(message.id) == id).map(|message| message.version)
        };
        // What came before the receipt was given, or gave it, did not end it.
        let given = self.changes.iter().rposition(|change| version(change).is_some_and(|version| version <= named));
        let later = &self.changes[given.map_or(0, |given| given + 1)..];
        match later.iter().find(|change| deletes(change) || version(change) > Some(named)) {
            Some(winner) if !deletes(winner) => (Why::Taken, Some(winner)),
            Some(winner) if given.is_some() => (Why::Deleted, Some(winner)),
            // Whether the message was there when others were deleted, nobody knows.
            Some(_) => (Why::Unknown, None),
            // The receipt is the last that was given, and nobody deleted the message: its time is over.
            None if given.is_some() => (Why::Expired, None),
            None => (Why::Unknown, None),
        }
    }

    /// Who made what is there: the first change of its present life.
    fn creator(&self) -> Found<'a> {
        let until = match self.mine.found {
            Sighted::Made(made, _) => made,
            Sighted::Unknown | Sighted::Nothing | Sighted::Entry(_) | Sighted::Held(_) => self.mine.at,
        };
        let makes = |change: &Record| match change.found {
            Sighted::Nothing => !deletes(change),
            Sighted::Made(..) | Sighted::Entry(_) | Sighted::Held(_) => false,
            Sighted::Unknown => change.operation.starts_with("Create") || change.operation.starts_with("Restore"),
        };
        self.last(|change| makes(change) && change.at <= until, Why::Created)
    }

    fn condition(&self) -> Found<'a> {
        let asked = &self.mine.asked;
        let current = match self.mine.found {
            Sighted::Made(made, _) => Some(made),
            Sighted::Unknown | Sighted::Nothing | Sighted::Entry(_) | Sighted::Held(_) => None,
        };
        let named = made(&asked.if_match);
        if !asked.if_match.is_empty() && (current.is_none() || named != current) {
            return self.ended(named, current);
        }
        if asked.if_none_match.trim() == "*" {
            return self.creator();
        }
        if !asked.if_none_match.is_empty() || !asked.if_modified_since.is_empty() {
            let maker = current.and_then(|current| self.maker(current));
            return maker.map_or((Why::Unknown, None), |maker| (Why::Unchanged, Some(maker)));
        }
        self.replaced(current)
    }

    /// Who ended the ETag that was made at `named`; or, if that is not known, who made what is there instead.
    fn ended(&self, named: Option<Timestamp>, current: Option<Timestamp>) -> Found<'a> {
        let ends = |change: &Record| {
            let saw_it = matches!(change.found, Sighted::Made(made, _) if Some(made) == named);
            saw_it && (deletes(change) || change.made().is_some_and(|made| Some(made) != named))
        };
        match self.changes.iter().rev().find(|change| ends(change)) {
            Some(winner) if deletes(winner) => (Why::Deleted, Some(winner)),
            Some(winner) => (Why::Replaced, Some(winner)),
            None => self.next_after(named).map_or_else(|| self.replaced(current), |next| (Why::Replaced, Some(next))),
        }
    }

    /// The change that made the next ETag after `named`, if the record knows `named`: those of one object only grow. For operations that do
    /// not tell what they saw.
    fn next_after(&self, named: Option<Timestamp>) -> Option<&'a Record> {
        self.maker(named?)?;
        let makes = |change: &&'a Record| {
            let made = change.made().filter(|_| change.lease.is_none());
            Some((made.filter(|made| Some(*made) > named)?, *change))
        };
        self.changes.iter().filter_map(makes).min_by_key(|(made, _)| *made).map(|(_, change)| change)
    }

    fn replaced(&self, current: Option<Timestamp>) -> Found<'a> {
        match (current, self.mine.found) {
            (Some(current), _) => {
                self.maker(current).map_or((Why::Unknown, None), |maker| (Why::Replaced, Some(maker)))
            }
            (None, Sighted::Nothing) => self.last(deletes, Why::Deleted),
            (None, Sighted::Unknown | Sighted::Made(..) | Sighted::Entry(_) | Sighted::Held(_)) => (Why::Unknown, None),
        }
    }

    /// Calls about leases leave the ETag as it is, and answer with it all the same.
    fn maker(&self, current: Timestamp) -> Option<&'a Record> {
        let makes = |change: &&&Record| change.lease.is_none() && change.made() == Some(current);
        self.changes.iter().find(makes).copied()
    }

    fn lease(&self, code: &str) -> Found<'a> {
        let called = |change: &Record, actions: &[&str]| {
            change.lease.as_ref().is_some_and(|call| actions.contains(&call.action.as_str()))
        };
        if code.starts_with("LeaseIsBr") {
            return self.last(|change| called(change, &["break"]), Why::Broken);
        }
        let held = match self.mine.found {
            Sighted::Made(_, held) | Sighted::Entry(held) => held,
            Sighted::Unknown | Sighted::Nothing | Sighted::Held(_) => None,
        };
        let holds = |change: &Record| {
            let id = change.lease.as_ref().and_then(|call| lazuli_model::LeaseId::parse(&call.id));
            called(change, &["acquire", "change"]) && id.is_some() && id == held
        };
        if held.is_some() {
            return self.last(holds, Why::Leased);
        }
        if matches!(self.mine.found, Sighted::Unknown) && !code.contains("NotPresent") && code != "LeaseLost" {
            return self.last(|change| called(change, &["acquire", "change"]), Why::Leased);
        }
        self.lease_ended()
    }

    /// How the lease that was named came to its end.
    fn lease_ended(&self) -> Found<'a> {
        let named = lazuli_model::LeaseId::parse(&self.mine.asked.lease);
        let mut held: Option<&Record> = None;
        let mut end: Found<'a> = (Why::Unknown, None);
        for &change in &self.changes {
            let Some(call) = &change.lease else {
                if held.is_some() && deletes(change) {
                    (held, end) = (None, (Why::Deleted, Some(change)));
                } else if held.is_some() && takes_the_place(change) {
                    (held, end) = (None, (Why::Replaced, Some(change)));
                }
                continue;
            };
            let id = lazuli_model::LeaseId::parse(&call.id);
            match call.action.as_str() {
                "acquire" | "renew" if id == named => held = Some(change),
                "change" if id == named => held = Some(change),
                "acquire" if held.is_some() => (held, end) = (None, (Why::Expired, Some(change))),
                "change" if held.is_some() => (held, end) = (None, (Why::Changed, Some(change))),
                "break" if held.is_some() => (held, end) = (None, (Why::Broken, Some(change))),
                "release" if held.is_some() => (held, end) = (None, (Why::Released, Some(change))),
                _ => {}
            }
        }
        match (held, self.mine.found) {
            // What is leased are blocks, and not the blob that would take their place.
            (Some(_), Sighted::Nothing) => (Why::Unknown, None),
            // It was taken again so lately that it cannot be over: the refused request had looked before.
            (Some(taken), _) if is_young(taken, self.mine) => end,
            // Still held by all that was done to it: its time is over.
            (Some(_), _) => (Why::Expired, None),
            (None, _) => end,
        }
    }
}

/// Whether a lease was acquired or renewed for longer than has passed until `mine`, however short it was. A change of its id leaves it the time it had.
fn is_young(taken: &Record, mine: &Record) -> bool {
    const LEASE_SHORTEST_SECONDS: u64 = 15;
    let is_new = taken.lease.as_ref().is_some_and(|call| matches!(call.action.as_str(), "acquire" | "renew"));
    is_new && mine.at < taken.at.plus_seconds(LEASE_SHORTEST_SECONDS)
}

/// Whether this call made the handle or the lock what was in the way.
fn made_obstacle(record: &Record, obstacle: Obstacle) -> bool {
    let is_it = |lock: &super::LockedRange| {
        obstacle.lock.is_some_and(|held| (held.from, held.to, held.exclusive) == (lock.from, lock.to, lock.exclusive))
    };
    record.handle == Some(obstacle.handle)
        && match obstacle.lock {
            None => record.operation == HandleAct::Open.name(),
            Some(_) => record.operation == HandleAct::Lock.name() && record.locks.iter().any(is_it),
        }
}

/// A whole blob where there were blocks alone: the lease of those goes with them.
fn takes_the_place(change: &Record) -> bool {
    puts_whole(change) && matches!(change.found, Sighted::Nothing)
}

fn puts_whole(change: &Record) -> bool {
    let puts = ["PutBlob", "PutBlobFromURL", "PutAppendBlob", "PutPageBlob", "CopyBlob", "CopyBlobFromURL"];
    puts.contains(&change.operation)
}

/// Whether it can have made a blob longer or shorter.
fn resizes(change: &Record) -> bool {
    puts_whole(change) || change.operation.starts_with("AppendBlock")
}

fn marks_for_deletion(change: &Record) -> bool {
    [HandleAct::MarkForDeletion, HandleAct::CloseAndDelete].iter().any(|act| change.operation == act.name())
}

/// Names of files are the same in either case, and whichever door they come in by.
fn same_object(one: &Record, other: &Record) -> bool {
    one.object == other.object || (one.object.starts_with("file/") && one.object.eq_ignore_ascii_case(&other.object))
}

fn before(record: &Record, mine: &Record) -> bool {
    // What the refusal saw counts, also where clocks of gateways differ. A call about a lease answers with an ETag that it did not make.
    let made_one = record.made().filter(|_| record.lease.is_none());
    let seen = matches!(mine.found, Sighted::Made(made, _) if made_one.is_some_and(|one| one <= made));
    seen || (record.at, record.seq) < (mine.at, mine.seq)
}

/// The queue, and the id of the message that a request names.
fn message_of(record: &Record) -> Option<(&str, &str)> {
    record.object.starts_with("queue/").then(|| record.object.rsplit_once('/')).flatten()
}

fn told(mine: &Record, why: Why, winner: Option<&Record>) -> String {
    let mut text = format!("{} {}", mine.operation, mine.object);
    if !mine.refused {
        let status = if mine.status == 0 { String::new() } else { format!(", with {}", mine.status) };
        text.push_str(&format!(" was done at {}{status}.", mine.at.to_iso()));
        return text;
    }
    let status = if mine.status == 0 { String::new() } else { format!("{} ", mine.status) };
    text.push_str(&format!(" was refused at {} with {status}{}", mine.at.to_iso(), mine.code));
    let asked = said(mine);
    text.push_str(&if asked.is_empty() { ". ".to_owned() } else { format!(": {asked}. ") });
    let at = winner.map_or(String::new(), |winner| winner.at.to_iso());
    let who = winner.map_or(String::new(), Record::by_whom);
    text.push_str(&match why {
        Why::Applied => String::new(),
        Why::Replaced => format!("{who}, replaced it at {at}."),
        Why::Created => format!("{who}, made it at {at}."),
        Why::Deleted => format!("{who}, deleted it at {at}."),
        Why::Leased => format!("The lease is held by {who}, since {at}."),
        Why::Broken => format!("{who}, broke the lease at {at}."),
        Why::Released => format!("{who}, released the lease at {at}."),
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
        Why::Unknown => "What came before it is older than the record, or was never in it.".to_owned(),
    });
    text
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
