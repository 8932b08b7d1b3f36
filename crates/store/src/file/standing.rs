//! The arbiter's side of a transaction: what others have open, whether an operation may go ahead, and waiting until it may.

use lazuli_engine::Txn;
use lazuli_model::file::arbiter::{self, Act, BREAK_SECONDS, Open, Standing, Verdict};
use lazuli_model::file::{FileId, FilePath};
use lazuli_model::{Refusal, Timestamp};
use tokio::sync::Notify;

use super::FileAt;
use super::tree::{Found, Tree};
use crate::records::{decode, encode};
use crate::transact::Decided;
use crate::{Failure, Store};

/// Who waits for whom. What is waited for is in the share's rows; these only say when to look again.
#[derive(Default)]
pub(crate) struct Breaks {
    /// A client has to be told something: gateways look for it.
    asked: Notify,
    /// A handle was closed, or a break acknowledged, or time has passed.
    settled: Notify,
}

impl Breaks {
    pub fn ask(&self) {
        self.asked.notify_waiters();
    }

    pub fn settle(&self) {
        self.settled.notify_waiters();
    }
}

impl Tree<'_, '_> {
    pub fn standing(&mut self, id: FileId) -> Decided<Standing> {
        let held = self.held(id)?;
        let opens = self.opens(id)?;
        Ok(Standing { lease: held.lease, delete_pending: held.delete_pending, opens })
    }

    pub fn opens(&mut self, id: FileId) -> Decided<Vec<Open>> {
        let all = self.keys.opens(id);
        let rows = self.txn.scan(&all, &all.after_prefix(), usize::MAX)?;
        rows.iter().map(|(_, bytes)| Ok(decode(bytes)?)).collect()
    }

    pub fn put_open(&mut self, id: FileId, open: &Open) {
        self.txn.put(self.keys.open(id, open.handle), encode(open));
    }

    /// Whether a REST call may go ahead, right now. Who had to wait has done so before.
    pub fn admit(&mut self, id: FileId, act: Act) -> Decided<Standing> {
        let mut standing = self.standing(id)?;
        match arbiter::admit(act, &standing)? {
            Verdict::Go(told) if told.is_empty() => {}
            Verdict::Go(told) => {
                standing.mark_done(&told);
                for open in standing.opens.iter().filter(|open| told.iter().any(|told| told.handle == open.handle)) {
                    self.put_open(id, open);
                }
            }
            Verdict::Wait(_) => return Err(Refusal::ClientCacheFlushDelay.into()),
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
        let mut began: Option<Timestamp> = None;
        loop {
            // Listens before it looks, so that what settles in between is not missed.
            let mut settled = std::pin::pin!(self.breaks.settled.notified());
            settled.as_mut().enable();
            let Some(now) = self.ask_for_breaks(found, path, act).await? else { return Ok(()) };
            let first = *began.get_or_insert(now);
            if first.plus_seconds(BREAK_SECONDS) <= now {
                return Err(Refusal::ClientCacheFlushDelay.into());
            }
            self.breaks.ask();
            settled.await;
        }
    }

    /// The time, if there is something to wait for.
    async fn ask_for_breaks(&self, found: &Found, path: &FilePath, act: Act) -> Result<Option<Timestamp>, Failure> {
        let (found, path) = (found.clone(), path.clone());
        self.transact(found.keys.partition(), move |txn| {
            let mut tree = Tree::new(txn, &found)?;
            let Some(id) = tree.id_at(&path)? else { return Ok(None) };
            let mut standing = tree.standing(id)?;
            let Ok(Verdict::Wait(breaks)) = arbiter::admit(act, &standing) else { return Ok(None) };
            let now = tree.now();
            standing.mark(&breaks, now);
            for open in &standing.opens {
                tree.put_open(id, open);
            }
            Ok(Some(now))
        })
        .await
    }

    /// Waits until a client may have to be told that it can cache less: then look at [`Store::breaks_of`].
    pub async fn breaks_asked(&self) {
        self.breaks.asked.notified().await;
    }
}
