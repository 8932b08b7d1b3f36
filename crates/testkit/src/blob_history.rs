//! One blob under concurrent clients, and the sequential specification of it: `model`'s decisions, one after another.
//!
//! Stamps are learnt from the answers (an ETag is a stamp), and leases are infinite or broken at once, so that no answer depends on
//! a clock. Content is a list of numbers: one for a blob that was put whole, one for each block of a committed list.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use lazuli_model::blob::{
    Blob, ContentHeaders, ContentRef, DeleteBlob, DeleteSnapshots, Encryption, LeaseBlob, Pending, Protection, PutBlob,
    PutBlock, PutBlockList, ReadBlob, Search, SetBlobMetadata, SnapshotBlob, TierConditions, Which,
};
use lazuli_model::conditions::Match;
use lazuli_model::lease::{Action, Length};
use lazuli_model::{BlockId, Conditions, ETag, Lease, LeaseId, Metadata, Refusal, Tags, Timestamp};

use crate::chance::Chance;
use crate::linear::{Event, Specification};

/// An ETag or nothing, and a lease id or nothing: how a client guards its call.
#[derive(Clone, Debug)]
pub struct Guard {
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

#[derive(Clone, Debug)]
pub enum Op {
    Put { value: u64, guard: Guard },
    PutBlock { block: u8, value: u64, lease: Option<LeaseId> },
    PutBlockList { blocks: Vec<u8>, guard: Guard },
    SetMetadata { value: u64, guard: Guard },
    Read { guard: Guard },
    Delete { snapshots: Option<DeleteSnapshots>, guard: Guard },
    Snapshot { guard: Guard },
    ReadSnapshot { time: Timestamp },
    Lease { action: Action, conditions: Conditions },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Written(ETag),
    Staged,
    Read {
        etag: ETag,
        content: Vec<u64>,
        metadata: Metadata,
    },
    Deleted,
    Snapshot(Timestamp),
    /// The ETag does not move; the id is what the caller now holds.
    Leased {
        etag: ETag,
        id: Option<LeaseId>,
    },
    Refused(Refusal),
}

pub type BlobEvent = Event<Op, Answer>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    blob: Option<Version>,
    pending: BTreeMap<u8, u64>,
    /// Of a name that has only uncommitted blocks.
    uncommitted: Lease,
    snapshots: BTreeMap<Timestamp, Version>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    blob: Blob,
    content: Vec<u64>,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.blob.as_ref().map(|version| (version.blob.etag, &version.content)).hash(state);
        self.pending.hash(state);
        self.snapshots.len().hash(state);
    }
}

pub struct OneBlob;

impl Specification for OneBlob {
    type State = State;
    type Op = Op;
    type Answer = Answer;

    fn initial(&self) -> State {
        State { blob: None, pending: BTreeMap::new(), uncommitted: Lease::Available, snapshots: BTreeMap::new() }
    }

    fn step(&self, state: &State, op: &Op, answer: Option<&Answer>) -> Vec<State> {
        let stamp = match answer {
            Some(Answer::Written(etag)) => stamp_of(*etag),
            Some(Answer::Snapshot(time)) => *time,
            // Whatever the clock said, nothing here depends on it; but unseen writes need an ETag nobody else has.
            None => UNSEEN,
            Some(
                Answer::Staged | Answer::Read { .. } | Answer::Deleted | Answer::Leased { .. } | Answer::Refused(_),
            ) => UNSEEN,
        };
        let (given, next) = match apply(state, op, stamp) {
            Ok(done) => done,
            Err(refusal) => (Answer::Refused(refusal), state.clone()),
        };
        match answer {
            None => vec![next],
            Some(seen) if *seen == given => vec![next],
            Some(_) => vec![],
        }
    }
}

/// The stamp of a write whose answer nobody saw. A later answer that shows its ETag cannot be explained by it, so histories
/// drop callers only of operations that leave no ETag to be read (see `Op::leaves_etag`).
const UNSEEN: Timestamp = Timestamp::from_ticks(1);

impl Op {
    pub fn leaves_etag(&self) -> bool {
        match self {
            Op::Put { .. } | Op::PutBlockList { .. } | Op::SetMetadata { .. } | Op::Snapshot { .. } => true,
            Op::PutBlock { .. } | Op::Read { .. } | Op::Delete { .. } | Op::ReadSnapshot { .. } | Op::Lease { .. } => {
                false
            }
        }
    }
}

impl State {
    fn has_only_blocks(&self) -> bool {
        self.blob.is_none() && !self.pending.is_empty()
    }

    fn drop_pending(&mut self) {
        self.pending.clear();
        self.uncommitted = Lease::Available;
    }
}

fn stamp_of(etag: ETag) -> Timestamp {
    let text = etag.to_string();
    let digits = text.trim_matches('"').trim_start_matches("0x");
    Timestamp::from_ticks(u64::from_str_radix(digits, 16).expect("an ETag prints its stamp"))
}

/// What the rules make of `op`, if it happens at `stamp`.
fn apply(state: &State, op: &Op, stamp: Timestamp) -> Result<(Answer, State), Refusal> {
    let current = state.blob.as_ref().map(|version| &version.blob);
    let mut next = state.clone();
    let answer = match op {
        Op::Put { value, guard } => {
            let blob = put_blob(guard).decide(current, no_content(), None, stamp)?;
            next.drop_pending();
            replace(&mut next, blob, vec![*value])
        }
        Op::PutBlock { block, value, lease } => {
            let pending = Pending {
                count: state.pending.len() as u64,
                id_length: state.pending.keys().next().map(|_| 1),
                replaces: state.pending.contains_key(block),
                lease: state.uncommitted,
            };
            PutBlock { id: block_id(*block), encryption: Encryption::Service, lease: *lease }
                .decide(current, pending, stamp)?;
            next.pending.insert(*block, *value);
            Answer::Staged
        }
        Op::PutBlockList { blocks, guard } => {
            let list = put_block_list(blocks, guard);
            let blob = list.decide(current, state.uncommitted, no_content(), stamp)?;
            let content = list.resolve(|_| None, |id| state.pending.get(&id.as_bytes()[0]).copied())?;
            next.drop_pending();
            replace(&mut next, blob, content)
        }
        Op::SetMetadata { value, guard } => {
            let blob = set_metadata(*value, guard).decide(current, stamp)?;
            let content = state.blob.as_ref().map(|version| version.content.clone()).unwrap_or_default();
            replace(&mut next, blob, content)
        }
        Op::Read { guard } => {
            read_blob(None, guard).decide(current, stamp)?;
            shown(state.blob.as_ref().ok_or(Refusal::BlobNotFound)?)
        }
        Op::ReadSnapshot { time } => shown(state.snapshots.get(time).ok_or(Refusal::BlobNotFound)?),
        Op::Delete { snapshots, guard } if state.has_only_blocks() => {
            delete_blob(*snapshots, guard).permit_uncommitted(state.uncommitted, stamp)?;
            next.drop_pending();
            Answer::Deleted
        }
        Op::Delete { snapshots, guard } => {
            delete_blob(*snapshots, guard).decide(current, !state.snapshots.is_empty(), stamp)?;
            next.snapshots.clear();
            if *snapshots != Some(DeleteSnapshots::Only) {
                next.blob = None;
                next.drop_pending();
            }
            Answer::Deleted
        }
        Op::Snapshot { guard } => {
            let blob = snapshot_blob(guard).decide(current, stamp)?;
            let content = state.blob.as_ref().map(|version| version.content.clone()).unwrap_or_default();
            next.snapshots.insert(stamp, Version { blob, content });
            Answer::Snapshot(stamp)
        }
        Op::Lease { action, conditions } if state.has_only_blocks() => {
            let request = LeaseBlob { action: *action, conditions: conditions.clone() };
            let (blob, outcome) = request.decide_uncommitted(state.uncommitted, stamp)?;
            next.uncommitted = outcome.lease;
            Answer::Leased { etag: blob.etag, id: outcome.id }
        }
        Op::Lease { action, conditions } => {
            let request = LeaseBlob { action: *action, conditions: conditions.clone() };
            let (blob, outcome) = request.decide(current, stamp)?;
            let etag = blob.etag;
            if let Some(version) = &mut next.blob {
                version.blob = blob;
            }
            Answer::Leased { etag, id: outcome.id }
        }
    };
    Ok((answer, next))
}

fn replace(state: &mut State, blob: Blob, content: Vec<u64>) -> Answer {
    let etag = blob.etag;
    state.blob = Some(Version { blob, content });
    Answer::Written(etag)
}

fn shown(version: &Version) -> Answer {
    Answer::Read { etag: version.blob.etag, content: version.content.clone(), metadata: version.blob.metadata.clone() }
}

/// The specification keeps content beside the record.
fn no_content() -> ContentRef {
    ContentRef { id: 0, length: 0, starts: Vec::new(), blocks: 0, epoch: 0 }
}

pub fn block_id(block: u8) -> BlockId {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode([block]);
    BlockId::from_base64(&text).expect("one byte is a block id")
}

pub fn put_blob(guard: &Guard) -> PutBlob {
    PutBlob {
        headers: ContentHeaders::default(),
        metadata: Metadata::default(),
        tags: Tags::default(),
        tier: None,
        protection: Protection::default(),
        encryption: Encryption::Service,
        conditions: guard.conditions.clone(),
        lease: guard.lease,
        may_overwrite: true,
    }
}

pub fn put_block_list(blocks: &[u8], guard: &Guard) -> PutBlockList {
    PutBlockList {
        blocks: blocks.iter().map(|block| (Search::Uncommitted, block_id(*block))).collect(),
        headers: ContentHeaders::default(),
        metadata: Metadata::default(),
        tags: Tags::default(),
        tier: None,
        protection: Protection::default(),
        encryption: Encryption::Service,
        conditions: guard.conditions.clone(),
        lease: guard.lease,
        may_overwrite: true,
    }
}

pub fn set_metadata(value: u64, guard: &Guard) -> SetBlobMetadata {
    let metadata = Metadata::new(vec![("m".into(), value.to_string())]).expect("a number is metadata");
    SetBlobMetadata {
        metadata,
        encryption: Encryption::Service,
        conditions: guard.conditions.clone(),
        lease: guard.lease,
    }
}

pub fn read_blob(snapshot: Option<Timestamp>, guard: &Guard) -> ReadBlob {
    ReadBlob { which: Which::snapshot(snapshot), key: None, conditions: guard.conditions.clone(), lease: guard.lease }
}

pub fn delete_blob(snapshots: Option<DeleteSnapshots>, guard: &Guard) -> DeleteBlob {
    DeleteBlob {
        which: Which::Current,
        permanent: false,
        snapshots,
        tier: TierConditions::default(),
        conditions: guard.conditions.clone(),
        lease: guard.lease,
    }
}

pub fn snapshot_blob(guard: &Guard) -> SnapshotBlob {
    let encryption = Encryption::Service;
    SnapshotBlob { metadata: None, encryption, conditions: guard.conditions.clone(), lease: guard.lease }
}

/// What a client has learnt, and so may guard its next call with.
#[derive(Clone, Debug, Default)]
pub struct Known {
    pub etag: Option<ETag>,
    pub snapshot: Option<Timestamp>,
}

const LEASES: [LeaseId; 2] = [LeaseId(0xA), LeaseId(0xB)];
const BLOCKS: [u8; 3] = [1, 2, 3];

/// The next call of a client.
pub fn choose(chance: &mut Chance, known: &Known, value: u64) -> Op {
    match chance.below(20) {
        0..=4 => Op::Put { value, guard: guard(chance, known) },
        5..=6 => Op::PutBlock { block: *chance.pick(&BLOCKS), value, lease: lease(chance) },
        7..=8 => {
            let first = chance.below(BLOCKS.len());
            Op::PutBlockList { blocks: BLOCKS[first..].to_vec(), guard: guard(chance, known) }
        }
        9..=10 => Op::SetMetadata { value, guard: guard(chance, known) },
        11..=14 => Op::Read { guard: Guard { conditions: Conditions::default(), lease: lease(chance) } },
        15 => Op::Delete { snapshots: Some(DeleteSnapshots::Include), guard: guard(chance, known) },
        16 => Op::Snapshot { guard: guard(chance, known) },
        17 => match known.snapshot {
            Some(time) => Op::ReadSnapshot { time },
            None => Op::Delete { snapshots: None, guard: guard(chance, known) },
        },
        _ => Op::Lease { action: action(chance), conditions: Conditions::default() },
    }
}

fn guard(chance: &mut Chance, known: &Known) -> Guard {
    let mut conditions = Conditions::default();
    match chance.below(4) {
        0 => conditions.if_match = known.etag.map(|etag| Match::OneOf(vec![Some(etag)])),
        1 => conditions.if_none_match = Some(Match::Any),
        _ => {}
    }
    Guard { conditions, lease: lease(chance) }
}

fn lease(chance: &mut Chance) -> Option<LeaseId> {
    (!chance.one_in(3)).then_some(()).map_or_else(|| Some(*chance.pick(&LEASES)), |()| None)
}

fn action(chance: &mut Chance) -> Action {
    let (id, to) = (*chance.pick(&LEASES), *chance.pick(&LEASES));
    match chance.below(6) {
        0..=1 => Action::Acquire { proposed: id, length: Length::Infinite },
        2 => Action::Renew { id },
        3 => Action::Change { id, to },
        4 => Action::Release { id },
        _ => Action::Break { period_seconds: Some(0) },
    }
}
