//! Handles that outlive their connection: a client that lost it finds its open, its locks and its cache again ([MS-SMB2] 3.3.5.9.7, 3.3.5.9.12).

use std::sync::Arc;

use lazuli_model::file::arbiter::Cache;
use lazuli_model::file::{Done, FilePath, fold};
use lazuli_store::Opened;

use crate::packet::Response;
use crate::packet::create::{self, Action};
use crate::packet::create_context::{Asked, Given, Lease};
use crate::packet::file::FileId;
use crate::packet::oplock::OplockLevel;
use crate::serve::dispatch::{Ask, Outcome};
use crate::serve::opens::Open;
use crate::status::Status;

use super::caching::oplock_level;
use super::create::{answer, given_lease};

/// How long a handle waits for its client, unless it says.
pub(super) const SECONDS: u64 = 60;
pub(super) const SECONDS_MAX: u64 = 300;

/// What names the handle that is wanted back.
struct Wanted<'a> {
    file: FileId,
    create: Option<[u8; 16]>,
    lease: Option<&'a Lease>,
}

/// The outcome, if the request wants a handle back.
pub(super) async fn reconnect(ask: &Ask<'_>, request: &create::Request) -> Option<Outcome> {
    let mut wanted = None;
    let mut lease = None;
    let (mut first_asked, mut second_asked, mut reconnects) = (false, false, 0);
    for context in &request.contexts {
        match context {
            Asked::Reconnect(file) => {
                reconnects += 1;
                wanted = Some(Wanted { file: *file, create: None, lease: None });
            }
            Asked::ReconnectSecond(reconnect) => {
                reconnects += 1;
                wanted = Some(Wanted { file: reconnect.file, create: Some(reconnect.create), lease: None });
            }
            Asked::Lease(asked) => lease = Some(asked),
            Asked::DurableSecond(_) => second_asked = true,
            Asked::Durable => first_asked = true,
            Asked::ExtendedAttributes(_)
            | Asked::Security(_)
            | Asked::Allocation(_)
            | Asked::MaximalAccess(_)
            | Asked::Timewarp(_)
            | Asked::OnDiskId
            | Asked::AppInstance(_)
            | Asked::Apple(_)
            | Asked::Unknown { .. } => {}
        }
    }
    let wanted = Wanted { lease, ..wanted? };
    let (name, _) = match super::create::path(&request.name.to_text().unwrap_or_default()) {
        Ok(path) => path,
        Err(status) => return Some(Err(status)),
    };
    if second_asked || reconnects > 1 || (first_asked && wanted.create.is_some()) {
        return Some(Err(Status::InvalidParameter));
    }
    Some(regain(ask, &wanted, &name).await)
}

async fn regain(ask: &Ask<'_>, wanted: &Wanted<'_>, name: &FilePath) -> Outcome {
    let gone = Status::ObjectNameNotFound;
    let client = ask.client.with_connection(|connection| connection.agreed().map(|agreed| agreed.client));
    let share = ask.share_at()?;
    let open = {
        let opens = ask.gateway.opens();
        let found = opens.by_handle(&share, wanted.file.persistent).ok_or(gone)?;
        let durable = found.durable.ok_or(gone)?;
        // One of the first version has no name but zero, and who asks by the first version says none.
        let named = wanted.create.is_none_or(|create| create == durable.create.unwrap_or_default());
        if !named || found.account != ask.account.as_str() {
            return Err(gone);
        }
        let file = found.file()?;
        match (file.cache, wanted.lease) {
            (Cache::Lease { key, .. }, Some(lease))
                if key == u128::from_le_bytes(lease.key) && client == Some(found.client) => {}
            (Cache::Oplock, None) => {}
            (Cache::Lease { .. } | Cache::Oplock, _) => return Err(gone),
        }
        let mut state = found.state();
        if state.session != 0 {
            return Err(gone);
        }
        (state.session, state.tree) = (ask.session, ask.tree);
        drop(state);
        found
    };
    let file = open.file()?;
    // Who has a lease names the file as well.
    if wanted.lease.is_some() {
        let path = ask.store.path_of_handle(&file.at).await.unwrap_or_default();
        if fold(&path) != fold(&name.to_string().replace('/', "\\")) {
            lose(&open);
            return Err(Status::InvalidParameter);
        }
    }
    let peer = ask.client.peer.to_string();
    let adopted = match ask.store.adopt_handle(&file.at, ask.session, peer).await {
        Ok(adopted) => adopted,
        Err(_) => {
            ask.gateway.opens().remove(open.id);
            return Err(gone);
        }
    };
    let (caching, epoch, breaking) = (adopted.caching, adopted.epoch, adopted.breaking);
    let opened = Opened {
        handle: file.at.handle,
        done: Done::Opened,
        caching,
        epoch,
        breaking,
        entry: adopted.entry,
        granted: None,
    };
    let given = wanted.lease.map(|lease| Given::Lease(given_lease(lease, file.second, &opened)));
    let oplock = match file.cache {
        Cache::Lease { .. } => OplockLevel::Lease,
        Cache::Oplock => oplock_level(opened.caching),
    };
    let mut answer = answer(&opened.entry, oplock, Action::Opened, open.id, given.into_iter().collect());
    answer.allocation = answer.allocation.max(open.state().reserved);
    Ok((Status::Success, Response::Create(answer)))
}

fn lose(open: &Arc<Open>) {
    let mut state = open.state();
    (state.session, state.tree) = (0, 0);
}
