//! Get and Set Service Properties, of each service. Days of soft delete are the account's: its record is the one truth, and they
//! are read from it and written to it here.

use lazuli_engine::Txn;
use lazuli_model::AccountName;
use lazuli_model::account::AccountSettings;
use lazuli_model::service::{Of, Retention, ServiceProperties, ServicePropertiesChange};

use crate::account::{fresh, read_account, read_settings, write_account};
use crate::records::encode;
use crate::transact::{Decided, get};
use crate::{Failure, Store, keys};

impl Store {
    pub async fn service_properties(&self, account: &AccountName, of: Of) -> Result<ServiceProperties, Failure> {
        self.look(&keys::account_partition(account), |txn| current(txn, account, of)).await
    }

    pub async fn set_service_properties(
        &self,
        account: &AccountName,
        of: Of,
        change: ServicePropertiesChange,
    ) -> Result<(), Failure> {
        let (partition, key) = keys::properties(account, of);
        let (name, vault, salt) = (account.clone(), self.vault.clone(), self.vault.salt());
        let settled = self
            .transact(partition, move |txn| {
                let mut properties = change.apply(current(txn, &name, of)?);
                let retention = std::mem::take(&mut properties.delete_retention);
                if change.delete_retention.is_some() {
                    let mut account = read_account(txn, &vault, &name)?.unwrap_or_else(|| fresh(txn));
                    keep_retention(&mut account.settings, of, retention);
                    write_account(txn, &vault, salt, &name, account);
                }
                txn.put(key.clone(), encode(&properties));
                Ok(())
            })
            .await;
        self.forget_account(account);
        settled
    }
}

fn current(txn: &mut Txn<'_>, account: &AccountName, of: Of) -> Decided<ServiceProperties> {
    let (_, key) = keys::properties(account, of);
    let mut properties: ServiceProperties = get(txn, &key)?.unwrap_or_default();
    if let Some(settings) = read_settings(txn, account)? {
        properties.delete_retention = kept_retention(settings, of);
    }
    Ok(properties)
}

fn kept_retention(settings: AccountSettings, of: Of) -> Retention {
    match of {
        Of::Blob => settings.blob_soft_delete,
        Of::File => Retention { days: settings.share_soft_delete_days, ..Retention::default() },
        Of::Queue | Of::Table => Retention::default(),
    }
}

fn keep_retention(settings: &mut AccountSettings, of: Of, retention: Retention) {
    match of {
        Of::Blob => settings.blob_soft_delete = retention,
        Of::File => settings.share_soft_delete_days = retention.days,
        // Queues and tables are not kept.
        Of::Queue | Of::Table => {}
    }
}
