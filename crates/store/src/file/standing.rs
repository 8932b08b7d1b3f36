//! The arbiter's side of a transaction: what others have open, whether an operation may go ahead, and waiting until it may.

use std::collections::BTreeMap;

use lazuli_engine::Txn;
use lazuli_model::file::arbiter::{self, Act, Break, Obstacle, Open, Standing, Verdict};
use lazuli_model::file::{FileId, FilePath};
use lazuli_model::{Refusal, Timestamp};

use super::FileAt;
use super::tree::{Found, Tree};
use super::waits::{Patience, Wait};
use crate::records::{decode, encode};
use crate::transact::Decided;
use crate::witness::{Found as Seen, holder, saw, saw_obstacle};
use crate::{Failure, Store};

/// Handles that are read at a time.
const BATCH: usize = 256;

impl Tree<'_, '_> {
    pub fn standing(&mut self, id: FileId) -> Decided<Standing> {
        let held = self.held(id)?;
        let opens = self.opens(id)?;
        saw(Seen::Entry(holder(held.lease, self.now())));
        Ok(Standing { lease: held.lease, delete_pending: held.delete_pending, opens }.at(self.now()))
    }

    pub fn opens(&mut self, id: FileId) -> Decided<Vec<Open>> {
        let all = self.keys.opens(id);
        let (mut from, end) = (all.clone(), all.after_prefix());
        let mut opens = Vec::new();
        loop {
            let rows = self.txn.scan(&from, &end, BATCH)?;
            for (_, bytes) in &rows {
                opens.push(decode(bytes)?);
            }
            match rows.last() {
                Some((last, _)) if rows.len() == BATCH => from = last.successor(),
                Some(_) | None => return Ok(opens),
            }
        }
    }

    pub fn put_open(&mut self, id: FileId, open: &Open) {
        self.txn.put(self.keys.open(id, open.handle), encode(open));
    }

    /// Asks clients to cache less: marks it, and leaves notices for their gateways.
    pub fn break_caches(&mut self, id: FileId, standing: &mut Standing, breaks: &[Break]) {
        let before = standing.opens.clone();
        let notices = standing.mark(breaks, self.now());
        self.write_back(id, &before, standing);
        self.tell(id, notices);
    }

    /// Writes the handles that have changed.
    pub fn write_back(&mut self, id: FileId, before: &[Open], standing: &Standing) {
        let before: BTreeMap<u64, &Open> = before.iter().map(|open| (open.handle, open)).collect();
        for open in &standing.opens {
            if before.get(&open.handle) != Some(&open) {
                self.put_open(id, open);
            }
        }
    }

    /// Whether a REST call may go ahead, right now. Who had to wait has done so before.
    pub fn admit(&mut self, id: FileId, act: Act) -> Decided<Standing> {
        let mut standing = self.standing(id)?;
        match admitted(act, &standing)? {
            Verdict::Go(told) => self.break_caches(id, &mut standing, &told),
            Verdict::Wait(_) => return Err(not_given_back(act, &standing).into()),
        }
        Ok(standing)
    }

    fn must_wait(&mut self, path: &FilePath, act: Act) -> Decided<bool> {
        let all = self.keys.all_opens();
        if self.txn.scan(&all, &all.after_prefix(), 1)?.is_empty() {
            return Ok(false);
        }
        let Some(id) = self.id_at(path)? else { return Ok(false) };
        Ok(matches!(arbiter::admit(act, &self.standing(id)?), Ok(Verdict::Wait(_))))
    }

    /// Without minding why there is nothing at a path.
    fn id_at(&mut self, path: &FilePath) -> Decided<Option<FileId>> {
        let mut id = FileId::ROOT;
        for step in path.steps() {
            match self.name(id, step)? {
                Some(name) => id = name.id,
                None => return Ok(None),
            }
        }
        Ok(Some(id))
    }
}

/// The arbiter's verdict; of a refusal, who is in the way.
pub(super) fn admitted(act: Act, standing: &Standing) -> Result<Verdict, Refusal> {
    judged(arbiter::admit(act, standing), || arbiter::obstacle(act, standing))
}

/// A client did not give up in time what it caches.
pub(super) fn not_given_back(act: Act, standing: &Standing) -> Refusal {
    saw_obstacle(arbiter::obstacle(act, standing));
    Refusal::ClientCacheFlushDelay
}

/// Has it witnessed who was in the way of what the arbiter refused.
pub(super) fn judged<T>(
    verdict: Result<T, Refusal>,
    obstacle: impl FnOnce() -> Option<Obstacle>,
) -> Result<T, Refusal> {
    if matches!(verdict, Err(Refusal::SharingViolation | Refusal::FileLockConflict)) {
        saw_obstacle(obstacle());
    }
    verdict
}

impl Store {
    /// The share of a file, once nobody caches what `act` has to see or to change.
    pub(super) async fn approach(&self, at: &FileAt, act: Act) -> Result<Found, Failure> {
        let path = &at.path;
        let found = self.found_share(&at.share_at()).await?;
        let look = |txn: &mut Txn<'_>| Tree::new(txn, &found)?.must_wait(path, act);
        let waits = self.look(&found.keys.partition(), look).await?;
        if waits {
            self.wait_for_breaks(&found, path, act).await?;
        }
        Ok(found)
    }

    /// Asks clients to give up what they cache, and waits until they have, or the time is up.
    async fn wait_for_breaks(&self, found: &Found, path: &FilePath, act: Act) -> Result<(), Failure> {
        let mut until: Option<Timestamp> = None;
        let mut wait = Wait::new(self, &Patience);
        loop {
            let settled = wait.listen();
            let Some(now) = self.ask_for_breaks(found, path, act).await? else { return Ok(()) };
            let until = *until.get_or_insert(now.plus_seconds(self.request.patience_seconds));
            if until <= now {
                return Err(Refusal::ClientCacheFlushDelay.into());
            }
            wait.pass(settled, Some(until)).await;
        }
    }

    /// The time, if there is something to wait for.
    async fn ask_for_breaks(&self, found: &Found, path: &FilePath, act: Act) -> Result<Option<Timestamp>, Failure> {
        let path = path.clone();
        self.change_found(found.clone(), move |tree| {
            let Some(id) = tree.id_at(&path)? else { return Ok(None) };
            let mut standing = tree.standing(id)?;
            let Ok(Verdict::Wait(breaks)) = arbiter::admit(act, &standing) else { return Ok(None) };
            tree.break_caches(id, &mut standing, &breaks);
            saw_obstacle(arbiter::obstacle(act, &standing));
            Ok(Some(tree.now()))
        })
        .await
    }
}
