//! Create Table.

use lazuli_model::table::CreateTable;

use super::{TableAt, partition, stored};
use crate::records::encode;
use crate::{Failure, Store, keys};

impl Store {
    pub async fn create_table(&self, at: &TableAt, create: CreateTable) -> Result<(), Failure> {
        debug_assert_ne!(create.id, keys::ROOT.0, "zero is the root's space");
        let at = at.clone();
        self.transact(partition(&at), move |txn| {
            let table = create.decide(stored(txn, &at)?.as_ref())?;
            txn.put(keys::table(&at), encode(&table));
            Ok(())
        })
        .await
    }
}
