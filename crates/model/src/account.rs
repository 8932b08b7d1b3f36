//! What Azure keeps of an account in its management plane: keys, and the settings that change how its services behave.
//!
//! Held true: a setting has one name and one spelling of its value, wherever it is written (command line, configuration
//! file, answer), because all of them go through [`SETTINGS`]; and settings that contradict each other are refused together.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::service::Retention;

/// An account as it is stored. One that is named on the command line has its keys from there, and none here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountSettings {
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
    /// Hosts that copies may read from, besides this server: `example.com`, `*.example.com`, `127.0.0.1:8080`, or `*`.
    pub copy_sources: Vec<String>,
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
            (setting.set)(&mut changed, value.trim())
                .ok_or_else(|| BadSetting(format!("{name}={value}: write {name}={}", setting.values)))?;
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
        } else {
            return Ok(());
        };
        Err(BadSetting(contradiction.into()))
    }

    /// Every setting with its value, in the order of [`SETTINGS`].
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, String)> {
        SETTINGS.iter().map(|setting| (setting.name, (setting.get)(self)))
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
mod tests {
    use super::*;

    fn with(changes: &[(&str, &str)]) -> Result<AccountSettings, BadSetting> {
        AccountSettings::default().with(changes.iter().copied())
    }

    #[test]
    fn what_is_set_is_shown_and_what_is_shown_can_be_set() {
        let changes = [
            ("versioning", "on"),
            ("blob-soft-delete", "7"),
            ("permanent-delete", "on"),
            ("container-soft-delete", "1"),
            ("share-soft-delete", "365"),
            ("change-feed", "on"),
            ("change-feed-retention", "90"),
            ("public-access", "off"),
            ("last-access-tracking", "on"),
            ("immutability", "on"),
            ("default-tier", "cool"),
            ("encryption-scopes", "one,two:disabled"),
            ("copy-sources", "*.example.com,127.0.0.1:80"),
        ];
        let settings = with(&changes).unwrap();
        for (name, value) in changes {
            let shown = settings.entries().find(|(shown, _)| *shown == name).unwrap().1;
            assert_eq!(shown, value, "{name}");
        }
        assert_eq!(AccountSettings::default().with(settings.entries()), Ok(settings));
    }

    #[test]
    fn bad_settings_say_what_to_do() {
        for (changes, advice) in [
            (&[("version", "on")][..], "there are versioning"),
            (&[("versioning", "yes")], "on|off"),
            (&[("blob-soft-delete", "366")], "DAYS"),
            (&[("default-tier", "archive")], "hot|cool"),
            (&[("encryption-scopes", "a b")], "NAME"),
            (&[("copy-sources", "http://host/")], "HOST"),
            (&[("immutability", "on")], "versioning=on"),
            (&[("hierarchical-namespace", "on"), ("versioning", "on")], "turn one of them off"),
        ] {
            let error = with(changes).unwrap_err().0;
            assert!(error.contains(advice), "{changes:?}: {error}");
        }
    }

    #[test]
    fn copies_read_from_where_they_may() {
        for (patterns, authority, may) in [
            ("off", "example.com", false),
            ("*", "example.com:80", true),
            ("example.com", "EXAMPLE.com", true),
            ("example.com", "www.example.com", false),
            ("*.example.com", "www.example.com:8443", true),
            ("*.example.com", "badexample.com", false),
            ("127.0.0.1:80", "127.0.0.1:80", true),
            ("127.0.0.1:80", "127.0.0.1:81", false),
            ("[::1]", "[::1]:80", true),
        ] {
            let settings = with(&[("copy-sources", patterns)]).unwrap();
            assert_eq!(settings.may_copy_from(authority), may, "{patterns} {authority}");
        }
    }

    #[test]
    fn keys_are_not_printed() {
        let keys = Keys { key1: "c2VjcmV0".into(), key2: "c2VjcmV0".into() };
        assert!(!format!("{keys:?}").contains("c2Vj"));
    }
}
