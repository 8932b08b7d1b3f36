//! Query Entity by its keys: one row.

use lazuli_model::Refusal;
use lazuli_model::table::{Entity, Key};

use super::OpenTable;
use crate::transact::get;
use crate::{Failure, Store};

impl Store {
    pub async fn entity(&self, table: &OpenTable, key: &Key) -> Result<Entity, Failure> {
        let key = table.keys.entity(&key.partition, &key.row);
        let found: Option<Entity> = self.look(|txn| get(txn, &key)).await?;
        Ok(found.ok_or(Refusal::ResourceNotFound)?)
    }
}
