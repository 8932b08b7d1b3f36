use super::*;
use crate::file::SetPosix;

fn at(ticks: u64) -> Timestamp {
    Timestamp::from_ticks(ticks)
}

fn spot() -> Spot {
    Spot { id: FileId(1), parent: FileId::ROOT, name: "a".into(), permission: PermissionKey(7) }
}

fn create() -> CreateFile {
    CreateFile {
        length: 1024,
        headers: ContentHeaders::default(),
        smb: SetSmb::default(),
        posix: SetPosix::default(),
        metadata: Metadata::default(),
        lease: None,
        may_overwrite: true,
    }
}

fn file() -> Node {
    create().decide(&spot(), None, at(100)).unwrap()
}

fn read_only() -> Node {
    let node = file();
    Node { smb: Smb { attributes: Attributes::READ_ONLY, ..node.smb.clone() }, ..node }
}

/// As recorded: (sent, shown) when created and when set.
#[test]
fn attributes_as_observed() {
    let sent = |text: &str| SetSmb {
        attributes: Some(SetAttributes::To(Attributes::parse(text).unwrap())),
        ..SetSmb::default()
    };
    for (text, shown) in [("none", "Archive"), ("ReadOnly", "ReadOnly | Archive"), ("Temporary", "Archive | Temporary")]
    {
        let node = CreateFile { smb: sent(text), ..create() }.decide(&spot(), None, at(1)).unwrap();
        assert_eq!(node.smb.attributes.to_string(), shown);
    }
    let directory = CreateDirectory::default().decide(&spot(), at(1));
    assert_eq!(directory.smb.attributes.to_string(), "Directory");
    let set = SetDirectoryProperties { smb: sent("None"), ..SetDirectoryProperties::default() };
    assert_eq!(set.decide(&directory, None, at(2)).smb.attributes.to_string(), "Directory");
}

#[test]
fn tags_and_dates_follow_the_change_time_at_creation_only() {
    let smb = SetSmb { changed: Some(SetTime::At(at(5))), ..SetSmb::default() };
    let node = CreateFile { smb: smb.clone(), ..create() }.decide(&spot(), None, at(100)).unwrap();
    assert_eq!((node.etag, node.modified, node.smb.created), (ETag::of(at(5)), at(5), at(100)));
    let set = SetFileProperties { smb, ..SetFileProperties::default() };
    let node = set.decide(&file(), None, at(200)).unwrap();
    assert_eq!((node.etag, node.modified, node.smb.changed), (ETag::of(at(200)), at(200), at(5)));
}

#[test]
fn a_new_length_is_a_write_and_a_new_header_is_not() {
    let preserve = SetSmb { written: Some(SetTime::Preserve), ..SetSmb::default() };
    let set = SetFileProperties { smb: preserve, ..SetFileProperties::default() };
    assert_eq!(set.decide(&file(), None, at(200)).unwrap().smb.written, at(100));
    let set = SetFileProperties { length: Some(5), ..set };
    assert_eq!(set.decide(&file(), None, at(200)).unwrap().smb.written, at(200));
}

#[test]
fn a_read_only_file_is_not_written() {
    let refused = Some(Refusal::ReadOnlyAttribute);
    let (node, now) = (read_only(), at(200));
    assert_eq!(create().decide(&spot(), Some(&node), now).err(), refused);
    assert_eq!(node.with_metadata(Metadata::default(), now).err(), refused);
    assert_eq!(PutRange { from: 0, written: SetTime::Now, lease: None }.decide(&node, 1, now).err(), refused);
    assert_eq!(ClearRange { from: 0, to: 1, written: SetTime::Now, lease: None }.decide(&node, now).err(), refused);
    assert_eq!(SetFileProperties::default().decide(&node, None, now).err(), refused);
    let attributes = Some(SetAttributes::To(Attributes::NONE));
    let set = SetFileProperties { smb: SetSmb { attributes, ..SetSmb::default() }, ..SetFileProperties::default() };
    assert!(!set.decide(&node, None, now).unwrap().is_read_only());
}

#[test]
fn ranges_lie_within_the_file() {
    for (from, to, fits) in [(0, 1024, true), (1023, 1024, true), (0, 1025, false), (1024, 1025, false), (5, 5, false)]
    {
        let clear = ClearRange { from, to, written: SetTime::Now, lease: None };
        assert_eq!(clear.decide(&file(), at(2)).is_ok(), fits, "{from}..{to}");
    }
    let put = PutRange { from: u64::MAX, written: SetTime::Now, lease: None };
    assert_eq!(put.decide(&file(), 9, at(2)).err(), Some(Refusal::InvalidRange));
}

#[test]
fn what_a_rename_may_replace() {
    let rename = |replace, ignore_read_only, directory| Rename {
        source: Default::default(),
        directory,
        replace,
        ignore_read_only,
        source_lease: None,
        destination_lease: None,
        smb: SetSmb::default(),
        metadata: None,
        content_type: None,
    };
    let directory = CreateDirectory::default().decide(&spot(), at(1));
    let cases = [
        (rename(false, false, false), None, None),
        (rename(false, false, false), Some(file()), Some(Refusal::ResourceAlreadyExists)),
        (rename(true, false, false), Some(file()), None),
        (rename(true, false, false), Some(directory.clone()), Some(Refusal::ResourceTypeMismatch)),
        (rename(true, false, false), Some(read_only()), Some(Refusal::ReadOnlyAttribute)),
        (rename(true, true, false), Some(read_only()), None),
        (rename(false, false, true), None, Some(Refusal::ResourceTypeMismatch)),
    ];
    for (rename, replaced, want) in cases {
        let got = rename.decide(&file(), &spot(), None, replaced.as_ref(), at(300));
        assert_eq!(got.err(), want, "{rename:?}");
    }
    // Observed: a directory may take the place of a file.
    let moved = rename(true, false, true).decide(&directory, &spot(), None, Some(&file()), at(300)).unwrap();
    assert_eq!((moved.smb.changed, moved.smb.written, moved.modified), (at(300), at(1), at(300)));
}
