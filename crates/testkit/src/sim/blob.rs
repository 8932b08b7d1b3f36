//! One blob and what the reference makes of it: block, append or page blob, its snapshots, versions and lease.
//!
//! Content is a list of numbers. Which ETag an unseen write left is learnt from the next answer that shows it; no ETag is ever
//! less than one that was there before.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use lazuli_http::Service;

use super::lease::{self, Act, Lease, Reasons, guid};
use super::object::{Asked, Object};
use super::scene::{Scene, beat};
use super::wire::{Answer, Request, escape};
use crate::chance::Chance;
use crate::linear::Specification;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Block,
    Append,
    Page,
}

pub struct OneBlob {
    pub name: &'static str,
    pub kind: Kind,
    pub versioning: bool,
}

/// How a client guards its call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Guard {
    pub if_match: Option<u64>,
    pub if_absent: bool,
    pub lease: Option<u8>,
}

#[derive(Clone, Debug)]
pub enum Call {
    /// A whole block blob, or an empty append blob, or a page blob of zeros.
    Put {
        value: u64,
        guard: Guard,
    },
    PutBlock {
        block: u8,
        value: u64,
        lease: Option<u8>,
    },
    PutBlockList {
        blocks: Vec<u8>,
        guard: Guard,
    },
    Append {
        value: u64,
        at: Option<usize>,
        guard: Guard,
    },
    PutPage {
        page: usize,
        value: u64,
        guard: Guard,
    },
    SetMetadata {
        value: u64,
        guard: Guard,
    },
    Copy {
        from: Seen,
        guard: Guard,
    },
    Read {
        lease: Option<u8>,
    },
    ReadSnapshot {
        snapshot: String,
    },
    ReadVersion {
        version: String,
    },
    Snapshot {
        guard: Guard,
    },
    Delete {
        with_snapshots: bool,
        guard: Guard,
    },
    Lease {
        act: Act,
    },
}

/// A blob as somebody saw it: while it has this ETag, this is what it is.
#[derive(Clone, Debug)]
pub struct Seen {
    pub blob: &'static str,
    pub etag: u64,
    pub content: Vec<u64>,
    pub meta: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    /// Not known until somebody is shown it.
    etag: Option<u64>,
    id: Option<String>,
    content: Vec<u64>,
    /// The blocks it is made of.
    blocks: Vec<u8>,
    meta: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    current: Option<Version>,
    /// Blocks that were put and not committed.
    pending: BTreeMap<u8, u64>,
    snapshots: BTreeMap<String, Version>,
    /// Snapshots whose name nobody was told.
    unnamed: u8,
    versions: BTreeMap<String, Version>,
    lease: Lease,
    /// The latest ETag of all that was ever here.
    latest: u64,
}

#[derive(Default)]
pub struct Known {
    etag: Option<u64>,
    snapshots: Vec<String>,
    versions: Vec<String>,
}

pub const PAGES: usize = 4;
const BLOCKS: [u8; 3] = [1, 2, 3];

/// A number as bytes: a few, or so many that they do not fit into a record.
pub fn bytes(value: u64) -> Vec<u8> {
    value.to_be_bytes().repeat(if value.is_multiple_of(5) { 2_300 } else { 2 })
}

/// The numbers that `bytes` wrote, if each is whole.
fn numbers(mut rest: &[u8]) -> Option<Vec<u64>> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let value = u64::from_be_bytes(rest.get(..8)?.try_into().ok()?);
        rest = rest.strip_prefix(&*bytes(value))?;
        found.push(value);
    }
    Some(found)
}

/// One number for each page.
fn pages(body: &[u8]) -> Option<Vec<u64>> {
    let of = |page: &[u8]| {
        let first = &page[..8];
        page.chunks(8).all(|part| part == first).then(|| u64::from_be_bytes(first.try_into().expect("eight bytes")))
    };
    body.chunks(512).map(of).collect()
}

impl OneBlob {
    fn path(&self) -> String {
        format!("/blobs/{}", self.name)
    }

    fn content(&self, body: &[u8]) -> Option<Vec<u64>> {
        match self.kind {
            Kind::Block | Kind::Append => numbers(body),
            Kind::Page => pages(body),
        }
    }

    /// What an answer to a read shows.
    fn seen(&self, answer: &Answer) -> Option<Seen> {
        let meta = answer.header("x-ms-meta-m").map(|text| text.parse().unwrap_or(u64::MAX));
        Some(Seen { blob: self.name, etag: answer.etag()?, content: self.content(&answer.body)?, meta })
    }
}

/// Why a write to, or a read of, what is there may not go ahead.
fn bars(state: &State, guard: &Guard, writes: bool, now: u64) -> Reasons {
    let mut why = state.lease.bars(guard.lease, writes, now);
    why.extend(unmet(state, guard));
    why
}

fn unmet(state: &State, guard: &Guard) -> Reasons {
    let etag = state.current.as_ref().map(|version| version.etag);
    let mut why = vec![];
    if guard.if_match.is_some_and(|wanted| etag != Some(Some(wanted))) {
        why.extend(["ConditionNotMet", "TargetConditionNotMet"]);
    }
    // The holder of the lease may overwrite all the same (observed).
    if guard.if_absent && state.current.is_some() && guard.lease.is_none() {
        why.extend(["BlobAlreadyExists", "ConditionNotMet", "TargetConditionNotMet"]);
    }
    why
}

/// The lease of a name that has only uncommitted blocks guards those, and not what is put in their place.
fn unguarded(state: &State) -> State {
    let lease = if state.current.is_none() { Lease::Free } else { state.lease };
    State { lease, ..state.clone() }
}

/// What a call would do: what it shows, and the state after it.
struct Done {
    state: State,
    shows: Shows,
}

enum Shows {
    Nothing,
    /// A new ETag of the current blob, which is later than all before.
    Written,
    /// This version.
    Version(Place),
    /// The ETag of the current blob, which has not changed.
    Unchanged,
    Snapshot,
}

enum Place {
    Current,
    Snapshot(String),
    Version(String),
}

/// The blocks of a copy are those of its source ("Copy Blob"). Lists are always the last few of all blocks, and what was put whole has an
/// even number.
fn copied(content: &[u64]) -> Vec<u8> {
    match content {
        [whole] if whole.is_multiple_of(2) => vec![],
        blocks => BLOCKS[BLOCKS.len().saturating_sub(blocks.len())..].to_vec(),
    }
}

fn apply(object: &OneBlob, state: &State, call: &Call, now: u64) -> Result<Done, Reasons> {
    let mut next = state.clone();
    let there = |mut why: Reasons| {
        if state.current.is_none() {
            why.push("BlobNotFound");
        }
        if why.is_empty() { Ok(()) } else { Err(why) }
    };
    let free = |why: Reasons| if why.is_empty() { Ok(()) } else { Err(why) };
    let only_blocks = state.current.is_none() && !state.pending.is_empty();
    let shows = match call {
        Call::Put { value, guard } => {
            let state = &unguarded(state);
            next.lease = state.lease;
            free(bars(state, guard, true, now))?;
            let content = match object.kind {
                Kind::Block => vec![*value],
                Kind::Append => vec![],
                Kind::Page => vec![0; PAGES],
            };
            replace(object, &mut next, content, vec![], None, now);
            Shows::Written
        }
        Call::PutBlock { block, value, lease } => {
            free(state.lease.bars(*lease, true, now))?;
            next.pending.insert(*block, *value);
            Shows::Nothing
        }
        Call::PutBlockList { blocks, guard } => {
            let mut why = bars(state, guard, true, now);
            let content = resolve(state, blocks);
            if content.is_none() {
                why.push("InvalidBlockList");
            }
            free(why)?;
            replace(object, &mut next, content.unwrap_or_default(), blocks.clone(), None, now);
            Shows::Written
        }
        Call::Copy { from, guard } => {
            let state = &unguarded(state);
            next.lease = state.lease;
            let mut why = bars(state, guard, true, now);
            if matches!(state.lease, Lease::Held { end: Some(end), .. } if end > now) {
                // The copy may outlast a lease that ends ("Copy Blob").
                why.push("InfiniteLeaseDurationRequired");
            }
            free(why)?;
            replace(object, &mut next, from.content.clone(), copied(&from.content), from.meta, now);
            Shows::Written
        }
        Call::Append { value, at, guard } => {
            let mut why = bars(state, guard, true, now);
            let length: usize = state.current.iter().flat_map(|blob| &blob.content).map(|v| bytes(*v).len()).sum();
            if at.is_some_and(|at| at != length) {
                why.push("AppendPositionConditionNotMet");
            }
            there(why)?;
            edit(&mut next, now, |content| content.push(*value));
            Shows::Written
        }
        Call::PutPage { page, value, guard } => {
            there(bars(state, guard, true, now))?;
            edit(&mut next, now, |content| content[*page] = *value);
            Shows::Written
        }
        Call::SetMetadata { value, guard } => {
            there(bars(state, guard, true, now))?;
            let old = state.current.clone().expect("it is there");
            replace(object, &mut next, old.content, old.blocks, Some(*value), now);
            // Blocks that wait for their list go on waiting.
            next.pending = state.pending.clone();
            Shows::Written
        }
        Call::Read { lease } => {
            there(state.lease.bars(*lease, false, now))?;
            Shows::Version(Place::Current)
        }
        Call::ReadSnapshot { snapshot } => match state.snapshots.contains_key(snapshot) {
            true => Shows::Version(Place::Snapshot(snapshot.clone())),
            false => return Err(vec!["BlobNotFound"]),
        },
        Call::ReadVersion { version } => match state.versions.contains_key(version) {
            true => Shows::Version(Place::Version(version.clone())),
            false if state.current.as_ref().is_some_and(|blob| blob.id.as_ref() == Some(version)) => {
                Shows::Version(Place::Current)
            }
            false => return Err(vec!["BlobNotFound"]),
        },
        Call::Snapshot { guard } => {
            there(bars(state, guard, false, now))?;
            Shows::Snapshot
        }
        Call::Delete { with_snapshots, guard } => {
            let mut why = bars(state, guard, true, now);
            if !with_snapshots && (!state.snapshots.is_empty() || state.unnamed > 0) {
                why.push("SnapshotsPresent");
            }
            if !only_blocks {
                there(why)?;
            } else {
                free(why)?;
            }
            keep(object, &mut next);
            (next.current, next.lease) = (None, Lease::Free);
            next.pending.clear();
            next.snapshots.clear();
            next.unnamed = 0;
            Shows::Nothing
        }
        Call::Lease { act } if only_blocks => {
            next.lease = state.lease.act(*act, now)?;
            Shows::Nothing
        }
        Call::Lease { act } => {
            there(vec![])?;
            next.lease = state.lease.act(*act, now)?;
            Shows::Unchanged
        }
    };
    Ok(Done { state: next, shows })
}

/// The blocks of a list: what was put last under each id.
fn resolve(state: &State, blocks: &[u8]) -> Option<Vec<u64>> {
    let committed = |block: &u8| {
        let blob = state.current.as_ref()?;
        blob.blocks.iter().position(|other| other == block).map(|at| blob.content[at])
    };
    blocks.iter().map(|block| state.pending.get(block).copied().or_else(|| committed(block))).collect()
}

fn replace(object: &OneBlob, state: &mut State, content: Vec<u64>, blocks: Vec<u8>, meta: Option<u64>, now: u64) {
    keep(object, state);
    state.current = Some(Version { etag: None, id: None, content, blocks, meta });
    state.pending.clear();
    state.lease = state.lease.after_write(now);
}

/// What was current becomes a version, where versions are kept.
fn keep(object: &OneBlob, state: &mut State) {
    if let Some(version) = state.current.take().filter(|_| object.versioning)
        && let Some(id) = version.id.clone()
    {
        state.versions.insert(id, version);
    }
}

fn edit(state: &mut State, now: u64, change: impl FnOnce(&mut Vec<u64>)) {
    state.lease = state.lease.after_write(now);
    if let Some(blob) = &mut state.current {
        change(&mut blob.content);
        blob.etag = None;
    }
}

/// The state after a call that showed `answer`, if it can have.
fn bind(object: &OneBlob, mut done: Done, answer: &Answer) -> Option<State> {
    let state = &mut done.state;
    match done.shows {
        Shows::Nothing => {}
        Shows::Written => {
            let etag = answer.etag()?;
            if etag <= state.latest {
                return None;
            }
            state.latest = etag;
            let blob = state.current.as_mut()?;
            blob.etag = Some(etag);
            blob.id = answer.header("x-ms-version-id").map(str::to_owned).or(blob.id.take());
        }
        Shows::Unchanged => learn_etag(state, Place::Current, answer.etag()?)?,
        Shows::Snapshot => {
            let name = answer.header("x-ms-snapshot")?.to_owned();
            learn_etag(state, Place::Current, answer.etag()?)?;
            let current = state.current.clone()?;
            if object.versioning {
                let old = state.current.as_mut()?;
                let before = std::mem::replace(&mut old.id, answer.header("x-ms-version-id").map(str::to_owned));
                if let Some(id) = before.filter(|id| old.id.as_ref() != Some(id)) {
                    let id_kept = Some(id.clone());
                    let version = Version { id: id_kept, ..current.clone() };
                    state.versions.insert(id, version);
                }
            }
            if state.snapshots.insert(name, current).is_some() {
                return None;
            }
        }
        Shows::Version(place) => {
            let seen = object.seen(answer)?;
            let version = match &place {
                Place::Current => state.current.as_ref()?,
                Place::Snapshot(name) => state.snapshots.get(name)?,
                Place::Version(id) => state.versions.get(id)?,
            };
            if seen.content != version.content || seen.meta != version.meta {
                return None;
            }
            learn_etag(state, place, seen.etag)?;
        }
    }
    Some(done.state)
}

/// `None`, if that cannot be its ETag.
fn learn_etag(state: &mut State, place: Place, etag: u64) -> Option<()> {
    let latest = state.latest;
    let (version, current) = match &place {
        Place::Current => (state.current.as_mut()?, true),
        Place::Snapshot(name) => (state.snapshots.get_mut(name)?, false),
        Place::Version(id) => (state.versions.get_mut(id)?, false),
    };
    match version.etag {
        Some(known) => (known == etag).then_some(()),
        None if current && etag <= latest => None,
        None => {
            version.etag = Some(etag);
            state.latest = latest.max(etag);
            Some(())
        }
    }
}

impl Specification for OneBlob {
    type State = State;
    type Op = Asked<Call>;
    type Answer = Answer;

    fn initial(&self) -> State {
        State::default()
    }

    fn step(&self, state: &State, op: &Asked<Call>, answer: Option<&Answer>) -> Vec<State> {
        // A write's ETag is the time of it.
        let told = answer.filter(|answer| answer.good() && leaves_etag(&op.call)).and_then(Answer::etag).map(beat);
        let mut after: Vec<State> = Vec::new();
        for now in op.moments(told) {
            let next = match (apply(self, state, &op.call, now), answer) {
                (Ok(done), None) => Some(unseen(self, done)),
                (Ok(done), Some(answer)) if answer.good() => bind(self, done, answer),
                (Ok(_), Some(answer)) => source_refused(&op.call, answer).then(|| state.clone()),
                (Err(_), None) => Some(state.clone()),
                (Err(why), Some(answer)) => {
                    let right = why.contains(&answer.code().as_str()) || source_refused(&op.call, answer);
                    (!answer.good() && right).then(|| state.clone())
                }
            };
            after.extend(next.filter(|next| !after.contains(next)));
        }
        after
    }
}

fn unseen(object: &OneBlob, done: Done) -> State {
    let mut state = done.state;
    if matches!(done.shows, Shows::Snapshot) {
        state.unnamed = state.unnamed.saturating_add(1);
        // What was current has a new version, whose id nobody was told; the one that is known stays what it was.
        let known = state.current.as_mut().filter(|_| object.versioning).and_then(|blob| blob.id.take());
        if let (Some(id), Some(current)) = (known, state.current.clone()) {
            state.versions.insert(id.clone(), Version { id: Some(id), ..current });
        }
    }
    state
}

/// A copy's source may have changed at any time: that is its own history's matter.
fn source_refused(call: &Call, answer: &Answer) -> bool {
    let source = ["SourceConditionNotMet", "CannotVerifyCopySource", "BlobNotFound"];
    matches!(call, Call::Copy { .. }) && source.contains(&answer.code().as_str())
}

fn leaves_etag(call: &Call) -> bool {
    match call {
        Call::Put { .. } | Call::PutBlockList { .. } | Call::Append { .. } | Call::PutPage { .. } => true,
        Call::SetMetadata { .. } | Call::Copy { .. } => true,
        Call::PutBlock { .. } | Call::Read { .. } | Call::ReadSnapshot { .. } | Call::ReadVersion { .. } => false,
        Call::Snapshot { .. } | Call::Delete { .. } | Call::Lease { .. } => false,
    }
}

fn guard(chance: &mut Chance, known: &Known) -> Guard {
    let mut guard = Guard { lease: lease::shown(chance), ..Guard::default() };
    match chance.below(6) {
        0 | 1 => guard.if_match = known.etag,
        2 => guard.if_absent = chance.one_in(2),
        _ => {}
    }
    guard
}

/// Of what is there already.
fn guard_there(chance: &mut Chance, known: &Known) -> Guard {
    Guard { if_absent: false, ..guard(chance, known) }
}

fn block_id(block: u8) -> String {
    BASE64.encode([b'b', block, 0])
}

impl Object for OneBlob {
    type Call = Call;
    type Known = Known;
    const SERVICE: Service = Service::Blob;

    fn name(&self) -> String {
        format!("blob {}", self.name)
    }

    fn setup(&self) -> Vec<Request> {
        vec![]
    }

    fn choose(&self, scene: &Scene, chance: &mut Chance, known: &Known, value: u64) -> Call {
        let at_hand = |list: &Vec<String>, chance: &mut Chance| (!list.is_empty()).then(|| chance.pick(list).clone());
        match chance.below(24) {
            0..=2 => Call::Put { value: 2 * value, guard: guard(chance, known) },
            3..=8 => match self.kind {
                Kind::Page => {
                    let value = if chance.one_in(5) { 0 } else { value };
                    Call::PutPage { page: chance.below(PAGES), value, guard: guard_there(chance, known) }
                }
                Kind::Append => {
                    let at = chance.one_in(4).then(|| 16 * chance.below(4));
                    Call::Append { value, at, guard: guard_there(chance, known) }
                }
                Kind::Block => match chance.below(6) {
                    0..=2 => {
                        let (block, lease) = (*chance.pick(&BLOCKS), lease::shown(chance));
                        Call::PutBlock { block, value: 2 * value + 1, lease }
                    }
                    3..=4 => {
                        let first = chance.below(BLOCKS.len());
                        Call::PutBlockList { blocks: BLOCKS[first..].to_vec(), guard: guard(chance, known) }
                    }
                    _ => {
                        let quarry = scene.quarry.lock().expect("no client panics");
                        let of_others: Vec<&Seen> = quarry.iter().filter(|seen| seen.blob != self.name).collect();
                        match of_others.last() {
                            Some(from) => Call::Copy { from: (*from).clone(), guard: guard(chance, known) },
                            None => Call::Read { lease: None },
                        }
                    }
                },
            },
            9..=10 => Call::SetMetadata { value, guard: guard_there(chance, known) },
            11..=15 => Call::Read { lease: lease::shown(chance) },
            16 => Call::Snapshot { guard: guard_there(chance, known) },
            17 => match at_hand(&known.snapshots, chance) {
                Some(snapshot) => Call::ReadSnapshot { snapshot },
                None => Call::Snapshot { guard: guard_there(chance, known) },
            },
            18 => match at_hand(&known.versions, chance) {
                Some(version) => Call::ReadVersion { version },
                None => Call::Read { lease: None },
            },
            19 => Call::Delete { with_snapshots: !chance.one_in(3), guard: guard_there(chance, known) },
            _ => Call::Lease { act: Act::choose(chance, true) },
        }
    }

    fn request(&self, call: &Call) -> Request {
        let path = self.path();
        let guarded = |request: Request, guard: &Guard| {
            request
                .with_some("if-match", guard.if_match.map(|etag| format!("\"0x{etag:X}\"")))
                .with_some("if-none-match", guard.if_absent.then_some("*"))
                .with_some("x-ms-lease-id", guard.lease.map(guid))
        };
        match call {
            Call::Put { value, guard } => {
                let request = guarded(Request::new("PUT", path), guard);
                match self.kind {
                    Kind::Block => request.with("x-ms-blob-type", "BlockBlob").body(bytes(*value)),
                    Kind::Append => request.with("x-ms-blob-type", "AppendBlob"),
                    Kind::Page => request
                        .with("x-ms-blob-type", "PageBlob")
                        .with("x-ms-blob-content-length", (PAGES * 512).to_string()),
                }
            }
            Call::PutBlock { block, value, lease } => {
                Request::new("PUT", format!("{path}?comp=block&blockid={}", escape(&block_id(*block))))
                    .with_some("x-ms-lease-id", lease.map(guid))
                    .body(bytes(*value))
            }
            Call::PutBlockList { blocks, guard } => {
                let list: String = blocks.iter().map(|id| format!("<Latest>{}</Latest>", block_id(*id))).collect();
                guarded(Request::new("PUT", format!("{path}?comp=blocklist")), guard)
                    .body(format!("<BlockList>{list}</BlockList>"))
            }
            Call::Append { value, at, guard } => {
                guarded(Request::new("PUT", format!("{path}?comp=appendblock")), guard)
                    .with_some("x-ms-blob-condition-appendpos", at.map(|at| at.to_string()))
                    .body(bytes(*value))
            }
            Call::PutPage { page, value, guard } => {
                let request = guarded(Request::new("PUT", format!("{path}?comp=page")), guard)
                    .with("x-ms-range", format!("bytes={}-{}", page * 512, page * 512 + 511));
                match value {
                    0 => request.with("x-ms-page-write", "clear"),
                    _ => request.with("x-ms-page-write", "update").body(value.to_be_bytes().repeat(64)),
                }
            }
            Call::SetMetadata { value, guard } => guarded(Request::new("PUT", format!("{path}?comp=metadata")), guard)
                .with("x-ms-meta-m", value.to_string()),
            Call::Copy { from, guard } => guarded(Request::new("PUT", path), guard)
                .with("x-ms-copy-source", format!("http://127.0.0.1/devstoreaccount1/blobs/{}", from.blob))
                .with("x-ms-source-if-match", format!("\"0x{:X}\"", from.etag)),
            Call::Read { lease } => Request::new("GET", path).with_some("x-ms-lease-id", lease.map(guid)),
            Call::ReadSnapshot { snapshot } => Request::new("GET", format!("{path}?snapshot={}", escape(snapshot))),
            Call::ReadVersion { version } => Request::new("GET", format!("{path}?versionid={}", escape(version))),
            Call::Snapshot { guard } => guarded(Request::new("PUT", format!("{path}?comp=snapshot")), guard),
            Call::Delete { with_snapshots, guard } => guarded(Request::new("DELETE", path), guard)
                .with_some("x-ms-delete-snapshots", with_snapshots.then_some("include")),
            Call::Lease { act } => act.say(Request::new("PUT", format!("{path}?comp=lease"))),
        }
    }

    fn learn(&self, scene: &Scene, known: &mut Known, call: &Call, answer: &Answer) {
        if !answer.good() {
            return;
        }
        known.etag = answer.etag().or(known.etag);
        known.snapshots.extend(answer.header("x-ms-snapshot").map(str::to_owned));
        if leaves_etag(call) {
            known.versions.extend(answer.header("x-ms-version-id").map(str::to_owned));
        }
        if matches!(call, Call::Read { .. }) && self.kind == Kind::Block {
            scene.quarry.lock().expect("no client panics").extend(self.seen(answer));
        }
    }

    fn reads(call: &Call) -> bool {
        matches!(call, Call::Read { .. } | Call::ReadSnapshot { .. } | Call::ReadVersion { .. })
    }

    fn inspect(&self, known: &Known) -> Vec<Call> {
        let snapshots = known.snapshots.iter().map(|name| Call::ReadSnapshot { snapshot: name.clone() });
        let versions = known.versions.iter().map(|id| Call::ReadVersion { version: id.clone() });
        [Call::Read { lease: None }].into_iter().chain(snapshots).chain(versions).collect()
    }
}
