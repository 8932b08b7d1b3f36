//! What the SMB gateway is handed: who may log on, randomness, timers.

use std::collections::BTreeMap;
use std::sync::Arc;

use lazuli_model::AccountName;
use lazuli_smb::serve::{Gateway, Settings};
use lazuli_smb::session::negotiation::Encryption;
use lazuli_store::{Alarm, Store};

use crate::ids;

/// Ends after so long.
#[expect(clippy::disallowed_methods, reason = "the server's timers")]
pub fn alarm() -> Alarm {
    Arc::new(|after| Box::pin(tokio::time::sleep(after)))
}

/// Accounts of the configuration log on with the keys it gives; others with those that are stored.
pub fn gateway(
    store: Store,
    gateway: u128,
    configured: BTreeMap<AccountName, [String; 2]>,
    encryption: Encryption,
) -> Arc<Gateway> {
    let configured = Arc::new(configured);
    let accounts = {
        let store = store.clone();
        Arc::new(move |name: AccountName| -> std::pin::Pin<Box<dyn Future<Output = Option<[String; 2]>> + Send>> {
            let (configured, store) = (configured.clone(), store.clone());
            Box::pin(async move {
                let known = store.known_account(&name).await.ok()?;
                // Clients log on with a key of the account, so an account that takes no keys has no SMB.
                if !known.settings.shared_key {
                    return None;
                }
                if let Some(keys) = configured.get(&name) {
                    return Some(keys.clone());
                }
                let keys = known.account.as_ref()?.keys.clone()?;
                Some([keys.key1, keys.key2])
            })
        })
    };
    let (random, name) = (Arc::new(ids::random), "lazuli".to_owned());
    Gateway::new(Settings { store, gateway, accounts, random, alarm: alarm(), encryption, name })
}
