//! Background work: collecting what operations left behind, as ordinary transactions in bounded steps. All that is to be
//! done is written down durably (docs/keys.md): garbage rows, dead spaces, pending rows, claims. What is kept
//! here, in memory, only says where to look first; a round over everything finds the rest, at the start and once a day.
//!
//! Why no piece is given back that a record still names:
//! * Other partitions may hold a piece too, by copies; they are asked before it is given back (`shared_pieces`).
//! * Within one partition, a piece is named by chunks and blocks, and its claim there counts the contents and blocks that hold it
//!   (`claims`). A record that comes to name it is written with a claim, new or taken over, in the same transaction; so a claim goes
//!   to zero in a transaction after which no reachable row names the piece, and none ever will: ids of contents, epochs and
//!   spaces are never used again, and a dead list is not read by operations.
//! * That same transaction writes the piece into a `Pieces` row, and only what is in such a row is given back. So the bytes go
//!   after the names, durably; and a crash in between repeats the giving back, which does no harm.
//! * In a dead space no row can be reached at all; its claims become `Pieces` rows in the same way.
//! * A reader that opened a blob before that holds its content, whose rows and claims wait for it; and what a reader found of a content
//!   that is written in place, it holds piece by piece (`readers`). Both delay what is held, and nothing else.
//! * The readers of other gateways are asked by what they write down with each heartbeat (`pins`).
//! * A list that took pieces over from an earlier one (`Kept`) waits for the readers of the earlier one, too.
//! * Bytes that were staged and never claimed: while this process lives, `Staged` knows what became of them. After a crash, an
//!   extent of the dead process gets no new pieces, so the claims on it, over all spaces, are all that can be live (`settle`). Another
//!   gateway that died was fenced before, so it can claim nothing any more.

mod collect;
mod round;
mod settle;
mod space;

pub(crate) use space::bury;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use lazuli_engine::{Key, Space};
use lazuli_model::Timestamp;
use tokio::sync::Notify;

use crate::feed::TrackedKeys;
use crate::keys::BlobKeys;
use crate::pins::Heard;
use crate::readers::{Line, Readers};
use crate::{Failure, Store};

/// Hints beyond this are forgotten; a round finds what they were about.
const HINTS_MAX: usize = 1 << 16;

/// Partitions that one step works on together, so that their transactions share a commit.
const PARTITIONS_PER_STEP: usize = 64;

pub(crate) struct Sweep {
    wanted: Notify,
    hints: Mutex<Hints>,
    /// One step at a time.
    turn: tokio::sync::Mutex<Progress>,
}

struct Hints {
    partitions: BTreeSet<BlobKeys>,
    spaces: BTreeSet<Space>,
    /// A hint was dropped, so a round over everything is needed.
    round: bool,
    /// When a round is wanted again, for what it came too early for.
    again: Option<Timestamp>,
    /// Rows whose pieces are being given back right now.
    freeing: BTreeSet<Key>,
    /// Blobs that expire before the next round.
    expiring: BTreeMap<(Timestamp, BlobKeys), TrackedKeys>,
}

#[derive(Default)]
struct Progress {
    settling: settle::Settling,
    round: Option<round::Round>,
    last_round: Option<Timestamp>,
    spaces: BTreeMap<Space, space::Emptying>,
    /// Garbage rows that wait for readers, with the line that was drawn when the row was first seen.
    lines: BTreeMap<Key, Since>,
    /// Copies that are said to be unfinished, and that nobody is at, with when that was first seen.
    unfinished: BTreeMap<Key, Timestamp>,
    /// Partitions with a piece that a copy may be about to claim, or with something that another gateway reads, until then.
    resting: BTreeMap<BlobKeys, Timestamp>,
}

/// When something was first seen to be dead: in the order of this gateway's readers, and by the heartbeats of the others.
#[derive(Clone)]
struct Since {
    line: Line,
    heard: Heard,
}

impl Sweep {
    pub fn new() -> Self {
        let hints = Hints {
            partitions: BTreeSet::new(),
            spaces: BTreeSet::new(),
            round: true,
            again: None,
            freeing: BTreeSet::new(),
            expiring: BTreeMap::new(),
        };
        let turn = tokio::sync::Mutex::new(Progress::default());
        Self { wanted: Notify::new(), hints: Mutex::new(hints), turn }
    }

    pub fn wake(&self) {
        self.wanted.notify_one();
    }

    pub fn hint_space(&self, space: Space) {
        self.with(|hints| hints.spaces.insert(space));
        self.wake();
    }

    pub fn hint_partition(&self, keys: BlobKeys) {
        self.with(|hints| {
            if hints.partitions.len() < HINTS_MAX {
                hints.partitions.insert(keys);
            } else {
                hints.round = true;
            }
        });
        self.wake();
    }

    /// What is beyond the limit is found by the next round; nobody sees it meanwhile.
    fn hint_expiry(&self, expires: Timestamp, keys: TrackedKeys) {
        self.with(|hints| {
            if hints.expiring.len() < HINTS_MAX {
                hints.expiring.insert((expires, BlobKeys::clone(&keys)), keys);
            }
        });
    }

    /// There is something that a round has to look at then.
    pub fn hint_round(&self, at: Timestamp) {
        self.with(|hints| hints.again = Some(hints.again.map_or(at, |again| again.min(at))));
    }

    fn with<T>(&self, act: impl FnOnce(&mut Hints) -> T) -> T {
        act(&mut self.hints.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Store {
    /// Tells the sweeper of a partition in which a transaction left garbage.
    pub(crate) fn hint(&self, trash: bool, keys: impl Into<BlobKeys>) {
        if trash {
            self.sweep.hint_partition(keys.into());
        }
    }

    /// The same of garbage that [`Trash::leave`](crate::claims::Trash::leave) told of.
    pub(crate) fn hint_left(&self, left: Option<BlobKeys>) {
        if let Some(keys) = left {
            self.sweep.hint_partition(keys);
        }
    }

    pub(crate) fn hint_expiry(&self, expires: Timestamp, keys: TrackedKeys) {
        self.sweep.hint_expiry(expires, keys);
    }

    /// Waits until there may be something to sweep. Also call [`Store::sweep_step`] now and then without being woken:
    /// no hint comes when blocks grow old and rounds fall due.
    pub async fn sweep_wanted(&self) {
        self.sweep.wanted.notified().await;
    }

    /// A bounded piece of background work. True when there is more to do right now. After a failure nothing is lost:
    /// it is found again by the next round.
    pub async fn sweep_step(&self) -> Result<bool, Failure> {
        self.sweep_a_step(true).await
    }

    /// The part of it that this gateway knows of because its own operations left it. Of several gateways one does the rest too, the
    /// rounds over everything and what dead gateways left: else what is deleted at the others would wait for the next round.
    pub async fn sweep_own_step(&self) -> Result<bool, Failure> {
        self.sweep_a_step(false).await
    }

    async fn sweep_a_step(&self, everything: bool) -> Result<bool, Failure> {
        // An open that waits for a client to answer looks at the time again.
        self.breaks.settle();
        let mut progress = self.sweep.turn.lock().await;
        let stepped = self.step(&mut progress, everything).await;
        if stepped.is_err() {
            self.sweep.with(|hints| hints.round = true);
        }
        stepped
    }

    async fn step(&self, progress: &mut Progress, everything: bool) -> Result<bool, Failure> {
        if everything && self.settle_step(&mut progress.settling).await? {
            return Ok(true);
        }
        progress.admit_rested(&self.sweep, self.now());
        let partitions = self.sweep.with(Hints::take_partitions);
        if !partitions.is_empty() {
            self.collect(partitions, &mut progress.lines, &mut progress.resting).await?;
            return Ok(true);
        }
        let now = self.now();
        if let Some(keys) = self.sweep.with(|hints| hints.take_expired(now)) {
            self.expire(keys).await?;
            return Ok(true);
        }
        let due = self.sweep.with(|hints| hints.spaces.pop_first()).or_else(|| progress.space_due(&self.readers, now));
        if let Some(space) = due {
            let emptying = progress.spaces.entry(space).or_default();
            if !self.empty_step(space, emptying, now).await? {
                progress.spaces.remove(&space);
            }
            return Ok(true);
        }
        if everything { self.round_step(progress, now).await } else { Ok(false) }
    }
}

impl Hints {
    fn take_expired(&mut self, now: Timestamp) -> Option<TrackedKeys> {
        let first = self.expiring.first_entry()?;
        if first.key().0 <= now { Some(first.remove()) } else { None }
    }

    fn take_partitions(&mut self) -> Vec<BlobKeys> {
        let mut taken = Vec::new();
        while taken.len() < PARTITIONS_PER_STEP
            && let Some(keys) = self.partitions.pop_first()
        {
            taken.push(keys);
        }
        taken
    }
}

impl Progress {
    /// Partitions whose time has come.
    fn admit_rested(&mut self, sweep: &Sweep, now: Timestamp) {
        for (keys, _) in self.resting.extract_if(.., |_, until| *until <= now) {
            sweep.hint_partition(keys);
        }
    }

    fn space_due(&self, readers: &Readers, now: Timestamp) -> Option<Space> {
        self.spaces.iter().find(|(_, emptying)| emptying.is_due(readers, now)).map(|(space, _)| *space)
    }
}
