//! A rename from one file system to another. They are two partitions, so it is a series of transactions: what is below the source is made
//! under the new name, then the source goes. A reader in between may see both; a reader afterwards sees one.

use lazuli_engine::Txn;
use lazuli_model::Refusal;
use lazuli_model::blob::{Blob, Encryption, Keeping};
use lazuli_model::lake::{Node, RenamePath, Right, permit, permit_removal};

use super::address::PathAddress;
use super::delete_path::bury;
use super::tree::{self, Standing, is_empty, lookup, unlink};
use super::walk::{Visit, Walk, segments};
use crate::blob::{base, drop_pending, replace};
use crate::claims::{Trash, claim_staged};
use crate::keys::BlobKeys;
use crate::manifest::Manifest;
use crate::records::{Kept, encode};
use crate::transact::{Decided, now};
use crate::{Failure, Store};
use lazuli_model::lake::LakePath;

/// Entries that one look takes.
const PAGE: usize = 256;

pub(super) async fn rename(
    store: &Store,
    source: PathAddress,
    target: PathAddress,
    rename: RenamePath,
) -> Result<Blob, Failure> {
    let moved = store.look(&source.keys.partition(), |txn| departing(txn, &source)).await?;
    // What the target says is known before anything is copied.
    let (checked, of_source) = (target.clone(), moved.clone());
    let rename_of = rename.clone();
    let blob = store
        .look(&target.keys.partition(), move |txn| arriving(txn, &checked, of_source.as_ref(), &rename_of))
        .await?;
    let moved = moved.ok_or(Refusal::SourcePathNotFound)?;
    copy_one(store, &source, &target, &moved, Some(blob.clone())).await?;
    if moved.node.is_directory {
        copy_below(store, &source, &target, &moved).await?;
    }
    let left = store.transact(source.keys.partition(), move |txn| {
        let Some(found) = lookup(txn, &source.keys, &source.caller, &source.path)? else { return Ok(None) };
        unlink(txn, &source.keys, &found.node);
        bury(txn, &source.keys, found.id, found.node.is_directory)
    });
    store.hint_left(left.await?);
    Ok(blob)
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

fn arriving(txn: &mut Txn<'_>, target: &PathAddress, moved: Option<&Standing>, rename: &RenamePath) -> Decided<Blob> {
    let onto = lookup(txn, &target.keys, &target.caller, &target.path)?;
    let empty = match &onto {
        Some(onto) if onto.node.is_directory => is_empty(txn, &target.keys, onto.id)?,
        Some(_) | None => true,
    };
    if let Some(onto) = &onto {
        permit(&target.caller, &onto.node.access, Right::Write)?;
    }
    let seen = onto.as_ref().map(|onto| (&onto.blob, &onto.node, empty));
    Ok(rename.decide(moved.map(Standing::both), seen, now(txn))?)
}

async fn copy_below(
    store: &Store,
    source: &PathAddress,
    target: &PathAddress,
    moved: &Standing,
) -> Result<(), Failure> {
    let base_path = source.path.to_string();
    let mut after: Option<Vec<String>> = None;
    loop {
        let mut page: Vec<(String, Standing)> = Vec::new();
        let (found, full) = store
            .look(&source.keys.partition(), |txn| {
                let mut found: Vec<(String, Standing)> = Vec::new();
                let walk = Walk { keys: source.keys, caller: &source.caller, recursive: true, prefix: "" };
                let full = walk.go(txn, moved.id, "", after.as_deref(), &mut |txn, own, entry| {
                    if found.len() >= PAGE {
                        return Ok(Visit::Full);
                    }
                    if let Some(standing) = tree::standing(txn, &source.keys, entry.id)? {
                        found.push((own.to_owned(), standing));
                    }
                    Ok(Visit::Taken)
                })?;
                Ok((found, full))
            })
            .await?;
        page.extend(found);
        for (below, standing) in &page {
            let path = |base: &str| LakePath::parse(&format!("{base}/{below}"));
            let from = PathAddress { path: path(&base_path)?, ..source.clone() };
            let to = PathAddress { path: path(&target.path.to_string())?, ..target.clone() };
            copy_one(store, &from, &to, standing, None).await?;
        }
        match page.last().filter(|_| full) {
            Some((last, _)) => after = Some(segments(last)),
            None => return Ok(()),
        }
    }
}

/// One file or directory, with its record as it was.
async fn copy_one(
    store: &Store,
    source: &PathAddress,
    target: &PathAddress,
    moved: &Standing,
    record: Option<Blob>,
) -> Result<(), Failure> {
    let record = record.unwrap_or_else(|| moved.blob.clone());
    let length = record.content.length;
    if length > 0 && record.encryption != Encryption::Service {
        // Without the key its bytes cannot be taken out of their partition.
        return Err(Refusal::BlobUsesCustomerSpecifiedEncryption.into());
    }
    let received = match length {
        0 => None,
        _ => {
            let mut reader = store.open_node(&source.keys.blob(moved.id)).await?.ok_or(Refusal::SourcePathNotFound)?;
            Some(store.receive_from(&mut reader, 0, length, false, None).await?)
        }
    };
    let (manifest, place, body) = match received {
        Some(received) => {
            let manifest = Manifest::of_body(&received.body, received.length, received.cipher);
            (Some(manifest), Some(received.body.place().0), received.body.into_staged())
        }
        None => (None, None, None),
    };
    let (to, node) = (target.clone(), moved.node.clone());
    let left = store
        .transact_staged(target.keys.partition(), body, move |txn| {
            let making = to.make_parents(txn)?;
            let parent = making.parent;
            if making.entry.is_none() {
                permit(&to.caller, &tree::node(txn, &to.keys, parent)?.access, Right::Link)?;
            }
            let id = making.entry.map_or_else(|| crate::keys::node_id(txn.stamp().0, making.made), |entry| entry.id);
            tree::link(txn, &to.keys, id, &Node { parent, name: making.name.clone(), ..node.clone() });
            let keys = to.keys.blob(id);
            let old = base(txn, &keys)?;
            let content = match &manifest {
                Some(manifest) => manifest.content(txn.stamp().0),
                None => lazuli_model::blob::ContentRef::EMPTY,
            };
            let record = Blob { content, ..record.clone() };
            place_content(txn, &keys, &record, manifest.as_ref(), place.as_ref(), old.as_ref())
        })
        .await?;
    store.hint_left(left);
    Ok(())
}

fn place_content(
    txn: &mut Txn<'_>,
    keys: &BlobKeys,
    record: &Blob,
    manifest: Option<&Manifest>,
    place: Option<&crate::records::Place>,
    old: Option<&Blob>,
) -> Decided<Option<BlobKeys>> {
    let mut new = record.clone();
    if let (Some(manifest), Some(place)) = (manifest, place) {
        manifest.write(txn, keys, &new.content);
        claim_staged(txn, keys, place.runs());
    }
    let mut trash = Trash::default();
    replace(txn, keys, &Keeping::NOTHING, old, &mut new, Kept::Nothing, &mut trash)?;
    drop_pending(txn, keys, &mut trash)?;
    txn.put(keys.base(), encode(&new));
    Ok(trash.leave(txn, keys))
}
