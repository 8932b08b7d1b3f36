//! How many handles are open below each directory, so that a rename knows it at the cost of one row.
//!
//! Held true: a directory's count is the number of handles on all that is below it, by the parents that the nodes have; it has no row
//! when there are none. The root is not counted for, since it never moves. A directory moves only while its count is zero, so only
//! what itself is open takes its handles along.

use lazuli_model::Refusal;
use lazuli_model::file::{FileId, Node};

use super::tree::Tree;
use crate::records::{Count, encode};
use crate::transact::{Decided, get};

impl Tree<'_, '_> {
    /// A handle was opened on a node.
    pub fn enter(&mut self, node: &Node) -> Decided<()> {
        self.count_above(node.parent, |count| count.saturating_add(1))
    }

    /// A handle of a node was closed.
    pub fn leave(&mut self, node: &Node) -> Decided<()> {
        self.count_above(node.parent, |count| fewer(count, 1))
    }

    /// A node went from one directory to another, with the handles that are open on itself.
    pub fn carry_handles(&mut self, id: FileId, from: FileId, to: FileId) -> Decided<()> {
        if from == to {
            return Ok(());
        }
        let handles = u32::try_from(self.opens(id)?.len()).unwrap_or(u32::MAX);
        if handles > 0 {
            self.count_above(from, |count| fewer(count, handles))?;
            self.count_above(to, |count| count.saturating_add(handles))?;
        }
        Ok(())
    }

    /// A directory that others work in is not pulled away from under them.
    pub fn nobody_beneath(&mut self, directory: FileId) -> Decided<()> {
        match get::<Count>(self.txn, &self.keys.beneath(directory))? {
            Some(Count(1..)) => Err(Refusal::SharingViolation.into()),
            Some(Count(0)) | None => Ok(()),
        }
    }

    /// `directory` and all that it is in, but for the root.
    fn count_above(&mut self, mut directory: FileId, change: impl Fn(u32) -> u32) -> Decided<()> {
        while directory != FileId::ROOT {
            let key = self.keys.beneath(directory);
            match change(get::<Count>(self.txn, &key)?.map_or(0, |count| count.0)) {
                0 => self.txn.delete(key),
                count => self.txn.put(key, encode(&Count(count))),
            }
            match self.node(directory)? {
                Some(node) => directory = node.parent,
                None => break,
            }
        }
        Ok(())
    }
}

/// A handle that is closed was counted when it was opened.
fn fewer(count: u32, closed: u32) -> u32 {
    count.saturating_sub(closed)
}
