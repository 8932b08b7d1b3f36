//! What the SMB gateway is handed: who may log on, randomness, timers.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use lazuli_http::recorder::Recorder;
use lazuli_model::AccountName;
use lazuli_smb::serve::{Admission, Gateway, Settings};
use lazuli_smb::session::negotiation::Encryption;
use lazuli_store::{Alarm, HandleObserver, KnownAccount, Store};

use crate::ids;

/// Ends after so long.
#[expect(clippy::disallowed_methods, reason = "the server's timers")]
pub fn alarm() -> Alarm {
    Arc::new(|after| Box::pin(tokio::time::sleep(after)))
}

/// What the account's settings say of SMB. An account with `secure-transfer` is served encrypted, to clients that can
/// ("Require secure transfer": connections by SMB 2.1, and by 3.x without encryption, fail).
fn admission(known: &KnownAccount, configured: Option<&[String; 2]>, peer: IpAddr) -> Admission {
    let settings = &known.settings;
    if settings.permit_network(peer).is_err() {
        return Admission::NotFromThere;
    }
    // Clients log on with a key of the account, so an account that takes no keys has no SMB.
    if settings.permit_key().is_err() {
        return Admission::Unknown;
    }
    let stored = || known.account.as_ref()?.keys.clone().map(|keys| [keys.key1, keys.key2]);
    let encryption = if settings.secure_transfer { Encryption::Required } else { Encryption::Offered };
    match configured.cloned().or_else(stored) {
        Some(keys) => Admission::Known { keys, encryption, bound: settings.smb_access_checks },
        None => Admission::Unknown,
    }
}

/// Accounts of the configuration log on with the keys it gives; others with those that are stored.
pub fn gateway(
    store: Store,
    gateway: u128,
    configured: BTreeMap<AccountName, [String; 2]>,
    encryption: Encryption,
    recorder: Option<Arc<Recorder>>,
) -> Arc<Gateway> {
    let configured = Arc::new(configured);
    let accounts = {
        let store = store.clone();
        Arc::new(move |name: AccountName, peer| -> std::pin::Pin<Box<dyn Future<Output = Admission> + Send>> {
            let (configured, store) = (configured.clone(), store.clone());
            Box::pin(async move {
                match store.known_account(&name).await {
                    Ok(known) => admission(&known, configured.get(&name), peer),
                    Err(_) => Admission::Unknown,
                }
            })
        })
    };
    let observer = recorder.map(|recorder| recorder as Arc<dyn HandleObserver>);
    let (random, name) = (Arc::new(ids::random), "lazuli".to_owned());
    Gateway::new(Settings { store, gateway, accounts, random, alarm: alarm(), encryption, name, observer })
}
