//! A rename from one file system to another. They are two partitions, so it is a series of transactions, each of which leaves what the next one
//! needs: the source loses its name and is written down as departing; it is made anew in the target, where it has no name yet; one
//! transaction gives it its name there; then what is left of the source goes.
//!
//! Held true (docs/decisions/0013-moves-between-file-systems.md):
//! * A path is never at both names, and never there by half. Between the first step and the naming it is at neither, so nobody changes it.
//! * If the gateway dies, rows say how far it came. The sweeper gives the source its name back, unless the target has it ([`Store::settle_move`]).
//! * The target gets its name only while its arriving row is there, and the sweeper deletes that row first. So a gateway that was only slow
//!   does not finish a move that was taken back.

mod carry;
mod settle;

use lazuli_engine::{Key, Txn};
use lazuli_model::blob::{Blob, Deleted};
use lazuli_model::lake::{RenamePath, Right, permit, permit_removal};
use lazuli_model::{Refusal, Timestamp};

use super::address::PathAddress;
use super::delete_path::bury;
use super::rename_path::destination;
use super::tree::{self, Standing, is_empty, lookup, unlink};
use crate::detach_on_drop::detach_on_drop;
use crate::keys::TreeKeys;
use crate::records::{NodeId, RemovedPath, encode};
use crate::transact::{Decided, get, now};
use crate::{Failure, Store};

/// After so long without a sign of life a move is settled by the sweeper.
const LAPSE_SECONDS: u64 = 300;
/// How often a move begins anew because its source has changed meanwhile.
const TRIES: usize = 5;

/// A move that has begun.
#[derive(Clone)]
struct Move {
    store: Store,
    source: PathAddress,
    target: PathAddress,
    /// The stamp of its first transaction.
    id: u64,
}

pub(super) async fn rename(
    store: &Store,
    source: PathAddress,
    target: PathAddress,
    rename: RenamePath,
) -> Result<Blob, Failure> {
    let store = store.clone();
    // What has begun is finished, though its client goes away.
    detach_on_drop(async move {
        for _ in 0..TRIES {
            let moved = store.look(&source.keys.partition(), |txn| departing(txn, &source)).await?;
            let moved = moved.ok_or(Refusal::SourcePathNotFound)?;
            let target =
                store.look(&target.keys.partition(), |txn| destination(txn, &source, &target, &rename)).await?;
            store.look(&target.keys.partition(), |txn| arriving(txn, &target, &moved, &rename)).await?;
            let (from, to, seen) = (source.clone(), target.keys, moved.clone());
            let begun = store.transact(source.keys.partition(), move |txn| depart(txn, &from, &to, &seen)).await?;
            if let Some(id) = begun {
                let (source, target) = (source.clone(), target.clone());
                return Move { store, source, target, id }.make(&moved, rename).await;
            }
        }
        Err(Refusal::OperationTimedOut.into())
    })
    .await
}

impl Move {
    async fn make(self, moved: &Standing, rename: RenamePath) -> Result<Blob, Failure> {
        match self.carry(moved, rename).await {
            Ok(blob) => {
                self.finish().await?;
                Ok(blob)
            }
            Err(Failure::Refused(refusal)) => {
                self.store.take_back(self.source.keys, self.departing(), self.target.keys, self.id).await?;
                Err(refusal.into())
            }
            // Nobody knows what was committed: the rows do.
            Err(broken @ Failure::Broken(_)) => Err(broken),
        }
    }

    fn departing(&self) -> Key {
        self.source.keys.departing(&self.target.keys, &self.source.path.to_string(), self.id)
    }

    /// What is left of the source goes; then nobody has to know that it has arrived.
    async fn finish(&self) -> Result<(), Failure> {
        self.store.bury_departed(self.source.keys, self.departing()).await?;
        let (keys, arrived) = (self.target.keys, self.target.keys.arrived(&self.source.keys, self.id));
        let forgotten = self.store.transact(keys.partition(), move |txn| {
            txn.delete(arrived.clone());
            Ok(())
        });
        forgotten.await
    }
}

fn departing(txn: &mut Txn<'_>, source: &PathAddress) -> Decided<Option<Standing>> {
    let found = lookup(txn, &source.keys, &source.caller, &source.path)?;
    if let Some(found) = &found
        && source.caller.is_bound
    {
        let parent = tree::node(txn, &source.keys, found.node.parent)?;
        permit_removal(&source.caller, &parent.access, &found.node.access)?;
    }
    Ok(found)
}

/// Takes the source's name away, if it is what was looked at.
fn depart(txn: &mut Txn<'_>, source: &PathAddress, to: &TreeKeys, seen: &Standing) -> Decided<Option<u64>> {
    let found = departing(txn, source)?;
    let same = |found: &Standing| found.id == seen.id && found.blob == seen.blob && found.node == seen.node;
    let Some(found) = found.filter(same) else { return Ok(None) };
    let id = txn.stamp().0;
    unlink(txn, &source.keys, &found.node);
    let node = NodeId { id: found.id, is_directory: found.node.is_directory };
    txn.put(source.keys.departing(to, &source.path.to_string(), id), encode(&alive(node, now(txn))));
    Ok(Some(id))
}

/// What the target says of it: the record under its new name, and what it replaces.
fn arriving(txn: &mut Txn<'_>, target: &PathAddress, moved: &Standing, rename: &RenamePath) -> Decided<Arriving> {
    let making = target.existing_parent(txn)?;
    let onto = match making.entry {
        Some(entry) => tree::standing(txn, &target.keys, entry.id)?,
        None => None,
    };
    let empty = match &onto {
        Some(onto) if onto.node.is_directory => is_empty(txn, &target.keys, onto.id)?,
        Some(_) | None => true,
    };
    let seen = onto.as_ref().map(|onto| (&onto.blob, &onto.node, empty));
    let blob = rename.decide(Some(moved.both()), seen, now(txn))?;
    if target.caller.is_bound {
        let parent = tree::node(txn, &target.keys, making.parent)?.access;
        match &onto {
            Some(onto) => permit_removal(&target.caller, &parent, &onto.node.access)?,
            None => permit(&target.caller, &parent, Right::Link)?,
        }
    }
    Ok(Arriving { blob, parent: making.parent, name: making.name, replaced: making.entry.map(|entry| entry.id) })
}

struct Arriving {
    blob: Blob,
    parent: u128,
    name: String,
    replaced: Option<u128>,
}

/// A row that is to be settled when nobody has touched it for long.
fn alive(node: NodeId, at: Timestamp) -> RemovedPath {
    RemovedPath { node, deleted: Deleted { at, until: at.plus_seconds(LAPSE_SECONDS) } }
}

/// Touches a row; says whether it was there.
fn touch(txn: &mut Txn<'_>, key: &Key) -> Decided<Option<NodeId>> {
    let Some(row) = get::<RemovedPath>(txn, key)? else { return Ok(None) };
    txn.put(key.clone(), encode(&alive(row.node, now(txn))));
    Ok(Some(row.node))
}

/// Deletes a row, and what it names goes.
fn bury_row(txn: &mut Txn<'_>, keys: &TreeKeys, key: &Key) -> Decided<Option<crate::keys::BlobKeys>> {
    let Some(row) = get::<RemovedPath>(txn, key)? else { return Ok(None) };
    txn.delete(key.clone());
    bury(txn, keys, row.node.id, row.node.is_directory)
}
