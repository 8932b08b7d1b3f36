//! Create Directory.

use lazuli_model::file::{CreateDirectory, Entry, Kind, Node, Spot};
use lazuli_model::{Lease, Refusal};

use super::rows::Name;
use super::tree::{Reached, Tree};
use super::{FileAt, entry};
use crate::transact::Decided;
use crate::witness::{Found, saw};
use crate::{Failure, Store};

impl Store {
    pub async fn create_directory(&self, at: &FileAt, create: CreateDirectory) -> Result<Entry, Failure> {
        let path = at.path.clone();
        self.change_tree(&at.share_at(), move |tree| {
            if path.is_root() {
                return Err(Refusal::ResourceAlreadyExists.into());
            }
            let reached = tree.reach(&path)?;
            if reached.found.is_some() {
                return Err(Refusal::ResourceAlreadyExists.into());
            }
            let permission = tree.new_permission(create.smb.permission.as_ref(), reached.parent, true, None)?;
            let spot = tree.spot(&reached, permission);
            let node = create.decide(&spot, tree.now());
            tree.put_new(&reached, &node)?;
            Ok(entry(node, reached.parent, Lease::Available))
        })
        .await
    }
}

impl Tree<'_, '_> {
    /// The place of what is there, or a new one.
    pub fn spot(&mut self, reached: &Reached, permission: lazuli_model::file::PermissionKey) -> Spot {
        let id = match &reached.found {
            Some(found) => found.id,
            None => self.next_id(),
        };
        Spot { id, parent: reached.parent, name: reached.name.as_str().to_owned(), permission }
    }

    /// A node with its first name.
    pub fn put_new(&mut self, reached: &Reached, node: &Node) -> Decided<()> {
        saw(Found::Nothing);
        self.put_link(reached, node.id, node.kind)?;
        self.put_node(node)
    }

    /// A name where there was none. None comes into a directory that is to go.
    pub fn put_link(&mut self, reached: &Reached, id: lazuli_model::file::FileId, kind: Kind) -> Decided<()> {
        if self.is_going(reached.parent)? {
            return Err(Refusal::DeletePending.into());
        }
        self.put_name(reached.parent, Name { id, kind, name: reached.name.as_str().to_owned() })?;
        self.adopt(reached.parent)
    }
}
