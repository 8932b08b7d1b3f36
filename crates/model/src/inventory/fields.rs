//! The fields of a report, and how each is written. A field that a blob has nothing to say to is empty.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Rule;
use crate::access::PublicAccess;
use crate::account::{AccountSettings, DefaultTier};
use crate::blob::{Blob, Encryption, Kind, Tier};
use crate::container::Container;
use crate::{Metadata, Timestamp};

pub(super) const OF_BLOBS: &[&str] = &[
    "Name",
    "Creation-Time",
    "Last-Modified",
    "ETag",
    "Etag",
    "Content-Length",
    "Content-Type",
    "Content-Encoding",
    "Content-Language",
    "Content-MD5",
    "Cache-Control",
    "Content-Disposition",
    "BlobType",
    "AccessTier",
    "AccessTierChangeTime",
    "AccessTierInferred",
    "LeaseStatus",
    "LeaseState",
    "LeaseDuration",
    "ServerEncrypted",
    "EncryptionScope",
    "Metadata",
    "Tags",
    "TagCount",
    "Expiry-Time",
    "LastAccessTime",
    "Snapshot",
    "VersionId",
    "IsCurrentVersion",
    "Deleted",
    "DeletedTime",
    "RemainingRetentionDays",
    "LegalHold",
    "x-ms-blob-sequence-number",
];

pub(super) const OF_CONTAINERS: &[&str] = &[
    "Name",
    "Last-Modified",
    "ETag",
    "Etag",
    "LeaseStatus",
    "LeaseState",
    "LeaseDuration",
    "Metadata",
    "PublicAccess",
    "DefaultEncryptionScope",
    "DenyEncryptionScopeOverride",
    "HasImmutabilityPolicy",
    "HasLegalHold",
];

/// A blob, a snapshot or a version, and where it is.
#[derive(Clone, Copy, Debug)]
pub struct BlobLine<'a> {
    pub container: &'a str,
    pub name: &'a str,
    pub snapshot: Option<Timestamp>,
    pub blob: &'a Blob,
    pub settings: &'a AccountSettings,
    pub now: Timestamp,
}

#[derive(Clone, Copy, Debug)]
pub struct ContainerLine<'a> {
    pub name: &'a str,
    pub container: &'a Container,
    pub now: Timestamp,
}

impl Rule {
    pub fn blob_fields(&self, line: &BlobLine<'_>) -> Vec<String> {
        self.fields.iter().map(|field| line.field(field)).collect()
    }

    pub fn container_fields(&self, line: &ContainerLine<'_>) -> Vec<String> {
        self.fields.iter().map(|field| line.field(field)).collect()
    }
}

pub(super) fn csv(fields: &[String]) -> String {
    let quoted = fields.iter().map(|field| match field.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.clone(),
    });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}

fn pairs<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let map: serde_json::Map<_, _> = pairs.map(|(name, value)| (name.to_owned(), value.into())).collect();
    if map.is_empty() { String::new() } else { serde_json::Value::Object(map).to_string() }
}

fn metadata(metadata: &Metadata) -> String {
    pairs(metadata.iter())
}

fn time(time: Option<Timestamp>) -> String {
    time.map(Timestamp::to_iso_seconds).unwrap_or_default()
}

impl BlobLine<'_> {
    fn field(&self, field: &str) -> String {
        let (blob, headers) = (self.blob, &self.blob.headers);
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let shown = blob.lease.shown(self.now);
        match field {
            "Name" => format!("{}/{}", self.container, self.name),
            "Creation-Time" => time(Some(blob.created)),
            "Last-Modified" => time(Some(blob.modified)),
            "ETag" | "Etag" => blob.etag.to_string(),
            "Content-Length" => blob.content.length.to_string(),
            "Content-Type" => text(&headers.content_type),
            "Content-Encoding" => text(&headers.encoding),
            "Content-Language" => text(&headers.language),
            "Content-MD5" => headers.md5.as_ref().map(|md5| STANDARD.encode(md5)).unwrap_or_default(),
            "Cache-Control" => text(&headers.cache_control),
            "Content-Disposition" => text(&headers.disposition),
            "BlobType" => match blob.kind {
                Kind::Block => "BlockBlob".into(),
                Kind::Page { .. } => "PageBlob".into(),
                Kind::Append { .. } => "AppendBlob".into(),
            },
            "AccessTier" => self.tier(),
            "AccessTierInferred" => inferred(blob).to_string(),
            "AccessTierChangeTime" => time(blob.tier_changed),
            "LeaseStatus" => shown.status.into(),
            "LeaseState" => shown.state.into(),
            "LeaseDuration" => shown.duration.unwrap_or_default().into(),
            "ServerEncrypted" => "true".into(),
            "EncryptionScope" => match &blob.encryption {
                Encryption::Scope(scope) => scope.clone(),
                Encryption::Service | Encryption::Customer(_) => String::new(),
            },
            "Metadata" => metadata(&blob.metadata),
            "Tags" => pairs(blob.tags.iter()),
            "TagCount" => match blob.tags.iter().count() {
                0 => String::new(),
                count => count.to_string(),
            },
            "Expiry-Time" => time(blob.expires),
            "LastAccessTime" if self.settings.last_access_tracking => time(Some(blob.last_access())),
            "Snapshot" => self.snapshot.map(Timestamp::to_iso).unwrap_or_default(),
            "VersionId" => blob.version.map(Timestamp::to_iso).unwrap_or_default(),
            "IsCurrentVersion" if blob.version.is_some() && !blob.previous => "true".into(),
            "Deleted" => blob.deleted.is_some().to_string(),
            "DeletedTime" => time(blob.deleted.map(|deleted| deleted.at)),
            "RemainingRetentionDays" => {
                blob.deleted.map(|deleted| deleted.days_left(self.now).to_string()).unwrap_or_default()
            }
            "LegalHold" => blob.legal_hold.map(|hold| hold.to_string()).unwrap_or_default(),
            "x-ms-blob-sequence-number" => match blob.kind {
                Kind::Page { sequence } => sequence.to_string(),
                Kind::Block | Kind::Append { .. } => String::new(),
            },
            _ => String::new(),
        }
    }

    fn tier(&self) -> String {
        let inferred = match self.settings.default_tier {
            DefaultTier::Hot => Tier::Hot,
            DefaultTier::Cool => Tier::Cool,
            DefaultTier::Cold => Tier::Cold,
        };
        match (self.blob.tier, self.blob.kind) {
            (Some(tier), _) => tier.name().into(),
            (None, Kind::Block) if self.settings.kind.infers_block_tier() => inferred.name().into(),
            (None, Kind::Block | Kind::Page { .. } | Kind::Append { .. }) => String::new(),
        }
    }
}

fn inferred(blob: &Blob) -> bool {
    blob.tier.is_none() && blob.kind == Kind::Block
}

impl ContainerLine<'_> {
    fn field(&self, field: &str) -> String {
        let container = self.container;
        let shown = container.lease.shown(self.now);
        match field {
            "Name" => self.name.into(),
            "Last-Modified" => time(Some(container.modified)),
            "ETag" | "Etag" => container.etag.to_string(),
            "LeaseStatus" => shown.status.into(),
            "LeaseState" => shown.state.into(),
            "LeaseDuration" => shown.duration.unwrap_or_default().into(),
            "Metadata" => metadata(&container.metadata),
            "PublicAccess" => match container.public {
                PublicAccess::Off => String::new(),
                PublicAccess::Blob => "blob".into(),
                PublicAccess::Container => "container".into(),
            },
            "DefaultEncryptionScope" => {
                container.scope.as_ref().map_or("$account-encryption-key", |scope| &scope.name).into()
            }
            "DenyEncryptionScopeOverride" => {
                container.scope.as_ref().is_some_and(|scope| scope.deny_override).to_string()
            }
            // Containers have none of their own here.
            "HasImmutabilityPolicy" | "HasLegalHold" => "false".into(),
            _ => String::new(),
        }
    }
}
