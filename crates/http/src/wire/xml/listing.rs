//! List Containers and List Blobs. Elements and their order are those of recorded answers; which ones are there depends
//! on the version and on what the request includes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::access::PublicAccess;
use lazuli_model::blob::{Blob, Deleted, Encryption, Kind, Tier};
use lazuli_model::container::deleted::DeletionVersion;
use lazuli_model::lease::Shown;
use lazuli_model::{AccountSettings, Metadata, Timestamp, Version};
use lazuli_store::{BlobItem, BlobPage, ContainerItem, ContainerPage, Entry};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::answers::tag_set;
use super::{attribute, document, element, is_char, number, optional};
use crate::blob::copied::status_text;
use crate::blob::headers::{ShownTier, outcome_name, outcome_text};
use crate::blob::{encryption, headers, protection};
use crate::head::guid;
use crate::versions::Since;

pub const IN_NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What List Containers repeats of its request.
#[derive(Clone, Copy, Debug)]
pub struct ContainerListing<'a> {
    /// With a slash at the end.
    pub endpoint: &'a str,
    pub prefix: Option<&'a str>,
    pub marker: Option<&'a str>,
    pub max_results: Option<u32>,
    pub version: Version,
    pub now: Timestamp,
    pub metadata: bool,
    /// Whether the account allows it.
    pub immutability: bool,
}

/// What List Blobs repeats of its request, and what it includes.
#[derive(Clone, Copy, Debug)]
pub struct BlobListing<'a> {
    /// With a slash at the end.
    pub endpoint: &'a str,
    pub container: &'a str,
    pub prefix: Option<&'a str>,
    pub marker: Option<&'a str>,
    pub max_results: Option<u32>,
    pub delimiter: Option<&'a str>,
    pub version: Version,
    pub now: Timestamp,
    pub metadata: bool,
    pub tags: bool,
    pub copy: bool,
    /// The ids of versions.
    pub versions: bool,
    pub immutability_policy: bool,
    pub legal_hold: bool,
    pub settings: &'a AccountSettings,
}

/// What every listing of a service repeats of its request.
pub struct Repeated<'a> {
    /// With a slash at the end.
    pub endpoint: &'a str,
    pub prefix: Option<&'a str>,
    pub marker: Option<&'a str>,
    pub max_results: Option<u32>,
    /// The account is named instead of the endpoint.
    pub by_account: bool,
}

/// The document of such a listing: `items`, under the name that they have together.
pub fn enumeration<T>(
    repeated: &Repeated<'_>,
    (name, items): (&str, &[T]),
    next: Option<&str>,
    bytes_each: usize,
    mut each: impl FnMut(&mut String, &T),
) -> Vec<u8> {
    let mut out = document(512 + items.len() * bytes_each);
    out.push_str("<EnumerationResults");
    match repeated.by_account {
        false => attribute(&mut out, "ServiceEndpoint", repeated.endpoint),
        true => attribute(&mut out, "AccountName", repeated.endpoint.trim_end_matches('/')),
    }
    out.push('>');
    optional(&mut out, "Prefix", repeated.prefix);
    optional(&mut out, "Marker", repeated.marker);
    if let Some(most) = repeated.max_results {
        number(&mut out, "MaxResults", most);
    }
    surround(&mut out, name, items.is_empty(), |out| items.iter().for_each(|item| each(out, item)));
    element(&mut out, "NextMarker", next.unwrap_or_default());
    out.push_str("</EnumerationResults>");
    out.into_bytes()
}

pub fn containers(listing: &ContainerListing<'_>, page: &ContainerPage) -> Vec<u8> {
    let &ContainerListing { endpoint, prefix, marker, max_results, version, .. } = listing;
    let by_account = !Since::ServiceEndpoint.is_in(version);
    let repeated = Repeated { endpoint, prefix, marker, max_results, by_account };
    enumeration(&repeated, ("Containers", &page.items), page.next.as_deref(), 768, |out, item| {
        container(out, listing, item);
    })
}

pub fn surround(out: &mut String, name: &str, empty: bool, inside: impl FnOnce(&mut String)) {
    if empty {
        return element(out, name, "");
    }
    out.extend(["<", name, ">"]);
    inside(out);
    out.extend(["</", name, ">"]);
}

fn container(out: &mut String, listing: &ContainerListing<'_>, item: &ContainerItem) {
    let container = &item.container;
    out.push_str("<Container>");
    element(out, "Name", item.name.as_str());
    if let Some(deleted) = item.deleted {
        element(out, "Deleted", "true");
        element(out, "Version", &DeletionVersion(deleted.at).to_text());
    }
    if !Since::ServiceEndpoint.is_in(listing.version) {
        element(out, "Url", &format!("{}{}", listing.endpoint, item.name.as_str()));
    }
    out.push_str("<Properties>");
    element(out, "Last-Modified", &container.modified.to_http());
    element(out, "Etag", &container.etag.to_string());
    match item.deleted {
        None => lease(out, container.lease.shown(listing.now), listing.version),
        // Rule B22: the service itself leases it for half a minute, while it is being deleted; ours is gone at once.
        Some(_) => lease(out, Shown { status: "unlocked", state: "expired", duration: None }, listing.version),
    }
    match container.public {
        PublicAccess::Off => {}
        _ if !Since::PublicAccess.is_in(listing.version) => {}
        PublicAccess::Blob => element(out, "PublicAccess", "blob"),
        PublicAccess::Container => element(out, "PublicAccess", "container"),
    }
    if Since::EncryptionScopes.is_in(listing.version) {
        let (scope, deny) = encryption::shown(container.scope.as_ref());
        element(out, "DefaultEncryptionScope", scope);
        element(out, "DenyEncryptionScopeOverride", deny);
    }
    if Since::CreationTime.is_in(listing.version) {
        out.push_str("<HasImmutabilityPolicy>false</HasImmutabilityPolicy><HasLegalHold>false</HasLegalHold>");
    }
    if Since::VersionedImmutability.is_in(listing.version) {
        let enabled = if listing.immutability { "true" } else { "false" };
        element(out, "ImmutableStorageWithVersioningEnabled", enabled);
    }
    if let Some(deleted) = item.deleted {
        retention(out, deleted, listing.now);
    }
    out.push_str("</Properties>");
    if listing.metadata {
        metadata(out, &container.metadata);
    }
    out.push_str("</Container>");
}

fn retention(out: &mut String, deleted: Deleted, now: Timestamp) {
    element(out, "DeletedTime", &deleted.at.to_http());
    number(out, "RemainingRetentionDays", deleted.days_left(now));
}

pub fn lease(out: &mut String, shown: Shown, version: Version) {
    element(out, "LeaseStatus", shown.status);
    if Since::LeaseStates.is_in(version) {
        element(out, "LeaseState", shown.state);
        optional(out, "LeaseDuration", shown.duration);
    }
}

pub fn metadata(out: &mut String, metadata: &Metadata) {
    surround(out, "Metadata", metadata.is_empty(), |out| {
        for (name, value) in metadata.iter() {
            element(out, name, value);
        }
    });
}

pub fn blobs(listing: &BlobListing<'_>, page: &BlobPage) -> Vec<u8> {
    let mut out = document(512 + page.entries.len() * 1024);
    out.push_str("<EnumerationResults");
    match Since::ServiceEndpoint.is_in(listing.version) {
        true => {
            attribute(&mut out, "ServiceEndpoint", listing.endpoint);
            attribute(&mut out, "ContainerName", listing.container);
        }
        false => attribute(&mut out, "ContainerName", &format!("{}{}", listing.endpoint, listing.container)),
    }
    out.push('>');
    optional(&mut out, "Prefix", listing.prefix);
    optional(&mut out, "Marker", listing.marker);
    if let Some(most) = listing.max_results {
        number(&mut out, "MaxResults", most);
    }
    optional(&mut out, "Delimiter", listing.delimiter);
    surround(&mut out, "Blobs", page.entries.is_empty(), |out| {
        for entry in &page.entries {
            match entry {
                Entry::Blob(item) => blob(out, listing, item),
                Entry::Prefix(prefix) => {
                    out.push_str("<BlobPrefix>");
                    name(out, prefix, listing.version);
                    out.push_str("</BlobPrefix>");
                }
                Entry::Directory(item) => directory(out, listing, item),
            }
        }
    });
    element(&mut out, "NextMarker", page.next.as_deref().unwrap_or_default());
    out.push_str("</EnumerationResults>");
    out.into_bytes()
}

pub fn name(out: &mut String, name: &str, version: Version) {
    // A carriage return could be escaped, but readers of XML normalize it all the same.
    let plain = name.bytes().all(|b| (b' '..0x80).contains(&b)) || name.chars().all(|c| is_char(c) && c != '\r');
    if plain || !Since::EncodedNames.is_in(version) {
        return element(out, "Name", name);
    }
    out.push_str("<Name Encoded=\"true\">");
    out.extend(utf8_percent_encode(name, IN_NAME));
    out.push_str("</Name>");
}

/// A directory of a file system, in a listing by delimiter (observed).
fn directory(out: &mut String, listing: &BlobListing<'_>, item: &BlobItem) {
    out.push_str("<BlobPrefix>");
    name(out, &format!("{}/", item.name.as_str()), listing.version);
    out.push_str("<Properties>");
    content(out, listing, item);
    state(out, listing, item);
    out.push_str("</Properties></BlobPrefix>");
}

fn blob(out: &mut String, listing: &BlobListing<'_>, item: &BlobItem) {
    out.push_str("<Blob>");
    name(out, item.name.as_str(), listing.version);
    optional(out, "Snapshot", item.snapshot.map(Timestamp::to_iso).as_deref());
    if let Some(deletion) = item.deletion {
        number(out, "DeletionId", deletion);
    }
    history(out, listing, item);
    if !Since::ServiceEndpoint.is_in(listing.version) {
        element(out, "Url", &format!("{}{}/{}", listing.endpoint, listing.container, item.name.as_str()));
    }
    out.push_str("<Properties>");
    if item.uncommitted {
        number(out, "Content-Length", 0);
    } else {
        content(out, listing, item);
    }
    state(out, listing, item);
    out.push_str("</Properties>");
    if listing.metadata {
        match item.blob.encryption {
            // Only who has the key may read it.
            Encryption::Customer(_) => out.push_str("<Metadata Encrypted=\"true\" />"),
            Encryption::Service | Encryption::Scope(_) if crate::lake::is_directory(item) => {
                metadata(out, &crate::lake::folder_metadata(&item.blob.metadata));
            }
            Encryption::Service | Encryption::Scope(_) => metadata(out, &item.blob.metadata),
        }
    }
    if listing.tags && !item.blob.tags.is_empty() {
        tag_set(out, &item.blob.tags);
    }
    if Since::Replication.is_in(listing.version) {
        let outcomes = item.blob.replication.as_deref().map_or(&[][..], |replication| &replication.outcomes);
        surround(out, "OrMetadata", outcomes.is_empty(), |out| {
            for outcome in outcomes {
                element(out, &outcome_name(outcome), outcome_text(outcome));
            }
        });
    }
    out.push_str("</Blob>");
}

/// What a blob is among those of its name.
fn history(out: &mut String, listing: &BlobListing<'_>, item: &BlobItem) {
    let blob = &item.blob;
    if item.versions_only {
        return element(out, "HasVersionsOnly", "true");
    }
    if let Some(id) = blob.version.filter(|_| listing.versions) {
        element(out, "VersionId", &id.to_iso());
        if !blob.previous && blob.deleted.is_none() {
            element(out, "IsCurrentVersion", "true");
        }
    }
    if blob.deleted.is_some() {
        element(out, "Deleted", "true");
    }
}

fn content(out: &mut String, listing: &BlobListing<'_>, item: &BlobItem) {
    let blob = &item.blob;
    if Since::CreationTime.is_in(listing.version) {
        element(out, "Creation-Time", &blob.created.to_http());
    }
    element(out, "Last-Modified", &blob.modified.to_http());
    if let Some(deleted) = blob.deleted.filter(|_| item.deletion.is_some()) {
        element(out, "Expiry-Time", &deleted.until.to_http());
    }
    // Here, unlike in headers and in lists of containers, without quotes.
    element(out, "Etag", blob.etag.to_string().trim_matches('"'));
    let kind = item.node.as_ref().filter(|_| Since::ResourceType.is_in(listing.version));
    optional(out, "ResourceType", kind.map(|node| crate::lake::resource_type(node)));
    // A blob of which only versions are left has no bytes of its own (observed).
    number(out, "Content-Length", if item.versions_only { 0 } else { blob.content.length });
    let headers = &blob.headers;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let default = if crate::lake::is_directory(item) { "" } else { "application/octet-stream" };
    element(out, "Content-Type", headers.content_type.as_deref().unwrap_or(default));
    element(out, "Content-Encoding", &text(&headers.encoding));
    element(out, "Content-Language", &text(&headers.language));
    if Since::Crc64.is_in(listing.version) {
        let empty = item.deletion.is_some() && blob.content.length == 0;
        element(out, "Content-CRC64", if empty { "AAAAAAAAAAA=" } else { "" });
    }
    element(out, "Content-MD5", &headers.md5.as_ref().map(|md5| STANDARD.encode(md5)).unwrap_or_default());
    element(out, "Cache-Control", &text(&headers.cache_control));
    if Since::ContentDisposition.is_in(listing.version) {
        element(out, "Content-Disposition", &text(&headers.disposition));
    }
    if listing.settings.last_access_tracking {
        element(out, "LastAccessTime", &blob.last_access().to_http());
    }
}

fn state(out: &mut String, listing: &BlobListing<'_>, item: &BlobItem) {
    let blob = &item.blob;
    match blob.kind {
        Kind::Block => element(out, "BlobType", "BlockBlob"),
        Kind::Page { sequence } => {
            number(out, "x-ms-blob-sequence-number", sequence);
            element(out, "BlobType", "PageBlob");
        }
        Kind::Append { .. } => element(out, "BlobType", "AppendBlob"),
    }
    // Rule B28: snapshots had none.
    let has_tier = item.snapshot.is_none() || Since::SnapshotTiers.is_in(listing.version);
    if has_tier && Since::Tiers.is_in(listing.version) {
        tier(out, listing, blob);
    }
    // Only what is there, and current, has a lease to show.
    let is_base = item.snapshot.is_none() && (!blob.previous || item.versions_only);
    match blob.deleted {
        None if is_base => lease(out, blob.lease.shown(listing.now), listing.version),
        // Rule B29.
        Some(_) if is_base && !Since::RehydratePriority.is_in(listing.version) => element(out, "LeaseStatus", ""),
        Some(_) | None => {}
    }
    if listing.copy {
        copied(out, blob);
    }
    // Of a flat namespace; a hierarchical one says `true` of both (each observed).
    if Since::ServerEncrypted.is_in(listing.version) {
        element(out, "ServerEncrypted", if item.uncommitted { "false" } else { "true" });
    }
    if blob.kind == (Kind::Append { sealed: true }) {
        element(out, "Sealed", "true");
    }
    match &blob.encryption {
        Encryption::Service => {}
        Encryption::Customer(hash) => element(out, "CustomerProvidedKeySha256", &STANDARD.encode(hash)),
        Encryption::Scope(scope) => element(out, "EncryptionScope", scope),
    }
    optional(out, "Expiry-Time", blob.expires.map(Timestamp::to_http).as_deref());
    if let (Some(policy), true) = (blob.immutability, listing.immutability_policy) {
        element(out, "ImmutabilityPolicyUntilDate", &policy.until.to_http());
        element(out, "ImmutabilityPolicyMode", protection::mode_text(policy));
    }
    if let (Some(hold), true) = (blob.legal_hold, listing.legal_hold) {
        element(out, "LegalHold", if hold { "true" } else { "false" });
    }
    if !blob.tags.is_empty() && Since::Replication.is_in(listing.version) {
        number(out, "TagCount", blob.tags.len());
    }
    if let Some(deleted) = blob.deleted {
        retention(out, deleted, listing.now);
    }
}

fn copied(out: &mut String, blob: &Blob) {
    let Some(copy) = &blob.copy else { return };
    element(out, "CopyId", &guid(copy.id));
    element(out, "CopySource", &copy.source);
    element(out, "CopyStatus", status_text(copy.status));
    element(out, "CopyProgress", &format!("{}/{}", copy.done, copy.total));
    if let Some(completed) = copy.completed {
        element(out, "CopyCompletionTime", &completed.to_http());
    }
    if let Some(description) = &copy.description {
        element(out, "CopyStatusDescription", description);
    }
    if copy.incremental {
        element(out, "IncrementalCopy", "true");
        if let Some(snapshot) = copy.snapshot {
            element(out, "CopyDestinationSnapshot", &snapshot.to_iso());
        }
    }
}

fn tier(out: &mut String, listing: &BlobListing<'_>, blob: &Blob) {
    match headers::shown_tier(blob, listing.settings) {
        ShownTier::Set(tier) => element(out, "AccessTier", headers::tier_text(tier)),
        ShownTier::Inferred(tier) => {
            element(out, "AccessTier", headers::tier_text(tier));
            element(out, "AccessTierInferred", "true");
        }
        ShownTier::None => {}
    }
    if let Some(smart) = blob.smart_tier(listing.now).filter(|_| Since::SmartTier.is_in(listing.version)) {
        element(out, "SmartAccessTier", headers::tier_text(smart));
    }
    if let Some(back) = blob.rehydrating {
        element(out, "ArchiveStatus", &headers::archive_status(back));
        if Since::RehydratePriority.is_in(listing.version) {
            element(out, "RehydratePriority", headers::priority_text(back.priority));
        }
    }
    match (blob.tier, blob.tier_changed) {
        (Some(Tier::Premium(_)), _) | (_, None) => {}
        (_, Some(changed)) => element(out, "AccessTierChangeTime", &changed.to_http()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use lazuli_model::blob::{ContentHeaders, ContentRef};
    use lazuli_model::container::Container;
    use lazuli_model::{BlobName, ContainerName, ETag, Lease, Tags};

    const VERSION: Version = Version::new(2021, 8, 6);
    static DEFAULTS: LazyLock<AccountSettings> = LazyLock::new(AccountSettings::default);
    const ENDPOINT: &str = "https://storagename.blob.core.windows.net/";

    fn text(document: Vec<u8>) -> String {
        let text = String::from_utf8(document).expect("UTF-8");
        text.strip_prefix("\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>").expect("a declaration").to_owned()
    }

    fn at(time: &str) -> Timestamp {
        Timestamp::parse_http(time).expect("a time")
    }

    fn blob_listing<'a>() -> BlobListing<'a> {
        BlobListing {
            endpoint: ENDPOINT,
            container: "container5c212d17",
            prefix: None,
            marker: None,
            max_results: None,
            delimiter: None,
            version: VERSION,
            now: at("Thu, 18 Aug 2022 19:22:10 GMT"),
            metadata: false,
            tags: false,
            copy: false,
            versions: false,
            immutability_policy: false,
            legal_hold: false,
            settings: &DEFAULTS,
        }
    }

    fn item(name: &str) -> BlobItem {
        let time = at("Thu, 18 Aug 2022 19:22:10 GMT");
        let md5 = STANDARD.decode("XrY7u+Ae7tCTyyK7j1rNww==").ok();
        BlobItem {
            name: BlobName::parse(name).expect("a name"),
            snapshot: None,
            uncommitted: false,
            versions_only: false,
            node: None,
            deletion: None,
            blob: Blob {
                etag: ETag::parse("0x8DA814EF287BC44").expect("an ETag"),
                headers: ContentHeaders {
                    content_type: Some("application/octet-stream".to_owned()),
                    md5,
                    ..ContentHeaders::default()
                },
                ..Blob::new(Kind::Block, ContentRef { id: 1, length: 11, starts: vec![], blocks: 0, epoch: 0 }, time)
            },
        }
    }

    fn page(items: Vec<BlobItem>) -> BlobPage {
        BlobPage { entries: items.into_iter().map(|item| Entry::Blob(Box::new(item))).collect(), next: None }
    }

    const PROPERTIES: &str = "<Properties><Creation-Time>Thu, 18 Aug 2022 19:22:10 GMT</Creation-Time><Last-Modified>Thu, 18 Aug 2022 19:22:10 GMT</Last-Modified><Etag>0x8DA814EF287BC44</Etag><Content-Length>11</Content-Length><Content-Type>application/octet-stream</Content-Type><Content-Encoding /><Content-Language /><Content-CRC64 /><Content-MD5>XrY7u+Ae7tCTyyK7j1rNww==</Content-MD5><Cache-Control /><Content-Disposition /><BlobType>BlockBlob</BlobType><AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred>";
    const LEASED: &str = "<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>";
    const END: &str = "<ServerEncrypted>true</ServerEncrypted></Properties>";

    #[test]
    fn a_page_of_blobs_as_recorded() {
        let marker = "2!68!MDAwMDA1IWJsb2IzITAwMDAyOCE5OTk5LTEyLTMxVDIzOjU5OjU5Ljk5OTk5OTlaIQ--";
        let listing = BlobListing { marker: Some(marker), max_results: Some(2), ..blob_listing() };
        assert_eq!(
            text(blobs(&listing, &page(vec![item("blob3")]))),
            format!(
                "<EnumerationResults ServiceEndpoint=\"{ENDPOINT}\" ContainerName=\"container5c212d17\"><Marker>{marker}</Marker><MaxResults>2</MaxResults><Blobs><Blob><Name>blob3</Name>{PROPERTIES}{LEASED}{END}<OrMetadata /></Blob></Blobs><NextMarker /></EnumerationResults>"
            )
        );
    }

    #[test]
    fn an_empty_page_as_recorded() {
        assert_eq!(
            text(blobs(&blob_listing(), &page(vec![]))),
            format!(
                "<EnumerationResults ServiceEndpoint=\"{ENDPOINT}\" ContainerName=\"container5c212d17\"><Blobs /><NextMarker /></EnumerationResults>"
            )
        );
    }

    #[test]
    fn what_a_blob_shows() {
        let show = |listing: BlobListing<'_>, item: BlobItem| {
            let text = text(blobs(&listing, &page(vec![item])));
            let from = text.find("<Blob>").expect("a blob") + "<Blob>".len();
            text[from..text.find("</Blob>").expect("its end")].to_owned()
        };
        let plain = blob_listing();
        let mut snapshot = item("b");
        snapshot.snapshot = Timestamp::parse_iso("2022-08-01T23:15:21.0293116Z");
        assert_eq!(
            show(plain, snapshot),
            format!("<Name>b</Name><Snapshot>2022-08-01T23:15:21.0293116Z</Snapshot>{PROPERTIES}{END}<OrMetadata />")
        );
        let mut uncommitted = item("b");
        uncommitted.uncommitted = true;
        assert_eq!(
            show(plain, uncommitted),
            format!(
                "<Name>b</Name><Properties><Content-Length>0</Content-Length><BlobType>BlockBlob</BlobType><AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred>{LEASED}<ServerEncrypted>false</ServerEncrypted></Properties><OrMetadata />"
            )
        );
        let mut described = item("b");
        described.blob.metadata = Metadata::new(vec![("number".into(), "1".into())]).expect("metadata");
        described.blob.tags = Tags::new(vec![("tag1".into(), "a&b".into())]).unwrap_or_default();
        let all = BlobListing { metadata: true, ..plain };
        let shown = show(all, described);
        assert!(shown.ends_with("</Properties><Metadata><number>1</number></Metadata><OrMetadata />"), "{shown}");
        assert!(show(all, item("b")).ends_with("</Properties><Metadata /><OrMetadata />"));
        let old = BlobListing { version: Version::new(2018, 11, 9), ..plain };
        let shown = show(old, item("b"));
        assert!(!shown.contains("CRC64") && shown.ends_with("</Properties>"), "{shown}");
    }

    /// Rule B29.
    #[test]
    fn b29_what_was_deleted_softly_is_listed_as_of_old() {
        let mut gone = item("b");
        let at = gone.blob.modified;
        gone.blob.deleted = Some(Deleted { at, until: at.plus_seconds(86_400) });
        let old = BlobListing { version: Version::new(2018, 11, 9), ..blob_listing() };
        assert!(text(blobs(&old, &page(vec![gone.clone()]))).contains("<LeaseStatus /><ServerEncrypted>"));
        assert!(!text(blobs(&blob_listing(), &page(vec![gone]))).contains("LeaseStatus"));
    }

    #[test]
    fn names_that_xml_cannot_hold_are_encoded() {
        let table = [
            ("dir1/dir2/file\u{ffff}.blob", "<Name Encoded=\"true\">dir1%2Fdir2%2Ffile%EF%BF%BF.blob</Name>"),
            ("a&b<c>", "<Name>a&amp;b&lt;c&gt;</Name>"),
            ("啊齄", "<Name>啊齄</Name>"),
            ("a\u{1}", "<Name Encoded=\"true\">a%01</Name>"),
        ];
        for (given, expected) in table {
            let mut out = String::new();
            name(&mut out, given, VERSION);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn prefixes_stand_among_blobs() {
        let listing = BlobListing { prefix: Some("a/"), delimiter: Some("/"), ..blob_listing() };
        let page = BlobPage { entries: vec![Entry::Prefix("a/b/".to_owned())], next: Some("m".to_owned()) };
        assert_eq!(
            text(blobs(&listing, &page)),
            format!(
                "<EnumerationResults ServiceEndpoint=\"{ENDPOINT}\" ContainerName=\"container5c212d17\"><Prefix>a/</Prefix><Delimiter>/</Delimiter><Blobs><BlobPrefix><Name>a/b/</Name></BlobPrefix></Blobs><NextMarker>m</NextMarker></EnumerationResults>"
            )
        );
    }

    #[test]
    fn containers_as_recorded() {
        let container = Container {
            id: 1,
            hierarchical: false,
            scope: None,
            etag: ETag::parse("0x8DA741358DE4884").expect("an ETag"),
            modified: at("Mon, 01 Aug 2022 23:12:47 GMT"),
            metadata: Metadata::new(vec![("hello".into(), "world".into()), ("number".into(), "42".into())])
                .expect("metadata"),
            public: PublicAccess::Blob,
            policies: vec![],
            lease: Lease::Available,
        };
        let item = ContainerItem {
            name: ContainerName::parse("container752931b0").expect("a name"),
            container,
            deleted: None,
        };
        let listing = ContainerListing {
            endpoint: ENDPOINT,
            prefix: Some("container752931b0"),
            marker: None,
            max_results: None,
            version: VERSION,
            now: at("Mon, 01 Aug 2022 23:12:47 GMT"),
            metadata: true,
            immutability: false,
        };
        assert_eq!(
            text(containers(&listing, &ContainerPage { items: vec![item], next: None })),
            format!(
                "<EnumerationResults ServiceEndpoint=\"{ENDPOINT}\"><Prefix>container752931b0</Prefix><Containers><Container><Name>container752931b0</Name><Properties><Last-Modified>Mon, 01 Aug 2022 23:12:47 GMT</Last-Modified><Etag>\"0x8DA741358DE4884\"</Etag><LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState><PublicAccess>blob</PublicAccess><DefaultEncryptionScope>$account-encryption-key</DefaultEncryptionScope><DenyEncryptionScopeOverride>false</DenyEncryptionScopeOverride><HasImmutabilityPolicy>false</HasImmutabilityPolicy><HasLegalHold>false</HasLegalHold><ImmutableStorageWithVersioningEnabled>false</ImmutableStorageWithVersioningEnabled></Properties><Metadata><hello>world</hello><number>42</number></Metadata></Container></Containers><NextMarker /></EnumerationResults>"
            )
        );
    }
}
