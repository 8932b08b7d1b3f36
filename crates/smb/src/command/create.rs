//! CREATE: what is asked is checked and translated; who may, and what is made, is decided by the store in one transaction.

use std::sync::Arc;

use lazuli_model::file::arbiter::{self, Cache, Caching, Opening, Reach};
use lazuli_model::file::{
    AskedRights, Attributes, Disposition, Done, Entry, FilePath, Kind, Principal, Rights, SetPermission,
};
use lazuli_model::{Refusal, Timestamp};
use lazuli_store::{
    Failure, FileAt, Granted, HandleAt, NewEntry, OpenFile, Opened, RightsClaim, Wanted, permission_of,
};

use crate::packet::Response;
use crate::packet::create::{self, Access, Action, CreateOptions, Impersonation, ShareAccess};
use crate::packet::create_context::{
    AppleAnswer, Asked, DurableAsked, DurableFlags, DurableGiven, Given, Lease, LeaseFlags, LeaseSecond, MaximalAccess,
    OnDiskId,
};
use crate::packet::file::FileId;
use crate::packet::negotiate::Dialect;
use crate::packet::oplock::OplockLevel;
use crate::serve::dispatch::{Ask, Outcome};
use crate::serve::opens::{Durable, File, Open, What};
use crate::status::Status;
use crate::time::{FileTime, TimeChange};

use super::caching::{lease_state, of_lease, of_oplock, oplock_level};
use super::{describe, durable, pipe};

/// Bits of access that mean something.
const ACCESS: u32 = 0xf31f_01ff;
/// Options that mean something, and those that are refused by name.
const OPTIONS: u32 = 0x00ff_ffff;
const UNSUPPORTED: u32 = 0x0010_0000 | 0x2000;
const ATTRIBUTES: u32 = 0x0000_7fb7;

/// What of the contexts counts.
#[derive(Default)]
struct Contexts<'a> {
    lease: Option<&'a Lease>,
    durable: bool,
    durable_second: Option<&'a DurableAsked>,
    security: Option<SetPermission>,
    snapshot: Option<Timestamp>,
    allocation: u64,
    maximal: bool,
    on_disk: bool,
    apple: Option<&'a crate::packet::create_context::AppleQuery>,
}

pub(super) async fn run(ask: &Ask<'_>, request: &create::Request) -> Outcome {
    if ask.share.pipes {
        return pipe::open(ask, request);
    }
    if let Some(outcome) = durable::reconnect(ask, request).await {
        return outcome;
    }
    if ask.gateway.opens().is_full() {
        return Err(Status::TooManyOpenedFiles);
    }
    let options = request.options;
    let disposition = checked(request)?;
    let (path, token) = path_of(request)?;
    let who = ask.who();
    let mut contexts = contexts(request, who.as_ref())?;
    contexts.snapshot = contexts.snapshot.or(token);
    let asked = asked(request.access)?;
    let claim = who.map(|who| RightsClaim { who, asked });
    let free = Granted::freely(asked);
    let share = ask.share_at()?;
    let at = FileAt { account: share.account.clone(), share: share.share.clone(), path };
    if let Some(snapshot) = contexts.snapshot {
        return open_snapshot(ask, request, &at, snapshot, asked, claim, &contexts).await;
    }
    let directory = options.has(CreateOptions::DIRECTORY_FILE);
    if options.has(CreateOptions::DELETE_ON_CLOSE) && !free.rights.has(Rights::DELETE) {
        return Err(Status::AccessDenied);
    }
    let (cache, caching, epoch) = cache_of(ask, request, contexts.lease)?;
    if let Cache::Lease { .. } = cache {
        lease_is_of(ask, cache, &at).await?;
    }
    let opening = Opening {
        access: arbiter::Access::of(free.rights),
        sharing: arbiter::Access {
            read: request.sharing.has(ShareAccess::READ),
            write: request.sharing.has(ShareAccess::WRITE),
            delete: request.sharing.has(ShareAccess::DELETE),
        },
        reach: Reach::of(free.rights),
        truncate: disposition.overwrites(),
        delete_on_close: options.has(CreateOptions::DELETE_ON_CLOSE),
        caching,
        cache,
        epoch,
        again: false,
    };
    let wanted = match (directory, options.has(CreateOptions::NON_DIRECTORY_FILE)) {
        (true, _) => Wanted::Directory,
        (false, true) => Wanted::File,
        (false, false) => Wanted::Anything,
    };
    let open = OpenFile {
        session: ask.session,
        gateway: ask.gateway.id,
        client: ask.client.peer.to_string(),
        client_name: String::new(),
        claim,
        opening,
        disposition,
        wanted,
        new: NewEntry { attributes: Attributes::from_bits(request.attributes), permission: contexts.security.take() },
    };
    let deletes = open.opening.delete_on_close;
    let opened = match ask.store.open_handle(&at, open, &ask.later).await {
        Ok(Some(opened)) => opened,
        Ok(None) => return Err(ask.later.pending.reason()),
        Err(Failure::Refused(Refusal::ResourceTypeMismatch)) => {
            return Err(if directory { Status::NotADirectory } else { Status::FileIsADirectory });
        }
        Err(Failure::Refused(Refusal::ReadOnlyAttribute)) if deletes => return Err(Status::CannotDelete),
        Err(failure) => return Err(failure.into()),
    };
    let handle_at = HandleAt { share, snapshot: None, file: opened.entry.node.id, handle: opened.handle };
    let granted = opened.granted.unwrap_or(free);
    Ok((Status::Success, let_in(ask, request, &contexts, handle_at, granted, cache, &opened)))
}

/// What the fields say, and which of several mistakes is told.
fn checked(request: &create::Request) -> Result<Disposition, Status> {
    if Impersonation::from_code(request.impersonation).is_none() {
        return Err(Status::BadImpersonationLevel);
    }
    let options = request.options;
    if options.0 & !OPTIONS != 0 {
        return Err(Status::InvalidParameter);
    }
    if options.0 & UNSUPPORTED != 0 {
        return Err(Status::NotSupported);
    }
    let directory = options.has(CreateOptions::DIRECTORY_FILE);
    if directory && options.has(CreateOptions::NON_DIRECTORY_FILE) {
        return Err(Status::InvalidParameter);
    }
    if request.attributes & !ATTRIBUTES != 0 || request.sharing.0 & !7 != 0 {
        return Err(Status::InvalidParameter);
    }
    let disposition = match create::Disposition::from_code(request.disposition) {
        Some(create::Disposition::Supersede) => Disposition::Supersede,
        Some(create::Disposition::Open) => Disposition::Open,
        Some(create::Disposition::Create) => Disposition::Create,
        Some(create::Disposition::OpenIf) => Disposition::OpenIf,
        Some(create::Disposition::Overwrite) => Disposition::Overwrite,
        Some(create::Disposition::OverwriteIf) => Disposition::OverwriteIf,
        None => return Err(Status::InvalidParameter),
    };
    if directory && disposition.overwrites() {
        return Err(Status::InvalidParameter);
    }
    Ok(disposition)
}

/// The path, and the moment of the snapshot that it names.
fn path_of(request: &create::Request) -> Result<(FilePath, Option<Timestamp>), Status> {
    let name = request.name.to_text().map_err(|_| Status::ObjectNameInvalid)?;
    if name.starts_with('\\') {
        return Err(Status::InvalidParameter);
    }
    path(&name)
}

pub(super) fn path(name: &str) -> Result<(FilePath, Option<Timestamp>), Status> {
    let mut snapshot = None;
    let mut steps = Vec::new();
    for step in name.split('\\') {
        match gmt(step) {
            Some(time) => snapshot = Some(time),
            None => steps.push(step),
        }
    }
    let name = steps.join("\\");
    // The unnamed stream is the file; other streams there are none. Samba's clients are used to both slashes.
    let name = name.strip_suffix("::$DATA").unwrap_or(&name).replace('/', "\\");
    let name = name.as_str();
    let name = above(name)?;
    let name = name.as_str();
    if name.contains(':') || name.contains("\\\\") {
        return Err(Status::ObjectNameInvalid);
    }
    let path = FilePath::parse(name, false).map_err(|_| Status::ObjectNameInvalid)?;
    Ok((path, snapshot))
}

/// Without `..`, which takes away the step before it, if there is one.
fn above(name: &str) -> Result<String, Status> {
    let mut steps: Vec<&str> = Vec::new();
    for step in name.split('\\') {
        match step {
            "." => return Err(Status::ObjectPathSyntaxBad),
            ".." => {
                steps.pop().ok_or(Status::ObjectPathSyntaxBad)?;
            }
            step => steps.push(step),
        }
    }
    Ok(steps.join("\\"))
}

/// `@GMT-2024.05.03-10.20.30`.
fn gmt(step: &str) -> Option<Timestamp> {
    let rest = step.strip_prefix("@GMT-")?;
    let (date, time) = rest.split_once('-')?;
    let numbers = |text: &str| -> Option<Vec<u64>> { text.split('.').map(|part| part.parse().ok()).collect() };
    let (date, time) = (numbers(date)?, numbers(time)?);
    let ([year, month, day], [hour, minute, second]) = (date.as_slice(), time.as_slice()) else { return None };
    Timestamp::parse_iso(&format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
}

fn contexts<'a>(request: &'a create::Request, who: Option<&Principal>) -> Result<Contexts<'a>, Status> {
    let mut contexts = Contexts::default();
    for context in &request.contexts {
        match context {
            Asked::ExtendedAttributes(_) => return Err(Status::EasNotSupported),
            Asked::Security(bytes) => {
                let whole = super::security::whole(bytes, who)?;
                contexts.security = whole.map(|descriptor| permission_of(&descriptor)).transpose()?;
            }
            Asked::Durable => contexts.durable = true,
            Asked::Lease(lease) => contexts.lease = Some(lease),
            Asked::DurableSecond(asked) => contexts.durable_second = Some(asked),
            Asked::MaximalAccess(_) => contexts.maximal = true,
            Asked::OnDiskId => contexts.on_disk = true,
            Asked::Apple(query) => contexts.apple = Some(query),
            Asked::Timewarp(time) => match FileTime(*time).change() {
                TimeChange::Set(time) => contexts.snapshot = Some(time),
                TimeChange::Keep | TimeChange::Freeze | TimeChange::Thaw | TimeChange::Invalid => {}
            },
            Asked::Allocation(size) => contexts.allocation = *size,
            Asked::AppInstance(_) | Asked::Reconnect(_) | Asked::ReconnectSecond(_) | Asked::Unknown { .. } => {}
        }
    }
    if contexts.durable && contexts.durable_second.is_some() {
        return Err(Status::InvalidParameter);
    }
    Ok(contexts)
}

/// The rights that the client asks for.
fn asked(access: Access) -> Result<AskedRights, Status> {
    if access.0 & !ACCESS != 0 || access.0 == 0 {
        return Err(Status::AccessDenied);
    }
    if access.has(Access::ACCESS_SYSTEM_SECURITY) {
        return Err(Status::PrivilegeNotHeld);
    }
    Ok(AskedRights { all: Rights::from_bits(access.0), most: access.has(Access::MAXIMUM_ALLOWED) })
}

/// Whose cache the handle would have, what it wants to cache, and what its changes are counted from.
fn cache_of(ask: &Ask<'_>, request: &create::Request, lease: Option<&Lease>) -> Result<(Cache, Caching, u16), Status> {
    let agreed =
        ask.client.with_connection(|connection| connection.agreed().map(|agreed| (agreed.dialect, agreed.client)));
    let (dialect, client) = agreed.ok_or(Status::InvalidParameter)?;
    match (OplockLevel::from_code(request.oplock), lease) {
        (Some(OplockLevel::Lease), Some(lease)) if dialect != Dialect::Smb202 => {
            let cache = Cache::Lease { client: u128::from_le_bytes(client), key: u128::from_le_bytes(lease.key) };
            let epoch = lease.second.as_ref().map_or(0, |second| second.epoch);
            Ok((cache, of_lease(lease.state), epoch.wrapping_add(1)))
        }
        (Some(OplockLevel::Lease) | None, _) => Ok((Cache::Oplock, Caching::NONE, 0)),
        (Some(level), _) => Ok((Cache::Oplock, of_oplock(level), 0)),
    }
}

/// A lease is of one file.
async fn lease_is_of(ask: &Ask<'_>, cache: Cache, at: &FileAt) -> Result<(), Status> {
    let held = {
        let opens = ask.gateway.opens();
        let of_lease = opens.all().find_map(|open| open.file().ok().filter(|file| file.cache == cache));
        of_lease.map(|file| file.at.clone())
    };
    let Some(held) = held else { return Ok(()) };
    if held.share != at.share_at() {
        return Err(Status::InvalidParameter);
    }
    let path = ask.store.path_of_handle(&held).await.unwrap_or_default();
    let same = lazuli_model::file::fold(&path) == lazuli_model::file::fold(&at.path.to_string().replace('/', "\\"));
    if same { Ok(()) } else { Err(Status::InvalidParameter) }
}

/// A file or directory of a snapshot: read, and not changed.
async fn open_snapshot(
    ask: &Ask<'_>,
    request: &create::Request,
    at: &FileAt,
    snapshot: Timestamp,
    asked: AskedRights,
    claim: Option<RightsClaim>,
    contexts: &Contexts<'_>,
) -> Outcome {
    let changes =
        Access::WRITE_DATA.0 | Access::APPEND_DATA.0 | Access::DELETE.0 | Access::WRITE_DAC.0 | Access::WRITE_OWNER.0;
    let changes = Rights::from_bits(changes);
    if !asked.most && asked.all.has_any(changes) {
        return Err(Status::MediaWriteProtected);
    }
    match create::Disposition::from_code(request.disposition) {
        Some(create::Disposition::Open | create::Disposition::OpenIf) => {}
        Some(_) | None => return Err(Status::MediaWriteProtected),
    }
    let found = ask.store.snapshot_entry(at, snapshot, claim.as_ref()).await;
    let (entry, granted) = match found {
        Ok(found) => found,
        Err(Failure::Refused(Refusal::ShareNotFound)) => return Err(Status::ObjectNameNotFound),
        Err(failure) => return Err(failure.into()),
    };
    match (entry.node.kind == Kind::Directory, request.options) {
        (true, options) if options.has(CreateOptions::NON_DIRECTORY_FILE) => return Err(Status::FileIsADirectory),
        (false, options) if options.has(CreateOptions::DIRECTORY_FILE) => return Err(Status::NotADirectory),
        (true | false, _) => {}
    }
    let handle_at = HandleAt { share: at.share_at(), snapshot: Some(snapshot), file: entry.node.id, handle: 0 };
    let (done, caching) = (Done::Opened, Caching::NONE);
    let opened = Opened { handle: 0, done, caching, epoch: 0, breaking: false, entry, granted };
    let Granted { rights, maximal } = granted.unwrap_or(Granted::freely(asked));
    let granted = Granted { rights: rights.without(changes), maximal: maximal.without(changes) };
    Ok((Status::Success, let_in(ask, request, contexts, handle_at, granted, Cache::Oplock, &opened)))
}

fn let_in(
    ask: &Ask<'_>,
    request: &create::Request,
    contexts: &Contexts<'_>,
    at: HandleAt,
    granted: Granted,
    cache: Cache,
    opened: &Opened,
) -> Response {
    let volatile = ask.gateway.number();
    let persistent = if opened.handle == 0 { volatile } else { opened.handle };
    let id = FileId { persistent, volatile };
    // The version of a lease is that of its first open.
    let first = match cache {
        Cache::Oplock => None,
        Cache::Lease { .. } => {
            let opens = ask.gateway.opens();
            opens.all().find_map(|open| open.file().ok().filter(|file| file.cache == cache).map(|file| file.second))
        }
    };
    let second = first.unwrap_or_else(|| contexts.lease.is_some_and(|lease| lease.second.is_some()));
    let client = ask.client.with_connection(|connection| connection.agreed().map(|agreed| agreed.client));
    let client = client.unwrap_or_default();
    let path = request.name.to_text().unwrap_or_default().replace('\\', "/");
    let what = What::File(File { at, path, kind: opened.entry.node.kind, cache, second });
    let mut open = Open::new(id, ask.account.as_str().to_owned(), client, what, ask.session, ask.tree);
    (open.access, open.options) = (Access(granted.rights.bits()), request.options);
    open.durable = durable(contexts, opened);
    let durable = open.durable;
    // Room is asked for where a file's bytes begin.
    let reserved = match opened.done {
        Done::Created | Done::Overwritten | Done::Superseded => describe::clusters(contexts.allocation),
        Done::Opened => 0,
    };
    open.state().reserved = reserved;
    ask.gateway.opens().insert(Arc::new(open));
    let mut given = Vec::new();
    let directory = opened.entry.node.kind == Kind::Directory;
    if let (Cache::Lease { .. }, Some(lease), false) = (cache, contexts.lease, directory) {
        given.push(Given::Lease(given_lease(lease, second, opened)));
    }
    if contexts.maximal {
        given.push(Given::MaximalAccess(MaximalAccess { status: 0, access: granted.maximal.bits() }));
    }
    if contexts.on_disk {
        let file = describe::file_id(opened.entry.node.id);
        given.push(Given::OnDiskId(OnDiskId { file, volume: 1 }));
    }
    match durable {
        Some(Durable { create: Some(_), seconds }) => {
            let timeout = u32::try_from(seconds * 1000).unwrap_or(u32::MAX);
            given.push(Given::DurableSecond(DurableGiven { timeout, flags: DurableFlags::default() }));
        }
        Some(Durable { create: None, .. }) => given.push(Given::Durable),
        None => {}
    }
    if let Some(query) = contexts.apple.filter(|query| query.command == 1) {
        let answer = |bit: u64, value: u64| (query.asked & bit != 0).then_some(value);
        let model = (query.asked & 4 != 0).then(|| "Lazuli".into());
        // Neither its own directory listing nor its own copies; case is folded.
        given.push(Given::Apple(AppleAnswer { command: 1, server: answer(1, 0), volume: answer(2, 0), model }));
    }
    let oplock = match cache {
        Cache::Lease { .. } if directory => OplockLevel::None,
        Cache::Lease { .. } => OplockLevel::Lease,
        Cache::Oplock => oplock_level(opened.caching),
    };
    let mut answer = answer(&opened.entry, oplock, action(opened.done), id, given);
    answer.allocation = answer.allocation.max(if directory { 0 } else { reserved });
    Response::Create(answer)
}

pub(super) fn given_lease(asked: &Lease, second: bool, opened: &Opened) -> Lease {
    let breaking = if opened.breaking { LeaseFlags::BREAK_IN_PROGRESS } else { LeaseFlags::default() };
    let parent = LeaseFlags(asked.flags.0 & LeaseFlags::PARENT_KEY_SET.0);
    let asked_second = asked.second.clone().unwrap_or_default();
    let second = second.then_some(LeaseSecond { parent: asked_second.parent, epoch: opened.epoch });
    let flags = if second.is_some() { breaking.with(parent) } else { breaking };
    let second = second.map(|second| {
        let parent = if flags.has(LeaseFlags::PARENT_KEY_SET) { second.parent } else { [0; 16] };
        LeaseSecond { parent, ..second }
    });
    Lease { key: asked.key, state: lease_state(opened.caching), flags, second }
}

/// Whether the handle outlives its connection: if it is cached by its client ([MS-SMB2] 3.3.5.9.6, 3.3.5.9.10).
fn durable(contexts: &Contexts<'_>, opened: &Opened) -> Option<Durable> {
    if !opened.caching.handle || opened.entry.node.kind == Kind::Directory {
        return None;
    }
    if let Some(asked) = contexts.durable_second {
        let seconds = if asked.timeout == 0 { durable::SECONDS } else { u64::from(asked.timeout).div_ceil(1000) };
        return Some(Durable { create: Some(asked.create), seconds: seconds.min(durable::SECONDS_MAX) });
    }
    contexts.durable.then_some(Durable { create: None, seconds: durable::SECONDS })
}

pub(super) fn answer(
    entry: &Entry,
    oplock: OplockLevel,
    action: Action,
    file: FileId,
    contexts: Vec<Given>,
) -> create::Response {
    let node = &entry.node;
    let [created, accessed, written, changed] = describe::times(node);
    create::Response {
        oplock: oplock.code(),
        action,
        created,
        accessed,
        written,
        changed,
        allocation: describe::allocation(node),
        end_of_file: describe::end_of_file(node),
        attributes: describe::attributes(node).0,
        file,
        contexts,
    }
}

fn action(done: Done) -> Action {
    match done {
        Done::Superseded => Action::Superseded,
        Done::Opened => Action::Opened,
        Done::Created => Action::Created,
        Done::Overwritten => Action::Overwritten,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_snapshots() {
        let (path, snapshot) = path(r"@GMT-2024.05.03-10.20.30\dir\file.txt").expect("a path");
        assert_eq!(path.to_string(), "dir/file.txt");
        assert_eq!(snapshot.map(|time| time.to_http()), Some("Fri, 03 May 2024 10:20:30 GMT".to_owned()));
        assert!(super::path("").expect("the root").0.is_root());
        assert_eq!(super::path("a/b").expect("both slashes").0.to_string(), "a/b");
        for bad in ["a:b", r"a\\b", "a*b"] {
            assert_eq!(super::path(bad).err(), Some(Status::ObjectNameInvalid), "{bad}");
        }
        assert_eq!(super::path(r"a\b\..\c").expect("a step back").0.to_string(), "a/c");
        assert!(super::path(r"a\..").expect("the root").0.is_root());
        for bad in ["..", r"a\..\..", r"a\.\b"] {
            assert_eq!(super::path(bad).err(), Some(Status::ObjectPathSyntaxBad), "{bad}");
        }
        assert_eq!(super::path("f::$DATA").expect("the unnamed stream").0.to_string(), "f");
    }
}
