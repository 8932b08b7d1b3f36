//! CHANGE_NOTIFY: what has changed in a directory since the client last asked, or the next thing that does.

use lazuli_model::file::Kind;
use lazuli_store::{Filter, Happened};

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
    let turn = Turn::new(&open, ask.later.received.header.message_id);
    let first = {
        let watch = &mut open.state().watch;
        let first = watch.room.is_none();
        watch.room.get_or_insert(request.output_max as usize);
        first
    };
    if first && let Err(failure) = ask.store.watch(&file.at, Filter(request.filter.0), recursive).await {
        open.state().watch.room = None;
        return Err(failure.into());
    }
    loop {
        let mut changed = std::pin::pin!(open.changed.notified());
        changed.as_mut().enable();
        if let Some(outcome) = taken(&turn, request.output_max as usize) {
            return outcome;
        }
        ask.later.announce();
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

/// A request's place among those that wait for changes of one directory: they are answered in the order in which the client sent them.
struct Turn<'a> {
    open: &'a Open,
    message: u64,
}

impl<'a> Turn<'a> {
    fn new(open: &'a Open, message: u64) -> Self {
        open.state().watch.waiting.insert(message);
        Self { open, message }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.open.state().watch.leave(self.message);
        self.open.changed.notify_waiters();
    }
}

/// What there is to tell, if anything.
fn taken(turn: &Turn<'_>, room: usize) -> Option<Outcome> {
    let mut state = turn.open.state();
    let watch = &mut state.watch;
    let is_first = watch.waiting.first() == Some(&turn.message);
    if !is_first && watch.over.is_none() {
        return None;
    }
    // What is kept for a client has the room that it asked for first.
    let room = room.min(watch.room.unwrap_or(room));
    if watch.overflown {
        watch.overflown = false;
        return Some(Ok((Status::NotifyEnumDir, Response::ChangeNotify(Output::default()))));
    }
    if let Some(changes) = watch.take() {
        let changes: Vec<notify::Change> = changes
            .into_iter()
            .map(|change| notify::Change { action: action(change.happened), name: change.path.as_str().into() })
            .collect();
        return Some(Ok(match notify::write_list(&changes, room) {
            Some(bytes) => (Status::Success, Response::ChangeNotify(Output(bytes))),
            None => (Status::NotifyEnumDir, Response::ChangeNotify(Output::default())),
        }));
    }
    // That the directory is to go may change again, so it is told once.
    if watch.over == Some(Status::DeletePending) {
        return watch.over.take().map(Err);
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
