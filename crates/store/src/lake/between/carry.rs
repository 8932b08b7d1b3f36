//! The middle of a move: what departs is made anew in the target, hidden, entry by entry, and gets its name at the end.

use lazuli_engine::Txn;
use lazuli_model::Refusal;
use lazuli_model::blob::{Blob, ContentRef, Encryption, Keeping};
use lazuli_model::lake::{Caller, Node, RenamePath};

use super::{Arriving, Move, alive, arriving, touch};
use crate::Failure;
use crate::blob::{base_to_write, delete_all_of, drop_pending, replace};
use crate::claims::{Trash, claim_staged};
use crate::feed::TrackedKeys;
use crate::keys::{BlobKeys, ROOT_NODE, TreeKeys, node_id};
use crate::lake::tree::{self, Standing, link};
use crate::lake::walk::{Begin, Visit, Walk, segments};
use crate::manifest::Manifest;
use crate::records::{Kept, NodeId, Place, encode};
use crate::transact::{Decided, get, now};

/// Entries that one look takes.
const PAGE: usize = 256;

/// Where an entry is made.
#[derive(Clone)]
enum Spot {
    /// What the move is about: without a name, so that nobody finds it.
    Hidden,
    /// Below that, by its names from there.
    Below(Vec<String>),
}

impl Move {
    /// The record under its new name.
    pub(super) async fn carry(&self, moved: &Standing, rename: RenamePath) -> Result<Blob, Failure> {
        self.copy(Spot::Hidden, moved).await?;
        if moved.node.is_directory {
            self.carry_below(moved).await?;
        }
        self.name(moved.clone(), rename).await
    }

    async fn carry_below(&self, moved: &Standing) -> Result<(), Failure> {
        let mut after: Option<Vec<String>> = None;
        loop {
            let (page, full) = self.page_below(moved.id, after.as_deref()).await?;
            for (below, standing) in &page {
                self.copy(Spot::Below(segments(below)), standing).await?;
            }
            let departing = self.departing();
            let alive = self.store.transact(self.source.keys.partition(), move |txn| touch(txn, &departing)).await?;
            alive.ok_or(Refusal::OperationTimedOut)?;
            match page.last().filter(|_| full) {
                Some((last, _)) => after = Some(segments(last)),
                None => return Ok(()),
            }
        }
    }

    async fn page_below(&self, id: u128, after: Option<&[String]>) -> Result<(Vec<(String, Standing)>, bool), Failure> {
        let keys = self.source.keys;
        let all = Caller::superuser();
        self.store
            .look(&keys.partition(), |txn| {
                let mut found: Vec<(String, Standing)> = Vec::new();
                let walk = Walk { keys, caller: &all, recursive: true, prefix: "" };
                let full =
                    walk.go(txn, id, "", after.map_or(Begin::First, Begin::Behind), &mut |txn, own, entry| {
                        if found.len() >= PAGE {
                            return Ok(Visit::Full);
                        }
                        if let Some(standing) = tree::standing(txn, &keys, entry.id)? {
                            found.push((own.to_owned(), standing));
                        }
                        Ok(Visit::Taken)
                    })?;
                Ok((found, full))
            })
            .await
    }

    /// One file or directory, with its record as it was.
    async fn copy(&self, spot: Spot, entry: &Standing) -> Result<(), Failure> {
        let (manifest, place, body) = match entry.blob.content.length {
            0 => (None, None, None),
            length => {
                let received = self.read(entry, length).await?;
                let manifest = Manifest::of_body(&received.body, received.length, received.cipher);
                (Some(manifest), Some(received.body.place().0), received.body.into_staged())
            }
        };
        let (this, entry) = (self.clone(), entry.clone());
        let left = self
            .store
            .transact_staged(self.target.keys.partition(), body, move |txn| {
                let keys = this.make_entry(txn, &spot, &entry)?;
                let content = match &manifest {
                    Some(manifest) => manifest.content(txn.stamp().0),
                    None => ContentRef::EMPTY,
                };
                let record = Blob { content, ..entry.blob.clone() };
                place_content(txn, &keys.into(), &record, manifest.as_ref(), place.as_ref())
            })
            .await?;
        self.store.hint_left(left);
        Ok(())
    }

    async fn read(&self, entry: &Standing, length: u64) -> Result<crate::Received, Failure> {
        if entry.blob.encryption != Encryption::Service {
            // Without the key its bytes cannot be taken out of their partition.
            return Err(Refusal::BlobUsesCustomerSpecifiedEncryption.into());
        }
        let keys = self.source.keys.blob(entry.id);
        let mut reader = self.store.open_node(&keys).await?.ok_or(Refusal::OperationTimedOut)?;
        self.store.receive_from(&mut reader, 0, length, false, None).await
    }

    /// Its node and, below, its name. Only while the arriving row is there.
    fn make_entry(&self, txn: &mut Txn<'_>, spot: &Spot, entry: &Standing) -> Decided<BlobKeys> {
        let keys = &self.target.keys;
        let arriving = keys.arriving(&self.source.keys, self.id);
        let id = node_id(txn.stamp().0, 0);
        match spot {
            Spot::Hidden => {
                let node = NodeId { id, is_directory: entry.node.is_directory };
                txn.put(arriving, encode(&alive(node, now(txn))));
                txn.put(keys.node(id), encode(&Node { parent: ROOT_NODE, ..entry.node.clone() }));
            }
            Spot::Below(names) => {
                let hidden = touch(txn, &arriving)?.ok_or(Refusal::OperationTimedOut)?;
                let Some((name, parents)) = names.split_last() else { return Err(Refusal::OperationTimedOut.into()) };
                let parent = descend(txn, keys, hidden.id, parents)?;
                link(txn, keys, id, &Node { parent, name: name.clone(), ..entry.node.clone() });
            }
        }
        Ok(keys.blob(id))
    }

    /// The one step by which it is there.
    async fn name(&self, moved: Standing, rename: RenamePath) -> Result<Blob, Failure> {
        let this = self.clone();
        let (blob, left) = self
            .store
            .transact(self.target.keys.partition(), move |txn| {
                let keys = &this.target.keys;
                let row = keys.arriving(&this.source.keys, this.id);
                let hidden = touch(txn, &row)?.ok_or(Refusal::OperationTimedOut)?;
                let Arriving { blob, parent, name, replaced } = arriving(txn, &this.target, &moved, &rename)?;
                let left = match replaced {
                    Some(id) => remove(txn, keys, id)?,
                    None => None,
                };
                link(txn, keys, hidden.id, &rename.moved(&moved.node, parent, name));
                let own = TrackedKeys::from(keys.blob(hidden.id));
                if let Some(record) = base_to_write(txn, &own)? {
                    txn.put(own.base(), encode(&Blob { lease: blob.lease, ..record }));
                }
                txn.delete(row);
                txn.put(keys.arrived(&this.source.keys, this.id), encode(&alive(hidden, now(txn))));
                Ok((blob, left))
            })
            .await?;
        self.store.hint_left(left);
        Ok(blob)
    }
}

/// The directory below `from` that the names lead to.
fn descend(txn: &mut Txn<'_>, keys: &TreeKeys, from: u128, names: &[String]) -> Decided<u128> {
    let mut directory = from;
    for name in names {
        let entry: Option<NodeId> = get(txn, &keys.entry(directory, name))?;
        directory = entry.ok_or(Refusal::OperationTimedOut)?.id;
    }
    Ok(directory)
}

/// A file, or a directory with nothing in it, of which another takes the name.
fn remove(txn: &mut Txn<'_>, keys: &TreeKeys, id: u128) -> Decided<Option<BlobKeys>> {
    let (own, mut trash) = (keys.blob(id), Trash::default());
    delete_all_of(txn, &own, &mut trash)?;
    txn.delete(keys.node(id));
    Ok(trash.leave(txn, &own))
}

fn place_content(
    txn: &mut Txn<'_>,
    keys: &TrackedKeys,
    record: &Blob,
    manifest: Option<&Manifest>,
    place: Option<&Place>,
) -> Decided<Option<BlobKeys>> {
    let mut new = record.clone();
    if let (Some(manifest), Some(place)) = (manifest, place) {
        manifest.write(txn, keys, &new.content);
        claim_staged(txn, keys, place.runs());
    }
    let mut trash = Trash::default();
    replace(txn, keys, &Keeping::NOTHING, None, &mut new, Kept::Nothing, &mut trash)?;
    drop_pending(txn, keys, &mut trash)?;
    txn.put(keys.base(), encode(&new));
    Ok(trash.leave(txn, keys))
}
