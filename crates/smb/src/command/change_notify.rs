//! CHANGE_NOTIFY: what has changed in a directory since the client last asked, or the next thing that does.

use lazuli_model::file::Kind;
use lazuli_store::{Filter, Happened, Waiting};

use crate::info::notify::{self, Action};
use crate::packet::Response;
use crate::packet::create::Access;
use crate::packet::query::{NotifyFlags, NotifyRequest, Output};
use crate::serve::dispatch::{Ask, Outcome};
use crate::serve::opens::Open;
use crate::status::Status;

pub(super) async fn run(ask: &Ask<'_>, request: &NotifyRequest) -> Outcome {
    let open = ask.open(request.file)?;
    let file = open.file()?;
    if request.output_max > ask.gateway.policy.transfer_max || file.kind != Kind::Directory {
        return Err(Status::InvalidParameter);
    }
    open.may(Access::READ_DATA)?;
    if file.at.snapshot.is_some() {
        return Err(Status::InvalidParameter);
    }
    let recursive = request.flags.has(NotifyFlags::WATCH_TREE);
    if !std::mem::replace(&mut open.state().watch.set, true) {
        ask.gateway.store.watch(&file.at, Filter(request.filter.0), recursive).await?;
    }
    loop {
        let mut changed = std::pin::pin!(open.changed.notified());
        changed.as_mut().enable();
        if let Some(outcome) = taken(&open, request.output_max as usize) {
            return outcome;
        }
        ask.later.begins();
        tokio::select! {
            () = changed => {}
            () = ask.later.pending.ended() => return ended(ask.later.pending.reason()),
        }
    }
}

/// With its tree or session, a watch ends as with its handle.
fn ended(reason: Status) -> Outcome {
    if matches!(reason, Status::NetworkNameDeleted | Status::UserSessionDeleted) {
        return Ok((Status::NotifyCleanup, Response::ChangeNotify(Output::default())));
    }
    Err(reason)
}

/// What there is to tell, if anything.
fn taken(open: &Open, room: usize) -> Option<Outcome> {
    let mut state = open.state();
    let watch = &mut state.watch;
    if watch.overflown {
        watch.overflown = false;
        return Some(Ok((Status::NotifyEnumDir, Response::ChangeNotify(Output::default()))));
    }
    if !watch.changes.is_empty() {
        let changes: Vec<notify::Change> = std::mem::take(&mut watch.changes)
            .into_iter()
            .map(|change| notify::Change { action: action(change.happened), name: change.path.as_str().into() })
            .collect();
        return Some(Ok(match notify::write_list(&changes, room) {
            Some(bytes) => (Status::Success, Response::ChangeNotify(Output(bytes))),
            None => (Status::NotifyEnumDir, Response::ChangeNotify(Output::default())),
        }));
    }
    watch.over.map(|status| Ok((status, Response::ChangeNotify(Output::default()))))
}

fn action(happened: Happened) -> Action {
    match happened {
        Happened::Added => Action::Added,
        Happened::Removed => Action::Removed,
        Happened::Modified => Action::Modified,
        Happened::RenamedFrom => Action::RenamedFrom,
        Happened::RenamedTo => Action::RenamedTo,
    }
}
