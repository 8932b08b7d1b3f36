//! Operations on blobs: one file each.

mod abort_copy;
mod append_block;
mod block_list;
mod blocks;
mod copy_blob;
mod copy_source;
mod copy_sparse;
mod create_sparse;
mod cut;
mod delete_blob;
mod deleted;
mod earlier;
mod encryption;
mod expiry;
mod get_blob;
mod immutability;
mod incremental_copy;
mod last_access;
mod lease_blob;
mod long_copies;
mod page_ranges;
mod pending_copy;
mod properties;
mod put_blob;
mod put_block;
mod put_block_list;
mod put_page;
mod reader;
mod replace;
mod set_page_properties;
mod snapshot_blob;
mod tagged;
mod tags;
mod tier;
mod undelete_blob;

pub use block_list::BlockLists;
pub(crate) use blocks::{Found as FoundBlock, all_uncommitted};
pub use copy_source::Digested;
pub(crate) use cut::{cut_of, delete_cut, purge_some};
pub(crate) use delete_blob::{apply as apply_delete, delete_all_of};
pub(crate) use earlier::FirstBlob;
pub use page_ranges::{ListPages, PageRanges};
pub use pending_copy::{Copying, Unfinished};
pub(crate) use put_blob::drop_pending;
pub(crate) use put_page::CLEARED_AT_ONCE;
pub use reader::Reader;
pub(crate) use replace::{change, replace, touch};

use lazuli_engine::Txn;
use lazuli_model::blob::{Blob, Keeping, Which};
use lazuli_model::lake::Right;
use lazuli_model::{Refusal, Tags, Timestamp};

use crate::feed::TrackedKeys;
use crate::keys::BlobKeys;
use crate::lake::Address;
use crate::transact::{Decided, get, now};
use crate::witness::{Found, found, saw};
use crate::{BlobAt, Failure, Store};

impl Store {
    /// Where the blob at `at` is, in the container that exists right now. For what comes right before a transaction:
    /// if the container goes in between, the transaction lands in a dead space, seen by nobody.
    pub(crate) async fn address(&self, at: &BlobAt) -> Result<Address, Failure> {
        let container = at.container_at();
        match self.address_in(self.home(&container).await?, at)? {
            Address::Flat(keys) => Ok(Address::Flat(self.tracked(&container, keys.into()).await?)),
            // A file system has no change feed.
            Address::Path(path) => Ok(Address::Path(path)),
        }
    }

    /// The keys of a blob to be written by several transactions. In a file system it gets its name now, and is seen with its record.
    async fn written_keys(&self, at: &BlobAt) -> Result<TrackedKeys, Failure> {
        match self.address(at).await? {
            Address::Flat(keys) => Ok(keys),
            address @ Address::Path(_) => {
                let target = address.written();
                self.transact(target, move |txn| Ok(address.make(txn)?.into_owned())).await
            }
        }
    }

    /// What has to be known, and made known, before a write that may put `tags` on a blob.
    pub(crate) async fn keeping(&self, at: &BlobAt, tags: &Tags) -> Result<Keeping, Failure> {
        self.announce_tags(&at.container_at(), tags).await?;
        // The feed is written over, and what is past its time goes.
        if at.container.as_str() == lazuli_model::feed::CONTAINER {
            return Ok(Keeping::NOTHING);
        }
        let settings = self.account_settings(&at.account).await?;
        // A file system keeps paths that were deleted, and nothing of what was overwritten.
        Ok(if settings.hierarchical_namespace { Keeping::NOTHING } else { Keeping::from(&*settings) })
    }

    /// A change of the base blob's record alone, of which no version is kept: what `decide` makes of it is written in
    /// its place.
    pub(crate) async fn change_blob<T: Send + 'static>(
        &self,
        at: &BlobAt,
        decide: impl Fn(Option<&Blob>, Timestamp) -> Result<(Blob, T), Refusal> + Send + 'static,
    ) -> Result<(Blob, T), Failure> {
        let address = self.address(at).await?;
        self.transact(address.written(), move |txn| {
            let keys = address.find(txn, Right::Write)?;
            let current = base_to_write(txn, &keys)?;
            let (blob, answer) = decide(current.as_ref(), now(txn))?;
            let current = current.ok_or(Refusal::BlobNotFound)?;
            replace::change(txn, &keys, &current, &blob);
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
        let address = self.address(at).await?;
        let changed = self.transact(address.written(), move |txn| {
            let keys = address.find(txn, Right::Write)?;
            let current = match which {
                Which::Current => base_to_write(txn, &keys)?,
                Which::Snapshot(_) | Which::Version(_) => get_blob::stored(txn, &keys, which)?,
            };
            let (blob, answer) = decide(current.as_ref(), now(txn))?;
            replace::change_at(txn, &keys, which, &current.ok_or(Refusal::BlobNotFound)?, &blob);
            Ok((blob, answer, keys.into_owned()))
        });
        let (blob, answer, hinted) = changed.await?;
        // What kept it from expiring may have been lifted.
        if let Some(expires) = blob.expires {
            self.hint_expiry(expires, hinted);
        }
        Ok((blob, answer))
    }
}

/// Where a record is stored that was found by `which`: the current version is the blob itself.
fn stored_at(which: Which, found: &Blob) -> Which {
    match which {
        Which::Version(_) if !found.previous => Which::Current,
        Which::Current | Which::Snapshot(_) | Which::Version(_) => which,
    }
}

/// The base blob as it is now. Reads only; one that has expired is not there.
pub(crate) fn base(txn: &mut Txn<'_>, keys: &BlobKeys) -> Decided<Option<Blob>> {
    let stored = get::<Blob>(txn, &keys.base())?;
    Ok(as_seen(txn, stored))
}

/// The same, for a transaction that writes under the name. One that has expired goes with it, so that nothing is left behind
/// when another takes its name.
pub(crate) fn base_to_write(txn: &mut Txn<'_>, keys: &TrackedKeys) -> Decided<Option<Blob>> {
    let stored = get::<Blob>(txn, &keys.base())?;
    let expired = stored.as_ref().filter(|blob| blob.is_expired(now(txn))).cloned();
    let seen = as_seen(txn, stored);
    if let Some(expired) = expired {
        expiry::bury(txn, keys, &expired)?;
    }
    Ok(seen)
}

fn as_seen(txn: &Txn<'_>, stored: Option<Blob>) -> Option<Blob> {
    let now = now(txn);
    let seen = stored.and_then(|blob| blob.at(now));
    saw(seen.as_ref().map_or(Found::Nothing, |blob| found(blob.etag.made(), blob.lease, now)));
    seen
}
