//! Byte-range locks, and what clients say of their caches.

use lazuli_model::Refusal;
use lazuli_model::file::arbiter::{self, Acknowledged, Cache, Caching, Lock};

use super::HandleAt;
use super::Waiting;
use super::tree::Tree;
use super::waits::{Attempt, Wait};
use crate::transact::Decided;
use crate::witness::{refuses, saw_obstacle};
use crate::{Failure, Store};

/// What became of locks that were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locked {
    Granted,
    /// Somebody else holds one of the ranges.
    Held,
    /// The caller did not want to wait any more.
    Cancelled,
}

impl Store {
    /// All of them, or none. With somebody who waits, until all can be had.
    pub async fn lock_ranges(
        &self,
        at: &HandleAt,
        locks: Vec<Lock>,
        waiting: Option<&dyn Waiting>,
    ) -> Result<Locked, Failure> {
        let patience = super::Patience;
        let mut wait = Wait::new(self, waiting.unwrap_or(&patience));
        loop {
            let settled = wait.listen();
            let (file, handle, locks) = (at.file, at.handle, locks.clone());
            let attempt = self.change_tree(&at.share, move |tree| lock(tree, file, handle, &locks)).await?;
            match (attempt, waiting) {
                (Attempt::Done(()), _) => return Ok(Locked::Granted),
                (Attempt::Wait(_), None) => return Ok(Locked::Held),
                (Attempt::Wait(until), Some(_)) if !wait.pass(settled, until).await => return Ok(Locked::Cancelled),
                (Attempt::Wait(_), Some(_)) => {}
            }
        }
    }

    /// Those very ranges, one after the other; what was given up before one that is not held stays given up.
    pub async fn unlock_ranges(&self, at: &HandleAt, ranges: Vec<Lock>) -> Result<bool, Failure> {
        let (file, handle) = (at.file, at.handle);
        self.change_tree(&at.share, move |tree| {
            let mut standing = tree.standing(file)?;
            let before = standing.opens.clone();
            let mut all = true;
            for range in &ranges {
                match arbiter::unlock(&standing, handle, *range) {
                    Ok(left) => {
                        let own = standing.opens.iter_mut().filter(|open| open.handle == handle);
                        own.for_each(|open| open.locks.clone_from(&left));
                    }
                    Err(Refusal::InvalidRange) => {
                        all = false;
                        break;
                    }
                    Err(refusal) => return Err(refusal.into()),
                }
            }
            tree.write_back(file, &before, &standing);
            tree.settles = true;
            Ok(all)
        })
        .await
    }

    /// Something is done to the file that others' caches do not show.
    pub async fn contend(&self, at: &HandleAt) -> Result<(), Failure> {
        let (file, handle) = (at.file, at.handle);
        self.change_tree(&at.share, move |tree| {
            let mut standing = tree.standing(file)?;
            let told = arbiter::write(&standing, handle, 0, 0)?;
            tree.break_caches(file, &mut standing, &told);
            Ok(())
        })
        .await
    }

    /// A client says what it has gone down to: for an oplock's handle, or for its lease.
    pub async fn acknowledge_break(&self, at: &HandleAt, cache: Cache, to: Caching) -> Result<Acknowledged, Failure> {
        let (file, handle) = (at.file, at.handle);
        let answer = self
            .change_tree(&at.share, move |tree| {
                let mut standing = tree.standing(file)?;
                let (before, now) = (standing.opens.clone(), tree.now());
                let answer = arbiter::acknowledge(&mut standing, cache, Some(handle), to, now);
                if let Acknowledged::Done(notices) = &answer {
                    tree.write_back(file, &before, &standing);
                    tree.tell(file, notices.clone());
                    tree.settles = true;
                }
                Ok(answer)
            })
            .await?;
        self.breaks.all_have_looked().await;
        Ok(answer)
    }
}

fn lock(
    tree: &mut Tree<'_, '_>,
    file: lazuli_model::file::FileId,
    handle: u64,
    locks: &[Lock],
) -> Decided<Attempt<()>> {
    let mut standing = tree.standing(file)?;
    let before = standing.opens.clone();
    let mut told = Vec::new();
    for asked in locks {
        match arbiter::lock(&standing, handle, *asked) {
            Ok(breaks) => {
                told.extend(breaks);
                let own = standing.opens.iter_mut().filter(|open| open.handle == handle);
                own.for_each(|open| open.locks.push(*asked));
            }
            Err(Refusal::FileLockConflict) => {
                saw_obstacle(arbiter::lock_obstacle(&standing, handle, *asked));
                refuses();
                return Ok(Attempt::Wait(None));
            }
            Err(refusal) => return Err(refusal.into()),
        }
    }
    tree.write_back(file, &before, &standing);
    tree.break_caches(file, &mut standing, &told);
    Ok(Attempt::Done(()))
}
