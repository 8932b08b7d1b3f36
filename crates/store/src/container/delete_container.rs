//! Delete Container: one record goes, and with it the way to everything in its space, which the sweeper then empties; or it
//! stands aside for some days, with its space as it is.

use lazuli_engine::{Key, Partition, Space, Txn};
use lazuli_model::container::DeleteContainer;
use lazuli_model::container::deleted::soft_deletion;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{Refusal, Timestamp};

use super::stored;
use crate::records::{DeletedContainer, decode, encode};
use crate::sweep::bury;
use crate::transact::{Decided, get, now};
use crate::{ContainerAt, Failure, Store, keys};

/// How long a name is taken after its container was deleted, in Azure.
const BEING_DELETED_SECONDS: u64 = 30;

/// How long it is remembered that a container came back.
const RESTORED_SECONDS: u64 = 60 * 60;

impl Store {
    pub async fn delete_container(&self, at: &ContainerAt, delete: DeleteContainer) -> Result<(), Failure> {
        self.permit_unguarded(at).await?;
        let days = self.account_settings(&at.account).await?.container_soft_delete_days;
        let at = at.clone();
        let dead = self
            .transact(keys::container_partition(&at), move |txn| {
                let current = stored(txn, &at)?;
                if current.is_none() && is_being_deleted(txn, &at)? {
                    return Ok(None);
                }
                delete.decide(current.as_ref(), now(txn))?;
                let container = current.ok_or(Refusal::ContainerNotFound)?;
                txn.delete(keys::container(at.account.as_str(), at.container.as_str()));
                if let Some(deleted) = soft_deletion(days, now(txn)) {
                    let row = keys::deleted_container(&at, deleted.at);
                    txn.put(row, encode(&DeletedContainer { container, deleted, restored: None }));
                    return Ok(None);
                }
                let space = Space(container.id);
                bury(txn, &keys::container_partition(&at), space);
                Ok(Some(space))
            })
            .await?;
        if let Some(space) = dead {
            self.sweep.hint_space(space);
        }
        Ok(())
    }

    /// A container that was deleted softly goes for good when its time is over; that it came back is forgotten in the end.
    pub(crate) async fn drop_deleted_container(&self, row: Key) -> Result<(), Failure> {
        let Some((owner, _)) = keys::read_deleted_container(&row) else {
            return Ok(());
        };
        let owner = Partition::new(keys::ROOT, owner);
        let dead = self
            .transact(owner.clone(), move |txn| {
                let gone: Option<DeletedContainer> = get(txn, &row)?;
                let Some(gone) = gone.filter(|gone| !gone.is_there(now(txn))) else {
                    return Ok(None);
                };
                match gone.restored {
                    Some(at) if at.plus_seconds(RESTORED_SECONDS) > now(txn) => Ok(None),
                    Some(_) => {
                        txn.delete(row.clone());
                        Ok(None)
                    }
                    None => {
                        let space = Space(gone.container.id);
                        txn.delete(row.clone());
                        bury(txn, &owner, space);
                        Ok(Some(space))
                    }
                }
            })
            .await?;
        if let Some(space) = dead {
            self.sweep.hint_space(space);
        }
        Ok(())
    }
}

/// Rule B21: to delete again what was just deleted softly changes nothing, and is no fault.
fn is_being_deleted(txn: &mut Txn<'_>, at: &ContainerAt) -> Decided<bool> {
    let since = now(txn).ticks().saturating_sub(BEING_DELETED_SECONDS * TICKS_PER_SECOND);
    let (from, to) = (Timestamp::from_ticks(since), Timestamp::from_ticks(u64::MAX));
    let rows = txn.scan(&keys::deleted_container(at, from), &keys::deleted_container(at, to), 1)?;
    let Some((_, bytes)) = rows.first() else { return Ok(false) };
    Ok(decode::<DeletedContainer>(bytes)?.restored.is_none())
}
