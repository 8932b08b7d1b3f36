//! Query Entity by its keys: one row.

use lazuli_model::Refusal;
use lazuli_model::table::Key;

use super::{Found, OpenTable};
use crate::{Failure, Store};

impl Store {
    pub async fn entity(&self, table: &OpenTable, key: &Key) -> Result<Found, Failure> {
        let at = table.keys.partition(&key.partition);
        let key = table.keys.entity(&key.partition, &key.row);
        let record = self.look(&at, |txn| Ok(txn.get(&key)?)).await?.ok_or(Refusal::ResourceNotFound)?;
        Ok(Found { key, record })
    }
}
