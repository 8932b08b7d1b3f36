//! Clients of a file system, by either door and by any gateway; and movers, whose directories go from one file system to another.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use bytes::Bytes;
use lazuli_engine::BoxFuture;
use lazuli_model::blob::{ContentHeaders, DeleteBlob, Encryption, PutBlob, ReadBlob, Which};
use lazuli_model::lake::{
    AppendData, Caller, CreatePath, FlushData, LakePath, Mode, RenameMode, RenamePath, SetAccessControl,
};
use lazuli_model::{BlobName, Conditions, Refusal, Tags};
use lazuli_store::{
    BlobAt, Broken, DeletePath, Entry, Failure, ListBlobs, ListPaths, PathAt, Received, RequestContext, Source, Store,
};

use super::reference::{Answer, CALLERS, Call, LakeCall, OWNER};
use super::{Shore, container_at};
use crate::chance::Chance;
use crate::linear::Event;

pub type LakeEvent = Event<LakeCall, Answer>;

pub fn path_at(system: &str, path: &str) -> PathAt {
    let at = container_at(system);
    PathAt { account: at.account, container: at.container, path: LakePath::parse(path).expect("a path") }
}

fn blob_at(system: &str, path: &str) -> BlobAt {
    let at = container_at(system);
    BlobAt { account: at.account, container: at.container, blob: BlobName::parse(path).expect("a name") }
}

/// Bytes of a write: some are kept in the record, and some are too many for that.
const UNIT: u64 = 173;

struct Whole(Option<Bytes>);

impl Source for Whole {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Broken>> {
        let next = self.0.take();
        Box::pin(async move { Ok(next) })
    }
}

async fn receive(store: &Store, value: u64) -> Result<Received, Failure> {
    let bytes = vec![value as u8; (value * UNIT) as usize];
    let length = bytes.len() as u64;
    store.receive(&mut Whole(Some(bytes.into())), Some(length), u64::MAX, false).await
}

fn put() -> PutBlob {
    PutBlob {
        headers: ContentHeaders::default(),
        metadata: Default::default(),
        tags: Tags::default(),
        tier: None,
        protection: Default::default(),
        encryption: Default::default(),
        conditions: Conditions::default(),
        lease: None,
        may_overwrite: true,
    }
}

fn flush_at(value: u64) -> FlushData {
    FlushData {
        position: value * UNIT,
        retain: false,
        headers: ContentHeaders::default(),
        encryption: Encryption::Service,
        conditions: Conditions::default(),
        lease: None,
        step: None,
    }
}

/// What a client does next. Paths have few names and up to three levels, so that clients meet.
fn choose(chance: &mut Chance, by: u8, value: u64) -> Call {
    let path = |chance: &mut Chance| {
        let depth = 1 + chance.below(3);
        (0..depth).map(|_| *chance.pick(&["a", "b"])).collect::<Vec<_>>().join("/")
    };
    let place = path(chance);
    match chance.below(20) {
        0..=2 => Call::Create { path: place, is_directory: chance.one_in(2) },
        3..=4 => Call::Put { path: place, value },
        5..=6 => Call::Append { path: place, value, flush: chance.one_in(2) },
        7 => Call::Flush { path: place, value: value.saturating_sub(1 + chance.below(6) as u64) },
        8..=11 => Call::Rename { from: place, to: path(chance), into: chance.one_in(3) },
        12..=13 => Call::Delete { path: place, recursive: chance.one_in(2) },
        14 => Call::DeleteBlob { path: place },
        15..=16 => {
            let path = if chance.one_in(4) { String::new() } else { place };
            Call::SetMode { path, mode: 0o750 + *chance.pick(&[0, 1, 3, 5, 7]) }
        }
        17 => Call::Read { path: place },
        18 if by == OWNER => Call::ListBlobs,
        _ => Call::List,
    }
}

pub async fn live(id: usize, shore: Arc<Shore>, mut chance: Chance, calls: usize) -> Vec<LakeEvent> {
    let mut records = Vec::new();
    for _ in 0..calls {
        for _ in 0..chance.below(12) {
            tokio::task::yield_now().await;
        }
        let Some(gateway) = shore.world.any(&mut chance) else { return records };
        let asked = next_call(&mut chance, &*shore);
        records.extend(one(id, &*shore, &gateway.store, asked).await);
    }
    records
}

pub fn next_call(chance: &mut Chance, counter: &dyn Counter) -> LakeCall {
    let by = if chance.one_in(2) { OWNER } else { 1 + chance.below(2) as u8 };
    LakeCall { by, call: choose(chance, by, counter.next()) }
}

/// Where calls get their times from.
pub trait Counter: Sync {
    /// A number that nobody has had, larger than all before.
    fn next(&self) -> u64;

    /// Told when a call begins (`C`) and when it was answered (`R`), by the number that it began with.
    fn mark(&self, _what: char, _call: u64) {}
}

/// One call as its client saw it; nothing, if it only looked and was told nothing.
///
/// A recursive delete by a caller whom lists bind looks at all that is below, and then deletes in a transaction: these are two moments. So
/// one that was done is two events, of which each has its moment between the call and the return.
pub async fn one(id: usize, counter: &dyn Counter, store: &Store, asked: LakeCall) -> Vec<LakeEvent> {
    let caller = match CALLERS[usize::from(asked.by)] {
        Some(oid) => Caller { oid: Some(oid.into()), groups: Vec::new(), is_bound: true },
        None => Caller::superuser(),
    };
    let store = store.acting_for(RequestContext { caller: caller.into(), ..RequestContext::default() });
    let called = counter.next();
    counter.mark('C', called);
    let answer = ask(&store, &asked.call).await;
    let answer = match answer {
        Ok(answer) => Some(answer),
        Err(Failure::Refused(refusal)) => {
            let code = format!("{refusal:?}");
            Some(Answer::Refused(code.split([' ', '(']).next().unwrap_or_default().to_owned()))
        }
        Err(Failure::Broken(_)) if asked.call.looks() => return Vec::new(),
        Err(Failure::Broken(_)) => None,
    };
    if answer.is_some() {
        counter.mark('R', called);
    }
    let returned = answer.map(|answer| (answer, counter.next()));
    let event = |op, returned| Event { client: id, op, called, returned };
    let mut events = Vec::new();
    if let (Some(looked), Some((Answer::Done, at))) = (asked.looks_below(), &returned) {
        events.push(event(looked, Some((Answer::Done, *at))));
    }
    events.push(event(asked, returned));
    events
}

async fn ask(store: &Store, call: &Call) -> Result<Answer, Failure> {
    let at = |path: &str| path_at("box", path);
    match call {
        Call::Create { path, is_directory } => {
            store.create_path(&at(path), CreatePath::plain(*is_directory)).await.map(drop)?;
        }
        Call::Put { path, value } => {
            let content = receive(store, *value).await?;
            store.put_blob(&blob_at("box", path), put(), content).await.map(drop)?;
        }
        Call::Append { path, value, flush } => {
            let flush = flush.then(|| Box::new(flush_at(*value)));
            let append = AppendData { position: 0, encryption: Encryption::Service, lease: None, step: None, flush };
            let content = receive(store, *value).await?;
            store.append_data(&at(path), append, content).await.map(drop)?;
        }
        Call::Flush { path, value } => store.flush_data(&at(path), flush_at(*value)).await.map(drop)?,
        Call::Rename { from, to, into } => {
            let mode = if *into { RenameMode::Posix } else { RenameMode::Legacy };
            store.rename_path(&at(from), &at(to), RenamePath { mode, ..RenamePath::default() }).await.map(drop)?;
        }
        Call::Delete { path, recursive } => {
            let delete = DeletePath { recursive: *recursive, ..DeletePath::default() };
            store.delete_path(&at(path), delete).await.map(drop)?;
        }
        Call::DeleteBlob { path } => {
            let delete = DeleteBlob {
                which: Which::Current,
                permanent: false,
                snapshots: None,
                tier: Default::default(),
                conditions: Conditions::default(),
                lease: None,
            };
            store.delete_blob(&blob_at("box", path), delete).await.map(drop)?;
        }
        Call::SetMode { path, mode } => {
            let set = SetAccessControl { permissions: Some(Mode::of(*mode)), ..SetAccessControl::default() };
            store.set_access_control(&at(path), set).await.map(drop)?;
        }
        Call::Read { path } => {
            let mut reader = store.open_blob(&blob_at("box", path), ReadBlob::default()).await?;
            reader.seek(0, u64::MAX);
            let mut length = 0;
            while let Some(part) = reader.next().await? {
                length += part.len() as u64;
            }
            return Ok(Answer::Value(length / UNIT));
        }
        Call::List => {
            let listed = listed(store, "box").await?;
            return Ok(Answer::Paths(listed));
        }
        Call::ListBlobs => {
            let list = ListBlobs { most: 5000, ..ListBlobs::default() };
            let page = store.list_blobs(&container_at("box"), list).await?;
            let item = |entry| match entry {
                Entry::Blob(item) => Some((item.name.as_str().to_owned(), item.blob.content.length / UNIT)),
                Entry::Prefix(_) | Entry::Directory(_) => None,
            };
            return Ok(Answer::Blobs(page.entries.into_iter().filter_map(item).collect()));
        }
        Call::LookBelow { .. } => unreachable!("a part of a delete, which nobody asks for"),
    }
    Ok(Answer::Done)
}

/// Every path of a file system, with the write that made it.
pub async fn listed(store: &Store, system: &str) -> Result<Vec<(String, Option<u64>)>, Failure> {
    let list = ListPaths { recursive: true, most: 5000, ..ListPaths::default() };
    let page = store.list_paths(&path_at(system, ""), list).await?;
    let item = |item: lazuli_store::PathItem| {
        let value = (!item.is_directory).then_some(item.blob.content.length / UNIT);
        (item.path, value)
    };
    Ok(page.items.into_iter().map(item).collect())
}

/// What a mover's directory has.
const PARTS: [(&str, u64); 3] = [("one", 1), ("sub/two", 150), ("sub/three", 3)];

/// Whether all of a directory is there, under a name; none of it is no. `Err`: a part of it.
pub fn is_whole(seen: &[(String, Option<u64>)], name: &str) -> Result<bool, String> {
    let mut want: Vec<(String, Option<u64>)> =
        PARTS.iter().map(|(path, value)| (format!("{name}/{path}"), Some(*value))).collect();
    want.extend([(name.to_owned(), None), (format!("{name}/sub"), None)]);
    want.sort();
    let below = format!("{name}/");
    let mut own: Vec<_> = seen.iter().filter(|(path, _)| path == name || path.starts_with(&below)).cloned().collect();
    own.sort();
    match own.is_empty() || own == want {
        true => Ok(!own.is_empty()),
        false => Err(format!("{name} is there by half: {own:?}")),
    }
}

pub const SHORES: [&str; 2] = ["left", "right"];

/// Makes a mover's directory.
pub async fn load(store: &Store, name: &str) -> Result<(), Failure> {
    for (path, value) in PARTS {
        let content = receive(store, value).await?;
        store.put_blob(&blob_at("left", &format!("{name}/{path}")), put(), content).await?;
    }
    Ok(())
}

/// Moves its directory from one file system to the other and back, by any gateway. What it was told is so when it looks.
pub async fn ferry(shore: Arc<Shore>, name: String, mut chance: Chance) -> Result<(), String> {
    let mut at = Some(0);
    for _ in 0..4 {
        let Some(gateway) = shore.world.any(&mut chance) else { return Ok(()) };
        let from = at.unwrap_or(chance.below(2));
        let (source, target) = (path_at(SHORES[from], &name), path_at(SHORES[1 - from], &name));
        shore.moves.fetch_add(1, SeqCst);
        match gateway.store.rename_path(&source, &target, RenamePath::default()).await {
            Ok(_) => at = Some(1 - from),
            // It may be on its way, or have arrived long ago.
            Err(Failure::Refused(Refusal::SourcePathNotFound)) if at.is_none() => {}
            // The gateway was stopped for so long that the move was taken back.
            Err(Failure::Refused(Refusal::OperationTimedOut)) => at = None,
            Err(Failure::Refused(refusal)) => return Err(format!("a move of {name} was refused: {refusal:?}")),
            Err(Failure::Broken(_)) => at = None,
        }
        let mut seen = Vec::new();
        for system in SHORES {
            let Ok(paths) = listed(&gateway.store, system).await else { break };
            seen.push(is_whole(&paths, &name)?);
        }
        match (at, seen.as_slice()) {
            (Some(at), [left, right]) if [*left, *right] != [at == 0, at == 1] => {
                return Err(format!("{name} should be at {}, and is at {seen:?}", SHORES[at]));
            }
            _ => {}
        }
    }
    Ok(())
}

/// In the end a directory is in one of the two, whole.
pub async fn landed(store: &Store, name: &str) -> Result<(), String> {
    let mut found = 0;
    for system in SHORES {
        let paths = listed(store, system).await.map_err(|failure| format!("{system}: {failure:?}"))?;
        found += usize::from(is_whole(&paths, name)?);
    }
    if found == 1 { Ok(()) } else { Err(format!("{name} is in {found} file systems")) }
}
