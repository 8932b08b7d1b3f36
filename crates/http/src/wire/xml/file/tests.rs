//! Documents as the service was recorded to send them.

use lazuli_model::ETag;
use lazuli_model::Lease;
use lazuli_model::Metadata;
use lazuli_model::file::{FileId, PaidBursting, ShareName};
use lazuli_store::DeletedShare;

use super::*;

use crate::refusal::Refusal;

const ENDPOINT: &str = "https://storagename.file.core.windows.net/";

fn text(document: Vec<u8>) -> String {
    let text = String::from_utf8(document).expect("UTF-8");
    text.strip_prefix("\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>").expect("a declaration").to_owned()
}

fn at(time: &str) -> Timestamp {
    Timestamp::parse_http(time).expect("a time")
}

fn item() -> ShareItem {
    let time = at("Fri, 07 Oct 2022 21:26:01 GMT");
    let share = Share {
        etag: ETag::parse("0x8DAA8AA88D3C3DE").expect("an ETag"),
        modified: time,
        quota_gib: 5120,
        tier: ShareTier::TransactionOptimized,
        tier_changed: time,
        tier_before: None,
        protocol: Protocol::Smb,
        root_squash: None,
        snapshot_directory: None,
        smb_directory_lease: None,
        paid_bursting: PaidBursting::default(),
        provisioned_iops: None,
        provisioned_bandwidth_mibps: None,
        metadata: Metadata::default(),
        policies: vec![],
        lease: Lease::Available,
    };
    ShareItem { name: ShareName::parse("sharerestoreeed3270a").expect("a name"), snapshot: None, deleted: None, share }
}

fn listed(item: ShareItem, metadata: bool) -> String {
    let listing = ShareListing {
        endpoint: ENDPOINT,
        prefix: None,
        marker: None,
        max_results: None,
        version: Version::new(2021, 6, 8),
        now: at("Fri, 07 Oct 2022 21:26:02 GMT"),
        metadata,
    };
    text(shares(&listing, &SharePage { items: vec![item], next: None }))
}

const STAMPS: &str = "<Properties><Last-Modified>Fri, 07 Oct 2022 21:26:01 GMT</Last-Modified><Etag>\"0x8DAA8AA88D3C3DE\"</Etag><LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState><Quota>5120</Quota>";
const TIER: &str = "<AccessTier>TransactionOptimized</AccessTier><AccessTierChangeTime>Fri, 07 Oct 2022 21:26:01 GMT</AccessTierChangeTime>";
const SCOPES: &str = "<DefaultEncryptionScope>$account-encryption-key</DefaultEncryptionScope><DenyEncryptionScopeOverride>false</DenyEncryptionScopeOverride>";

#[test]
fn shares_as_recorded() {
    let head =
        format!("<EnumerationResults ServiceEndpoint=\"{ENDPOINT}\"><Shares><Share><Name>sharerestoreeed3270a</Name>");
    let end = "</Share></Shares><NextMarker /></EnumerationResults>";
    assert_eq!(listed(item(), false), format!("{head}{STAMPS}{TIER}{SCOPES}</Properties>{end}"));
    let snapshot = ShareItem { snapshot: Timestamp::parse_iso("2022-10-07T22:53:33.0000000Z"), ..item() };
    assert_eq!(
        listed(snapshot, false),
        format!("{head}<Snapshot>2022-10-07T22:53:33.0000000Z</Snapshot>{STAMPS}{SCOPES}</Properties>{end}")
    );
    let deleted = DeletedShare {
        version: "01D8DA93665D1D85".into(),
        deleted: at("Fri, 07 Oct 2022 21:26:02 GMT"),
        remaining_days: 1,
    };
    assert_eq!(
        listed(ShareItem { deleted: Some(deleted), ..item() }, true),
        format!(
            "{head}<Deleted>true</Deleted><Version>01D8DA93665D1D85</Version>{STAMPS}{TIER}{SCOPES}<DeletedTime>Fri, 07 Oct 2022 21:26:02 GMT</DeletedTime><RemainingRetentionDays>1</RemainingRetentionDays></Properties><Metadata />{end}"
        )
    );
}

#[test]
fn names_that_xml_cannot_hold_are_encoded() {
    let page = EntryPage { directory: FileId(1), items: vec![], next: None };
    let listing = EntryListing {
        endpoint: ENDPOINT,
        share: "utshare220036ea",
        snapshot: None,
        directory: "\u{ffff}directory",
        prefix: Some("\u{ffff}"),
        marker: None,
        max_results: Some(2),
        version: Version::new(2021, 12, 2),
        timestamps: false,
        etag: false,
        attributes: false,
        permission_key: false,
    };
    let recorded = "<EnumerationResults ServiceEndpoint=\"https://storagename.file.core.windows.net/\" ShareName=\"utshare220036ea\" Encoded=\"true\" DirectoryPath=\"%EF%BF%BFdirectory\"><Prefix Encoded=\"true\">%EF%BF%BF</Prefix><MaxResults>2</MaxResults><DirectoryId>13835128424026341376</DirectoryId><Entries /><NextMarker /></EnumerationResults>";
    assert_eq!(text(entries(&listing, &page)), recorded);
}

#[test]
fn ranges_as_recorded() {
    let range = |from, to, cleared| FileRange { from, to, cleared };
    let both = [range(0, 512, false), range(1024, 1536, true)];
    assert_eq!(
        text(file_ranges(&both, None)),
        "<Ranges><Range><Start>0</Start><End>511</End></Range><ClearRange><Start>1024</Start><End>1535</End></ClearRange></Ranges>"
    );
    assert_eq!(text(file_ranges(&[], None)), "<Ranges />");
    assert_eq!(text(file_ranges(&[], Some(Some(512)))), "<Ranges><NextMarker>512</NextMarker></Ranges>");
}

#[test]
fn service_properties() {
    let change = |body: &str| {
        read_file_service_properties(format!("<StorageServiceProperties>{body}</StorageServiceProperties>").as_bytes())
    };
    let multichannel =
        "<ProtocolSettings><SMB><Multichannel><Enabled>true</Enabled></Multichannel></SMB></ProtocolSettings>";
    let set = change(multichannel).expect("properties").apply(ServiceProperties::default());
    let shown = text(file_service_properties(&set, Version::new(2021, 6, 8)));
    assert!(shown.ends_with(&format!("<Cors />{multichannel}</StorageServiceProperties>")), "{shown}");
    let kept = "<ShareDeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days></ShareDeleteRetentionPolicy>";
    assert_eq!(change(kept).expect("properties").apply(set).delete_retention.days, Some(7));
    assert_eq!(change("<Logging />"), Err(Refusal::UnsupportedXmlNode { name: "Logging".into() }));
    let wrong = "<ShareDeleteRetentionPolicy><Enabled>true</Enabled><Days>0</Days></ShareDeleteRetentionPolicy>";
    assert!(matches!(change(wrong), Err(Refusal::InvalidXmlNodeValue { .. })));
}
