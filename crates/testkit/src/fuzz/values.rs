//! Small values of heads: ranges, times, tags, versions, names and addresses. What is printed reads back, and bounds are what they say.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lazuli_http::Query;
use lazuli_http::wire::range::ByteRange;
use lazuli_http::wire::{digest, structured};
use lazuli_model::access::Letters;
use lazuli_model::account::IpRange;
use lazuli_model::file::{EntryName, FilePath, PermissionKey, ShareName};
use lazuli_model::table::{Guid, Tag, read_time};
use lazuli_model::{
    AccountName, BlobName, BlockId, ContainerName, ETag, Metadata, QueueName, TableName, Timestamp, Version,
};

pub const WORDS: &[&str] = &[
    "bytes=0-",
    "bytes=1-2",
    "bytes=-5",
    "2020-01-01T00:00:00.0000000Z",
    "Thu, 01 Jan 1970 00:00:00 GMT",
    "Thursday, 01-Jan-70 00:00:00 GMT",
    "Thu Jan  1 00:00:00 1970",
    "+23:59",
    "\"0x8DA\"",
    "W/\"datetime'2020-01-01T00%3A00%3A00Z'\"",
    "2026-04-06",
    "AAAA",
    "10.0.0.1-10.0.0.9",
    "::ffff:1.2.3.4",
    "::ffff:1.2.3.4/100",
    "https,http",
    "a/b\\c",
    "..",
    "00000000-0000-0000-0000-000000000000",
    "{",
    "0*1",
];

pub fn run(input: &[u8]) {
    let text = &*String::from_utf8_lossy(input);
    ranges(text, input.len() as u64);
    times(text);
    names(text);
    if let Some(tag) = ETag::parse(text) {
        assert_eq!(ETag::parse(&tag.to_string()), Some(tag));
    }
    if let Some(tag) = Tag::parse(text) {
        assert_eq!(Tag::parse(&tag.to_string()), Some(tag));
    }
    if let Some(version) = Version::parse(text) {
        assert_eq!(version.to_string(), text);
    }
    if let Some(guid) = Guid::parse(text) {
        assert_eq!(Guid::parse(&guid.to_string()), Some(guid));
    }
    if let Some(key) = PermissionKey::parse(text) {
        assert_eq!(PermissionKey::parse(&key.to_string()), Some(key));
    }
    if let Some(range) = IpRange::parse(text) {
        assert_eq!(IpRange::parse(&range.to_string()), Some(range));
        let _ = range.contains(IpAddr::V4(Ipv4Addr::LOCALHOST)) || range.contains(IpAddr::V6(Ipv6Addr::LOCALHOST));
    }
    if let Some(crc64) = digest::parse_crc64(text) {
        assert_eq!(digest::parse_crc64(&digest::crc64_text(crc64)), Some(crc64));
    }
    let _ = digest::parse_md5(text);
    let _ = digest::parse_kept_md5(text);
    let _ = structured::is_known_form(text);
    let _ = Letters::parse(text);
    let _ = Query::parse(text);
}

fn ranges(text: &str, length: u64) {
    let Some(range) = ByteRange::parse(text) else { return };
    let printed = match range.to {
        Some(to) => format!("bytes={}-{to}", range.from),
        None => format!("bytes={}-", range.from),
    };
    assert_eq!(ByteRange::parse(&printed), Some(range));
    for length in [0, 1, length, u64::MAX] {
        if let Ok(span) = range.within(length) {
            assert!(span.from < span.to && span.to <= length, "{range:?} of {length} is {span:?}");
            assert_eq!(span.from, range.from);
            assert!(range.to.is_none_or(|to| span.to - 1 <= to));
        }
    }
}

fn times(text: &str) {
    if let Some(time) = Timestamp::parse_iso(text) {
        assert_eq!(Timestamp::parse_iso(&time.to_iso()), Some(time));
        assert_eq!(Timestamp::parse_iso(&time.to_iso_short()), Some(time));
        assert_eq!(Timestamp::parse_iso(&time.to_iso_seconds()), Some(time.whole_seconds()));
        assert_eq!(Timestamp::parse_http(&time.to_http()), Some(time.whole_seconds()));
    }
    if let Some(time) = Timestamp::parse_http(text) {
        assert_eq!(Timestamp::parse_http(&time.to_http()), Some(time));
    }
    if let Some(time) = read_time(text) {
        assert_eq!(read_time(&time.to_iso()), Some(time));
    }
}

fn names(text: &str) {
    let _ = AccountName::parse(text).map(|name| assert_eq!(name.as_str(), text));
    let _ = ContainerName::parse(text).map(|name| assert_eq!(name.as_str(), text));
    let _ = QueueName::parse(text).map(|name| assert_eq!(name.as_str(), text));
    let _ = ShareName::parse(text).map(|name| assert_eq!(name.as_str(), text));
    // The key space rests on it.
    let _ = BlobName::parse(text).map(|name| assert!(!name.as_str().contains('\0')));
    if let Ok(name) = TableName::parse(text) {
        let folded = TableName::parse(&name.folded()).expect("a name in lower case is a name");
        assert_eq!(folded.folded(), name.folded());
    }
    if let Ok(id) = BlockId::from_base64(text) {
        assert_eq!(BlockId::from_base64(&id.to_base64()), Ok(id));
    }
    for trailing_dots in [true, false] {
        if let Ok(name) = EntryName::parse(text, trailing_dots) {
            assert_eq!(EntryName::parse(name.as_str(), trailing_dots).as_ref(), Ok(&name), "a name is read once");
            assert!(!name.as_str().contains('\0'));
        }
        if let Ok(path) = FilePath::parse(text, trailing_dots) {
            let joined = path.steps().iter().map(EntryName::as_str).collect::<Vec<_>>().join("/");
            assert_eq!(FilePath::parse(&joined, trailing_dots), Ok(path), "a path is read once");
        }
    }
    let _ = Metadata::new(vec![(text.to_owned(), text.to_owned())]);
}
