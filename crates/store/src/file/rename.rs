//! Rename File and Rename Directory: one name goes and another comes. What is below a directory does not notice.

use lazuli_model::file::arbiter::{Act, Obstacle};
use lazuli_model::file::entry::permit_move;
use lazuli_model::file::{AskedRights, Entry, Frozen, Kind, Node, Principal, Rename, Rights, Spot};
use lazuli_model::{Lease, Refusal};

use super::rows::Name;
use super::tree::{Reached, Tree};
use super::{FileAt, entry};
use crate::transact::Decided;
use crate::witness::saw_obstacle;
use crate::{Failure, Store};

impl Store {
    /// `at` is the destination.
    pub async fn rename(&self, at: &FileAt, rename: Rename) -> Result<Entry, Failure> {
        let source = FileAt { path: rename.source.clone(), ..at.clone() };
        self.approach(&source, Act::Rename).await?;
        let found = self.approach(at, Act::Delete).await?;
        let path = at.path.clone();
        self.change_found(found, move |tree| {
            let source = tree.reach(&rename.source)?;
            let destination = tree.reach(&path)?;
            move_entry(tree, &source, &destination, Mover::Rest(&rename))
        })
        .await
    }
}

/// By what right an entry is moved.
pub(super) enum Mover<'a> {
    Rest(&'a Rename),
    /// Through an open handle, which the arbiter has let.
    Handle {
        replace: bool,
        frozen: Frozen,
        /// Whom the descriptors at the destination bind.
        who: Option<Principal>,
    },
}

pub(super) fn move_entry(
    tree: &mut Tree<'_, '_>,
    source: &Reached,
    destination: &Reached,
    mover: Mover<'_>,
) -> Decided<Entry> {
    let moved = source.found.clone().ok_or(Refusal::ResourceNotFound)?;
    let node = tree.node_of(&moved)?;
    permit_move(moved.id, &destination.above)?;
    if tree.is_going(destination.parent)? {
        return Err(Refusal::DeletePending.into());
    }
    // The same name in another case is no obstacle; another name of the same file is one that stays.
    let same_name = source.parent == destination.parent && source.name.folded() == destination.name.folded();
    let replaced = match &destination.found {
        Some(other) if !same_name => Some(tree.node_of(other)?),
        Some(_) | None => None,
    };
    let from = node.parent;
    let (node, lease) = match mover {
        Mover::Rest(rename) => by_rest(tree, rename, &node, destination, replaced.as_ref())?,
        Mover::Handle { replace, frozen, who } => {
            if let Some(who) = who {
                permit_destination(tree, &who, &node, destination, replaced.as_ref())?;
            }
            (by_handle(tree, &node, destination, replaced.as_ref(), replace, frozen)?, tree.held(node.id)?.lease)
        }
    };
    let name = destination.name.as_str().to_owned();
    tree.carry_handles(node.id, from, node.parent)?;
    tree.remove_name(source.parent, &moved.name)?;
    tree.orphan(source.parent)?;
    if let (Some(other), Some(named)) = (&replaced, &destination.found)
        && other.id != node.id
    {
        tree.unlink(other, destination.parent, &named.name)?;
    } else if replaced.is_some() {
        // Two names of one file become one.
        tree.orphan(destination.parent)?;
        let node = Node { links: node.links.saturating_sub(1), ..node };
        return place(tree, destination, name, node, lease);
    }
    place(tree, destination, name, node, lease)
}

fn by_rest(
    tree: &mut Tree<'_, '_>,
    rename: &Rename,
    node: &Node,
    destination: &Reached,
    replaced: Option<&Node>,
) -> Decided<(Node, Lease)> {
    let lease = permit_source(tree, rename, node)?;
    if let Some(other) = replaced
        && rename.replace
    {
        if other.kind != Kind::Directory {
            tree.admit_leased(other, Act::Delete, rename.destination_lease)?;
        }
    } else if replaced.is_none() && rename.destination_lease.is_some() {
        return Err(Refusal::LeaseNotPresentWithFileOperation.into());
    }
    let directory = node.kind == Kind::Directory;
    let permission = tree.set_permission(rename.smb.permission.as_ref(), destination.parent, directory)?;
    let name = destination.name.as_str().to_owned();
    let spot = Spot { id: node.id, parent: destination.parent, name, permission: node.smb.permission };
    Ok((rename.decide(node, &spot, permission, replaced, tree.now())?, lease))
}

fn by_handle(
    tree: &mut Tree<'_, '_>,
    node: &Node,
    destination: &Reached,
    replaced: Option<&Node>,
    replace: bool,
    frozen: Frozen,
) -> Decided<Node> {
    if node.kind == Kind::Directory {
        tree.nobody_beneath(node.id)?;
    }
    // Who may delete the directory does not let names come into it (smb2.rename).
    if let Some(open) = tree.opens(destination.parent)?.iter().find(|open| open.access.delete) {
        saw_obstacle(Some(Obstacle::open(open)));
        return Err(Refusal::SharingViolation.into());
    }
    if let Some(other) = replaced {
        if !replace {
            return Err(Refusal::ResourceAlreadyExists.into());
        }
        let held = tree.held(other.id)?;
        let leased = matches!(held.lease.at(tree.now()), Lease::Leased { .. } | Lease::Breaking { .. });
        if other.kind == Kind::Directory || leased || other.is_read_only() || !tree.opens(other.id)?.is_empty() {
            return Err(Refusal::CannotDeleteFileOrDirectory.into());
        }
    }
    Ok(node.moved(destination.parent, destination.name.as_str().to_owned(), frozen, tree.now()))
}

/// Who moves something makes it there, and deletes what it replaces.
fn permit_destination(
    tree: &mut Tree<'_, '_>,
    who: &Principal,
    node: &Node,
    destination: &Reached,
    replaced: Option<&Node>,
) -> Decided<()> {
    let parent = tree.permission_of(destination.parent)?;
    parent.permit_create(who, node.kind, AskedRights { all: Rights::default(), most: false })?;
    if let Some(other) = replaced {
        tree.permission_of(other.id)?.permit_delete(&parent, who)?;
    }
    Ok(())
}

fn place(tree: &mut Tree<'_, '_>, destination: &Reached, name: String, node: Node, lease: Lease) -> Decided<Entry> {
    tree.put_name(destination.parent, Name { id: node.id, kind: node.kind, name })?;
    tree.adopt(destination.parent)?;
    tree.put_node(&node)?;
    Ok(entry(node, destination.parent, lease))
}

/// The lease goes with the file, unless it was broken: a rename makes an end of that, as every write does.
fn permit_source(tree: &mut Tree<'_, '_>, rename: &Rename, node: &Node) -> Decided<Lease> {
    match node.kind {
        Kind::Directory => {
            tree.admit(node.id, Act::Rename)?;
            tree.nobody_beneath(node.id)?;
            Ok(Lease::Available)
        }
        Kind::File | Kind::Symlink => tree.admit_leased(node, Act::Rename, rename.source_lease),
    }
}
