//! What led to a refusal: the changes of its object, and which of them was the cause.
//!
//! Held true:
//! * a change is named only as long as its effect lasted: not one whose effect another recorded change had ended;
//! * a change of which nobody knows whether it was made (`RecordKind::Uncertain`) is taken for one if its stamp was seen later. If not, and it may have
//!   been the cause, then nobody is named.

use lazuli_model::file::arbiter::Obstacle;
use lazuli_model::{LeaseId, Timestamp};
use lazuli_store::{HandleAct, Sighted};

use super::LockedRange;
use super::entry::{Record, RecordKind, made};
use super::explain::Why;
use crate::head::guid;

pub(super) type Found<'a> = (Why, Option<&'a Record>);

const UNKNOWN: Found<'static> = (Why::Unknown, None);

/// The changes of one object before a refusal, in order.
pub(super) struct History<'a, 'b> {
    mine: &'b Record,
    changes: Vec<&'a Record>,
    /// What may have been changed besides.
    doubts: Vec<&'a Record>,
}

fn deletes(change: &Record) -> bool {
    change.deletes
}

fn order(record: &Record) -> (Timestamp, u64) {
    (record.at, record.seq)
}

impl<'a> History<'a, '_> {
    pub fn of<'b>(records: &'a [Record], mine: &'b Record) -> History<'a, 'b> {
        let queue = message_of(mine);
        let about = |record: &Record| {
            // What concerns a message is done to its queue. Whether a call without an end took this message, nobody knows.
            let is_its = |id: &str| record.messages.iter().any(|message| guid(message.id) == id);
            let in_queue = queue.is_some_and(|(queue, id)| {
                record.object == queue && (deletes(record) || record.kind == RecordKind::Uncertain || is_its(id))
            });
            same_object(record, mine) || in_queue
        };
        let of_it = || records.iter().filter(|record| about(record));
        let seen = |at: Timestamp| of_it().any(|record| matches!(record.found, Sighted::Made(made, _) if made == at));
        let earlier =
            of_it().filter(|record| !record.is_refusal() && before(record, mine) && !is_after_sight(record, mine));
        let (mut changes, doubts): (Vec<&Record>, Vec<&Record>) =
            earlier.partition(|record| record.is_change() || record.made().is_some_and(seen));
        changes.sort_by_key(|record| order(record));
        History { mine, changes, doubts }
    }

    /// The last request before the refusal of which nobody knows whether it changed anything.
    pub fn doubt(&self) -> Option<&'a Record> {
        self.doubts.iter().max_by_key(|record| order(record)).copied()
    }

    /// Whether something after `since` may have been done that matters.
    fn is_doubtful(&self, since: Option<&Record>, matters: impl Fn(&Record) -> bool) -> bool {
        self.doubts.iter().any(|doubt| since.is_none_or(|since| order(doubt) > order(since)) && matters(doubt))
    }

    /// The last of its kind, if nothing that `ends` its effect came after it, or may have come.
    pub fn last(&self, is_it: impl Fn(&Record) -> bool, ends: impl Fn(&Record) -> bool, why: Why) -> Found<'a> {
        let Some(at) = self.changes.iter().rposition(|change| is_it(change)) else { return UNKNOWN };
        let is_over = self.changes[at + 1..].iter().any(|change| ends(change));
        if is_over || self.is_doubtful(Some(self.changes[at]), |doubt| is_it(doubt) || ends(doubt)) {
            return UNKNOWN;
        }
        (why, Some(self.changes[at]))
    }

    pub fn copier(&self) -> Found<'a> {
        let ends = |change: &Record| deletes(change) || change.operation == "AbortCopyBlob";
        self.last(|change| change.operation.starts_with("Copy"), ends, Why::Held)
    }

    /// Who made a blob as long as it is.
    pub fn resizer(&self) -> Found<'a> {
        self.last(resizes, deletes, Why::Replaced)
    }

    pub fn marker(&self) -> Found<'a> {
        self.last(marks_for_deletion, |_| false, Why::Deleted)
    }

    /// Whose handle or lock was in the way, or whose lease.
    pub fn holder(&self, records: &'a [Record]) -> Found<'a> {
        match self.mine.found {
            Sighted::Held(obstacle) => {
                // A handle may lock the same range again: the last that came before the refusal counts, and if stamps know none, the first.
                let made = || records.iter().filter(|record| record.is_change() && made_obstacle(record, obstacle));
                let before =
                    made().filter(|record| order(record) <= order(self.mine)).max_by_key(|record| order(record));
                (Why::Held, before.or_else(|| made().min_by_key(|record| order(record))))
            }
            Sighted::Entry(Some(_)) => self.lease(""),
            Sighted::Unknown | Sighted::Nothing | Sighted::Made(..) | Sighted::Entry(None) => (Why::Held, None),
        }
    }

    /// Who gave the message another receipt than the one that was named, or deleted it.
    pub fn message(&self) -> Found<'a> {
        let (Some(named), Some((_, id))) = (self.mine.receipt, message_of(self.mine)) else { return UNKNOWN };
        let version = |change: &Record| {
            change.messages.iter().find(|message| guid(message.id) == id).map(|message| message.version)
        };
        // What came before the receipt was given, or gave it, did not end it.
        let given = self.changes.iter().rposition(|change| version(change).is_some_and(|version| version <= named));
        let later = &self.changes[given.map_or(0, |given| given + 1)..];
        let since = given.map(|given| self.changes[given]);
        let winner = later.iter().find(|change| deletes(change) || version(change) > Some(named)).copied();
        let is_doubtful = || match winner {
            None => self.is_doubtful(since, |_| true),
            Some(winner) => self.is_doubtful(since, |doubt| order(doubt) < order(winner)),
        };
        match winner {
            // Versions are counted: the next one ended the one before.
            Some(winner) if version(winner).is_some_and(|version| version == named + 1) => (Why::Taken, Some(winner)),
            Some(_) | None if is_doubtful() => UNKNOWN,
            Some(winner) if !deletes(winner) => (Why::Taken, Some(winner)),
            Some(winner) if given.is_some() => (Why::Deleted, Some(winner)),
            // Whether the message was there when others were deleted, nobody knows.
            Some(_) => UNKNOWN,
            // The receipt is the last that was given, and nobody deleted the message: its time is over.
            None if given.is_some() => (Why::Expired, None),
            None => UNKNOWN,
        }
    }

    /// Who made what is there: the first change of its present life.
    pub fn creator(&self) -> Found<'a> {
        match self.mine.found {
            Sighted::Made(made, _) => self.first_of(made).map_or(UNKNOWN, |creator| (Why::Created, Some(creator))),
            Sighted::Unknown | Sighted::Nothing | Sighted::Entry(_) | Sighted::Held(_) => {
                self.last(makes, deletes, Why::Created)
            }
        }
    }

    /// Back from one ETag to the one that its writer saw, until a writer saw nothing.
    fn first_of(&self, current: Timestamp) -> Option<&'a Record> {
        let mut maker = self.maker(current)?;
        loop {
            match maker.found {
                Sighted::Made(before, _) if before < maker.made()? => maker = self.maker(before)?,
                Sighted::Made(..) | Sighted::Held(_) => return None,
                Sighted::Nothing | Sighted::Entry(_) => return Some(maker),
                Sighted::Unknown => return Some(maker).filter(|maker| makes(maker)),
            }
        }
    }

    pub fn condition(&self) -> Found<'a> {
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
            return maker.map_or(UNKNOWN, |maker| (Why::Unchanged, Some(maker)));
        }
        self.replaced(None, current)
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
            None => match self.next_after(named) {
                Some(next) => (Why::Replaced, Some(next)),
                // The record has who made it, so it would have who ended it.
                None if current.is_some() && named.is_some_and(|named| self.maker(named).is_some()) => UNKNOWN,
                None => self.replaced(named, current),
            },
        }
    }

    /// The change that made the next ETag after `named`, if the record knows `named`: those of one object only grow. For operations that do
    /// not tell what they saw.
    fn next_after(&self, named: Option<Timestamp>) -> Option<&'a Record> {
        let maker = self.maker(named?)?;
        let makes = |change: &&'a Record| {
            let made = change.made().filter(|_| change.lease.is_none() && change.found == Sighted::Unknown);
            Some((made.filter(|made| Some(*made) > named)?, *change))
        };
        let (_, next) = self.changes.iter().filter_map(makes).min_by_key(|(made, _)| *made)?;
        let between = |doubt: &Record| order(doubt) < order(next);
        let is_first = !self
            .changes
            .iter()
            .any(|change| deletes(change) && order(change) > order(maker) && order(change) < order(next));
        Some(next).filter(|_| is_first && !self.is_doubtful(Some(maker), between))
    }

    fn replaced(&self, named: Option<Timestamp>, current: Option<Timestamp>) -> Found<'a> {
        match (current, self.mine.found) {
            (Some(current), _) => self.maker(current).map_or(UNKNOWN, |maker| (Why::Replaced, Some(maker))),
            (None, Sighted::Nothing) => {
                let is_made = |change: &Record| change.lease.is_none() && !deletes(change) && change.made().is_some();
                match self.last(deletes, is_made, Why::Deleted) {
                    // It was deleted before the ETag was made: not by this one.
                    (_, Some(winner)) if named.is_some_and(|named| winner.at < named) => UNKNOWN,
                    found => found,
                }
            }
            (None, Sighted::Unknown | Sighted::Made(..) | Sighted::Entry(_) | Sighted::Held(_)) => UNKNOWN,
        }
    }

    /// Calls about leases leave the ETag as it is, and answer with it all the same.
    fn maker(&self, current: Timestamp) -> Option<&'a Record> {
        let makes = |change: &&&Record| change.lease.is_none() && change.made() == Some(current);
        self.changes.iter().find(makes).copied()
    }

    pub fn lease(&self, code: &str) -> Found<'a> {
        if code.starts_with("LeaseIsBr") {
            return match self.last(|change| called(change, &["break"]), |_| false, Why::Broken) {
                (_, Some(winner)) if self.is_doubtful(Some(winner), ends_lease) => UNKNOWN,
                found => found,
            };
        }
        let held = match self.mine.found {
            Sighted::Made(_, held) | Sighted::Entry(held) => held,
            Sighted::Unknown | Sighted::Nothing | Sighted::Held(_) => None,
        };
        if held.is_some() {
            return self.lease_holder(|change| leased(change) == held);
        }
        if matches!(self.mine.found, Sighted::Unknown) && !code.contains("NotPresent") && code != "LeaseLost" {
            return self.lease_holder(|_| true);
        }
        self.lease_ended()
    }

    /// Who has the lease under an id that `is_it`: unless that lease was over, and was taken again by a request that is not in the record.
    fn lease_holder(&self, is_it: impl Fn(&Record) -> bool) -> Found<'a> {
        let takes =
            |change: &Record| called(change, &["acquire", "change"]) && leased(change).is_some() && is_it(change);
        // What was deleted before the refusal's sight was made took its lease along: if there is a lease again, another has taken it.
        let ends = |change: &Record| {
            deletes(change) && matches!(self.mine.found, Sighted::Made(current, _) if change.at < current)
        };
        match self.last(takes, ends, Why::Leased) {
            (_, Some(winner)) if self.is_doubtful(Some(winner), ends_lease) => UNKNOWN,
            (_, Some(winner)) if self.is_over(winner) => UNKNOWN,
            found => found,
        }
    }

    /// Whether the time of the lease that `taken` took was over when the refusal saw a lease, by all renewals that are in the record.
    fn is_over(&self, taken: &Record) -> bool {
        let mut term = Term::default();
        self.changes.iter().filter(|change| order(change) <= order(self.mine)).for_each(|change| term.go_on(change));
        order(taken) <= order(self.mine) && term.is_over(self.mine.at)
    }

    /// How the lease that was named came to its end.
    fn lease_ended(&self) -> Found<'a> {
        let named = LeaseId::parse(&self.mine.asked.lease);
        let mut held: Option<&Record> = None;
        let mut term = Term::default();
        // Whether it was the lease of a blob, and not of blocks alone.
        let mut on_blob = false;
        let mut end: Found<'a> = UNKNOWN;
        // The last call that had to do with it.
        let mut since: Option<&Record> = None;
        for &change in &self.changes {
            let before = (held.is_some(), end.1.map(order));
            // A lease whose time was over was not ended by what came later.
            let is_over = saw_no_lease(change) || term.is_over(change.at);
            term.go_on(change);
            match change.lease.as_ref().map(|call| call.action.as_str()) {
                None if held.is_some() && is_over && (deletes(change) || takes_the_place(change)) => {
                    (held, end) = (None, (Why::Expired, None));
                }
                None if held.is_some() && deletes(change) => (held, end) = (None, (Why::Deleted, Some(change))),
                // The blob was deleted in between, by a request that is not in the record, or of which nobody knows whether it was done.
                None if held.is_some() && takes_the_place(change) && on_blob => (held, end) = (None, UNKNOWN),
                None if held.is_some() && takes_the_place(change) => {
                    (held, end) = (None, (Why::Replaced, Some(change)));
                }
                None => {}
                Some("acquire" | "renew" | "change") if leased(change) == named => {
                    (held, on_blob) = (Some(change), false)
                }
                Some("acquire") if held.is_some() => (held, end) = (None, (Why::Expired, Some(change))),
                Some("change") if held.is_some() => (held, end) = (None, (Why::Changed, Some(change))),
                Some("break") if held.is_some() => (held, end) = (None, (Why::Broken, Some(change))),
                Some("release") if held.is_some() => (held, end) = (None, (Why::Released, Some(change))),
                Some("expire") if held.is_some() => (held, end) = (None, (Why::Expired, Some(change))),
                Some(_) => {}
            }
            on_blob |= matches!(change.found, Sighted::Made(..)) || change.operation == "PutBlockList";
            if before != (held.is_some(), end.1.map(order)) || held.is_some_and(|held| order(held) == order(change)) {
                since = Some(change);
            }
        }
        match (held, self.mine.found) {
            _ if self.is_doubtful(since, ends_lease) => UNKNOWN,
            // What is leased are blocks, and not the blob that would take their place.
            (Some(_), Sighted::Nothing) => UNKNOWN,
            // It was taken again so lately that it cannot be over: the refused request had looked before.
            (Some(taken), _) if is_young(taken, self.mine) => end,
            // Still held by all that was done to it: its time is over.
            (Some(_), _) => (Why::Expired, None),
            (None, _) => end,
        }
    }
}

/// How long a lease lasts, by the calls that are in the record.
#[derive(Default)]
struct Term {
    seconds: Option<u64>,
    /// `None` for a lease without an end, and if the record does not say.
    until: Option<Timestamp>,
}

impl Term {
    fn go_on(&mut self, change: &Record) {
        match change.lease.as_ref().map(|call| (call.action.as_str(), call.seconds)) {
            Some(("acquire", length)) => {
                self.seconds = length.and_then(|length| u64::try_from(length).ok());
                self.until = self.seconds.map(|seconds| change.at.plus_seconds(seconds));
            }
            Some(("renew", _)) => self.until = self.seconds.map(|seconds| change.at.plus_seconds(seconds)),
            // What is breaking is held for its period, which is not longer than the rest of the lease.
            Some(_) | None => {}
        }
    }

    fn is_over(&self, at: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= at)
    }
}

/// Whether no lease was in force when it was decided.
fn saw_no_lease(change: &Record) -> bool {
    matches!(change.found, Sighted::Made(_, None) | Sighted::Entry(None))
}

/// Whether it may have had to do with a lease.
fn ends_lease(doubt: &Record) -> bool {
    doubt.lease.is_some() || deletes(doubt) || takes_the_place(doubt)
}

/// Whether it came after what `mine` saw, whatever their stamps say: a refusal writes nothing, so a change that came after it may have a lower stamp.
fn is_after_sight(record: &Record, mine: &Record) -> bool {
    let Sighted::Made(current, _) = mine.found else { return false };
    let saw_the_same = matches!(record.found, Sighted::Made(made, _) if made == current);
    match (deletes(record), record.lease.is_some()) {
        (true, _) => saw_the_same,
        (false, true) => false,
        (false, false) => record.made().is_some_and(|made| made > current),
    }
}

/// Whether it is one of these calls about a lease.
fn called(change: &Record, actions: &[&str]) -> bool {
    change.lease.as_ref().is_some_and(|call| actions.contains(&call.action.as_str()))
}

/// The lease that a call is about, or made.
fn leased(change: &Record) -> Option<LeaseId> {
    change.lease.as_ref().and_then(|call| LeaseId::parse(&call.id))
}

/// Whether it made something where nothing was.
fn makes(change: &Record) -> bool {
    match change.found {
        Sighted::Nothing => !deletes(change),
        Sighted::Made(..) | Sighted::Entry(_) | Sighted::Held(_) => false,
        Sighted::Unknown => change.operation.starts_with("Create") || change.operation.starts_with("Restore"),
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
    let is_it = |lock: &LockedRange| {
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
