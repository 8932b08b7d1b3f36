//! Service properties: what an account's Blob or Queue (later Table, File) service is set to. A section that a
//! request leaves out keeps its value, so every section is an `Option` in the change and a value in the record.

use serde::{Deserialize, Serialize};

/// A service with properties of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Blob,
    Queue,
    Table,
    File,
}

impl Of {
    pub const ALL: [Self; 4] = [Self::Blob, Self::Queue, Self::Table, Self::File];
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceProperties {
    pub logging: Logging,
    pub hour_metrics: Metrics,
    pub minute_metrics: Metrics,
    pub cors: Vec<CorsRule>,
    pub default_service_version: Option<String>,
    pub delete_retention: Retention,
    pub static_website: StaticWebsite,
    /// Of the File service.
    pub protocols: ProtocolSettings,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServicePropertiesChange {
    pub logging: Option<Logging>,
    pub hour_metrics: Option<Metrics>,
    pub minute_metrics: Option<Metrics>,
    pub cors: Option<Vec<CorsRule>>,
    pub default_service_version: Option<String>,
    pub delete_retention: Option<Retention>,
    pub static_website: Option<StaticWebsite>,
    pub protocols: Option<ProtocolSettingsChange>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logging {
    pub version: String,
    pub delete: bool,
    pub read: bool,
    pub write: bool,
    pub retention: Retention,
}

impl Default for Logging {
    fn default() -> Self {
        Self { version: "1.0".into(), delete: false, read: false, write: false, retention: Retention::default() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    pub version: String,
    pub enabled: bool,
    pub include_apis: Option<bool>,
    pub retention: Retention,
}

impl Default for Metrics {
    fn default() -> Self {
        Self { version: "1.0".into(), enabled: false, include_apis: None, retention: Retention::default() }
    }
}

/// Days to keep, or not enabled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    pub days: Option<u32>,
    pub allow_permanent_delete: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorsRule {
    pub allowed_origins: String,
    pub allowed_methods: String,
    pub allowed_headers: String,
    pub exposed_headers: String,
    pub max_age_seconds: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaticWebsite {
    pub enabled: bool,
    pub index_document: Option<String>,
    pub error_document_404_path: Option<String>,
    pub default_index_document_path: Option<String>,
}

/// How shares are served to file system clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtocolSettings {
    pub smb_multichannel: bool,
    /// Encryption in transit is required.
    pub smb_encryption: bool,
    pub nfs_encryption: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtocolSettingsChange {
    pub smb_multichannel: Option<bool>,
    pub smb_encryption: Option<bool>,
    pub nfs_encryption: Option<bool>,
}

impl ServicePropertiesChange {
    /// What `current` becomes.
    pub fn apply(&self, mut current: ServiceProperties) -> ServiceProperties {
        fn set<T: Clone>(slot: &mut T, value: &Option<T>) {
            if let Some(value) = value {
                slot.clone_from(value);
            }
        }
        set(&mut current.logging, &self.logging);
        set(&mut current.hour_metrics, &self.hour_metrics);
        set(&mut current.minute_metrics, &self.minute_metrics);
        set(&mut current.cors, &self.cors);
        set(&mut current.delete_retention, &self.delete_retention);
        set(&mut current.static_website, &self.static_website);
        if let Some(protocols) = &self.protocols {
            set(&mut current.protocols.smb_multichannel, &protocols.smb_multichannel);
            set(&mut current.protocols.smb_encryption, &protocols.smb_encryption);
            set(&mut current.protocols.nfs_encryption, &protocols.nfs_encryption);
        }
        if self.default_service_version.is_some() {
            current.default_service_version.clone_from(&self.default_service_version);
        }
        current
    }
}
