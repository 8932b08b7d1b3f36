//! Create Hard Link, Create Symbolic Link, Get Symbolic Link.

use lazuli_model::file::{CreateHardLink, CreateSymbolicLink, Entry};
use lazuli_model::{Lease, Refusal, Timestamp};

use super::{FileAt, entry};
use crate::{Failure, Store};

impl Store {
    /// Another name for a file that is there.
    pub async fn create_hard_link(&self, at: &FileAt, create: CreateHardLink) -> Result<Entry, Failure> {
        let path = at.path.clone();
        self.change_tree(&at.share_at(), move |tree| {
            let (node, _) = tree.find(&create.target)?;
            let held = tree.held(node.id)?;
            create.permit_target(&node, held.lease, held.delete_pending, tree.now())?;
            let reached = tree.reach(&path)?;
            let node = create.decide(&node, reached.found.is_some(), tree.now())?;
            tree.put_link(&reached, node.id, node.kind)?;
            tree.put_node(&node)?;
            Ok(entry(node, reached.parent, held.lease))
        })
        .await
    }

    pub async fn create_symbolic_link(&self, at: &FileAt, create: CreateSymbolicLink) -> Result<Entry, Failure> {
        let path = at.path.clone();
        self.change_tree(&at.share_at(), move |tree| {
            let reached = tree.reach(&path)?;
            create.permit(reached.found.is_some(), tree.now())?;
            let permission = tree.new_permission(create.smb.permission.as_ref(), reached.parent, false, None)?;
            let spot = tree.spot(&reached, permission);
            let node = create.decide(&spot, tree.now());
            tree.resize(0, node.length)?;
            tree.put_new(&reached, &node)?;
            Ok(entry(node, reached.parent, Lease::Available))
        })
        .await
    }

    /// The text is the node's `target`.
    pub async fn symbolic_link(&self, at: &FileAt, snapshot: Option<Timestamp>) -> Result<Entry, Failure> {
        self.look_tree(&at.share_at(), snapshot, |tree| {
            let (node, parent) = tree.find_file(&at.path)?;
            if node.target.is_none() {
                return Err(Refusal::ResourceTypeMismatch.into());
            }
            Ok(entry(node, parent, Lease::Available))
        })
        .await
    }
}
