//! Delete File and Delete Directory. Bytes are left to the sweeper, however many there are.

use lazuli_model::file::arbiter::Act;
use lazuli_model::file::{FileId, Kind, Node};
use lazuli_model::{LeaseId, Refusal};

use super::FileAt;
use super::rows::Held;
use super::tree::Tree;
use crate::transact::Decided;
use crate::{Failure, Store};

impl Store {
    /// Gives how many links are left.
    pub async fn delete_file(&self, at: &FileAt, lease: Option<LeaseId>) -> Result<u32, Failure> {
        let found = self.approach(at, Act::Delete).await?;
        let path = at.path.clone();
        self.change_found(found, move |tree| {
            let reached = tree.reach(&path)?;
            let found = reached.found.clone().ok_or(Refusal::ResourceNotFound)?;
            let node = tree.node_of(&found)?;
            if node.kind == Kind::Directory {
                return Err(Refusal::ResourceTypeMismatch.into());
            }
            tree.admit_leased(&node, Act::Delete, lease)?;
            tree.unlink(&node, reached.parent, &found.name)
        })
        .await
    }

    pub async fn delete_directory(&self, at: &FileAt) -> Result<(), Failure> {
        let path = at.path.clone();
        self.change_tree(&at.share_at(), move |tree| {
            if path.is_root() {
                return Err(Refusal::CannotDeleteFileOrDirectory.into());
            }
            let reached = tree.reach(&path)?;
            let found = reached.found.clone().ok_or(Refusal::ResourceNotFound)?;
            if found.kind != Kind::Directory {
                return Err(Refusal::ResourceTypeMismatch.into());
            }
            if tree.count_children(found.id)? > 0 {
                return Err(Refusal::DirectoryNotEmpty.into());
            }
            if !tree.opens(found.id)?.is_empty() {
                return Err(Refusal::CannotDeleteFileOrDirectory.into());
            }
            let node = tree.node_of(&found)?;
            tree.unlink(&node, reached.parent, &found.name)?;
            Ok(())
        })
        .await
    }
}

impl Tree<'_, '_> {
    /// Takes one name away, and the node with the last. Gives how many are left.
    pub fn unlink(&mut self, node: &Node, parent: FileId, name: &str) -> Decided<u32> {
        self.remove_name(parent, name)?;
        self.orphan(parent)?;
        let links = node.links.saturating_sub(1);
        if links > 0 {
            self.put_node(&node.linked(links, self.now()))?;
            return Ok(links);
        }
        self.forget(node)?;
        Ok(0)
    }

    /// A node without a name.
    pub fn forget(&mut self, node: &Node) -> Decided<()> {
        self.remove_node(node.id)?;
        self.put_held(node.id, Held::default());
        self.resize(node.length, 0)?;
        self.retire(node);
        Ok(())
    }
}
