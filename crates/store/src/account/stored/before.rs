//! How accounts were stored before their settings had names: version 1 was the account itself, version 2 sealed its secrets. Both had the settings
//! by their place, so these types are never changed.

use lazuli_model::Timestamp;
use lazuli_model::account::{AccountSettings, DefaultTier, EncryptionScope, Keys, Secret};
use lazuli_model::service::Retention;
use serde::{Deserialize, Serialize};

use super::{AccountRow, AccountSecrets, Secrets, named};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstAccount {
    pub(super) created: Timestamp,
    pub(super) keys: Option<Keys>,
    pub(super) delegation: Option<Secret>,
    pub(super) scopes: Option<Secret>,
    pub(super) settings: PlacedSettings,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondAccountRow {
    pub(super) created: Timestamp,
    pub(super) secrets: Secrets,
    pub(super) settings: PlacedSettings,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlacedSettings {
    pub versioning: bool,
    pub blob_soft_delete: Retention,
    pub container_soft_delete_days: Option<u32>,
    pub share_soft_delete_days: Option<u32>,
    pub change_feed: bool,
    pub change_feed_days: Option<u32>,
    pub hierarchical_namespace: bool,
    pub public_access: bool,
    pub last_access_tracking: bool,
    pub immutability: bool,
    pub default_tier: PlacedTier,
    pub encryption_scopes: Vec<PlacedScope>,
    pub copy_sources: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum PlacedTier {
    #[default]
    Hot,
    Cool,
    Cold,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlacedScope {
    pub name: String,
    pub enabled: bool,
}

impl From<PlacedSettings> for AccountSettings {
    fn from(placed: PlacedSettings) -> Self {
        let scope = |scope: PlacedScope| EncryptionScope { name: scope.name, enabled: scope.enabled };
        Self {
            versioning: placed.versioning,
            blob_soft_delete: placed.blob_soft_delete,
            container_soft_delete_days: placed.container_soft_delete_days,
            share_soft_delete_days: placed.share_soft_delete_days,
            change_feed: placed.change_feed,
            change_feed_days: placed.change_feed_days,
            hierarchical_namespace: placed.hierarchical_namespace,
            public_access: placed.public_access,
            last_access_tracking: placed.last_access_tracking,
            immutability: placed.immutability,
            default_tier: match placed.default_tier {
                PlacedTier::Hot => DefaultTier::Hot,
                PlacedTier::Cool => DefaultTier::Cool,
                PlacedTier::Cold => DefaultTier::Cold,
            },
            encryption_scopes: placed.encryption_scopes.into_iter().map(scope).collect(),
            copy_sources: placed.copy_sources,
            ..Self::default()
        }
    }
}

impl From<FirstAccount> for SecondAccountRow {
    fn from(account: FirstAccount) -> Self {
        let FirstAccount { created, keys, delegation, scopes, settings } = account;
        Self { created, secrets: Secrets::Clear(AccountSecrets { keys, delegation, scopes }), settings }
    }
}

impl From<SecondAccountRow> for AccountRow {
    fn from(row: SecondAccountRow) -> Self {
        let SecondAccountRow { created, secrets, settings } = row;
        Self { created, secrets, settings: named(&settings.into()) }
    }
}
