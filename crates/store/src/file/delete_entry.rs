//! Delete File and Delete Directory. Bytes are left to the sweeper, however many there are.

use lazuli_model::file::arbiter::Act;
use lazuli_model::file::entry::{DirectoryAt, permit_delete_directory, permit_delete_file};
use lazuli_model::file::{FileId, Node};
use lazuli_model::{LeaseId, Refusal};

use super::FileAt;
use super::rows::Held;
use super::tree::{Reached, Tree};
use crate::transact::Decided;
use crate::{Failure, Store};

impl Store {
    /// Gives how many links are left.
    pub async fn delete_file(&self, at: &FileAt, lease: Option<LeaseId>) -> Result<u32, Failure> {
        let found = self.approach(at, Act::Delete).await?;
        let path = at.path.clone();
        self.change_found(found, move |tree| {
            let reached = tree.reach(&path)?;
            permit_delete_file(reached.found.as_ref().map(|found| found.kind))?;
            let found = reached.found.clone().ok_or(Refusal::ResourceNotFound)?;
            let node = tree.node_of(&found)?;
            tree.admit_leased(&node, Act::Delete, lease)?;
            tree.unlink(&node, reached.parent, &found.name)
        })
        .await
    }

    pub async fn delete_directory(&self, at: &FileAt) -> Result<(), Failure> {
        let path = at.path.clone();
        self.change_tree(&at.share_at(), move |tree| {
            if path.is_root() {
                permit_delete_directory(Some(DirectoryAt::ROOT))?;
            }
            let reached = tree.reach(&path)?;
            permit_delete_directory(tree.directory_at(&reached)?)?;
            let found = reached.found.clone().ok_or(Refusal::ResourceNotFound)?;
            let node = tree.node_of(&found)?;
            tree.unlink(&node, reached.parent, &found.name)?;
            Ok(())
        })
        .await
    }
}

impl Tree<'_, '_> {
    fn directory_at(&mut self, reached: &Reached) -> Decided<Option<DirectoryAt>> {
        let Some(found) = &reached.found else { return Ok(None) };
        let (id, kind) = (found.id, found.kind);
        let (children, opens) = (self.count_children(id)?, self.opens(id)?.len());
        Ok(Some(DirectoryAt { id, kind, children, opens }))
    }

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
