//! LOCK: byte ranges, shared or exclusive, at once or when they are free.

use lazuli_model::file::Kind;
use lazuli_model::file::arbiter::Lock;
use lazuli_store::{Locked, Waiting};

use crate::packet::Response;
use crate::packet::file::{LockElement, LockFlags, LockRequest};
use crate::serve::dispatch::{Ask, Outcome};
use crate::serve::opens::Open;
use crate::status::Status;

pub(super) async fn run(ask: &Ask<'_>, request: &LockRequest) -> Outcome {
    let open = ask.open(request.file)?;
    let file = open.file()?;
    let done = Ok((Status::Success, Response::Lock));
    let Some(first) = request.locks.first() else { return Err(Status::InvalidParameter) };
    if file.kind == Kind::Directory {
        return Err(Status::InvalidDeviceRequest);
    }
    let counts = open.durable.is_some()
        || ask.client.with_connection(|connection| connection.agreed().is_some_and(|agreed| agreed.multi_channel()));
    if counts && is_repeated(&open, request) {
        return done;
    }
    let unlocks = first.flags.has(LockFlags::UNLOCK);
    let waits = !first.flags.has(LockFlags::FAIL_IMMEDIATELY);
    let mut ranges = Vec::with_capacity(request.locks.len());
    let mut wrong = None;
    for element in &request.locks {
        match range(element, unlocks) {
            Ok(range) => ranges.push(range),
            // What was to be unlocked before it is.
            Err(status) if unlocks && !ranges.is_empty() => {
                wrong = Some(status);
                break;
            }
            Err(status) => return Err(status),
        }
    }
    // Who asks for several does not wait ([MS-SMB2] 3.3.5.14.2).
    let patient = |element: &LockElement| !element.flags.has(LockFlags::FAIL_IMMEDIATELY);
    if !unlocks && ranges.len() > 1 && request.locks.iter().any(patient) {
        return Err(Status::InvalidParameter);
    }
    for element in &request.locks {
        let wrong = element.offset.checked_add(element.length.saturating_sub(1)).is_none();
        if wrong {
            return Err(Status::InvalidLockRange);
        }
    }
    let store = &ask.store;
    if unlocks {
        return match store.unlock_ranges(&file.at, ranges).await? {
            true if wrong.is_some() => Err(wrong.unwrap_or(Status::InvalidParameter)),
            true => remember(&open, request, done),
            false => Err(Status::RangeNotLocked),
        };
    }
    let later: Option<&dyn Waiting> = waits.then_some(&ask.later);
    match store.lock_ranges(&file.at, ranges, later).await {
        Ok(Locked::Granted) => remember(&open, request, done),
        Ok(Locked::Held) => Err(Status::LockNotGranted),
        // With its tree or session what held the range goes too, and Windows says that it was granted then (smb2.lock.cancel-tdis).
        Ok(Locked::Cancelled) => {
            let reason = ask.later.pending.reason();
            if matches!(reason, Status::NetworkNameDeleted | Status::UserSessionDeleted) { done } else { Err(reason) }
        }
        // Closed while it waited.
        Err(lazuli_store::Failure::Refused(lazuli_model::Refusal::ResourceNotFound)) => Err(Status::RangeNotLocked),
        Err(failure) => Err(failure.into()),
    }
}

fn range(element: &LockElement, unlocks: bool) -> Result<Lock, Status> {
    let flags = element.flags;
    let immediately = LockFlags::FAIL_IMMEDIATELY;
    let exclusive = match flags {
        flags if unlocks && flags == LockFlags::UNLOCK => false,
        _ if unlocks => return Err(Status::InvalidParameter),
        flags if flags.without(immediately) == LockFlags::SHARED => false,
        flags if flags.without(immediately) == LockFlags::EXCLUSIVE => true,
        _ => return Err(Status::InvalidParameter),
    };
    Ok(Lock::new(element.offset, element.length, exclusive))
}

/// Whether this very request was answered before ([MS-SMB2] 3.3.5.14).
fn is_repeated(open: &Open, request: &LockRequest) -> bool {
    let (number, index) = ((request.sequence & 0xf) as u8, request.sequence >> 4);
    index != 0 && index <= 64 && open.state().sequences.get(&index) == Some(&number)
}

fn remember(open: &Open, request: &LockRequest, done: Outcome) -> Outcome {
    let (number, index) = ((request.sequence & 0xf) as u8, request.sequence >> 4);
    if index != 0 && index <= 64 {
        open.state().sequences.insert(index, number);
    }
    done
}
