//! Get and Set Service Properties, of each service.

use lazuli_model::AccountName;
use lazuli_model::service::{Of, ServiceProperties, ServicePropertiesChange};

use crate::records::encode;
use crate::transact::get;
use crate::{Failure, Store, keys};

impl Store {
    pub async fn service_properties(&self, account: &AccountName, of: Of) -> Result<ServiceProperties, Failure> {
        let (_, key) = keys::properties(account, of);
        Ok(self.look(|txn| get(txn, &key)).await?.unwrap_or_default())
    }

    pub async fn set_service_properties(
        &self,
        account: &AccountName,
        of: Of,
        change: ServicePropertiesChange,
    ) -> Result<(), Failure> {
        let (partition, key) = keys::properties(account, of);
        self.transact(partition, move |txn| {
            let current: Option<ServiceProperties> = get(txn, &key)?;
            txn.put(key.clone(), encode(&change.apply(current.unwrap_or_default())));
            Ok(())
        })
        .await
    }
}
