//! The bytes of a file: sparse, at the epoch at which they are written.
//!
//! Held true: a content has one node, from the write that made it to the one that retires it. What snapshots see of it stays, and is
//! noted under the newest of them; what nobody sees is garbage.

use lazuli_model::file::Node;

use super::rows::Superseded;
use super::tree::Tree;
use crate::records::{Garbage, encode};
use crate::sparse::{Editor, Fill, Forgetting, Seen};
use crate::transact::Decided;

/// Windows that one transaction clears: 4 GiB of them.
const CLEARED: usize = 4096;

/// Of one clear.
const MARKED_MAX: u64 = 64 << 20;

impl Tree<'_, '_> {
    /// Writes bytes at an offset of the node's content.
    pub fn write_content(&mut self, node: &mut Node, at: u64, fill: &Fill) -> Decided<()> {
        let seen = self.writable(node);
        let mut editor = Editor::new(&self.keys.content, seen);
        editor.write(self.txn, at, fill)?;
        editor.finish(&mut self.trash);
        Ok(())
    }

    /// Lays `length` bytes that are seen of a content over the node's, without moving them. False if they have to be moved.
    pub fn copy_content(&mut self, node: &mut Node, at: u64, source: Seen, from: u64, length: u64) -> Decided<bool> {
        let seen = self.writable(node);
        let mut editor = Editor::new(&self.keys.content, seen);
        let shared = editor.copy_within(self.txn, source, from, at, length)?;
        editor.finish(&mut self.trash);
        Ok(shared)
    }

    /// Makes `from..to` a hole, as far as one transaction may, and writes the rest that is no hole. True when that was all.
    pub fn clear_content(&mut self, node: &mut Node, from: u64, to: u64, rest: &[(u64, Fill)]) -> Decided<bool> {
        if (node.content == 0 && rest.is_empty()) || from >= to {
            return Ok(true);
        }
        let seen = self.writable(node);
        let mut editor = Editor::new(&self.keys.content, seen);
        let next = editor.clear(self.txn, from, to, CLEARED)?;
        if next.is_none() {
            for (at, fill) in rest {
                editor.write(self.txn, *at, fill)?;
            }
        }
        editor.finish(&mut self.trash);
        Ok(next.is_none())
    }

    /// Rule F10: a clear is told by a comparison with a snapshot, also where nothing had been written. Beyond [`MARKED_MAX`] that would be too many rows.
    pub fn mark_cleared(&mut self, node: &mut Node, from: u64, to: u64) -> Decided<()> {
        if from >= to || to - from > MARKED_MAX || self.head.snapshots.is_empty() {
            return Ok(());
        }
        let seen = self.writable(node);
        let mut editor = Editor::new(&self.keys.content, seen);
        editor.mark_cleared(self.txn, from, to)?;
        editor.finish(&mut self.trash);
        Ok(())
    }

    /// The content and the epoch to write at: a new one after a snapshot that sees the last.
    fn writable(&mut self, node: &mut Node) -> Seen {
        let newest = self.head.snapshots.last().copied();
        if node.content == 0 {
            node.content = self.txn.stamp().0;
            (node.content_since, node.content_epoch) = (self.head.epoch, self.head.epoch);
        } else if newest.is_some_and(|newest| newest >= node.content_epoch) {
            node.content_epoch = self.head.epoch;
        }
        if let Some(newest) = newest.filter(|newest| *newest >= node.content_since) {
            let note = Superseded::Content { since: node.content_since, dead: false };
            self.txn.put(self.keys.superseded_content(newest, node.content), encode(&note));
        }
        Seen { content: node.content, epoch: node.content_epoch }
    }

    /// Nobody has the node's content any more, but for snapshots.
    pub fn retire(&mut self, node: &Node) {
        if node.content == 0 {
            return;
        }
        match self.head.snapshots.last().filter(|newest| **newest >= node.content_since) {
            Some(newest) => {
                let note = Superseded::Content { since: node.content_since, dead: true };
                self.txn.put(self.keys.superseded_content(*newest, node.content), encode(&note));
            }
            None => self.trash.0.push(Garbage::Sparse(Forgetting::all(node.content))),
        }
    }

    /// What a reader sees of the node's content.
    pub fn seen(&self, node: &Node) -> Seen {
        Seen { content: node.content, epoch: self.epoch() }
    }
}
