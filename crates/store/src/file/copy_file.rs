//! Copy File: bytes from elsewhere, in place of what is there. They come into a content that no node has yet, piece by piece, and
//! the last transaction gives it to the file; so nobody sees half a copy.

use bytes::Bytes;
use lazuli_engine::BoxFuture;
use lazuli_model::Refusal;
use lazuli_model::file::arbiter::Act;
use lazuli_model::file::{CopyFile, Entry, FILE_MAX};

use super::rows::Build;
use super::tree::Found;
use super::{FileAt, entry};
use crate::records::{Garbage, encode};
use crate::sparse::{Editor, Fill, Forgetting, Seen};
use crate::transact::get;
use crate::upload::{Broken, Source};
use crate::{Failure, Received, Store};

/// Bytes that one transaction takes in.
const STEP: u64 = 16 << 20;

impl Store {
    /// `length` bytes from `source`.
    pub async fn copy_file(
        &self,
        at: &FileAt,
        copy: CopyFile,
        source: &mut dyn Source,
        length: u64,
    ) -> Result<Entry, Failure> {
        if length > FILE_MAX {
            return Err(Refusal::OutOfRangeInput.into());
        }
        let found = self.approach(at, Act::Create).await?;
        let built = self.build(&found, source, length).await?;
        let entry = self.adopt_copy(at, found.clone(), copy, built, length).await;
        if entry.is_err()
            && let Some(seen) = built
        {
            self.drop_build(found, seen).await?;
        }
        entry
    }

    /// A content of its own with all the bytes; none when there are none.
    async fn build(&self, found: &Found, source: &mut dyn Source, length: u64) -> Result<Option<Seen>, Failure> {
        let mut built: Option<Seen> = None;
        let mut held = Bytes::new();
        let mut done = 0;
        while done < length {
            let left = STEP.min(length - done);
            let mut part = Part { source, held, left };
            let received = self.receive(&mut part, Some(left), STEP, false).await;
            held = std::mem::take(&mut part.held);
            let wrote = match received {
                Ok(received) => {
                    let bytes = received.length;
                    self.write_build(found, built, done, received).await.map(|seen| (seen, bytes))
                }
                Err(failure) => Err(failure),
            };
            match (wrote, built) {
                (Ok((seen, bytes)), _) => {
                    built = Some(seen);
                    done += bytes;
                }
                (Err(failure), None) => return Err(failure),
                (Err(failure), Some(seen)) => {
                    self.drop_build(found.clone(), seen).await?;
                    return Err(failure);
                }
            }
        }
        Ok(built)
    }

    async fn write_build(
        &self,
        found: &Found,
        built: Option<Seen>,
        at: u64,
        received: Received,
    ) -> Result<Seen, Failure> {
        let fill = Fill::of(&received);
        self.change_staged(found.clone(), received.body.into_staged(), move |tree| {
            let seen = match built {
                // The sweeper may have taken it for abandoned.
                Some(seen) => match get::<Build>(tree.txn, &tree.keys.build(seen.content))? {
                    Some(_) => seen,
                    None => return Err(Refusal::OperationTimedOut.into()),
                },
                None => Seen { content: tree.txn.stamp().0, epoch: tree.head.epoch },
            };
            tree.txn.put(tree.keys.build(seen.content), encode(&Build { touched: tree.now() }));
            let mut editor = Editor::new(&tree.keys.content, seen);
            editor.write(tree.txn, at, &fill)?;
            editor.finish(&mut tree.trash);
            Ok(seen)
        })
        .await
    }

    async fn adopt_copy(
        &self,
        at: &FileAt,
        found: Found,
        copy: CopyFile,
        built: Option<Seen>,
        length: u64,
    ) -> Result<Entry, Failure> {
        let path = at.path.clone();
        self.change_found(found, move |tree| {
            let reached = tree.reach(&path)?;
            let (current, lease) = tree.replaceable(&reached, copy.lease)?;
            let permission = tree.new_permission(copy.smb.permission.as_ref(), reached.parent, false, None)?;
            let spot = tree.spot(&reached, permission);
            let mut node = copy.decide(&spot, current.as_ref(), length, tree.now())?;
            if let Some(seen) = built {
                if get::<Build>(tree.txn, &tree.keys.build(seen.content))?.is_none() {
                    return Err(Refusal::OperationTimedOut.into());
                }
                tree.txn.delete(tree.keys.build(seen.content));
                node.content = seen.content;
                (node.content_since, node.content_epoch) = (seen.epoch, seen.epoch);
            }
            tree.replace(&reached, current.as_ref(), &node)?;
            Ok(entry(node, reached.parent, lease))
        })
        .await
    }

    /// A content that no node will ever have.
    pub(super) async fn drop_build(&self, found: Found, seen: Seen) -> Result<(), Failure> {
        self.change_found(found, move |tree| {
            let key = tree.keys.build(seen.content);
            if get::<Build>(tree.txn, &key)?.is_some() {
                tree.txn.delete(key);
                tree.trash.0.push(Garbage::Sparse(Forgetting::all(seen.content)));
            }
            Ok(())
        })
        .await
    }
}

/// The next so many bytes of a source. What it gives too much of is held for the next part.
struct Part<'a> {
    source: &'a mut dyn Source,
    held: Bytes,
    left: u64,
}

impl Source for Part<'_> {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Broken>> {
        Box::pin(async {
            if self.left == 0 {
                return Ok(None);
            }
            let mut bytes = std::mem::take(&mut self.held);
            while bytes.is_empty() {
                match self.source.next().await? {
                    Some(more) => bytes = more,
                    None => return Ok(None),
                }
            }
            let take = self.left.min(bytes.len() as u64);
            self.held = bytes.split_off(take as usize);
            self.left -= take;
            Ok(Some(bytes))
        })
    }
}
