//! Set Blob Expiry, and the end of what has expired. Nobody sees such a blob any more; what is left of it goes with the next
//! write under its name, or with the sweeper, which finds it by a row in the order of time.
//!
//! The row is that of the base record (`replace`). What is protected stays, and so does its row, until a later round.

use lazuli_engine::{Key, Space, Txn};
use lazuli_model::blob::{Blob, Keeping, SetBlobExpiry};
use lazuli_model::lake::Right;
use lazuli_model::{Refusal, Timestamp};

use super::base_to_write;
use super::cut::{delete_snapshots, permit_snapshots};
use super::put_blob::drop_pending;
use super::replace::{self, delete_base};
use crate::claims::Trash;
use crate::feed::TrackedKeys;
use crate::keys::{self, BlobKeys};
use crate::lake::forget_name;
use crate::records::{Dead, encode};
use crate::transact::{Decided, Trouble, get, now};
use crate::{BlobAt, Failure, Store};

/// Rows that one step looks at.
const PAGE: usize = 64;

impl Store {
    pub async fn set_blob_expiry(&self, at: &BlobAt, set: SetBlobExpiry) -> Result<Blob, Failure> {
        let address = self.address(at).await?;
        let (blob, hinted) = self
            .transact(address.partition(), move |txn| {
                let keys = address.find(txn, Right::Write)?;
                let current = base_to_write(txn, &keys)?;
                let blob = set.decide(current.as_ref(), now(txn))?;
                replace::change(txn, &keys, &current.ok_or(Refusal::BlobNotFound)?, &blob);
                Ok((blob, keys.into_owned()))
            })
            .await?;
        if let Some(expires) = blob.expires {
            self.hint_expiry(expires, hinted);
        }
        Ok(blob)
    }

    /// Takes away what the rows of `space`, from `from` on, say has expired by now; gives where to go on. What will expire
    /// until `horizon` is hinted, so that somebody comes for it in time. `next` is where the round goes on after the container.
    pub(crate) async fn expire_in(
        &self,
        space: Space,
        from: &Key,
        next: &Key,
        horizon: Timestamp,
    ) -> Result<Option<Key>, Failure> {
        let end = keys::expired_until(space, horizon);
        let (now, rows) = self.scan(space, |txn| Ok((now(txn), txn.scan(from, &end, PAGE)?))).await?;
        for (expires, name) in rows.iter().filter_map(|(key, _)| keys::read_expiry(key)) {
            let keys = self.tracked_in_round(next, BlobKeys::of(space, name)).await?;
            if expires <= now {
                self.expire(keys).await?;
            } else {
                self.hint_expiry(expires, keys);
            }
        }
        Ok(rows.last().filter(|_| rows.len() == PAGE).map(|(last, _)| last.successor()))
    }

    /// The blob goes, if it has really expired.
    pub(crate) async fn expire(&self, keys: TrackedKeys) -> Result<(), Failure> {
        let hinted = keys.clone();
        let (gone, protected) = self
            .transact(keys.partition(), move |txn| {
                let had =
                    get::<Blob>(txn, &keys.base())?.filter(|blob| blob.expires.is_some_and(|end| end <= now(txn)));
                let gone = had.is_some() && base_to_write(txn, &keys)?.is_none();
                if gone {
                    forget_name(txn, &keys)?;
                }
                Ok((gone, had.filter(|_| !gone).and_then(|blob| blob.immutability)))
            })
            .await?;
        if let Some(policy) = protected.filter(|policy| policy.until > self.now()) {
            self.hint_expiry(policy.until, hinted.clone());
        }
        self.hint(gone, hinted);
        Ok(())
    }
}

/// Takes an expired blob away, with its snapshots unless one of them is protected, or may be and there are too many to look.
pub(super) fn bury(txn: &mut Txn<'_>, keys: &TrackedKeys, blob: &Blob) -> Decided<()> {
    let mut trash = Trash::default();
    match permit_snapshots(txn, keys, None) {
        Ok(()) => drop(delete_snapshots(txn, keys, &Keeping::NOTHING, &mut trash)?),
        Err(Trouble::Refused(_)) => {}
        Err(trouble) => return Err(trouble),
    }
    delete_base(txn, keys, &Keeping::NOTHING, blob, &mut trash)?;
    drop_pending(txn, keys, &mut trash)?;
    if !trash.0.is_empty() {
        txn.put(keys.expired_garbage(txn.stamp().0), encode(&Dead(trash.0)));
    }
    Ok(())
}
