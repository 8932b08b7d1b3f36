//! Create File: a new one, or a new content in place of all that was there but the id, the links and the lease.

use lazuli_model::file::arbiter::Act;
use lazuli_model::file::entry::permit_new;
use lazuli_model::file::{CreateFile, Entry, Node};
use lazuli_model::lease::{self, On};
use lazuli_model::{Lease, LeaseId, Refusal};

use super::tree::{Reached, Tree};
use super::{FileAt, entry};
use crate::sparse::Fill;
use crate::transact::Decided;
use crate::{Failure, Received, Store};

impl Store {
    /// With a body, that is what the file begins with.
    pub async fn create_file(&self, at: &FileAt, create: CreateFile, body: Option<Received>) -> Result<Entry, Failure> {
        let found = self.approach(at, Act::Create).await?;
        let path = at.path.clone();
        let fill = body.as_ref().filter(|body| body.length > 0).map(Fill::of);
        let length = body.as_ref().map_or(0, |body| body.length);
        let staged = body.and_then(|body| body.body.into_staged());
        self.change_staged(found, staged, move |tree| {
            if length > create.length {
                return Err(Refusal::InvalidRange.into());
            }
            let reached = tree.reach(&path)?;
            let (current, lease) = tree.replaceable(&reached, create.lease)?;
            let permission = tree.new_permission(create.smb.permission.as_ref(), reached.parent, false, None)?;
            let spot = tree.spot(&reached, permission);
            let mut node = create.decide(&spot, current.as_ref(), tree.now())?;
            if let Some(fill) = &fill {
                tree.write_content(&mut node, 0, fill)?;
            }
            tree.replace(&reached, current.as_ref(), &node)?;
            Ok(entry(node, reached.parent, lease))
        })
        .await
    }
}

impl Tree<'_, '_> {
    /// What a new file would take the place of, if the arbiter and the lease allow; and the lease that it leaves.
    pub fn replaceable(&mut self, reached: &Reached, id: Option<LeaseId>) -> Decided<(Option<Node>, Lease)> {
        let Some(found) = &reached.found else {
            permit_new(id, self.now())?;
            return Ok((None, Lease::Available));
        };
        let node = self.node_of(found)?;
        let lease = self.admit_leased(&node, Act::Create, id)?;
        Ok((Some(node), lease))
    }

    /// Whether the arbiter and the lease let a file be changed; the lease that is left is written, and given.
    pub fn admit_leased(&mut self, node: &Node, act: Act, id: Option<LeaseId>) -> Decided<Lease> {
        let standing = self.admit(node.id, act)?;
        let lease = lease::permit_write(standing.lease, id, self.now(), On::File)?;
        if lease != standing.lease {
            let held = self.held(node.id)?;
            self.put_held(node.id, super::rows::Held { lease, ..held });
        }
        Ok(lease)
    }

    /// Puts a file where `current` was, or nothing.
    pub fn replace(&mut self, reached: &Reached, current: Option<&Node>, node: &Node) -> Decided<()> {
        self.resize(current.map_or(0, |current| current.length), node.length)?;
        match current {
            Some(current) => {
                self.retire(current);
                self.put_node(node)
            }
            None => self.put_new(reached, node),
        }
    }
}
