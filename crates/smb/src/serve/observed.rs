//! What the recorder is told of a request: that it changed something, or that it was refused because of what others hold.

use std::sync::Arc;

use lazuli_model::Timestamp;
use lazuli_model::file::arbiter::Lock;
use lazuli_store::{HandleAct, HandleCall, Witness};

use super::dispatch::{Ask, Outcome};
use super::opens::{Open, What};
use crate::info::file::{Change, DispositionFlags};
use crate::packet::create::CreateOptions;
use crate::packet::file::{FileId, LockFlags, LockRequest};
use crate::packet::oplock::Break;
use crate::packet::query::{InfoType, SetRequest};
use crate::packet::{Request, Response};
use crate::status::Status;

/// A request that may be worth a record, as it came.
pub(crate) struct Observed {
    act: HandleAct,
    path: String,
    handle: u64,
    locks: Vec<Lock>,
    pub witness: Arc<Witness>,
}

impl Observed {
    pub fn of(ask: &Ask<'_>, request: &Request) -> Option<Self> {
        if ask.share.pipes || ask.gateway.observer.is_none() {
            return None;
        }
        let through = |act, file: FileId| Self::through(&*ask.open(file).ok()?, act);
        match request {
            Request::Create(request) => {
                let path = request.name.to_text().ok()?.replace('\\', "/");
                Some(Self { act: HandleAct::Open, path, handle: 0, locks: Vec::new(), witness: Arc::default() })
            }
            Request::Close(request) => {
                let open = ask.open(request.file).ok()?;
                let deletes = open.options.has(CreateOptions::DELETE_ON_CLOSE);
                Self::through(&open, if deletes { HandleAct::CloseAndDelete } else { HandleAct::Close })
            }
            Request::Read(request) => through(HandleAct::Read, request.file),
            Request::Write(request) => through(HandleAct::Write, request.file),
            Request::Lock(request) => {
                let unlocks = request.locks.first().is_some_and(|first| first.flags.has(LockFlags::UNLOCK));
                let act = if unlocks { HandleAct::Unlock } else { HandleAct::Lock };
                Some(Self { locks: ranges(request), ..through(act, request.file)? })
            }
            Request::SetInfo(request) => through(set(request), request.file),
            Request::OplockBreak(Break::Oplock(request)) => through(HandleAct::AcknowledgeBreak, request.file),
            Request::OplockBreak(Break::Lease(_) | Break::LeaseAck(_)) => None,
            Request::Negotiate(_)
            | Request::SessionSetup(_)
            | Request::Logoff
            | Request::TreeConnect(_)
            | Request::TreeDisconnect
            | Request::Flush(_)
            | Request::Ioctl(_)
            | Request::Cancel
            | Request::Echo
            | Request::QueryDirectory(_)
            | Request::ChangeNotify(_)
            | Request::QueryInfo(_) => None,
        }
    }

    fn through(open: &Open, act: HandleAct) -> Option<Self> {
        let What::File(file) = &open.what else { return None };
        let (path, handle) = (file.path.clone(), file.at.handle);
        Some(Self { act, path, handle, locks: Vec::new(), witness: Arc::default() })
    }

    pub fn tell(mut self, ask: &Ask<'_>, message: u64, outcome: &Outcome) {
        let Some(observer) = &ask.gateway.observer else { return };
        let refused = match outcome {
            Ok((_, Response::Create(created))) => {
                self.handle = created.file.persistent;
                None
            }
            Ok(_) if self.act == HandleAct::Read => return,
            Ok(_) => None,
            Err(status) if is_conflict(*status) => Some(status.name()),
            Err(_) => return,
        };
        let Ok(share) = ask.share_at() else { return };
        let sight = self.witness.sight();
        observer.observe(&HandleCall {
            act: self.act,
            share: &share,
            path: &self.path,
            handle: self.handle,
            session: ask.session,
            message,
            peer: ask.client.peer.ip(),
            refused,
            // What asked nothing of the store, as the close of a snapshot's file, has no moment of its own.
            at: if sight.at.0 == 0 { ask.gateway.store.now() } else { Timestamp::from_ticks(sight.at.0) },
            found: sight.found,
            locks: &self.locks,
        });
    }
}

/// Whether it is others who are in the way.
fn is_conflict(status: Status) -> bool {
    [
        Status::SharingViolation,
        Status::FileLockConflict,
        Status::LockNotGranted,
        Status::DeletePending,
        Status::ObjectNameCollision,
    ]
    .contains(&status)
}

fn ranges(request: &LockRequest) -> Vec<Lock> {
    let exclusive = |flags: LockFlags| flags.has(LockFlags::EXCLUSIVE);
    request.locks.iter().map(|range| Lock::new(range.offset, range.length, exclusive(range.flags))).collect()
}

fn set(request: &SetRequest) -> HandleAct {
    if request.kind != InfoType::File {
        return HandleAct::SetInfo;
    }
    match Change::parse(request.class, request.input.clone()) {
        Ok(Some(Change::Rename(_))) => HandleAct::Rename,
        Ok(Some(Change::Disposition(disposition))) if disposition.delete => HandleAct::MarkForDeletion,
        Ok(Some(Change::DispositionEx(disposition))) if disposition.flags.has(DispositionFlags::DELETE) => {
            HandleAct::MarkForDeletion
        }
        Ok(Some(_) | None) | Err(_) => HandleAct::SetInfo,
    }
}
