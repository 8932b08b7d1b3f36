//! Information about one file ([MS-FSCC] 2.4).

use bytes::Bytes;

use crate::packet::wire::{Field, Malformed, Parsed, Sink, Source, bits, numbers, record};
use crate::text::Wide;
use crate::time::FileTime;

numbers! { Class: u8 {
    Basic = 4,
    Standard = 5,
    Internal = 6,
    Ea = 7,
    Access = 8,
    Name = 9,
    Rename = 10,
    Link = 11,
    Disposition = 13,
    Position = 14,
    FullEa = 15,
    Mode = 16,
    Alignment = 17,
    All = 18,
    Allocation = 19,
    EndOfFile = 20,
    AlternateName = 21,
    Stream = 22,
    Pipe = 23,
    PipeLocal = 24,
    PipeRemote = 25,
    Compression = 28,
    Quota = 32,
    NetworkOpen = 34,
    AttributeTag = 35,
    ValidDataLength = 39,
    ShortName = 40,
    NormalizedName = 48,
    StandardLink = 54,
    Id = 59,
    DispositionEx = 64,
    RenameEx = 65,
} }

bits! { Attributes: u32 {
    READ_ONLY = 0x1,
    HIDDEN = 0x2,
    SYSTEM = 0x4,
    DIRECTORY = 0x10,
    ARCHIVE = 0x20,
    NORMAL = 0x80,
    TEMPORARY = 0x100,
    SPARSE = 0x200,
    REPARSE_POINT = 0x400,
    COMPRESSED = 0x800,
    OFFLINE = 0x1000,
    NOT_CONTENT_INDEXED = 0x2000,
    ENCRYPTED = 0x4000,
    INTEGRITY_STREAM = 0x8000,
    NO_SCRUB_DATA = 0x2_0000,
} }

record! { Basic {
    created: FileTime,
    accessed: FileTime,
    written: FileTime,
    changed: FileTime,
    attributes: Attributes => 4,
} }

record! { Standard { allocation: u64, end_of_file: u64, links: u32, delete_pending: bool, directory: bool => 2 } }
record! { Internal { id: u64 } }
record! { Ea { size: u32 } }
record! { Access { granted: u32 } }
record! { Position { offset: u64 } }
record! { Mode { mode: u32 } }
record! { Alignment { requirement: u32 } }
record! { Disposition { delete: bool } }
record! { EndOfFile { size: u64 } }
record! { Allocation { size: u64 } }
record! { ValidDataLength { length: u64 } }
record! { AttributeTag { attributes: Attributes, tag: u32 } }
record! { Compression { size: u64, format: u16, unit_shift: u8, chunk_shift: u8, cluster_shift: u8 => 3 } }
record! { Id { volume: u64, file: [u8; 16] } }
record! { StandardLink { accessible: u32, total: u32, delete_pending: bool, directory: bool => 2 } }
record! { Pipe { read_mode: u32, completion_mode: u32 } }
record! { PipeLocal {
    kind: u32,
    configuration: u32,
    instances_max: u32,
    instances: u32,
    inbound_quota: u32,
    read_available: u32,
    outbound_quota: u32,
    write_available: u32,
    state: u32,
    end: u32,
} }

record! { NetworkOpen {
    created: FileTime,
    accessed: FileTime,
    written: FileTime,
    changed: FileTime,
    allocation: u64,
    end_of_file: u64,
    attributes: Attributes => 4,
} }

bits! { DispositionFlags: u32 {
    DELETE = 0x1,
    POSIX_SEMANTICS = 0x2,
    FORCE_IMAGE_SECTION_CHECK = 0x4,
    ON_CLOSE = 0x8,
    IGNORE_READONLY_ATTRIBUTE = 0x10,
} }

record! { DispositionEx { flags: DispositionFlags } }

/// A length and a name: FileName, AlternateName and NormalizedName.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name(pub Wide);

impl Name {
    /// Its length is always answered.
    pub const LEAST: usize = 4;
}

impl Field for Name {
    fn read(source: &mut Source) -> Parsed<Self> {
        let length = source.size32()?;
        Wide::from_wire(source.take(length)?).map(Self)
    }

    fn write(&self, sink: &mut Sink) {
        sink.size32(self.0.len());
        self.0.write(sink);
    }
}

record! { All {
    basic: Basic,
    standard: Standard,
    internal: Internal,
    ea: Ea,
    access: Access,
    position: Position,
    mode: Mode,
    alignment: Alignment,
    name: Name,
} }

impl All {
    /// Up to the first of the name.
    pub const LEAST: usize = 100;
}

bits! { RenameFlags: u32 {
    REPLACE_IF_EXISTS = 0x1,
    POSIX_SEMANTICS = 0x2,
} }

/// Where a file goes: FileRename and FileLink say with a byte whether it may replace something, FileRenameEx with flags at the same place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rename {
    pub flags: RenameFlags,
    /// Zero over the network; the name is from the share's root.
    pub root: u64,
    pub name: Wide,
}

impl Rename {
    /// The byte of the older classes; what lies behind it means nothing.
    pub fn parse(class: Class, input: Bytes) -> Parsed<Self> {
        let rename = Self::from_bytes(input)?;
        if class == Class::RenameEx {
            Ok(rename)
        } else if matches!(class, Class::Rename | Class::Link) {
            let replace = rename.flags.0 & 0xff != 0;
            Ok(Self { flags: RenameFlags(u32::from(replace)), ..rename })
        } else {
            Err(Malformed::Value)
        }
    }
}

impl Field for Rename {
    fn read(source: &mut Source) -> Parsed<Self> {
        let flags = source.read()?;
        source.skip(4)?;
        let (root, length) = (source.u64()?, source.size32()?);
        Ok(Self { flags, root, name: Wide::from_wire(source.take(length)?)? })
    }

    fn write(&self, sink: &mut Sink) {
        sink.write(&self.flags);
        sink.zeros(4);
        sink.u64(self.root);
        sink.size32(self.name.len());
        self.name.write(sink);
        // Windows refuses fewer than 24 bytes.
        sink.zeros(4_usize.saturating_sub(self.name.len()));
    }
}

/// One of a file's streams. Here a file has the unnamed one, and a directory none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    pub size: u64,
    pub allocation: u64,
    pub name: Wide,
}

const STREAMS_MAX: usize = 1024;

impl Stream {
    pub fn unnamed(size: u64, allocation: u64) -> Self {
        Self { size, allocation, name: "::$DATA".into() }
    }

    pub fn write_list(streams: &[Self]) -> Bytes {
        let mut sink = Sink::new();
        for (at, stream) in streams.iter().enumerate() {
            sink.align(8);
            let start = sink.offset();
            sink.zeros(4);
            sink.size32(stream.name.len());
            sink.u64(stream.size);
            sink.u64(stream.allocation);
            stream.name.write(&mut sink);
            if at + 1 < streams.len() {
                sink.patch_u32(start, (sink.offset() - start).next_multiple_of(8));
            }
        }
        sink.finish().freeze()
    }

    pub fn read_list(output: Bytes) -> Parsed<Vec<Self>> {
        let mut streams = Vec::new();
        let mut rest = output;
        while !rest.is_empty() {
            if streams.len() == STREAMS_MAX {
                return Err(Malformed::Count);
            }
            let mut source = Source::new(rest.clone());
            let (next, length) = (source.size32()?, source.size32()?);
            let (size, allocation) = (source.u64()?, source.u64()?);
            streams.push(Self { size, allocation, name: Wide::from_wire(source.take(length)?)? });
            match next {
                0 => break,
                24.. if next < rest.len() => rest = rest.slice(next..),
                _ => return Err(Malformed::Range),
            }
        }
        Ok(streams)
    }
}

/// What SET_INFO may ask of a file, by class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Basic(Basic),
    Rename(Rename),
    Link(Rename),
    Disposition(Disposition),
    DispositionEx(DispositionEx),
    Position(Position),
    Mode(Mode),
    Allocation(Allocation),
    EndOfFile(EndOfFile),
    ValidDataLength(ValidDataLength),
    ShortName(Name),
    Pipe(Pipe),
    /// Kept unread: extended attributes are refused.
    FullEa(Bytes),
}

impl Change {
    /// `None` for a class that cannot be set.
    pub fn parse(class: u8, input: Bytes) -> Parsed<Option<Self>> {
        let Some(class) = Class::from_code(class) else { return Ok(None) };
        Ok(Some(match class {
            Class::Basic => Self::Basic(Basic::from_bytes(input)?),
            Class::Rename | Class::RenameEx => Self::Rename(Rename::parse(class, input)?),
            Class::Link => Self::Link(Rename::parse(class, input)?),
            Class::Disposition => Self::Disposition(Disposition::from_bytes(input)?),
            Class::DispositionEx => Self::DispositionEx(DispositionEx::from_bytes(input)?),
            Class::Position => Self::Position(Position::from_bytes(input)?),
            Class::Mode => Self::Mode(Mode::from_bytes(input)?),
            Class::Allocation => Self::Allocation(Allocation::from_bytes(input)?),
            Class::EndOfFile => Self::EndOfFile(EndOfFile::from_bytes(input)?),
            Class::ValidDataLength => Self::ValidDataLength(ValidDataLength::from_bytes(input)?),
            Class::ShortName => Self::ShortName(Name::from_bytes(input)?),
            Class::Pipe => Self::Pipe(Pipe::from_bytes(input)?),
            Class::FullEa => Self::FullEa(input),
            Class::Standard
            | Class::Internal
            | Class::Ea
            | Class::Access
            | Class::Name
            | Class::Alignment
            | Class::All
            | Class::AlternateName
            | Class::Stream
            | Class::PipeLocal
            | Class::PipeRemote
            | Class::Compression
            | Class::Quota
            | Class::NetworkOpen
            | Class::AttributeTag
            | Class::NormalizedName
            | Class::StandardLink
            | Class::Id => return Ok(None),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length_and_back<T: Field + PartialEq + std::fmt::Debug>(value: T, length: usize) {
        let bytes = value.to_bytes();
        assert_eq!(bytes.len(), length, "{value:?}");
        assert_eq!(T::from_bytes(bytes.clone()).as_ref(), Ok(&value));
        assert!(length == 0 || T::from_bytes(bytes.slice(..length - 1)).is_err(), "{value:?} cut short");
    }

    /// The lengths that [MS-FSCC] gives, which clients check.
    #[test]
    fn classes_have_their_lengths() {
        let basic = Basic { created: FileTime(1), attributes: Attributes::ARCHIVE, ..Default::default() };
        let all = All { basic: basic.clone(), name: Name("ab".into()), ..Default::default() };
        assert_eq!(All::LEAST, all.to_bytes().len() - 4);
        length_and_back(all, 104);
        length_and_back(Standard { end_of_file: 7, directory: true, ..Default::default() }, 24);
        length_and_back(Internal { id: 1 }, 8);
        length_and_back(Ea { size: 0 }, 4);
        length_and_back(AttributeTag { attributes: Attributes::NORMAL, tag: 0 }, 8);
        length_and_back(Compression { size: 5, ..Default::default() }, 16);
        length_and_back(Id { volume: 1, file: [2; 16] }, 24);
        length_and_back(StandardLink { total: 1, ..Default::default() }, 12);
        length_and_back(PipeLocal { instances: 1, ..Default::default() }, 40);
        length_and_back(Name("größe".into()), 14);
        assert_eq!(basic.to_bytes().len(), 40);
        assert_eq!(NetworkOpen::default().to_bytes().len(), 56);
        assert_eq!(Rename { name: "a".into(), ..Default::default() }.to_bytes().len(), 24);
    }

    #[test]
    fn a_rename_replaces_by_byte_or_by_flag() {
        let input = |flags: u32| Rename { flags: RenameFlags(flags), root: 0, name: r"dir\new".into() }.to_bytes();
        let table = [
            (Class::Rename, 0, 0),
            (Class::Rename, 1, 1),
            (Class::Rename, 0xffff_ff00, 0),
            (Class::Link, 0x101, 1),
            (Class::RenameEx, 3, 3),
        ];
        for (class, flags, read) in table {
            let rename = Rename::parse(class, input(flags)).expect("a rename");
            assert_eq!(rename, Rename { flags: RenameFlags(read), root: 0, name: r"dir\new".into() });
        }
        assert_eq!(Rename::parse(Class::Basic, input(0)), Err(Malformed::Value));
    }

    #[test]
    fn streams_read_back() {
        let streams = vec![Stream::unnamed(5, 4096), Stream { name: ":a:$DATA".into(), ..Default::default() }];
        assert_eq!(Stream::read_list(Stream::write_list(&streams)), Ok(streams.clone()));
        assert_eq!(Stream::read_list(Bytes::new()), Ok(vec![]));
        assert_eq!(Stream::write_list(&streams[..1]).len(), 24 + 14);
    }

    #[test]
    fn classes_that_can_be_set_are_read_and_others_are_not() {
        let settable = [4, 10, 11, 13, 14, 15, 16, 19, 20, 23, 39, 40, 64, 65];
        for class in 0..=u8::MAX {
            let change = Change::parse(class, Bytes::from_static(&[0; 64]));
            assert_eq!(change.expect("zeros are enough").is_some(), settable.contains(&class), "{class}");
        }
        assert_eq!(Change::parse(4, Bytes::from_static(&[0; 39])), Err(Malformed::Short));
    }
}
