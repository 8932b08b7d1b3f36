//! What Azure keeps of an account in its management plane: keys, and the settings that change how its services behave.
//!
//! Held true: a setting has one name and one spelling of its value, wherever it is written (command line, configuration
//! file, answer, stored record), because all of them go through [`SETTINGS`]; a default never changes, because records leave it out; and
//! settings that contradict each other are refused together.

mod kind;
mod reach;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::replication::{ReplicationPolicies, ReplicationPolicy};
use crate::service::Retention;
use crate::{AccountName, inventory, lifecycle};

pub use kind::{AccountKind, BlobType};
pub use reach::{IpRange, NetworkRules, TlsVersion, Transport};

/// An account, with its secrets. One that is named on the command line has its keys from there, and none here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub created: Timestamp,
    pub keys: Option<Keys>,
    /// What user delegation keys are derived from; made with the first of them, and taken away to revoke them all.
    pub delegation: Option<Secret>,
    /// What the keys of encryption scopes are derived from; made when a scope is first used, and kept as long as the account.
    pub scopes: Option<Secret>,
    pub settings: AccountSettings,
}

/// Both keys, in Base64. Either signs, so that they can be changed one after the other without a pause.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    pub key1: String,
    pub key2: String,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(…)")
    }
}

/// Bytes that nobody may guess or print.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret(pub [u8; 32]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WhichKey {
    Key1,
    Key2,
}

/// The defaults are those of a fresh account, except that containers may be opened to the public, as emulators allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSettings {
    pub kind: AccountKind,
    /// Plain http is refused (Azure's "secure transfer required").
    pub secure_transfer: bool,
    /// Whether the account's keys sign requests and SAS (Azure's AllowSharedKeyAccess).
    pub shared_key: bool,
    pub minimum_tls: TlsVersion,
    pub network_rules: NetworkRules,
    /// Whether security descriptors bind who logs on over SMB with a key. Else they may do everything, as in Azure.
    pub smb_access_checks: bool,
    /// Whether tools that know the account should sign in rather than use its keys (Azure's defaultToOAuthAuthentication). It is told, and
    /// refuses nobody.
    pub default_to_oauth: bool,
    /// What the secondary endpoint says of itself.
    pub geo_replication: GeoReplication,
    pub versioning: bool,
    /// Also set and shown as DeleteRetentionPolicy of the Blob service's properties.
    pub blob_soft_delete: Retention,
    pub container_soft_delete_days: Option<u32>,
    /// Also set and shown as ShareDeleteRetentionPolicy of the File service's properties.
    pub share_soft_delete_days: Option<u32>,
    pub change_feed: bool,
    /// How long its events are kept; for ever, if nobody says.
    pub change_feed_days: Option<u32>,
    pub hierarchical_namespace: bool,
    /// Whether a container's own setting may open it to anyone (Azure's AllowBlobPublicAccess).
    pub public_access: bool,
    pub last_access_tracking: bool,
    /// Whether blob versions may have immutability policies and legal holds.
    pub immutability: bool,
    pub default_tier: DefaultTier,
    pub encryption_scopes: Vec<EncryptionScope>,
    /// Rules by which blobs grow cooler and go.
    pub lifecycle: Option<lifecycle::Policy>,
    /// Reports of what the account has.
    pub inventory: Option<inventory::Policy>,
    /// Which containers are copied to another account, and which are copies.
    pub replication: Option<ReplicationPolicies>,
    /// Hosts that copies may read from, besides this server: `example.com`, `*.example.com`, `127.0.0.1:8080`, or `*`.
    pub copy_sources: Vec<String>,
}

/// The state of the secondary, as Get Service Stats tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GeoReplication {
    #[default]
    Live,
    Bootstrap,
    Unavailable,
}

impl GeoReplication {
    pub const NAMES: [(&'static str, GeoReplication); 3] = [
        ("live", GeoReplication::Live),
        ("bootstrap", GeoReplication::Bootstrap),
        ("unavailable", GeoReplication::Unavailable),
    ];

    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, state)| *state == self).map_or("live", |(name, _)| name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DefaultTier {
    Hot,
    Cool,
    Cold,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncryptionScope {
    pub name: String,
    pub enabled: bool,
}

impl Default for AccountSettings {
    fn default() -> Self {
        Self {
            kind: AccountKind::Standard,
            secure_transfer: false,
            shared_key: true,
            minimum_tls: TlsVersion::V1_2,
            network_rules: NetworkRules::Open,
            smb_access_checks: false,
            default_to_oauth: false,
            geo_replication: GeoReplication::Live,
            versioning: false,
            blob_soft_delete: Retention::default(),
            container_soft_delete_days: None,
            share_soft_delete_days: None,
            change_feed: false,
            change_feed_days: None,
            hierarchical_namespace: false,
            public_access: true,
            last_access_tracking: false,
            immutability: false,
            default_tier: DefaultTier::Hot,
            encryption_scopes: Vec::new(),
            lifecycle: None,
            inventory: None,
            replication: None,
            copy_sources: Vec::new(),
        }
    }
}

/// A setting: its name, what it is for, and how its value is written.
pub struct Setting {
    pub name: &'static str,
    pub values: &'static str,
    pub about: &'static str,
    pub get: fn(&AccountSettings) -> String,
    set: fn(&mut AccountSettings, &str) -> Option<()>,
}

const SWITCH: &str = "on|off";
const DAYS: &str = "DAYS|off";

macro_rules! switch {
    ($name:literal, $field:ident, $about:literal) => {
        Setting {
            name: $name,
            values: SWITCH,
            about: $about,
            get: |settings| on_off(settings.$field),
            set: |settings, text| switch(text).map(|value| settings.$field = value),
        }
    };
}

macro_rules! days {
    ($name:literal, $($field:ident).+, $about:literal) => {
        Setting {
            name: $name,
            values: DAYS,
            about: $about,
            get: |settings| show_days(settings.$($field).+),
            set: |settings, text| days(text).map(|value| settings.$($field).+ = value),
        }
    };
}

/// Every setting there is.
pub static SETTINGS: &[Setting] = &[
    Setting {
        name: "kind",
        values: "standard|premium-block-blob|premium-page-blob|premium-file",
        about: "what the account was made as: its services, types of blobs and tiers",
        get: |settings| settings.kind.name().into(),
        set: |settings, text| named(&AccountKind::NAMES, text).map(|kind| settings.kind = kind),
    },
    switch!("secure-transfer", secure_transfer, "refuse plain http"),
    switch!("shared-key", shared_key, "let the account's keys sign requests and SAS; off leaves bearer tokens"),
    Setting {
        name: "minimum-tls",
        values: "1.0|1.1|1.2|1.3",
        about: "the oldest TLS that is let in; nothing older than 1.2 is served",
        get: |settings| settings.minimum_tls.name().into(),
        set: |settings, text| named(&TlsVersion::NAMES, text).map(|version| settings.minimum_tls = version),
    },
    Setting {
        name: "network-rules",
        values: "ADDRESS[/BITS],…|deny|off",
        about: "the addresses that the account is reached from; deny is none, off all",
        get: |settings| settings.network_rules.to_string(),
        set: |settings, text| NetworkRules::parse(text).map(|rules| settings.network_rules = rules),
    },
    switch!(
        "smb-access-checks",
        smb_access_checks,
        "let security descriptors bind SMB clients; off, who has a key may do everything"
    ),
    switch!("default-to-oauth", default_to_oauth, "tell tools to sign in rather than to use keys"),
    Setting {
        name: "geo-replication",
        values: "live|bootstrap|unavailable",
        about: "what the secondary endpoint says of its state; there is one copy all the same",
        get: |settings| settings.geo_replication.name().into(),
        set: |settings, text| named(&GeoReplication::NAMES, text).map(|state| settings.geo_replication = state),
    },
    switch!("versioning", versioning, "keep a version of a blob at each write"),
    days!("blob-soft-delete", blob_soft_delete.days, "keep deleted blobs for 1 to 365 days"),
    Setting {
        name: "permanent-delete",
        values: SWITCH,
        about: "let soft-deleted versions and snapshots be deleted for good",
        get: |settings| on_off(settings.blob_soft_delete.allow_permanent_delete == Some(true)),
        set: |settings, text| switch(text).map(|value| settings.blob_soft_delete.allow_permanent_delete = Some(value)),
    },
    days!("container-soft-delete", container_soft_delete_days, "keep deleted containers for 1 to 365 days"),
    days!("share-soft-delete", share_soft_delete_days, "keep deleted file shares for 1 to 365 days"),
    switch!("change-feed", change_feed, "record every change of a blob in $blobchangefeed"),
    Setting {
        name: "change-feed-retention",
        values: DAYS,
        about: "keep the change feed for 1 to 146000 days; off keeps it for ever",
        get: |settings| show_days(settings.change_feed_days),
        set: |settings, text| days_up_to(text, 146_000).map(|value| settings.change_feed_days = value),
    },
    switch!(
        "hierarchical-namespace",
        hierarchical_namespace,
        "real directories (Data Lake); only while there are no containers"
    ),
    switch!("public-access", public_access, "let containers be opened to anonymous readers"),
    switch!("last-access-tracking", last_access_tracking, "keep when a blob was last read"),
    switch!("immutability", immutability, "allow immutability policies and legal holds on blob versions"),
    Setting {
        name: "default-tier",
        values: "hot|cool|cold",
        about: "the tier of blobs that are not given one",
        get: |settings| match settings.default_tier {
            DefaultTier::Hot => "hot".into(),
            DefaultTier::Cool => "cool".into(),
            DefaultTier::Cold => "cold".into(),
        },
        set: |settings, text| {
            settings.default_tier = match text.to_ascii_lowercase().as_str() {
                "hot" => DefaultTier::Hot,
                "cool" => DefaultTier::Cool,
                "cold" => DefaultTier::Cold,
                _ => return None,
            };
            Some(())
        },
    },
    Setting {
        name: "encryption-scopes",
        values: "NAME[:disabled],…|off",
        about: "encryption scopes that requests may name",
        get: |settings| {
            let show = |scope: &EncryptionScope| match scope.enabled {
                true => scope.name.clone(),
                false => format!("{}:disabled", scope.name),
            };
            show_list(settings.encryption_scopes.iter().map(show).collect())
        },
        set: |settings, text| list(text, encryption_scope).map(|scopes| settings.encryption_scopes = scopes),
    },
    Setting {
        name: "lifecycle",
        values: "POLICY|off",
        about: "a lifecycle management policy, in JSON as Azure has it; @FILE reads it from there",
        get: |settings| settings.lifecycle.as_ref().map_or_else(|| "off".into(), |policy| policy.document().into()),
        set: |settings, text| document(text, lifecycle::Policy::parse).map(|policy| settings.lifecycle = policy),
    },
    Setting {
        name: "inventory",
        values: "POLICY|off",
        about: "an inventory policy, in JSON as Azure has it; @FILE reads it from there",
        get: |settings| settings.inventory.as_ref().map_or_else(|| "off".into(), |policy| policy.document().into()),
        set: |settings, text| document(text, inventory::Policy::parse).map(|policy| settings.inventory = policy),
    },
    Setting {
        name: "object-replication",
        values: "POLICY|off",
        about: "an object replication policy, or a list of them, in JSON as Azure has it, for source and destination alike; @FILE reads it from there",
        get: |settings| settings.replication.as_ref().map_or_else(|| "off".into(), |policy| policy.document().into()),
        set: |settings, text| document(text, ReplicationPolicies::parse).map(|policy| settings.replication = policy),
    },
    Setting {
        name: "copy-sources",
        values: "HOST,…|off",
        about: "other hosts that copies may read from (*.example.com; * for all)",
        get: |settings| show_list(settings.copy_sources.clone()),
        set: |settings, text| list(text, host_pattern).map(|hosts| settings.copy_sources = hosts),
    },
];

/// Why settings were not taken. The text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSetting(pub String);

impl fmt::Display for BadSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AccountSettings {
    /// These settings with `changes` (name and value) made, all or none.
    pub fn with<N: AsRef<str>, V: AsRef<str>>(
        &self,
        changes: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, BadSetting> {
        let mut changed = self.clone();
        for (name, value) in changes {
            let (name, value) = (name.as_ref(), value.as_ref());
            let setting = SETTINGS.iter().find(|setting| setting.name == name).ok_or_else(|| {
                let names: Vec<_> = SETTINGS.iter().map(|setting| setting.name).collect();
                BadSetting(format!("there is no setting {name:?}; there are {}", names.join(", ")))
            })?;
            (setting.set)(&mut changed, value.trim()).ok_or_else(|| {
                let spelt = format!("{name}={value}: write {name}={}", setting.values);
                BadSetting(why(name, value.trim()).unwrap_or(spelt))
            })?;
        }
        changed.check()?;
        Ok(changed)
    }

    fn check(&self) -> Result<(), BadSetting> {
        let contradiction = if self.hierarchical_namespace && self.versioning {
            "versioning is not to be had with a hierarchical namespace; turn one of them off"
        } else if self.hierarchical_namespace && self.change_feed {
            "a change feed is not to be had with a hierarchical namespace; turn one of them off"
        } else if self.immutability && !self.versioning {
            "immutability is a matter of versions; set versioning=on as well"
        } else if self.lifecycle.as_ref().is_some_and(lifecycle::Policy::is_by_last_access)
            && !self.last_access_tracking
        {
            "the lifecycle policy goes by the last access; set last-access-tracking=on as well"
        } else if self.replication.is_some() && self.hierarchical_namespace {
            "objects are not replicated with a hierarchical namespace; turn one of them off"
        } else if self.replication.is_some() && !self.versioning {
            "object replication needs versions at both ends; set versioning=on as well"
        } else if self.versioning && self.kind == AccountKind::PremiumPageBlob {
            "premium page blob accounts have no versions; turn versioning off"
        } else if self.hierarchical_namespace
            && matches!(self.kind, AccountKind::PremiumPageBlob | AccountKind::PremiumFile)
        {
            "this kind of account has no hierarchical namespace; turn it off, or take kind=standard or kind=premium-block-blob"
        } else {
            return Ok(());
        };
        Err(BadSetting(contradiction.into()))
    }

    /// Whether the settings can be those of this account: policies of replication name it.
    pub fn check_for(&self, account: &AccountName) -> Result<(), BadSetting> {
        let Some(replication) = &self.replication else { return Ok(()) };
        let names = |policy: &ReplicationPolicy| policy.source == *account || policy.destination == *account;
        if !replication.policies.iter().all(names) {
            return Err(BadSetting(format!("object-replication: a policy is neither from {account} nor to it")));
        }
        if !self.change_feed && replication.from_account(account).next().is_some() {
            return Err(BadSetting(
                "the source of object replication needs a change feed; set change-feed=on as well".into(),
            ));
        }
        Ok(())
    }

    /// Every setting with its value, in the order of [`SETTINGS`].
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, String)> {
        SETTINGS.iter().map(|setting| (setting.name, (setting.get)(self)))
    }

    /// The settings that are not as a fresh account has them: what a record keeps.
    pub fn changed(&self) -> impl Iterator<Item = (&'static str, String)> {
        let fresh = Self::default();
        self.entries()
            .zip(fresh.entries())
            .filter(|(own, fresh)| own.1 != fresh.1)
            .map(|(own, _)| own)
            .collect::<Vec<_>>()
            .into_iter()
    }

    pub fn encryption_scope(&self, name: &str) -> Option<&EncryptionScope> {
        self.encryption_scopes.iter().find(|scope| scope.name == name)
    }

    /// Whether a copy may read from `authority` (`host` or `host:port`).
    pub fn may_copy_from(&self, authority: &str) -> bool {
        let authority = authority.to_ascii_lowercase();
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            Some(_) | None => &authority,
        };
        self.copy_sources.iter().any(|pattern| match pattern.strip_prefix('*') {
            Some("") => true,
            Some(suffix) => host.ends_with(suffix) || authority.ends_with(suffix),
            None => host == pattern || authority == *pattern,
        })
    }
}

/// A document, or none.
fn document<T>(text: &str, parse: fn(&str) -> Result<T, String>) -> Option<Option<T>> {
    match text {
        "off" | "" => Some(None),
        text => parse(text).ok().map(Some),
    }
}

/// What is wrong with a value that is a document.
fn why(name: &str, value: &str) -> Option<String> {
    let wrong = match name {
        "lifecycle" => lifecycle::Policy::parse(value).err(),
        "inventory" => inventory::Policy::parse(value).err(),
        "object-replication" => ReplicationPolicies::parse(value).err(),
        _ => None,
    };
    wrong.map(|wrong| format!("{name}: {wrong}"))
}

/// The value of a name, in any case.
fn named<T: Copy>(names: &[(&str, T)], text: &str) -> Option<T> {
    names.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, value)| *value)
}

fn on_off(value: bool) -> String {
    if value { "on" } else { "off" }.into()
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" => Some(true),
        "off" | "false" => Some(false),
        _ => None,
    }
}

fn show_days(days: Option<u32>) -> String {
    days.map_or_else(|| "off".into(), |days| days.to_string())
}

fn days(text: &str) -> Option<Option<u32>> {
    days_up_to(text, 365)
}

fn days_up_to(text: &str, most: u32) -> Option<Option<u32>> {
    match text {
        "off" | "false" | "0" => Some(None),
        text => text.parse().ok().filter(|days| (1..=most).contains(days)).map(Some),
    }
}

fn show_list(items: Vec<String>) -> String {
    if items.is_empty() { "off".into() } else { items.join(",") }
}

fn list<T>(text: &str, item: fn(&str) -> Option<T>) -> Option<Vec<T>> {
    match text {
        "off" | "" => Some(Vec::new()),
        text => text.split(',').map(|part| item(part.trim())).collect(),
    }
}

/// Names have 3 to 63 letters, digits and hyphens, as containers have.
fn encryption_scope(text: &str) -> Option<EncryptionScope> {
    let (name, state) = text.split_once(':').unwrap_or((text, "enabled"));
    let enabled = match state {
        "enabled" => true,
        "disabled" => false,
        _ => return None,
    };
    let good = (3..=63).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    good.then(|| EncryptionScope { name: name.into(), enabled })
}

fn host_pattern(text: &str) -> Option<String> {
    let rest = text.strip_prefix('*').unwrap_or(text);
    let good = !text.is_empty()
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'[' | b']'))
        && (rest.len() == text.len() || rest.is_empty() || rest.starts_with('.'));
    good.then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
