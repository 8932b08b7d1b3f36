//! Bytes of one open file into another. Within a share no byte moves: the pieces are named once more, in the transaction that changes the file.

use bytes::BytesMut;
use lazuli_model::Refusal;
use lazuli_model::file::arbiter;
use lazuli_model::file::{Frozen, Kind};

use super::HandleAt;
use super::watches::Filter;
use crate::{Failure, Store};

impl Store {
    /// All of `length` bytes; or none, if the source has fewer from there on.
    pub async fn copy_range(
        &self,
        source: &HandleAt,
        from: u64,
        target: &HandleAt,
        to: u64,
        length: u64,
        frozen: Frozen,
    ) -> Result<(), Failure> {
        if length == 0 {
            return Ok(());
        }
        let shares = source.share == target.share && source.snapshot.is_none();
        if shares && self.share_range(source, from, target, to, length, frozen).await? {
            return Ok(());
        }
        let mut reader = self.read_handle(source, from, length).await?;
        let mut bytes = BytesMut::new();
        while let Some(more) = reader.next().await? {
            bytes.extend_from_slice(&more);
        }
        if (bytes.len() as u64) < length {
            return Err(Refusal::InvalidRange.into());
        }
        self.write_handle(target, to, bytes.freeze(), frozen).await
    }

    /// False if the bytes have to be moved.
    async fn share_range(
        &self,
        source: &HandleAt,
        from: u64,
        target: &HandleAt,
        to: u64,
        length: u64,
        frozen: Frozen,
    ) -> Result<bool, Failure> {
        let end = from.checked_add(length).ok_or(Refusal::InvalidRange)?;
        let target_end = to.checked_add(length).ok_or(Refusal::OutOfRangeInput)?;
        let (lender, lent, file, handle) = (source.file, source.handle, target.file, target.handle);
        self.change_tree(&target.share, move |tree| {
            let (origin, seen_by) = tree.through(lender, lent)?;
            let (node, mut standing) = tree.through(file, handle)?;
            if origin.kind == Kind::Directory || node.kind == Kind::Directory {
                return Err(Refusal::ResourceTypeMismatch.into());
            }
            arbiter::read(&seen_by, lent, from, end)?;
            if end > origin.length {
                return Err(Refusal::InvalidRange.into());
            }
            let told = arbiter::write(&standing, handle, to, target_end)?;
            let mut changed = node.written_to(target_end, frozen, tree.now())?;
            let seen = tree.seen(&origin);
            if !tree.copy_content(&mut changed, to, seen, from, length)? {
                return Ok(false);
            }
            tree.resize(node.length, changed.length)?;
            tree.break_caches(file, &mut standing, &told);
            let grows = if changed.length == node.length { Filter::default() } else { Filter::SIZE };
            tree.changed(&changed, Filter::WRITTEN.with(grows))?;
            Ok(true)
        })
        .await
    }
}
