//! Operations on blobs: one file each.

mod block_list;
mod blocks;
mod delete_blob;
mod encryption;
mod expiry;
mod get_blob;
mod immutability;
mod last_access;
mod lease_blob;
mod properties;
mod put_blob;
mod put_block;
mod put_block_list;
mod reader;
mod replace;
mod snapshot_blob;
mod tags;
mod tier;

pub use block_list::BlockLists;
pub use reader::Reader;

use lazuli_engine::Txn;
use lazuli_model::blob::{Blob, Which};
use lazuli_model::{Refusal, Timestamp};

use crate::keys::BlobKeys;
use crate::records::encode;
use crate::transact::{Decided, container_id, get, now};
use crate::{BlobAt, Failure, Store};

impl Store {
    /// The keys of the blob at `at`, in the container that exists right now. For what comes right before a transaction:
    /// if the container goes in between, the transaction lands in a dead space, seen by nobody.
    async fn blob_keys(&self, at: &BlobAt) -> Result<BlobKeys, Failure> {
        self.look(|txn| Ok(BlobKeys::new(container_id(txn, at)?, at.blob.as_str()))).await
    }

    /// A change of the base blob's record alone: what `decide` makes of it is written in its place.
    async fn change_blob<T: Send + 'static>(
        &self,
        at: &BlobAt,
        decide: impl Fn(Option<&Blob>, Timestamp) -> Result<(Blob, T), Refusal> + Send + 'static,
    ) -> Result<(Blob, T), Failure> {
        let keys = self.blob_keys(at).await?;
        self.transact(keys.partition(), move |txn| {
            let current = base(txn, &keys)?;
            let (blob, answer) = decide(current.as_ref(), now(txn))?;
            replace::change(txn, &keys, &blob);
            Ok((blob, answer))
        })
        .await
    }

    /// The same for the blob, a snapshot or a version: of what `decide` may not touch, the content.
    async fn change_which<T: Send + 'static>(
        &self,
        at: &BlobAt,
        which: Which,
        decide: impl Fn(Option<&Blob>, Timestamp) -> Result<(Blob, T), Refusal> + Send + 'static,
    ) -> Result<(Blob, T), Failure> {
        let keys = self.blob_keys(at).await?;
        self.transact(keys.partition(), move |txn| {
            let current = match which {
                Which::Current => base(txn, &keys)?,
                Which::Snapshot(_) | Which::Version(_) => get_blob::stored(txn, &keys, which)?,
            };
            let (blob, answer) = decide(current.as_ref(), now(txn))?;
            match which {
                Which::Current => replace::change(txn, &keys, &blob),
                Which::Snapshot(time) => txn.put(keys.snapshot(time), encode(&blob)),
                Which::Version(time) => txn.put(keys.version(time), encode(&blob)),
            }
            replace::guard(txn, &keys, &blob);
            Ok((blob, answer))
        })
        .await
    }
}

/// The base blob as it is now. One that has expired goes in the transaction that meets it, so that nothing is left behind
/// when another takes its name.
fn base(txn: &mut Txn<'_>, keys: &BlobKeys) -> Decided<Option<Blob>> {
    let Some(kept) = get::<Blob>(txn, &keys.base())? else {
        return Ok(None);
    };
    let seen = kept.clone().at(now(txn));
    if seen.is_none() {
        expiry::bury(txn, keys, &kept)?;
    }
    Ok(seen)
}
