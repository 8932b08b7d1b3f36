//! Set and Delete Immutability Policy, Set Legal Hold; and whether anything in a container is so protected.

use bytes::Bytes;
use lazuli_engine::{Key, Space, Txn};
use lazuli_model::blob::{Blob, DeleteImmutabilityPolicy, SetImmutabilityPolicy, SetLegalHold};
use lazuli_model::{Refusal, Timestamp};

use crate::keys::{self, BlobKeys};
use crate::records::decode;
use crate::transact::{Decided, now};
use crate::{BlobAt, ContainerAt, Failure, Store};

/// Names, and records under one name, that one look goes over.
const PAGE: usize = 256;

impl Store {
    pub async fn set_immutability_policy(&self, at: &BlobAt, set: SetImmutabilityPolicy) -> Result<Blob, Failure> {
        let (blob, ()) =
            self.change_which(at, set.which, move |blob, _| set.decide(blob).map(|blob| (blob, ()))).await?;
        Ok(blob)
    }

    pub async fn delete_immutability_policy(
        &self,
        at: &BlobAt,
        delete: DeleteImmutabilityPolicy,
    ) -> Result<(), Failure> {
        self.change_which(at, delete.which, move |blob, _| delete.decide(blob).map(|blob| (blob, ()))).await?;
        Ok(())
    }

    pub async fn set_legal_hold(&self, at: &BlobAt, set: SetLegalHold) -> Result<(), Failure> {
        self.change_which(at, set.which, move |blob, _| set.decide(blob).map(|blob| (blob, ()))).await?;
        Ok(())
    }

    /// Before a container is deleted: nothing in it may be protected. A protection that comes at the same moment comes too
    /// late, as any write does.
    pub(crate) async fn permit_unguarded(&self, at: &ContainerAt) -> Result<(), Failure> {
        let Some(id) = self.container_id_if_any(at).await? else {
            return Ok(()); // for the operation to say
        };
        let space = Space(id);
        let (mut from, end) = (keys::column(space, keys::GUARDS), keys::column(space, keys::GUARDS).after_prefix());
        loop {
            let names = self.rows(&from, &end, PAGE).await?;
            for (key, _) in &names {
                self.permit_name_unguarded(BlobKeys::of(space, keys::name_of(key))).await?;
            }
            match names.last() {
                Some((last, _)) if names.len() == PAGE => from = last.successor(),
                Some(_) | None => return Ok(()),
            }
        }
    }

    async fn permit_name_unguarded(&self, keys: BlobKeys) -> Result<(), Failure> {
        let base = self.look(&keys.partition(), |txn| Ok((now(txn), txn.get(&keys.base())?))).await?;
        permit(base.1.as_ref(), base.0)?;
        for prefix in [keys.snapshots(), keys.versions()] {
            let (mut from, end) = (prefix.clone(), prefix.after_prefix());
            loop {
                let (now, rows) = self.look(&keys.partition(), |txn| page(txn, &from, &end)).await?;
                rows.iter().try_for_each(|(_, bytes)| permit(Some(bytes), now))?;
                match rows.last() {
                    Some((last, _)) if rows.len() == PAGE => from = last.successor(),
                    Some(_) | None => break,
                }
            }
        }
        Ok(())
    }
}

type Page = (Timestamp, Vec<(Key, Bytes)>);

fn page(txn: &mut Txn<'_>, from: &Key, end: &Key) -> Decided<Page> {
    Ok((now(txn), txn.scan(from, end, PAGE)?))
}

fn permit(record: Option<&Bytes>, now: Timestamp) -> Result<(), Failure> {
    let Some(bytes) = record else { return Ok(()) };
    let blob: Blob = decode(bytes)?;
    match blob.permit_mutable(now) {
        Ok(()) => Ok(()),
        Err(Refusal::BlobImmutableDueToLegalHold) => Err(Refusal::ContainerHasLegalHold.into()),
        Err(_) => Err(Refusal::ContainerImmutabilityPolicyLocked.into()),
    }
}
