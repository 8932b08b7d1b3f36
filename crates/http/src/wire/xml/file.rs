//! The documents of the File service. Elements and their order are those of recorded answers.

use lazuli_model::file::arbiter::Access;
use lazuli_model::file::{FileRange, Kind, Protocol, Share, ShareTier};
use lazuli_model::service::{
    ProtocolSettings, ProtocolSettingsChange, Retention, ServiceProperties, ServicePropertiesChange,
};
use lazuli_model::{Timestamp, Version};
use lazuli_store::{EntryItem, EntryPage, HandleItem, HandlePage, ShareItem, SharePage};
use percent_encoding::utf8_percent_encode;

use super::bodies::read_sections;
use super::listing::{IN_NAME, Repeated, enumeration, lease, metadata, surround};
use super::read::{Document, Node};
use super::{attribute, document, element, is_char, number, optional};
use crate::refusal::Refusal;
use crate::versions::Since;

/// What List Shares repeats of its request.
#[derive(Clone, Copy, Debug)]
pub struct ShareListing<'a> {
    /// With a slash at the end.
    pub endpoint: &'a str,
    pub prefix: Option<&'a str>,
    pub marker: Option<&'a str>,
    pub max_results: Option<u32>,
    pub version: Version,
    pub now: Timestamp,
    pub metadata: bool,
}

pub fn shares(listing: &ShareListing<'_>, page: &SharePage) -> Vec<u8> {
    let &ShareListing { endpoint, prefix, marker, max_results, .. } = listing;
    let repeated = Repeated { endpoint, prefix, marker, max_results, by_account: false };
    enumeration(&repeated, ("Shares", &page.items), page.next.as_deref(), 640, |out, item| share(out, listing, item))
}

fn share(out: &mut String, listing: &ShareListing<'_>, item: &ShareItem) {
    out.push_str("<Share>");
    element(out, "Name", item.name.as_str());
    optional(out, "Snapshot", item.snapshot.map(Timestamp::to_iso).as_deref());
    if let Some(deleted) = &item.deleted {
        element(out, "Deleted", "true");
        element(out, "Version", &deleted.version);
    }
    out.push_str("<Properties>");
    element(out, "Last-Modified", &item.share.modified.to_http());
    element(out, "Etag", &item.share.etag.to_string());
    // Rule F12.
    let has_leases = Since::ShareLeases.is_in(listing.version);
    if has_leases {
        lease(out, item.share.lease.shown(listing.now), listing.version);
    }
    number(out, "Quota", item.share.quota_gib);
    settings(out, listing, &item.share, item.snapshot.is_none() && has_leases);
    element(out, "DefaultEncryptionScope", "$account-encryption-key");
    element(out, "DenyEncryptionScopeOverride", "false");
    if let Some(deleted) = &item.deleted {
        element(out, "DeletedTime", &deleted.deleted.to_http());
        number(out, "RemainingRetentionDays", deleted.remaining_days);
    }
    out.push_str("</Properties>");
    if listing.metadata {
        metadata(out, &item.share.metadata);
    }
    out.push_str("</Share>");
}

/// Observed: a snapshot's tier is not listed.
fn settings(out: &mut String, listing: &ShareListing<'_>, share: &Share, with_tier: bool) {
    use crate::file::describe;
    let has = |what: Since| what.is_in(listing.version);
    let given = describe::provisioned(share).filter(|_| has(Since::ProvisionedQuota));
    if let Some(given) = &given {
        number(out, "ProvisionedIops", given.iops);
        number(out, "ProvisionedIngressMBps", given.bandwidth_mibps);
        number(out, "ProvisionedEgressMBps", given.bandwidth_mibps);
        if has(Since::ProvisionedBandwidth) {
            number(out, "ProvisionedBandwidthMiBps", given.bandwidth_mibps);
        }
        element(out, "NextAllowedQuotaDowngradeTime", &given.downgrade_from.to_http());
    }
    let premium = share.tier == ShareTier::Premium || share.protocol == Protocol::Nfs;
    if with_tier {
        element(out, "AccessTier", describe::tier(share.tier));
        if !premium {
            element(out, "AccessTierChangeTime", &share.tier_changed.to_http());
        }
        optional(out, "AccessTierTransitionState", describe::transition(share, listing.now).as_deref());
    }
    if premium && has(Since::ShareProtocols) {
        element(out, "EnabledProtocols", describe::protocol(share.protocol));
    }
    optional(out, "RootSquash", share.root_squash.filter(|_| has(Since::ShareProtocols)).map(describe::squash));
    let flag = |value: Option<bool>| value.map(|value| value.to_string());
    let count = |value: Option<u64>| value.map(|value| value.to_string());
    if has(Since::SnapshotDirectory) {
        optional(out, "EnableSnapshotVirtualDirectoryAccess", flag(share.snapshot_directory).as_deref());
    }
    optional(out, "EnableSmbDirectoryLease", flag(share.smb_directory_lease).as_deref());
    if has(Since::PaidBursting) {
        optional(out, "PaidBurstingEnabled", flag(share.paid_bursting.enabled).as_deref());
        optional(out, "PaidBurstingMaxIops", count(share.paid_bursting.max_iops).as_deref());
        optional(out, "PaidBurstingMaxBandwidthMibps", count(share.paid_bursting.max_bandwidth_mibps).as_deref());
    }
    if let Some((given, burst)) = given.as_ref().and_then(|given| given.burst.as_ref().map(|burst| (given, burst)))
        && has(Since::Provisioned)
    {
        number(out, "IncludedBurstIops", burst.iops);
        number(out, "MaxBurstCreditsForIops", burst.credits);
        element(out, "NextAllowedProvisionedIopsDowngradeTime", &given.downgrade_from.to_http());
        element(out, "NextAllowedProvisionedBandwidthDowngradeTime", &given.downgrade_from.to_http());
    }
}

/// What List Directories and Files repeats of its request, and what it includes.
#[derive(Clone, Copy, Debug)]
pub struct EntryListing<'a> {
    /// With a slash at the end.
    pub endpoint: &'a str,
    pub share: &'a str,
    pub snapshot: Option<&'a str>,
    pub directory: &'a str,
    pub prefix: Option<&'a str>,
    pub marker: Option<&'a str>,
    pub max_results: Option<u32>,
    pub version: Version,
    pub timestamps: bool,
    pub etag: bool,
    pub attributes: bool,
    pub permission_key: bool,
}

pub fn entries(listing: &EntryListing<'_>, page: &EntryPage) -> Vec<u8> {
    let mut out = document(512 + page.items.len() * 192);
    out.push_str("<EnumerationResults");
    attribute(&mut out, "ServiceEndpoint", listing.endpoint);
    attribute(&mut out, "ShareName", listing.share);
    if let Some(snapshot) = listing.snapshot {
        attribute(&mut out, "ShareSnapshot", snapshot);
    }
    if must_encode(listing.directory, listing.version) {
        attribute(&mut out, "Encoded", "true");
        attribute(&mut out, "DirectoryPath", &encoded(listing.directory));
    } else {
        attribute(&mut out, "DirectoryPath", listing.directory);
    }
    out.push('>');
    if let Some(prefix) = listing.prefix {
        name(&mut out, "Prefix", prefix, listing.version);
    }
    optional(&mut out, "Marker", listing.marker);
    if let Some(most) = listing.max_results {
        number(&mut out, "MaxResults", most);
    }
    if Since::FileIds.is_in(listing.version) {
        number(&mut out, "DirectoryId", page.directory.shown());
    }
    surround(&mut out, "Entries", page.items.is_empty(), |out| {
        for item in &page.items {
            entry(out, listing, item);
        }
    });
    element(&mut out, "NextMarker", page.next.as_deref().unwrap_or_default());
    out.push_str("</EnumerationResults>");
    out.into_bytes()
}

fn must_encode(text: &str, version: Version) -> bool {
    Since::EncodedFileNames.is_in(version) && !text.chars().all(|c| is_char(c) && c != '\r')
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, IN_NAME).to_string().replace("%2F", "/")
}

fn name(out: &mut String, tag: &str, text: &str, version: Version) {
    if must_encode(text, version) {
        out.extend(["<", tag, " Encoded=\"true\">", &encoded(text), "</", tag, ">"]);
    } else {
        element(out, tag, text);
    }
}

fn entry(out: &mut String, listing: &EntryListing<'_>, item: &EntryItem) {
    let node = &item.node;
    let tag = match node.kind {
        Kind::Directory => "Directory",
        Kind::File | Kind::Symlink => "File",
    };
    out.extend(["<", tag, ">"]);
    name(out, "Name", &item.name, listing.version);
    if Since::FileIds.is_in(listing.version) {
        number(out, "FileId", node.id.shown());
    }
    let directory = node.kind == Kind::Directory;
    surround(out, "Properties", directory && !listing.timestamps && !listing.etag, |out| {
        if !directory {
            number(out, "Content-Length", node.length);
        }
        if listing.timestamps {
            element(out, "CreationTime", &node.smb.created.to_iso());
            // Reads are not noted down.
            element(out, "LastAccessTime", &node.smb.written.to_iso());
            element(out, "LastWriteTime", &node.smb.written.to_iso());
            element(out, "ChangeTime", &node.smb.changed.to_iso());
            element(out, "Last-Modified", &node.modified.to_http());
        }
        if listing.etag {
            element(out, "Etag", &node.etag.to_string());
        }
    });
    if listing.attributes {
        element(out, "Attributes", &node.smb.attributes.to_string());
    }
    if listing.permission_key {
        element(out, "PermissionKey", &node.smb.permission.to_string());
    }
    out.extend(["</", tag, ">"]);
}

pub fn handles(page: &HandlePage, marker: Option<&str>, max_results: Option<u32>, version: Version) -> Vec<u8> {
    let mut out = document(128 + page.items.len() * 384);
    out.push_str("<EnumerationResults>");
    optional(&mut out, "Marker", marker);
    if let Some(most) = max_results {
        number(&mut out, "MaxResults", most);
    }
    surround(&mut out, "Entries", page.items.is_empty(), |out| {
        for item in &page.items {
            handle(out, item, version);
        }
    });
    element(&mut out, "NextMarker", page.next.as_deref().unwrap_or_default());
    out.push_str("</EnumerationResults>");
    out.into_bytes()
}

fn handle(out: &mut String, item: &HandleItem, version: Version) {
    out.push_str("<Handle>");
    number(out, "HandleId", item.handle);
    name(out, "Path", &item.path, version);
    number(out, "FileId", item.file.shown());
    number(out, "ParentId", item.parent.shown());
    number(out, "SessionId", item.session);
    if Since::AccessRights.is_in(version) {
        surround(out, "AccessRightList", item.access == Access::default(), |out| {
            let rights = [(item.access.read, "Read"), (item.access.write, "Write"), (item.access.delete, "Delete")];
            for (_, right) in rights.into_iter().filter(|(has, _)| *has) {
                element(out, "AccessRight", right);
            }
        });
    }
    element(out, "ClientIp", &item.client);
    if Since::ClientNames.is_in(version) {
        element(out, "ClientName", &item.client_name);
    }
    element(out, "OpenTime", &item.opened.to_http());
    optional(out, "LastReconnectTime", item.reconnected.map(Timestamp::to_http).as_deref());
    out.push_str("</Handle>");
}

/// List Ranges. `next` is there when pages were asked for, and inside it where the next one begins, if there is one.
pub fn file_ranges(ranges: &[FileRange], next: Option<Option<u64>>) -> Vec<u8> {
    let mut out = document(64 + ranges.len() * 64);
    surround(&mut out, "Ranges", ranges.is_empty() && next.is_none(), |out| {
        for range in ranges {
            let tag = if range.cleared { "ClearRange" } else { "Range" };
            out.extend(["<", tag, ">"]);
            number(out, "Start", range.from);
            number(out, "End", range.to - 1);
            out.extend(["</", tag, ">"]);
        }
        if let Some(next) = next {
            element(out, "NextMarker", &next.map(|next| next.to_string()).unwrap_or_default());
        }
    });
    out.into_bytes()
}

pub fn share_stats(bytes: u64) -> Vec<u8> {
    let mut out = document(96);
    out.push_str("<ShareStats>");
    number(&mut out, "ShareUsageBytes", bytes);
    out.push_str("</ShareStats>");
    out.into_bytes()
}

/// Get File Service Properties. How long deleted shares are kept is said only when they are: Azure sets that elsewhere.
pub fn file_service_properties(properties: &ServiceProperties, version: Version) -> Vec<u8> {
    let mut out = document(1024);
    out.push_str("<StorageServiceProperties>");
    super::answers::metrics_and_cors(&mut out, properties);
    if Since::ProtocolSettings.is_in(version) {
        protocols(&mut out, &properties.protocols, version);
    }
    if let Some(days) = properties.delete_retention.days {
        out.push_str("<ShareDeleteRetentionPolicy><Enabled>true</Enabled>");
        number(&mut out, "Days", days);
        out.push_str("</ShareDeleteRetentionPolicy>");
    }
    out.push_str("</StorageServiceProperties>");
    out.into_bytes()
}

fn protocols(out: &mut String, settings: &ProtocolSettings, version: Version) {
    let encryption = |out: &mut String, required: bool| {
        out.push_str("<EncryptionInTransit>");
        element(out, "Required", if required { "true" } else { "false" });
        out.push_str("</EncryptionInTransit>");
    };
    out.push_str("<ProtocolSettings><SMB><Multichannel>");
    element(out, "Enabled", if settings.smb_multichannel { "true" } else { "false" });
    out.push_str("</Multichannel>");
    if Since::EncryptionInTransit.is_in(version) {
        encryption(out, settings.smb_encryption);
    }
    out.push_str("</SMB>");
    if Since::EncryptionInTransit.is_in(version) {
        out.push_str("<NFS>");
        encryption(out, settings.nfs_encryption);
        out.push_str("</NFS>");
    }
    out.push_str("</ProtocolSettings>");
}

const SHARED: [&str; 3] = ["HourMetrics", "MinuteMetrics", "Cors"];
const OWN: [&str; 2] = ["ProtocolSettings", "ShareDeleteRetentionPolicy"];

/// Set File Service Properties.
pub fn read_file_service_properties(body: &[u8]) -> Result<ServicePropertiesChange, Refusal> {
    let document = Document::expect(body, "StorageServiceProperties")?;
    if let Some(node) =
        document.root.children.iter().find(|node| !SHARED.contains(&node.name) && !OWN.contains(&node.name))
    {
        return Err(Refusal::UnsupportedXmlNode { name: node.name.to_owned() });
    }
    let shared = document.root.children.iter().filter(|node| SHARED.contains(&node.name));
    let mut change = read_sections(&document, shared)?;
    change.protocols = document.root.child("ProtocolSettings").map(read_protocols).transpose()?;
    change.delete_retention = document.root.child("ShareDeleteRetentionPolicy").map(read_retention).transpose()?;
    Ok(change)
}

fn read_flag(node: Option<&Node<'_>>, name: &'static str) -> Result<Option<bool>, Refusal> {
    let Some(text) = node.and_then(|node| node.text_of(name)) else { return Ok(None) };
    match text.to_ascii_lowercase().as_str() {
        "true" => Ok(Some(true)),
        "false" => Ok(Some(false)),
        _ => Err(Refusal::InvalidXmlNodeValue { name: name.into(), value: text.to_owned(), reason: "".into() }),
    }
}

fn read_protocols(node: &Node<'_>) -> Result<ProtocolSettingsChange, Refusal> {
    let (smb, nfs) = (node.child("SMB").or(node.child("Smb")), node.child("NFS").or(node.child("Nfs")));
    let encryption =
        |node: Option<&Node<'_>>| read_flag(node.and_then(|node| node.child("EncryptionInTransit")), "Required");
    Ok(ProtocolSettingsChange {
        smb_multichannel: read_flag(smb.and_then(|smb| smb.child("Multichannel")), "Enabled")?,
        smb_encryption: encryption(smb)?,
        nfs_encryption: encryption(nfs)?,
    })
}

fn read_retention(node: &Node<'_>) -> Result<Retention, Refusal> {
    let wrong =
        |value: &str| Refusal::InvalidXmlNodeValue { name: "Days".into(), value: value.to_owned(), reason: "".into() };
    if read_flag(Some(node), "Enabled")? != Some(true) {
        return Ok(Retention::default());
    }
    let text = node.text_of("Days").ok_or(Refusal::MissingRequiredXmlNode { name: "Days".into() })?;
    let days = text.parse().ok().filter(|days| (1..=365).contains(days)).ok_or_else(|| wrong(text))?;
    Ok(Retention { days: Some(days), allow_permanent_delete: None })
}

#[cfg(test)]
mod tests;
