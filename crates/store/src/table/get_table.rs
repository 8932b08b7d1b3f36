//! A table's record: for Get Table, Get Table ACL, and judging access.

use lazuli_model::table::Table;

use super::{TableAt, partition, stored};
use crate::{Failure, Store};

impl Store {
    pub async fn table(&self, at: &TableAt) -> Result<Option<Table>, Failure> {
        self.look(&partition(at), |txn| stored(txn, at)).await
    }
}
