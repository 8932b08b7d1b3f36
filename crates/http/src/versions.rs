//! What came, or changed, with which version of the API: one table for all services. An answer follows the version of its request, from the
//! oldest that clients still send to the newest.
//!
//! The sources are the reference ("Versioning for the Azure Storage services" and the pages of the operations) and recorded answers; rules that were
//! observed have their numbers (docs/rules.md). What signatures are made of has versions of its own, in `auth`.

use http::{HeaderMap, HeaderName};
use lazuli_model::Version;

use crate::head::{Head, Service};
use crate::operation::On;

/// Makes [`Since`] of rows: what came, and when.
macro_rules! since {
    ($($(#[$doc:meta])* $name:ident = $year:literal - $month:literal - $day:literal,)*) => {
        /// Something that requests can say, or answers have, since a version.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Since {
            $($(#[$doc])* $name,)*
        }

        impl Since {
            pub const ALL: &[Since] = &[$(Since::$name),*];

            pub fn is_in(self, version: Version) -> bool {
                version >= self.version()
            }

            pub const fn version(self) -> Version {
                match self {
                    $(Since::$name => Version::new($year, $month, $day),)*
                }
            }
        }
    };
}

since! {
    /// Blob, Queue: listings name the endpoint, and have no addresses any more.
    ServiceEndpoint = 2013-8-15,
    /// Blob: the headers of content may say how it is to be presented.
    ContentDisposition = 2013-8-15,
    /// Blob: `LeaseState`, `LeaseDuration` and the `Copy…` of listings.
    LeaseStates = 2012-2-12,
    /// Blob: `ServerEncrypted` in listings.
    ServerEncrypted = 2015-12-11,
    /// Blob: what one Put Blob or Put Block may carry, first step.
    LargerBlocks = 2016-5-31,
    /// Queue: Put Message tells what it made.
    MessageTold = 2016-5-31,
    /// Blob: `PublicAccess` in listings.
    PublicAccess = 2016-5-31,
    /// Blob: tiers in listings.
    Tiers = 2017-4-17,
    /// All: refusals have their code in a header, too ("Status and error codes").
    ErrorCodeHeader = 2017-7-29,
    /// Blob: soft delete among the properties of the service.
    SoftDelete = 2017-7-29,
    /// Blob: static websites among the properties of the service.
    StaticWebsites = 2018-3-28,
    /// Blob: `Creation-Time`, `HasImmutabilityPolicy` and `HasLegalHold` in listings.
    CreationTime = 2017-11-9,
    /// Blob: digests other than MD5 (rule B27).
    Crc64 = 2019-2-2,
    /// Blob: a snapshot has a tier, and its reads do not repeat its time (rule B28).
    SnapshotTiers = 2019-2-2,
    /// Blob: `RehydratePriority`, `AllowPermanentDelete`; what was deleted softly is listed without a lease (rule B29).
    RehydratePriority = 2019-2-2,
    /// Blob: scopes in listings of containers.
    EncryptionScopes = 2019-7-7,
    /// Blob: what one Put Blob or Put Block may carry, second step.
    LargestBlocks = 2019-12-12,
    /// Blob: `OrMetadata`, and `TagCount` in listings.
    Replication = 2019-12-12,
    /// Blob: `ImmutableStorageWithVersioningEnabled`.
    VersionedImmutability = 2020-10-2,
    /// Blob: what is in a file system says whether it is a file or a directory.
    ResourceType = 2020-10-2,
    /// Blob: what is in a file system says whose it is.
    PathOwners = 2020-6-12,
    /// Data Lake: a create says that what it made is encrypted; a rename has an ETag.
    PathEncrypted = 2020-8-4,
    /// Data Lake: a create that finds the path taken says by what.
    ExistingPath = 2022-11-2,
    /// Data Lake: lists have the time of creation.
    PathCreated = 2020-2-10,
    /// Data Lake: lists have the time of expiry; a delete says whether it is for good.
    PathExpiry = 2021-2-12,
    /// Data Lake: reads tell the access control list.
    PathAcl = 2023-11-3,
    /// Data Lake: a create or rename may be named by its client, and the path tells the name ("Path - Get Properties"; HADOOP-19450).
    ClientTransaction = 2024-11-4,
    /// Blob: names that XML cannot hold are encoded in listings.
    EncodedNames = 2021-2-12,
    /// Blob: page ranges come in pages.
    PagedRanges = 2021-6-8,
    /// Blob: Copy Blob From URL tells that its copy is encrypted (rule B5).
    CopyEncrypted = 2021-8-6,
    /// Blob: the tier `Cold` can be asked for.
    ColdTier = 2021-12-2,
    /// Blob: tags can be read and set on conditions about their blob.
    TagConditions = 2026-2-6,
    /// Blob: the tier `Smart` can be asked for, and where it keeps a blob is told.
    SmartTier = 2026-6-6,
    /// Blob: a SAS that may create may do it block by block.
    CreateByBlocks = 2026-6-6,
    /// Blob: a listing ends before `endBefore`.
    EndBefore = 2026-10-6,
    /// Blob: Append Block takes 100 MiB.
    LargerAppends = 2022-11-2,
    /// Blob, File: what the source of a copy said is told by header.
    SourceFault = 2025-11-5,
    /// Blob: listings in Arrow.
    Arrow = 2026-10-6,
    /// Blob: Get Blob tells the tier.
    TierOfContent = 2026-10-6,
    /// Blob: writes that were given an MD5 return the CRC64 besides.
    BothDigests = 2026-10-6,
    /// Table, without credentials: NoAuthenticationInformation (rule T5).
    TableChallenge = 2020-12-6,
    /// File: leases of files (rule F12).
    FileLeases = 2019-2-2,
    /// File: attributes, times and permissions.
    SmbProperties = 2019-2-2,
    /// File: leases and tiers of shares (rule F12).
    ShareLeases = 2020-2-10,
    /// File: a share says what is provisioned for it.
    ProvisionedQuota = 2019-7-7,
    /// File: protocols of shares, and what their roots may.
    ShareProtocols = 2020-2-10,
    /// File: the bandwidth of a provisioned share, both ways.
    ProvisionedBandwidth = 2021-2-12,
    /// File: whether snapshots can be seen as directories.
    SnapshotDirectory = 2024-8-4,
    /// File: bursts that are paid for.
    PaidBursting = 2024-11-4,
    /// File: settings of SMB among the properties of the service.
    ProtocolSettings = 2020-2-10,
    /// File: ids in listings of directories.
    FileIds = 2020-10-2,
    /// File: attributes, times and permissions need not be said; Put Range tells the time of the last write.
    SmbOptional = 2021-6-8,
    /// File: what is made has the ETag and the date of the call, whatever its time of creation is said to be (rule F13).
    CreatedNow = 2021-10-4,
    /// File: names that XML cannot hold are encoded in listings.
    EncodedFileNames = 2021-12-2,
    /// File: rights of handles.
    AccessRights = 2023-1-3,
    /// File: names of the clients that have handles.
    ClientNames = 2024-2-4,
    /// File: provisioned shares tell their IOPS and bandwidth.
    Provisioned = 2025-1-5,
    /// File: owners, groups and modes.
    Posix = 2025-5-5,
    /// File: encryption in transit among the properties of the service.
    EncryptionInTransit = 2026-2-6,
    /// File: Create File may carry data.
    CreateWithData = 2026-6-6,
    /// File: ranges come in pages.
    PagedFileRanges = 2026-10-6,
}

/// What one Put Blob may carry now.
pub const PUT_BLOB_MAX: u64 = 5000 << 20;
pub const PUT_BLOCK_MAX: u64 = 4000 << 20;
pub const APPEND_BLOCK_MAX: u64 = 100 << 20;

/// What one Put Blob may carry grew twice, and so did Put Block ("Scalability and performance targets for Blob Storage").
pub fn put_blob_max(version: Version) -> u64 {
    grown(version, [64 << 20, 256 << 20, PUT_BLOB_MAX])
}

pub fn put_block_max(version: Version) -> u64 {
    grown(version, [4 << 20, 100 << 20, PUT_BLOCK_MAX])
}

fn grown(version: Version, [first, second, third]: [u64; 3]) -> u64 {
    match (Since::LargerBlocks.is_in(version), Since::LargestBlocks.is_in(version)) {
        (_, true) => third,
        (true, false) => second,
        (false, false) => first,
    }
}

/// "Append Block".
pub fn append_block_max(version: Version) -> u64 {
    if Since::LargerAppends.is_in(version) { APPEND_BLOCK_MAX } else { 4 << 20 }
}

impl Head {
    pub fn has(&self, what: Since) -> bool {
        self.version >= what.version()
    }

    pub fn lacks(&self, what: Since) -> bool {
        !self.has(what)
    }
}

/// Headers of answers, and the version that each came with. Those of files have [`Since`], because the same names are of several kinds of things.
const OF_BLOBS: &[(&str, Version)] = &[
    ("accept-ranges", Version::new(2011, 8, 18)),
    ("x-ms-lease-state", Version::new(2012, 2, 12)),
    ("x-ms-lease-duration", Version::new(2012, 2, 12)),
    ("x-ms-copy-id", Version::new(2012, 2, 12)),
    ("x-ms-copy-source", Version::new(2012, 2, 12)),
    ("x-ms-copy-status", Version::new(2012, 2, 12)),
    ("x-ms-copy-status-description", Version::new(2012, 2, 12)),
    ("x-ms-copy-progress", Version::new(2012, 2, 12)),
    ("x-ms-copy-completion-time", Version::new(2012, 2, 12)),
    ("content-disposition", Version::new(2013, 8, 15)),
    ("x-ms-blob-committed-block-count", Version::new(2015, 2, 21)),
    ("x-ms-server-encrypted", Version::new(2015, 12, 11)),
    ("x-ms-request-server-encrypted", Version::new(2015, 12, 11)),
    ("x-ms-blob-content-md5", Version::new(2016, 5, 31)),
    ("x-ms-incremental-copy", Version::new(2016, 5, 31)),
    ("x-ms-copy-destination-snapshot", Version::new(2016, 5, 31)),
    ("x-ms-access-tier", Version::new(2017, 4, 17)),
    ("x-ms-access-tier-inferred", Version::new(2017, 4, 17)),
    ("x-ms-access-tier-change-time", Version::new(2017, 4, 17)),
    ("x-ms-archive-status", Version::new(2017, 4, 17)),
    ("x-ms-delete-type-permanent", Version::new(2017, 7, 29)),
    ("x-ms-creation-time", Version::new(2017, 11, 9)),
    ("x-ms-has-immutability-policy", Version::new(2017, 11, 9)),
    ("x-ms-has-legal-hold", Version::new(2017, 11, 9)),
    ("x-ms-rehydrate-priority", Since::RehydratePriority.version()),
    ("x-ms-default-encryption-scope", Version::new(2019, 2, 2)),
    ("x-ms-deny-encryption-scope-override", Version::new(2019, 2, 2)),
    ("x-ms-is-hns-enabled", Version::new(2019, 7, 7)),
    ("x-ms-version-id", Version::new(2019, 12, 12)),
    ("x-ms-is-current-version", Version::new(2019, 12, 12)),
    ("x-ms-tag-count", Version::new(2019, 12, 12)),
    ("x-ms-blob-sealed", Version::new(2019, 12, 12)),
    ("x-ms-last-access-time", Version::new(2020, 2, 10)),
    ("x-ms-expiry-time", Version::new(2020, 2, 10)),
    ("x-ms-immutability-policy-until-date", Version::new(2020, 6, 12)),
    ("x-ms-immutability-policy-mode", Version::new(2020, 6, 12)),
    ("x-ms-legal-hold", Version::new(2020, 6, 12)),
    ("x-ms-immutable-storage-with-versioning-enabled", Since::VersionedImmutability.version()),
];

const OF_SHARES: &[(&str, Version)] = &[
    ("x-ms-share-next-allowed-quota-downgrade-time", Since::ProvisionedQuota.version()),
    ("x-ms-share-provisioned-iops", Since::ProvisionedQuota.version()),
    ("x-ms-share-provisioned-ingress-mbps", Since::ProvisionedQuota.version()),
    ("x-ms-share-provisioned-egress-mbps", Since::ProvisionedQuota.version()),
    ("x-ms-lease-status", Since::ShareLeases.version()),
    ("x-ms-lease-state", Since::ShareLeases.version()),
    ("x-ms-lease-duration", Since::ShareLeases.version()),
    ("x-ms-access-tier", Since::ShareLeases.version()),
    ("x-ms-access-tier-change-time", Since::ShareLeases.version()),
    ("x-ms-access-tier-transition-state", Since::ShareLeases.version()),
    ("x-ms-enabled-protocols", Since::ShareProtocols.version()),
    ("x-ms-root-squash", Since::ShareProtocols.version()),
    ("x-ms-share-provisioned-bandwidth-mibps", Since::ProvisionedBandwidth.version()),
    ("x-ms-enable-snapshot-virtual-directory-access", Since::SnapshotDirectory.version()),
    ("x-ms-share-paid-bursting-enabled", Since::PaidBursting.version()),
    ("x-ms-share-paid-bursting-max-iops", Since::PaidBursting.version()),
    ("x-ms-share-paid-bursting-max-bandwidth-mibps", Since::PaidBursting.version()),
];

const OF_FILES: &[(&str, Version)] = &[
    ("x-ms-server-encrypted", Version::new(2017, 4, 17)),
    ("x-ms-request-server-encrypted", Version::new(2017, 4, 17)),
    ("x-ms-lease-status", Since::FileLeases.version()),
    ("x-ms-lease-state", Since::FileLeases.version()),
    ("x-ms-lease-duration", Since::FileLeases.version()),
    ("x-ms-number-of-handles-failed", Version::new(2019, 7, 7)),
];

/// Headers of requests, and the version that each came with. An earlier request that has one has sent a header that the service does not know, and
/// passes over.
const ASKED_OF_BLOBS: &[(&str, Version)] = &[
    ("x-ms-client-transaction-id", Since::ClientTransaction.version()),
    ("x-ms-blob-if-match", Since::TagConditions.version()),
    ("x-ms-blob-if-none-match", Since::TagConditions.version()),
    ("x-ms-blob-if-modified-since", Since::TagConditions.version()),
    ("x-ms-blob-if-unmodified-since", Since::TagConditions.version()),
    ("x-ms-source-encryption-key", Version::new(2026, 2, 6)),
    ("x-ms-source-encryption-key-sha256", Version::new(2026, 2, 6)),
    ("x-ms-source-encryption-algorithm", Version::new(2026, 2, 6)),
    ("x-ms-access-tier-if-modified-since", Version::new(2026, 4, 6)),
    ("x-ms-access-tier-if-unmodified-since", Version::new(2026, 4, 6)),
];

const ASKED_OF_FILES: &[(&str, Version)] = &[
    ("x-ms-allow-trailing-dot", Version::new(2022, 11, 2)),
    ("x-ms-source-allow-trailing-dot", Version::new(2022, 11, 2)),
    ("x-ms-enable-snapshot-virtual-directory-access", Version::new(2024, 8, 4)),
    ("x-ms-file-permission-format", Version::new(2024, 11, 4)),
    ("x-ms-share-paid-bursting-enabled", Version::new(2024, 11, 4)),
    ("x-ms-share-paid-bursting-max-iops", Version::new(2024, 11, 4)),
    ("x-ms-share-paid-bursting-max-bandwidth-mibps", Version::new(2024, 11, 4)),
    ("x-ms-share-provisioned-iops", Since::Provisioned.version()),
    ("x-ms-share-provisioned-bandwidth-mibps", Since::Provisioned.version()),
    ("x-ms-mode", Since::Posix.version()),
    ("x-ms-owner", Since::Posix.version()),
    ("x-ms-group", Since::Posix.version()),
    ("x-ms-file-file-type", Since::Posix.version()),
    ("x-ms-file-property-semantics", Version::new(2026, 6, 6)),
];

/// The headers that a request of `version` cannot mean.
pub fn unknown_to(service: Service, version: Version) -> impl Iterator<Item = &'static str> {
    let table = match service {
        Service::Blob | Service::Dfs => ASKED_OF_BLOBS,
        Service::File => ASKED_OF_FILES,
        Service::Queue | Service::Table => &[],
    };
    // The newest row is last: most requests are newer than all.
    table.iter().rev().take_while(move |(_, since)| version < *since).map(|(name, _)| *name)
}

/// Takes away what an answer of `version` did not have yet.
pub fn strip(on: On, version: Version, headers: &mut HeaderMap) {
    let table = match on {
        On::Service | On::Container | On::Blob => OF_BLOBS,
        On::Share => OF_SHARES,
        On::Directory | On::File => OF_FILES,
        On::Queue | On::Messages | On::Message => return,
        On::Tables | On::Table | On::Entities | On::Entity | On::Batch => return,
    };
    // The newest row is last: most requests are newer than all.
    let newer = table.iter().rev().take_while(|(_, since)| version < *since);
    for (name, _) in newer {
        headers.remove(HeaderName::from_static(name));
    }
    // What came of rules of replication has a header for each.
    if Since::Replication.version() > version && matches!(on, On::Blob) {
        let told: Vec<_> = headers.keys().filter(|name| name.as_str().starts_with("x-ms-or-")).cloned().collect();
        for name in told {
            headers.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    /// So that [`strip`] can stop at the first row that is old enough.
    #[test]
    fn rows_are_in_the_order_of_versions() {
        for table in [OF_BLOBS, OF_SHARES, OF_FILES, ASKED_OF_BLOBS, ASKED_OF_FILES] {
            assert!(table.is_sorted_by_key(|(_, since)| *since));
        }
        for since in Since::ALL {
            assert!((Version::OLDEST..=Version::NEWEST).contains(&since.version()), "{since:?}");
        }
    }

    #[test]
    fn what_a_request_may_carry_grew() {
        let mib = |bytes: u64| bytes >> 20;
        let table = [
            ((2015, 2, 21), 64, 4, 4),
            ((2016, 5, 31), 256, 100, 4),
            ((2018, 11, 9), 256, 100, 4),
            ((2019, 12, 12), 5000, 4000, 4),
            ((2022, 11, 2), 5000, 4000, 100),
        ];
        for ((year, month, day), blob, block, append) in table {
            let version = Version::new(year, month, day);
            let got = [put_blob_max(version), put_block_max(version), append_block_max(version)].map(mib);
            assert_eq!(got, [blob, block, append], "{version}");
        }
    }

    #[test]
    fn requests_have_the_headers_of_their_version() {
        let table = [
            (Service::File, (2021, 12, 2), "x-ms-allow-trailing-dot", true),
            (Service::File, (2022, 11, 2), "x-ms-allow-trailing-dot", false),
            (Service::File, (2024, 8, 4), "x-ms-file-permission-format", true),
            (Service::File, (2024, 11, 4), "x-ms-file-permission-format", false),
            (Service::File, (2025, 1, 5), "x-ms-owner", true),
            (Service::File, (2026, 10, 6), "x-ms-file-property-semantics", false),
            // There it is as old as Data Lake.
            (Service::Dfs, (2019, 12, 12), "x-ms-owner", false),
            (Service::Blob, (2026, 2, 6), "x-ms-access-tier-if-modified-since", true),
            (Service::Blob, (2026, 4, 6), "x-ms-access-tier-if-modified-since", false),
            (Service::Queue, (2009, 9, 19), "x-ms-owner", false),
        ];
        for (service, (year, month, day), name, unknown) in table {
            let version = Version::new(year, month, day);
            assert_eq!(
                unknown_to(service, version).any(|other| other == name),
                unknown,
                "{service:?} {version} {name}"
            );
        }
    }

    fn kept(on: On, version: Version, names: &[&'static str]) -> Vec<&'static str> {
        let mut headers = HeaderMap::new();
        for name in names {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static("x"));
        }
        strip(on, version, &mut headers);
        names.iter().copied().filter(|name| headers.contains_key(*name)).collect()
    }

    /// Rules B29, B30 and F12.
    #[test]
    fn answers_have_the_headers_of_their_version() {
        let blob =
            ["etag", "x-ms-lease-status", "x-ms-server-encrypted", "x-ms-creation-time", "x-ms-rehydrate-priority"];
        let leased = ["etag", "x-ms-lease-state", "x-ms-access-tier"];
        type Row<'a> = (On, &'a [&'static str], (u32, u32, u32), usize);
        let table: &[Row<'_>] = &[
            (On::Blob, &blob, (2009, 9, 19), 2),
            (On::Blob, &blob, (2014, 2, 14), 2),
            (On::Blob, &blob, (2015, 12, 11), 3),
            (On::Blob, &blob, (2018, 11, 9), 4),
            (On::Blob, &blob, (2019, 2, 2), 5),
            (On::Blob, &["etag", "x-ms-or-policy-id", "x-ms-or-a_b"], (2019, 7, 7), 1),
            (On::Blob, &["etag", "x-ms-or-policy-id", "x-ms-or-a_b"], (2019, 12, 12), 3),
            (On::Share, &leased, (2018, 11, 9), 1),
            (On::Share, &leased, (2019, 7, 7), 1),
            (On::Share, &leased, (2020, 2, 10), 3),
            (On::File, &leased[..2], (2018, 11, 9), 1),
            (On::File, &leased[..2], (2019, 2, 2), 2),
            (On::File, &["etag", "x-ms-server-encrypted"], (2016, 5, 31), 1),
            (On::File, &["etag", "x-ms-server-encrypted"], (2017, 4, 17), 2),
            (On::Share, &["etag", "x-ms-share-provisioned-bandwidth-mibps"], (2020, 10, 2), 1),
            (On::Share, &["etag", "x-ms-share-paid-bursting-enabled"], (2024, 8, 4), 1),
            (On::Share, &["etag", "x-ms-share-paid-bursting-enabled"], (2024, 11, 4), 2),
            (On::Queue, &leased, (2009, 9, 19), 3),
        ];
        for (on, names, (year, month, day), count) in table {
            let version = Version::new(*year, *month, *day);
            assert_eq!(kept(*on, version, names), names[..*count], "{on:?} {version}");
        }
    }
}
