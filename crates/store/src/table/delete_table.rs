//! Delete Table: one record goes, and with it the way to all entities, which the sweeper then collects.

use lazuli_engine::Space;
use lazuli_model::Refusal;

use super::{TableAt, partition, stored};
use crate::sweep::bury;
use crate::{Failure, Store, keys};

impl Store {
    pub async fn delete_table(&self, at: &TableAt) -> Result<(), Failure> {
        let at = at.clone();
        let space = self
            .transact(partition(&at), move |txn| {
                let space = Space(stored(txn, &at)?.ok_or(Refusal::ResourceNotFound)?.id);
                txn.delete(keys::table(&at));
                bury(txn, &partition(&at), space);
                Ok(space)
            })
            .await?;
        self.sweep.hint_space(space);
        Ok(())
    }
}
