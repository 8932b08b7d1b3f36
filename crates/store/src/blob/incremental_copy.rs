//! Incremental Copy Blob: what changed in the source since the snapshot that was copied before is laid over the copy, which nobody
//! reads; then a snapshot is taken of it. Pieces are shared, as in every copy.
//!
//! More than a transaction takes is laid in steps. Laying the same again, or what a later snapshot has there, comes to the same in the
//! end, so a copy that was broken off leaves nothing to mend. A LongCopy row keeps two that run at the same time from mixing.

use std::sync::Arc;

use lazuli_engine::Txn;
use lazuli_model::Refusal;
use lazuli_model::blob::{Blob, ContentRef, Follows, IncrementalCopy, Which};

use super::copy_blob::{Decide, may_share};
use super::copy_sparse::{Origin, Ready, leave_snapshot};
use super::long_copies::{is_at, supersede};
use super::put_page::{CLEARED_AT_ONCE, seen};
use super::reader::Reader;
use super::replace::write_base;
use super::{base, base_to_write};
use crate::claims::Trash;
use crate::crypt::Lock;
use crate::feed::TrackedKeys;
use crate::records::{LongCopy, Task, encode};
use crate::sparse::Editor;
use crate::transact::{Decided, now};
use crate::{BlobAt, Failure, Store};

impl Store {
    /// `source` was opened as `which`.
    pub async fn incremental_copy(
        &self,
        at: &BlobAt,
        copy: IncrementalCopy,
        mut source: Reader,
        which: Which,
        lock: Option<Lock>,
    ) -> Result<Blob, Failure> {
        let Which::Snapshot(snapshot) = which else {
            return Err(Refusal::IncrementalCopySourceMustBeSnapshot.into());
        };
        let keys = self.written_keys(at).await?;
        let from = source.blob.clone();
        let blob = String::from_utf8_lossy(&source.keys.name).into_owned();
        let (content, epoch) = (from.content.id, from.content.epoch);
        let to = Follows { container: source.keys.space.0, blob, content, snapshot, epoch };
        let before =
            self.look(&keys.partition(), |txn| Ok(copy.permit(base(txn, &keys)?.as_ref(), &from, &to)?)).await?;
        let share = may_share(&source, lock.as_ref());
        let origin = Origin { reader: &mut source, which, share, lock };
        match before {
            None => {
                let (id, keeping) = (copy.id, self.keeping(at, &lazuli_model::Tags::NONE).await?);
                let decide: Arc<Decide> = Arc::new(move |old, content, now| copy.decide(old, &from, &to, content, now));
                self.copy_sparse(keys, keeping, origin, id, decide).await
            }
            Some(since) => {
                let follow = Follow { keys, copy, source: from, to, since };
                self.follow(Arc::new(follow), origin).await
            }
        }
    }

    async fn follow(&self, follow: Arc<Follow>, mut origin: Origin<'_>) -> Result<Blob, Failure> {
        let keys = &follow.keys;
        let (mut from, mut begun) = (0, false);
        loop {
            let mut part = self.part_of(&mut origin, follow.since, from).await?;
            let next = part.next;
            let (ready, staged) = self.ready(keys, &mut origin, &mut part).await?;
            let (own, cleared) = (follow.clone(), part.cleared.clone());
            let laid = self.transact_staged(keys.partition(), staged, move |txn| {
                own.lay(txn, &ready, &cleared, begun, next.is_none())
            });
            match laid.await? {
                Laid::Late => {} // the bytes, then
                Laid::Part { trash, done: None } => {
                    self.hint(trash, keys.clone());
                    begun = true;
                    from = next.unwrap_or(from);
                }
                Laid::Part { trash, done: Some(blob) } => {
                    self.hint(trash, keys.clone());
                    return Ok(*blob);
                }
            }
        }
    }
}

/// What an incremental copy does, the second time and after.
struct Follow {
    keys: TrackedKeys,
    copy: IncrementalCopy,
    /// The snapshot that is copied.
    source: Box<Blob>,
    to: Follows,
    /// The epoch of the source that is there already.
    since: u64,
}

enum Laid {
    Late,
    Part { trash: bool, done: Option<Box<Blob>> },
}

impl Follow {
    fn lay(&self, txn: &mut Txn<'_>, ready: &Ready, cleared: &[(u64, u64)], begun: bool, last: bool) -> Decided<Laid> {
        let keys = &self.keys;
        if ready.is_late(txn, keys)? {
            return Ok(Laid::Late);
        }
        let old = base_to_write(txn, keys)?;
        if self.copy.permit(old.as_ref(), &self.source, &self.to)? != Some(self.since) {
            return Err(Refusal::OperationTimedOut.into()); // another one came in between
        }
        let old = old.ok_or(Refusal::BlobNotFound)?;
        if begun && !is_at(txn, keys, self.copy.id, &Task::Follow)? {
            return Err(Refusal::OperationTimedOut.into());
        }
        let (mut editor, mut trash) = (Editor::new(keys, seen(&old)), Trash::default());
        for (from, to) in cleared {
            editor.clear_whole(txn, *from, *to)?;
        }
        editor.lay(txn, &ready.copy)?;
        // What the source was shortened by; it may take several turns, which lay the last part again.
        let length = self.source.content.length;
        let last = last && editor.clear(txn, length, old.content.length.max(length), CLEARED_AT_ONCE)?.is_none();
        editor.finish(&mut trash);
        if !begun || last {
            supersede(txn, keys, &mut trash)?;
        }
        let done = if last {
            let content = ContentRef { length, ..old.content.clone() };
            let mut new = self.copy.decide(Some(&old), &self.source, &self.to, content, now(txn))?;
            new.content = leave_snapshot(txn, keys, &new)?;
            write_base(txn, keys, Some(&old), Some(&new));
            Some(Box::new(new))
        } else {
            let long_copy = LongCopy { copy: self.copy.id, alive: now(txn), task: Task::Follow };
            txn.put(keys.long_copy(), encode(&long_copy));
            None
        };
        Ok(Laid::Part { trash: trash.write(txn, keys), done })
    }
}
