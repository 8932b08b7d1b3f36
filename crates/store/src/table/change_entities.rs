//! Insert, Update, Merge, the upserts and Delete Entity; and the entity group transaction, which is several of them in one
//! partition: in order, all or none.

use std::sync::Arc;

use lazuli_engine::{Txn, Want};
use lazuli_model::table::{Change, Changed, Entity, Refused, check_batch};
use lazuli_model::{Refusal, Timestamp};

use super::OpenTable;
use crate::keys::TableKeys;
use crate::records::encode;
use crate::transact::{Decided, Target, Trouble, get, now};
use crate::witness::{Found, saw_one};
use crate::{Failure, Store};

impl Store {
    /// What it left behind: the entity as it now is, or nothing.
    pub async fn change_entity(&self, table: &OpenTable, change: impl Into<Arc<Change>>) -> Result<Changed, Failure> {
        let change: Arc<Change> = change.into();
        change.check()?;
        let keys = table.keys.clone();
        let wanted = change.clone();
        let at = Target::wanting(keys.partition(&change.key.partition), {
            let keys = keys.clone();
            move || vec![want(&keys, &wanted)]
        });
        self.transact(at, move |txn| apply(txn, &keys, &change, now(txn))).await
    }

    /// What each left behind. A refusal says which of them it was about ([`Refused::InBatch`]).
    pub async fn change_entities(
        &self,
        table: &OpenTable,
        changes: impl Into<Arc<Vec<Change>>>,
    ) -> Result<Vec<Changed>, Failure> {
        let changes: Arc<Vec<Change>> = changes.into();
        check_batch(changes.iter().map(|change| &change.key))?;
        for (index, change) in changes.iter().enumerate() {
            change.check().map_err(|refusal| in_batch(index, refusal))?;
        }
        let Some(first) = changes.first() else { return Ok(Vec::new()) };
        let keys = table.keys.clone();
        let wanted = changes.clone();
        let at = Target::wanting(keys.partition(&first.key.partition), {
            let keys = keys.clone();
            move || wanted.iter().map(|change| want(&keys, change)).collect()
        });
        self.transact(at, move |txn| {
            let stamp = now(txn);
            let each = changes.iter().enumerate().map(|(index, change)| {
                apply(txn, &keys, change, stamp).map_err(|trouble| match trouble {
                    Trouble::Refused(refusal) => Trouble::Refused(in_batch(index, refusal)),
                    Trouble::Broken(_) | Trouble::Halted(_) => trouble,
                })
            });
            each.collect()
        })
        .await
    }
}

fn want(keys: &TableKeys, change: &Change) -> Want {
    Want::Get(keys.entity(&change.key.partition, &change.key.row))
}

fn in_batch(index: usize, refusal: Refusal) -> Refusal {
    Refused::InBatch { index, refusal: Box::new(refusal) }.into()
}

fn apply(txn: &mut Txn<'_>, keys: &TableKeys, change: &Change, stamp: Timestamp) -> Decided<Changed> {
    let key = keys.entity(&change.key.partition, &change.key.row);
    let current: Option<Entity> = get(txn, &key)?;
    saw_one(current.as_ref().map_or(Found::Nothing, |entity| Found::Made(entity.modified, None)));
    let changed = change.decide(current.as_ref(), stamp)?;
    match &changed {
        Some(entity) => txn.put(key, encode(entity)),
        None => txn.delete(key),
    }
    Ok(changed)
}
