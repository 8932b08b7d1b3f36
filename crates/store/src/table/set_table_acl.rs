//! Set Table ACL: the stored policies, all replaced at once.

use lazuli_model::Refusal;
use lazuli_model::access::StoredPolicy;
use lazuli_model::table::Table;

use super::{TableAt, partition, stored};
use crate::records::encode;
use crate::{Failure, Store, keys};

impl Store {
    pub async fn set_table_acl(&self, at: &TableAt, policies: Vec<StoredPolicy>) -> Result<(), Failure> {
        let at = at.clone();
        self.transact(partition(&at), move |txn| {
            let table = stored(txn, &at)?.ok_or(Refusal::ResourceNotFound)?;
            txn.put(keys::table(&at), encode(&Table { policies: policies.clone(), ..table }));
            Ok(())
        })
        .await
    }
}
